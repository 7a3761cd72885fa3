"""The types of `sparring doctor`: what one check found, what the user asked for, and what a game adds."""

from collections.abc import Iterable
from typing import Literal, Protocol, runtime_checkable

import msgspec

from sparring.core.ports import cannot_listen

Status = Literal["ok", "warn", "fail"]
"""It works; it works, but worse than it could; it does not work."""


class Check(msgspec.Struct, frozen=True):
    """What one check found."""

    name: str
    status: Status
    found: str
    """One sentence."""
    mend: str = ""
    """The command that fixes it or shows what is in the way; empty if there is nothing to do."""


class CheckUp(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    comprehensive: bool = False
    """Try things out, which takes longer than looking."""
    needed: bool = False
    """The user asked for this game by name: what it lacks is a failure instead of a warning."""
    servers: tuple[str, ...] = ()
    """Addresses of game servers that must answer."""

    def lacking(self, name: str, found: str, mend: str) -> Check:
        """The check of a missing part without which the game cannot be played."""
        return Check(name, "fail" if self.needed else "warn", found, mend)


@runtime_checkable
class Checked(Protocol):
    """A game that needs more than Python packages, and can tell what is missing."""

    def check_up(self, asked: CheckUp) -> Iterable[Check]:
        """Looks at each part and changes nothing; raises `InputError` only for a malformed address."""
        ...


def check_port(name: str, port: int, command: str) -> Check:
    """Whether `command`, a server's, can listen on its default `port`."""
    reason = cannot_listen(port)
    if reason is None:
        return Check(name, "ok", f"{port} is free for `{command}`")
    return Check(name, "warn", f"{port} cannot be listened on: {reason}", f"{command} --port 0")
