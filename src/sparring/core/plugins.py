"""Plug-ins: what installed packages offer in an entry-point group, and what is said of one that cannot be loaded.

A plug-in may be anybody's and fail in any way. Whoever asks for it by name gets one line, with the file and the line of
the fault; whoever only lists what there is passes over it, and that is told once.
"""

import sys
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from sparring.core.code import failure
from sparring.core.errors import InputError
from sparring.core.text import printable

COMMANDS = "sparring.commands"
"""Modules that add commands of their own to `sparring`."""
GAMES = "sparring.games"
"""Objects that are games."""

_KINDS = {COMMANDS: "commands of", GAMES: "game"}
_told: set[str] = set()


def offered(group: str) -> dict[str, EntryPoint]:
    """What the installed packages offer in `group`, by name, sorted; of two of one name the first on the path counts.

    Nothing is loaded.
    """
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, point)
    return dict(sorted(found.items()))


def load_plugin(point: EntryPoint) -> Any:
    """What `point` names; raises `InputError` if it cannot be loaded."""
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise cannot_load(point, error) from error


def cannot_load(point: EntryPoint, error: BaseException) -> InputError:
    """The one line on the `error` that loading `point` raised, with its file and line."""
    return failure(f"{described(point)} cannot be loaded", error)


def pass_over(problem: InputError) -> None:
    """Says on standard error, once, that a plug-in is left out, and why."""
    line = f"{problem}; see: sparring doctor"
    if line not in _told:
        _told.add(line)
        print(printable(line), file=sys.stderr, flush=True)


def described(point: EntryPoint) -> str:
    """As in "game nim (package nim-for-sparring)"."""
    return f"{_KINDS[point.group]} {point.name} (package {package_of(point)})"


def package_of(point: EntryPoint) -> str:
    """The name of the distribution that offers `point`, as pip knows it."""
    return point.dist.name if point.dist is not None else point.module
