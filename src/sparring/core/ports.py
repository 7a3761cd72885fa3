"""Ports of this machine."""

import socket


def cannot_listen(port: int) -> str | None:
    """Why no server can listen on `port` of the loopback interface, or None if one can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that are closing do not hold it
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return error.strerror
    return None
