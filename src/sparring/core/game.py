"""The plug-in protocol: everything Sparring knows of a game it learns through one `Game` object.

A package offers games in the entry-point group `sparring.games`; `name = "package.module:GAME"`. Adding one
touches no file outside the game's own folder.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec

from sparring.core.arena import Arena
from sparring.core.checkpoints import trained_game
from sparring.core.documented import documented
from sparring.core.errors import InputError, instead
from sparring.core.forward_model import ForwardModel
from sparring.core.player import Player, RandomPlayer
from sparring.core.plugins import GAMES, described, load_plugin, offered, pass_over
from sparring.core.settings import convert
from sparring.core.spec import GameSpec
from sparring.core.vocabulary import Vocabulary


@documented
class Game(Protocol):
    """Rules, built-in players and networks of one game."""

    name: str
    """As in `sparring train NAME`."""
    summary: str
    """One line for `sparring games`."""
    settings: type
    """A frozen, keyword-only `msgspec.Struct`: the rule options (board size, format), with defaults and limits."""
    network: type
    """A frozen, keyword-only `msgspec.Struct`: the network's size options."""
    presets: Path
    """The folder of this game's training presets (YAML)."""
    players: Mapping[str, Callable[[Any, int], Player]]
    """Built-in players by name: (settings, seed) -> player. `random` needs no entry; `human`, who is asked in the
    terminal, makes the game one that `sparring play` can play."""

    def spec(self, settings: Any) -> GameSpec:
        """What rows look like under `settings`."""
        ...

    def arena(self, settings: Any, *, matches: int, seed: int) -> Arena:
        """An arena that plays `matches` at the same time."""
        ...

    def policy(self, spec: GameSpec, network: Any) -> Any:
        """A fresh torch policy (see `sparring.policy`). The only call that imports torch."""
        ...

    def fits(self, trained: GameSpec, spec: GameSpec) -> str | None:
        """Why a network trained for `trained` cannot play `spec`, or None if it can."""
        ...

    def model(self, spec: GameSpec) -> ForwardModel | None:
        """The forward model for search, or None if the game offers none."""
        ...


@runtime_checkable
class Installable(Protocol):
    """A game that needs more than Python packages: a simulator, field meshes."""

    def install(self, settings: Any, say: Callable[[str], None]) -> None:
        """Fetches what `settings` need into the cache folder, and says so; returns at once if all is there."""
        ...


@runtime_checkable
class Solvable(Protocol):
    """A game small enough that exploitability is computed, not estimated; the training loop logs it."""

    def nash_conv(self, settings: Any, seat: Callable[[int], Player]) -> float:
        """What the two seats together would gain by answering a player perfectly; 0 at an equilibrium.

        `seat(matches)` makes the player, with room for that many matches; its answers carry the whole `policy`.
        """
        ...


@runtime_checkable
class Watchable(Protocol):
    """A game whose matches can be shown; the training loop keeps the best of a run."""

    def keep_matches(
        self, arena: Any, players: tuple[Player, Player], folder: Path, *, names: tuple[str, str], update: int
    ) -> None:
        """Plays some matches between `players` on a fresh `arena` of one and keeps the run's best in `folder`."""
        ...


@runtime_checkable
class Rated(Protocol):
    """A game that trains on other matches than strength is judged by: shorter ones, or from chosen positions."""

    rating: Mapping[str, Any]
    """Settings that `sparring evaluate` lays over a checkpoint's, unless the user says otherwise."""
    rating_matches: int
    """Matches that `sparring evaluate` plays, unless the user says otherwise."""


@runtime_checkable
class Spread(Protocol):
    """A game whose arena spreads its matches over processes or threads of its own."""

    spread: str
    """The setting that says over how many."""


@runtime_checkable
class Undivided(Protocol):
    """A game whose matches cannot be dealt to several processes: how they are played changes them all (`Adaptive`)."""

    undivided: str
    """What to do instead, as the end of a sentence: "settings.threads plays on several cores"."""


@runtime_checkable
class Online(Protocol):
    """A game that is also played over servers, which can be started on this machine."""

    def local_servers(self, count: int) -> AbstractContextManager[Sequence[str]]:
        """Runs `count` servers until the block ends; yields their addresses."""
        ...

    def online(
        self, settings: Any, servers: Sequence[str], *, name: str, opponent: str, asks: bool, matches: int, seed: int
    ) -> Arena:
        """The matches of `name` against `opponent` on `servers`: one of the two asks for them, the other accepts."""
        ...


