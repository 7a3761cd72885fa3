"""The policy server and its clients: one network for players in other processes and on other machines.

`protocol` is what they speak, `keys` who may, `batching` when a batch runs, `sessions` whose memory lies where,
`served` one model of a server, `models` where it comes from, `reloading` how it is read again, `connections` which are
cut, `statistics` what is counted.
"""

from sparring.serving.client import RemotePlayer, reload_model, server_status

__all__ = ["RemotePlayer", "reload_model", "server_status"]
