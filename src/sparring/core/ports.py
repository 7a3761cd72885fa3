"""Ports of this machine."""

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from sparring.core.errors import InputError


def cannot_listen(port: int) -> str | None:
    """Why no server can listen on `port` of the loopback interface, or None if one can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that are closing do not hold it
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return error.strerror
    return None


def listening_refused(host: str, port: int, reason: str) -> InputError:
    """What a server's user is told if it cannot listen."""
    return InputError(f"cannot listen on {host}:{port} ({reason}); port 0 takes a free one, as in --port 0")


def is_refused(address: str) -> bool:
    """Whether `address` (`tcp://host:port`) is of this machine's loopback interface and no server listens there."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or 0
        if host != "localhost" and not ip_address(host).is_loopback:
            return False
        socket.create_connection((host, port), timeout=1.0).close()
    except ConnectionRefusedError:
        return True
    except (OSError, ValueError):
        return False
    return False
