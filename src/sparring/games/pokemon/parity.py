"""Seeded battles with and without the faster engine, compared to the last byte: `node/parity.js` plays them."""

import subprocess
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Literal

import msgspec

from sparring.core import RunError
from sparring.games.pokemon.setup import NODE_FOLDER, Installation

Engine = Literal["plain", "fast"]
"""Showdown as it is, or with our methods in place of its slow ones."""


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Battles of one format."""

    format: str
    teams: str
    """A file of packed teams, or a random format to draw teams from."""
    sheets: bool = False
    """Open team sheets."""
    battles: int
    seed: int


def play(found: Installation, families: Sequence[Family], engine: Engine, *, show: int | None = None) -> Generator[str]:
    """A line a battle as they are played: family, decisions, digest. With `show`, that battle's whole transcript."""
    words = [engine, msgspec.json.encode(families).decode(), *([] if show is None else [str(show)])]
    command = [found.node, str(NODE_FOLDER / "parity.js"), *words]
    with subprocess.Popen(
        command, env=found.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                yield line.rstrip("\n")
            said = process.stderr.read().strip().splitlines()
        except GeneratorExit:
            process.kill()
            raise
    if process.returncode:
        raise RunError(f"the {engine} engine broke off: {said[-1] if said else 'it said nothing'}")


def compare(found: Installation, families: Sequence[Family]) -> Iterator[tuple[Family, int]]:
    """Plays `families` both ways at the same time; tells of each how many of its battles were equal."""
    with closing(play(found, families, "plain")) as plain, closing(play(found, families, "fast")) as fast:
        for family in families:
            pairs = [(next(plain, None), next(fast, None)) for _ in range(family.battles)]
            yield family, sum(one == other and _played(one) for one, other in pairs)


def _played(line: str | None) -> bool:
    """Whether a battle came to its end: one that threw has no decisions."""
    return line is not None and line.split()[1] != "0"
