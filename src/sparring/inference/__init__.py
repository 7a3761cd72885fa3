"""One forward pass for everyone who waits.

`engine` answers batches on a `device`; `player` sits a policy of it in a seat. `server` and `client` are the same
across processes and machines: `protocol` is what they speak, `keys` who may, `batching` when a batch runs, `sessions`
whose memory lies where, `served` one model of a server, `models` where it comes from, `statistics` what is counted.
"""

from sparring.inference.client import RemotePlayer, reload_model, server_status
from sparring.inference.device import Device
from sparring.inference.engine import InferenceEngine
from sparring.inference.player import NetworkPlayer

__all__ = ["Device", "InferenceEngine", "NetworkPlayer", "RemotePlayer", "reload_model", "server_status"]
