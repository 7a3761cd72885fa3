"""One forward pass for everyone who waits: the engine, the device it runs on, and the player that asks it."""

from sparring.inference.device import Device
from sparring.inference.engine import InferenceEngine
from sparring.inference.player import NetworkPlayer

__all__ = ["Device", "InferenceEngine", "NetworkPlayer"]
