"""Rocket League as Sparring sees it: the `GAME` object of the plug-in protocol.

What takes long to import (physics, kernels, torch) is imported where it is used, so that games can be listed at once.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparring.core import GameSpec, MatchRecord, Player
from sparring.core.checkup import Check, CheckUp
from sparring.core.lazy import lazy_call
from sparring.games.rocket.network import RocketNetwork
from sparring.games.rocket.settings import RocketSettings

if TYPE_CHECKING:
    from sparring.games.rocket.arena import RocketArena

_PLAYERS = "sparring.games.rocket.players"

SHOWN = 4
"""Matches played for the highlights of a run each time it is evaluated."""


class RocketGame:
    """Rocket League: cars, a ball, two goals; 1v1 to 3v3."""

    name = "rocket"
    summary = "Rocket League (RocketSim physics): 1v1, 2v2, 3v3"
    settings = RocketSettings
    network = RocketNetwork
    presets = Path(__file__).parent / "presets"
    players: Mapping[str, Callable[[Any, int], Player]] = {
        "toward-ball": lazy_call(_PLAYERS, "TowardBallPlayer"),
        "rule": lazy_call(_PLAYERS, "RulePlayer"),
    }
    rating: Mapping[str, Any] = {"end": "clock", "seconds": 300.0, "starts": {"kickoff": 1.0}, "idle_seconds": 0.0}
    rating_matches = 64
    spread = "threads"
    adapts = True

    def install(self, settings: RocketSettings, say: Callable[[str], None]) -> None:
        """The collision meshes of the field."""
        from sparring.games.rocket.setup import setup_rocket

        setup_rocket(say)

    def check_up(self, asked: CheckUp) -> Iterator[Check]:
        """See `sparring.core.checkup.Checked`."""
        from sparring.games.rocket.setup import MESHES, have_meshes, mesh_folder

        if have_meshes():
            yield Check("meshes", "ok", f"{MESHES} in {mesh_folder()}")
        else:
            yield asked.lacking("meshes", f"not all {MESHES} are in {mesh_folder()}", "sparring setup rocket")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.name}>"

    def spec(self, settings: RocketSettings) -> GameSpec:
        """What rows look like under `settings`."""
        from sparring.games.rocket.arena import rocket_spec

        return rocket_spec(settings)

    def arena(self, settings: RocketSettings, *, matches: int, seed: int) -> "RocketArena":
        """An arena that plays `matches` at the same time."""
        from sparring.games.rocket.arena import RocketArena

        return RocketArena(settings, matches=matches, seed=seed)

    def policy(self, spec: GameSpec, network: RocketNetwork) -> Any:
        """A fresh torch policy."""
        from sparring.games.rocket.net import rocket_policy

        return rocket_policy(spec, network)

    def fits(self, trained: GameSpec, spec: GameSpec) -> str | None:
        """Networks play whatever has their observation and action table, at any tick skip and delay."""
        for key in ("room", "actions", "observation"):
            if trained.settings.get(key) != spec.settings.get(key):
                return f"it was trained with {key}: {trained.settings.get(key)}, not {spec.settings.get(key)}"
        return None

    def model(self, spec: GameSpec) -> None:
        """None: the physics cannot be forked cheaply enough for search."""
        return None

    def follow(self, arena: "RocketArena", ended: Callable[[int, MatchRecord], None]) -> None:
        """See `sparring.core.Followed`."""
        from sparring.games.rocket.watch import follow

        follow(arena, ended)

    def keep_matches(
        self, arena: "RocketArena", players: tuple[Player, Player], folder: Path, *, names: tuple[str, str], update: int
    ) -> None:
        """The pages of the matches that paid the first player most."""
        from sparring.games.rocket.highlights import keep_highlights
        from sparring.games.rocket.watch import record

        keep_highlights(record(arena, *players, names=names, matches=SHOWN), folder, update=update)


GAME = RocketGame()
