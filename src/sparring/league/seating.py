"""Seating: from the names of players to players in an arena, in the same way for every command.

The caller says which game is played with which settings; what the caller leaves open is taken from the first
checkpoint among the players.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparring.core import (
    Arena,
    Game,
    GameSpec,
    InputError,
    Player,
    Rated,
    Varied,
    game_names,
    load_game,
    player_names,
    shipped_weights,
)
from sparring.core.checkpoints import trained_game
from sparring.core.settings import convert
from sparring.core.versions import lasting_settings
from sparring.league.entrants import Entrant, Style, leaving

if TYPE_CHECKING:
    from torch import nn

    from sparring.policy.checkpoint import Checkpoint
    from sparring.search import SearchPlayer


@dataclass(frozen=True)
class Seating:
    """Entrants, and the game they are to play."""

    entrants: tuple[Entrant, ...]
    game: Game
    settings: Any
    spec: GameSpec

    @classmethod
    def of(
        cls,
        *players: "str | Path | Player | Checkpoint | Entrant",
        game: str | None = None,
        settings: Mapping[str, Any] | None = None,
        networks: bool = False,
        rating: bool = False,
        varied: bool = False,
    ) -> "Seating":
        """`players` at `game`, with `settings` laid over those of the first checkpoint among them.

        With `rating`, the settings that the game is judged by (`core.Rated`) come in between; with `varied`, those that
        make its matches begin in different positions (`core.Varied`) are filled in. Raises `InputError` if a name is
        unknown, the game is not determined, a checkpoint is of another game, or, with `networks`, a player is not one.
        """
        entrants = find_entrants(players, game)
        if networks:
            _check_networks(entrants, game)
        trained = [(entrant.name, entrant.checkpoint.spec) for entrant in entrants if entrant.checkpoint is not None]
        if game is None:
            if not trained:
                raise _no_game(entrants)
            game = trained[0][1].game
        plugin = load_game(game)
        for name, spec in trained:
            if spec.game != game:
                raise InputError(f"{name}: a checkpoint of {spec.game} cannot play {game}")
        judged_by = plugin.rating if rating and isinstance(plugin, Rated) else {}
        values = {**(lasting_settings(trained[0][1]) if trained else {}), **judged_by, **(settings or {})}
        if varied and isinstance(plugin, Varied):
            values = dict(plugin.varied(values))
        chosen: Any = convert(values, plugin.settings, where=f"{game} settings", see=f"sparring settings {game}")
        spec = plugin.spec(chosen)
        entrants = tuple(entrant.settled(spec) for entrant in entrants)
        if networks:
            _check_networks(entrants, game)
        return cls(entrants, plugin, chosen, spec)

    def player(
        self,
        number: int = 0,
        *,
        matches: int,
        seed: int,
        style: Style | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> Player:
        """Entrant `number` with room for `matches` matches; each has a seed of its own."""
        return self.entrants[number].seat(
            self.game, self.spec, matches=matches, seed=seed + number, style=style, say=say
        )

    def network(self) -> "nn.Module":
        """The network of the first entrant, in a seating of networks."""
        found = self.entrants[0].network(self.spec)
        assert found is not None, "a seating without networks"
        return found[0]

    def searcher(self, settings: Any, *, seed: int, style: Style) -> "SearchPlayer":
        """The first entrant, in a seating of networks, looking ahead in one match by `settings`."""
        from sparring.search import SearchPlayer

        player = self.entrants[0].seat(self.game, self.game.spec(settings), matches=1, seed=seed, style=style)
        assert isinstance(player, SearchPlayer), "a seating without networks, or a style without simulations"
        return player

    @contextmanager
    def seated(
        self,
        *,
        matches: int,
        seed: int,
        style: Style | None = None,
        workers: int = 0,
        say: Callable[[str], None] = lambda text: None,
    ) -> Iterator[tuple[list[Player], Arena]]:
        """The players and a fresh arena of `matches` matches, in `workers` processes or, if that is 0, in this one."""
        from sparring.report.progress import announced
        from sparring.rollout import WorkerArena

        with ExitStack() as stack:
            players: list[Player] = []
            for number in range(len(self.entrants)):
                player = self.player(number, matches=matches, seed=seed, style=style, say=say)
                players.append(stack.enter_context(leaving(player)))
            with announced(f"starting {self.game.name}", say):
                arena: Arena = (
                    WorkerArena(self.game, self.settings, matches=matches, seed=seed, workers=workers, say=say)
                    if workers
                    else self.game.arena(self.settings, matches=matches, seed=seed)
                )
            stack.callback(arena.close)
            yield players, arena


def _check_networks(entrants: Sequence[Entrant], game: str | None) -> None:
    """Raises `InputError` at the first that is no network of this machine, with what to give instead."""
    for entrant in entrants:
        if not entrant.is_network:
            shipped = list(shipped_weights(game))
            some = f" ({', '.join(shipped)})" if shipped else ""
            own = "a player of your own" if entrant.maker or entrant.player else "a built-in player"
            what = "played elsewhere" if entrant.server or entrant.guest else own
            raise InputError(
                f"{entrant.name}: {what}, not a network; give a run, a checkpoint or shipped weights{some}"
            )


def _no_game(entrants: Sequence[Entrant]) -> InputError:
    """What to say if no checkpoint among `entrants` tells the game."""
    names = [entrant.name for entrant in entrants]
    served = "; a policy server does not say which" if any(entrant.server for entrant in entrants) else ""
    return InputError(
        f"no checkpoint among the players ({', '.join(names)}): say which game (--game, in Python game=...)"
        f"{served}{_games_with(names)}"
    )


def _games_with(players: Sequence[str]) -> str:
    """The games in which all of `players` are built in: `; allowed: hex`; empty if there are none."""
    found = [name for name in game_names() if set(players) <= set(player_names(load_game(name)))]
    return f"; allowed: {', '.join(found)}" if found else ""


def find_entrants(
    players: "Sequence[str | Path | Player | Checkpoint | Entrant]", game: str | None = None
) -> tuple[Entrant, ...]:
    """The entrants that `players` name or are; raises `InputError` at the first that is unknown.

    Without a `game`, unknown names are looked for in the one that the first network among them was trained for.
    """
    if game is not None:
        load_game(game)  # raises if there is none, before any player is looked for in it
    shipped = shipped_weights()
    for who in players:
        if game is None and isinstance(who, str | Path):
            game = trained_game(shipped.get(str(who), Path(who)))
    return tuple(who if isinstance(who, Entrant) else Entrant.of(who, game=game) for who in players)
