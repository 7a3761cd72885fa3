"""Where teams come from: the user's files, a built-in set, or a random pool.

Team sets of the user are validated by Showdown's own TeamValidator, and every illegal team is named. Random
formats draw from pools that Showdown's generator fills in a background process; the pools are kept in the cache folder
and are the same on every machine, so that a seed fixes the teams as well.
"""

import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np

from sparring.core import InputError, RunError
from sparring.games.pokemon.columns import TEAM
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.setup import NODE_FOLDER, Installation, installation, run_script
from sparring.games.pokemon.team_text import split_teams

BUILT_IN = "built-in"
"""The team set made at set-up from Smogon's and Showdown's own sets."""

POOL_TEAMS = 256
"""Teams in one pool; a pool serves as many matches before the next one takes its place."""
POOLS = 64
_POOLS_AHEAD = 3
_POOL_SECONDS = 300.0
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that no name has, and that would cut a message to a server in two."""
_MOST_BYTES = 64 * 2**20
_LONGEST_TEAM = 20_000
_MOST_SHOWN = 10
_LONGEST_PROBLEM = 400


class TeamSource(Protocol):
    """Gives both seats of each match a packed team."""

    def draw(self, rng: np.random.Generator) -> tuple[str, str]:
        """Two packed teams."""
        ...

    def close(self) -> None:
        """Ends what works in the background; may be called twice."""
        ...


def team_source(format: Format, team_set: str) -> TeamSource:
    """The source that `team_set` names: a file, a folder of files, `built-in`, or empty for the format's own.

    Raises `InputError` if the format and the set do not fit or a team is illegal.
    """
    if format.random_teams:
        if team_set:
            raise InputError(f"team_set {team_set!r}: {format.id} makes its own random teams; leave team_set empty")
        return RandomTeams(format)
    if team_set in ("", BUILT_IN):
        return TeamSet(built_in_teams(format))
    return TeamSet(load_teams(Path(team_set), format))


class TeamSet:
    """Draws both teams from one list, each with the same probability."""

    def __init__(self, teams: Sequence[str]) -> None:
        self.teams = tuple(teams)

    def draw(self, rng: np.random.Generator) -> tuple[str, str]:
        """Two packed teams, which may be the same one."""
        first, second = rng.integers(len(self.teams), size=2).tolist()
        return self.teams[first], self.teams[second]

    def close(self) -> None:
        """Nothing works in the background."""


class RandomTeams:
    """Draws from numbered pools of generated teams, moving on to the next pool as matches start."""

    def __init__(self, format: Format) -> None:
        self._installed = installation(format.showdown)
        self._format = format.id
        self._folder = self._installed.pools / format.id
        self._number = 0
        self._drawn = 0
        self._maker: subprocess.Popen[bytes] | None = None
        self._teams = self._load(0)

    def draw(self, rng: np.random.Generator) -> tuple[str, str]:
        """Two packed teams of the current pool."""
        if self._drawn == POOL_TEAMS:
            self._drawn = 0
            self._number = (self._number + 1) % POOLS
            self._teams = self._load(self._number)
        self._drawn += 1
        first, second = rng.integers(len(self._teams), size=2).tolist()
        return self._teams[first], self._teams[second]

    def close(self) -> None:
        """Ends the process that fills the pools; the next source goes on where it stopped."""
        if self._maker is not None:
            self._maker.kill()
            self._maker.wait()
            self._maker = None

    def _load(self, number: int) -> list[str]:
        """The teams of a pool; sees to it that the pools after it are being made."""
        ahead = range(number, min(number + _POOLS_AHEAD, POOLS))
        if not all(self._path(pool).exists() for pool in ahead):
            self.close()
            self._maker = _pool_maker(self._installed, self._format, self._folder, ahead)
        path = self._path(number)
        deadline = time.monotonic() + _POOL_SECONDS
        while not path.exists():
            ended = self._maker is None or self._maker.poll() is not None
            if time.monotonic() > deadline or (ended and not path.exists()):
                raise RunError(f"Showdown made no random teams for {self._format}; expected {path}")
            time.sleep(0.01)
        return path.read_text().splitlines()

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.txt"


def built_in_teams(format: Format) -> list[str]:
    """The packed teams of the built-in set for `format`."""
    folder = installation(format.showdown).teams
    path = folder / f"{format.id.removesuffix('bo3')}.txt"
    if not path.exists():
        names = ", ".join(sorted(file.stem for file in folder.glob("*.txt")))
        raise InputError(f"{format.id} has no built-in teams; give team_set a file of teams (built-in: {names})")
    return path.read_text().splitlines()


def load_teams(path: Path, format: Format) -> list[str]:
    """Reads and validates the teams of a file or of a folder's files (see `team_text`); returns them packed.

    Teams whose heading names another format are passed over.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    elif path.is_file():
        files = [path]
    else:
        raise InputError(f"team_set {str(path)!r} is neither a file of teams nor a folder of such files")
    found = []
    for file in files:
        teams = split_teams(_text(file), str(file), most=min(format.max_team_size, TEAM))
        if not teams:
            raise InputError(f"team_set: {file} holds no team")
        found += teams
    suited = [(team.place, team.text) for team in found if team.suits(format)]
    if not suited:
        named = ", ".join(sorted({team.format for team in found})[:_MOST_SHOWN])
        raise InputError(
            f"team_set {str(path)!r} holds no team" + (f" of {format.id}, but of {named}" if named else "")
        )
    packed, problems = validate_teams(suited, format)
    if problems:
        shown = [f"illegal in {format.id}: {problem}" for problem in problems[:_MOST_SHOWN]]
        more = [f"and {len(problems) - len(shown)} more illegal teams"] if len(problems) > len(shown) else []
        raise InputError("\n".join([*shown, *more]))
    return packed


