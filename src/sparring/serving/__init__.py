"""The policy server and its clients: one network for players in other processes and on other machines.

`protocol` is the wire format, `keys` who may connect, `batching` when a batch runs, `sessions` whose memory lies where,
`served` one model of a server, `models` where it comes from, `reloading` how it is read again, `connections` limits on
them, `statistics` what is counted.
"""

from sparring.serving.client import RemotePlayer, reload_model, server_status

__all__ = ["RemotePlayer", "reload_model", "server_status"]