@runtime_checkable
class Varied(Protocol):
    """A game whose matches all begin in one position unless its settings say otherwise, as tournaments need."""

    def varied(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """The user's `settings`, with what makes matches begin in different positions."""
        ...


@dataclass(frozen=True)
class MatchRecord:
    """A match that has ended and may be kept."""

    margin: float
    """By how much it was won: the smaller, the closer it was."""
    suffix: str
    """Of its file: `.html`, `.sgf`."""
    render: Callable[[Sequence[str]], bytes]
    """Makes the file from the names of both sides; slow, so only what is kept is rendered."""


@runtime_checkable
class Followed(Protocol):
    """A game whose matches can be followed, so that some of them are kept to be looked at."""

    def follow(self, arena: Any, ended: Callable[[int, MatchRecord], None]) -> None:
        """Hands over every match of a fresh `arena` by its slot, before `wait` returns the result."""
        ...


@runtime_checkable
class Hosting(Protocol):
    """A game in which players from other programs can be seated, named as `KIND:WHAT`."""

    guests: Mapping[str, "Callable[[Any, str, Guest], Player]"]
    """By kind: (settings, WHAT, circumstances) -> player; raises `InputError` if WHAT names none."""


@dataclass(frozen=True)
class Guest:
    """How a player from another program is to play."""

    matches: int
    """At the same time."""
    seed: int
    patience: float
    """Seconds it has for an answer."""


@runtime_checkable
class Named(Protocol):
    """A game that numbers named things in its observations, and may number them differently in its next version.

    Its specs have a `vocabulary`; weights and episodes made with another one are matched by name.
    """

    version: str
    """The setting that says which version is played. Weights and episodes record theirs, but also work in others."""

    def vocabulary(self) -> Vocabulary | None:
        """The vocabulary of the default version; None if it is not set up."""
        ...

    def first_vocabulary(self) -> Vocabulary:
        """The vocabulary of weights and episodes that were saved without one."""
        ...


_ATTRIBUTES = {"name": str, "summary": str, "presets": Path, "players": Mapping}
_STRUCTS = ("settings", "network")
_METHODS = ("spec", "arena", "policy", "fits", "model")
_lent: dict[str, Game] = {}


def game_fault(game: Any) -> str | None:
    """What keeps `game` from being a `Game`, as in "has no `fits`"; None if every member is there, of its kind."""
    if isinstance(game, type):
        return f"is the class {game.__name__}, and a game is an object: {game.__name__}()"
    missing = [f"`{name}`" for name in (*_ATTRIBUTES, *_STRUCTS, *_METHODS) if not hasattr(game, name)]
    if missing:
        return f"has no {', '.join(missing)}; see `sparring.core.Game`"
    for name, kind in _ATTRIBUTES.items():
        if not isinstance(getattr(game, name), kind):
            return f"has a `{name}` that is {getattr(game, name)!r:.60}; allowed: a {kind.__name__}"
    for name in _STRUCTS:
        found = getattr(game, name)
        if not (isinstance(found, type) and issubclass(found, msgspec.Struct)):
            return f"has a `{name}` that is {found!r:.60}; allowed: a subclass of msgspec.Struct"
    parts = {name: getattr(game, name) for name in _METHODS} | {
        f"players[{who!r}]": game.players[who] for who in game.players
    }
    for name, found in parts.items():
        if not callable(found):
            return f"has a `{name}` that is {found!r:.60}; allowed: something to call"
    return None


@contextmanager
def lending(game: Game) -> Iterator[str]:
    """Makes an object of the running program known by its name, in this process and for the block, as if installed.

    It takes the place of an installed game of that name. Raises `InputError` if it is no game.
    """
    wrong = game_fault(game)
    if wrong is not None:
        raise InputError(f"game = {game!r:.60}: allowed: the name of a game, such as 'hex', or a `Game`; this {wrong}")
    before = _lent.get(game.name)
    _lent[game.name] = game
    try:
        yield game.name
    finally:
        del _lent[game.name]
        if before is not None:
            _lent[game.name] = before


def game_names() -> list[str]:
    """Names of all installed games, sorted; some may not load."""
    return sorted({*offered(GAMES), *_lent})


def load_game(name: str) -> Game:
    """The installed game called `name`; raises `InputError` with the names there are, or why it cannot be loaded."""
    if not isinstance(name, str):
        raise InputError(f"game = {name!r}: allowed: the name of an installed game, such as 'hex'")
    if name in _lent:
        return _lent[name]
    points = offered(GAMES)
    if name not in points:
        names, trained = game_names(), trained_game(Path(name))
        if trained is not None:
            raise InputError(f"{name} was trained for a game and is none; name the game first: {trained} {name}")
        raise InputError(f"unknown game {name!r}{instead(name, names, label='installed games', see='sparring games')}")
    return _load(points[name])


def installed_games() -> dict[str, Game]:
    """Every installed game that can be loaded, by name; of any other, standard error says so once."""
    games = {}
    for name in game_names():
        try:
            games[name] = load_game(name)
        except InputError as problem:
            pass_over(problem)
    return games


def _load(point: EntryPoint) -> Game:
    game: Game = load_plugin(point)
    wrong = game_fault(game)
    if wrong is None and game.name != point.name:
        wrong = f"has the name {game.name!r}, and its entry point {point.name!r}: they must be the same"
    if wrong is not None:
        raise InputError(f"{described(point)} cannot be used: {point.value} {wrong}")
    return game


def player_names(game: Game) -> list[str]:
    """Names of the game's built-in players."""
    return ["random", *game.players]


def guest_kinds(game: Game) -> list[str]:
    """The kinds of players from other programs that can be seated in `game`."""
    return list(game.guests) if isinstance(game, Hosting) else []


def shipped_weights(game: str | None = None) -> dict[str, Path]:
    """Checkpoints that come with the installed games, or with one of them, by name."""
    games = installed_games().values() if game is None else [load_game(game)]
    folders = [plugin.presets.parent / "weights" for plugin in games]
    return {path.name: path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())}


def check_divisible(game: Game, *, key: str) -> None:
    """Raises `InputError` if the matches of `game` cannot be dealt to several processes, as `key` asks for."""
    if isinstance(game, Undivided):
        raise InputError(f"{key}: {game.name} changes with how it is played, as one arena; {game.undivided}")


def built_in(game: Game, spec: GameSpec, name: str, *, seed: int) -> Player:
    """The built-in player called `name`."""
    if name == "random":
        return RandomPlayer(seed)
    if name not in game.players:
        names = player_names(game)
        raise InputError(f"unknown player {name!r}{instead(name, names, label=f'{game.name} has')}")
    return game.players[name](convert(spec.settings, game.settings, where=game.name), seed)
