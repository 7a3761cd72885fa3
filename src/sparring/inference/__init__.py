"""One forward pass for all seats that wait.

`engine` answers batches on a `device`; `backend` picks what runs the forward pass; `player` seats a policy.
"""

from sparring.inference.device import Device
from sparring.inference.engine import InferenceEngine
from sparring.inference.player import NetworkPlayer

__all__ = ["Device", "InferenceEngine", "NetworkPlayer"]
