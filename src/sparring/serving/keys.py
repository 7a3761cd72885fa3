"""CURVE keys of a policy server that is reached over a network, and of its clients.

`make_keys` writes two files: one stays with the server, the other goes to every machine that may ask. The
connection is then encrypted, the client knows that it speaks with the right server, and the server answers
only clients with a key.
"""

import ipaddress
import os
import shlex
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec
import zmq
from zmq.auth.thread import ThreadAuthenticator
from zmq.utils import z85

from sparring.core import InputError
from sparring.core.files import cannot_write, lock_folder, sweep, write_file


class ServerKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="server"):
    """The server's secret, and the clients it answers."""

    public: str
    secret: str
    clients: list[str]


class ClientKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="client"):
    """A client's secret, and the server it asks."""

    server: str
    public: str
    secret: str


K = TypeVar("K", ServerKey, ClientKey)


def new_keys() -> tuple[ServerKey, ClientKey]:
    """A pair that has never been before."""
    server_public, server_secret = (part.decode() for part in zmq.curve_keypair())
    client_public, client_secret = (part.decode() for part in zmq.curve_keypair())
    server = ServerKey(public=server_public, secret=server_secret, clients=[client_public])
    return server, ClientKey(server=server_public, public=client_public, secret=client_secret)


def make_keys(folder: Path) -> tuple[Path, Path]:
    """Writes `server.key` and `client.key` into `folder`, readable by their owner only; never replaces one.

    Killed in between, the same call goes on: the client's key waits under another name until the server's is there.
    """
    paths = server_path, client_path = folder / "server.key", folder / "client.key"
    waiting = folder / ".client.key.waiting"
    lock = lock_folder(folder, busy=f"{folder}: another process makes keys there")
    try:
        sweep(folder)
        unfinished = waiting.exists() and server_path.exists() and not client_path.exists()
        if unfinished and _read(waiting, ClientKey).public in read_server_key(server_path).clients:
            waiting.rename(client_path)
            return paths
        for path in paths:
            if path.exists():
                raise InputError(f"{path} exists already; delete it first if its clients may lose their access")
        server, client = new_keys()
        for path, key in ((waiting, client), (server_path, server)):
            write_file(path, msgspec.json.format(msgspec.json.encode(key)) + b"\n", mode=0o600)
        waiting.rename(client_path)
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        os.close(lock)
    return paths


def read_server_key(path: Path) -> ServerKey:
    """The key in `path`; raises `InputError` if it is not a server's."""
    return _read(path, ServerKey)


def read_client_key(path: Path) -> ClientKey:
    """The key in `path`; raises `InputError` if it is not a client's."""
    return _read(path, ClientKey)


def secure_server(socket: "zmq.Socket[bytes]", key: ServerKey) -> ThreadAuthenticator:
    """Makes `socket` answer only clients the key lists. Stop the returned authenticator after the socket is closed."""
    authenticator = ThreadAuthenticator(socket.context)
    authenticator.configure_curve_callback(domain="*", credentials_provider=_Listed(key.clients))
    authenticator.start()
    socket.curve_server = True
    socket.curve_secretkey = key.secret.encode()
    socket.curve_publickey = key.public.encode()
    return authenticator


def secure_client(socket: "zmq.Socket[bytes]", key: ClientKey) -> None:
    """Makes `socket` speak only to the server the key names."""
    socket.curve_serverkey = key.server.encode()
    socket.curve_publickey = key.public.encode()
    socket.curve_secretkey = key.secret.encode()


def check_bind(host: str, key: ServerKey | None) -> None:
    """Raises `InputError` if `host` can be reached from other machines and there is no key."""
    if key is not None or host == "localhost":
        return
    try:
        if ipaddress.ip_address(host.strip("[]")).is_loopback:
            return
    except ValueError:
        pass
    raise InputError(f"--bind {host}: other machines could reach it; make keys with `sparring keys` and give --key")


class _Listed:
    """Tells the authenticator which client keys are known."""

    def __init__(self, clients: Iterable[str]) -> None:
        self._clients = {client.encode() for client in clients}

    def callback(self, domain: str, key: bytes) -> bool:
        return key in self._clients


def _read(path: Path, kind: type[K]) -> K:
    what = f"{kind.__name__.removesuffix('Key').lower()} key"
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & 0o077:
                raise InputError(f"{path}: other users can read it; run: chmod 600 {shlex.quote(str(path))}")
            key: K = msgspec.json.decode(file.read(), type=kind)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # malformed JSON, text that is not UTF-8, a null byte in the path
        raise InputError(f"{path}: not a {what}: {error}") from error
    if not all(map(_is_code, _codes(key))):
        raise InputError(f"{path}: not a {what}: a key in it is not 40 letters of Z85")
    return key


def _codes(key: ServerKey | ClientKey) -> list[str]:
    return [key.public, key.secret, *(key.clients if isinstance(key, ServerKey) else [key.server])]


def _is_code(text: str) -> bool:
    try:
        return len(text) == 40 and len(z85.decode(text)) == 32
    except (ValueError, KeyError, struct.error):
        return False
