"""Kuhn, Leduc and rock-paper-scissors as plug-ins: one class, three sets of rules."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from sparring.core import Field, GameSpec, Player, check_settings
from sparring.games.poker import kuhn, leduc, rps
from sparring.games.poker.arena import TreeArena
from sparring.games.poker.exact import nash_conv, player_policy
from sparring.games.poker.settings import PokerNetwork, PokerSettings, RpsSettings
from sparring.games.poker.tree import Tree, build_tree


class TreeGame:
    """See `sparring.core.Game`; also `sparring.core.Solvable`.

    `tree` gives the tree of some settings; a function of a module, so that worker processes find it too.
    """

    def __init__(self, name: str, summary: str, settings: type, tree: Callable[[Any], Tree]) -> None:
        self.name = name
        self.summary = summary
        self.settings: type = settings
        self.network: type = PokerNetwork
        self.presets = Path(__file__).parent / "presets" / name
        self.players: Mapping[str, Callable[[Any, int], Player]] = {}
        self.tree = tree

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.name}>"

    def spec(self, settings: Any) -> GameSpec:
        """What rows look like: `state` is all that the seat knows."""
        check_settings(settings, self.settings)
        tree = self.tree(settings)
        return GameSpec(
            game=self.name,
            settings=msgspec.to_builtins(settings),
            seats=2,
            actions=tree.actions,
            observation={"state": Field((tree.observation.shape[1],), "float32")},
        )

    def arena(self, settings: Any, *, matches: int, seed: int) -> TreeArena:
        """An arena that plays `matches` at the same time."""
        spec = self.spec(settings)
        return TreeArena(self.tree(settings), spec, matches=matches, seed=seed)

    def policy(self, spec: GameSpec, network: PokerNetwork) -> Any:
        """A fresh perceptron."""
        from sparring.games.poker.net import poker_policy  # torch is needed nowhere else

        tree = self.tree(msgspec.convert(spec.settings, self.settings))
        return poker_policy(spec, network, most=float(abs(tree.payoff).max()))

    def fits(self, trained: GameSpec, spec: GameSpec) -> str | None:
        """Networks do not carry over between the games."""
        return None if trained.game == spec.game else f"it was trained for {trained.game}, not for {spec.game}"

    def model(self, spec: GameSpec) -> None:
        """Search needs a game in which nothing is hidden."""

    def nash_conv(self, settings: Any, seat: Callable[[int], Player]) -> float:
        """Exact NashConv of the player that `seat` makes for the number of matches it is given."""
        tree = self.tree(settings)
        return nash_conv(tree, player_policy(tree, seat(len(tree.legal))))


@lru_cache(maxsize=1)
def _kuhn_tree(settings: PokerSettings) -> Tree:
    return build_tree(kuhn.KuhnState(), actions=2)


@lru_cache(maxsize=1)
def _leduc_tree(settings: PokerSettings) -> Tree:
    return build_tree(leduc.LeducState(), actions=3)


@lru_cache(maxsize=8)
def _rps_tree(settings: RpsSettings) -> Tree:
    return build_tree(rps.RpsState(wins=settings.wins), actions=3, simultaneous=True)


KUHN = TreeGame("kuhn", "Kuhn poker: three cards, one bet; its equilibria are known", PokerSettings, _kuhn_tree)
LEDUC = TreeGame(
    "leduc",
    "Leduc poker: six cards, two rounds of bets; small enough to measure exploitability exactly",
    PokerSettings,
    _leduc_tree,
)
RPS = TreeGame(
    "rps",
    "rock-paper-scissors with unequal pay-offs: one simultaneous move with a known mix",
    RpsSettings,
    _rps_tree,
)