def validate_teams(named: Sequence[tuple[str, str]], format: Format) -> tuple[list[str], list[str]]:
    """The legal ones of `(place, export or packed text)`, packed; and a line about each of the others."""
    faults = [_fault(text) for _, text in named]
    asked = msgspec.json.encode([text for (_, text), fault in zip(named, faults, strict=True) if not fault]).decode()
    answered = run_script(installation(format.showdown), "teams.js", "validate", format.id, text=asked)
    answers = iter(msgspec.json.decode(answered, type=list[_Validated]))
    teams, problems = [], []
    for (place, _), fault in zip(named, faults, strict=True):
        answer = _Validated(packed="", problems=[fault]) if fault else next(answers)
        if answer.problems:
            reasons = _CONTROL.sub(" ", " ".join("; ".join(answer.problems).split()))
            problems.append(f"{place}: {reasons[:_LONGEST_PROBLEM]}")
        else:
            teams.append(answer.packed)
    return teams, problems


def _fault(text: str) -> str:
    """What keeps a team from being shown to Showdown at all; empty if nothing does."""
    if len(text) > _LONGEST_TEAM:
        return f"it has {len(text):,} characters, more than any team"
    return "it has a control character" if _CONTROL.search(text) else ""


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise InputError(f"team_set: {file} is larger than {_MOST_BYTES // 2**20} MiB")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"team_set: {file} cannot be read: {error}") from error


class _Validated(msgspec.Struct, frozen=True):
    packed: str
    problems: list[str]


def _pool_maker(installed: Installation, format: str, folder: Path, pools: range) -> subprocess.Popen[bytes]:
    """A process of low priority that writes those of `pools` that are missing."""
    numbers = (str(pools[0]), str(pools[-1]))
    command = [installed.node, str(NODE_FOLDER / "teams.js"), "pool", format, str(folder), *numbers]
    if hasattr(os, "nice"):
        command = ["nice", "-n", "10", *command]
    return subprocess.Popen(
        [*command, str(POOL_TEAMS)],
        env=installed.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
