"""One forward pass for everyone who waits.

`engine` answers batches on a `device`; `backend` picks what runs the forward pass; `player` sits a policy in a seat.
"""

from sparring.inference.device import Device
from sparring.inference.engine import InferenceEngine
from sparring.inference.player import NetworkPlayer

__all__ = ["Device", "InferenceEngine", "NetworkPlayer"]
