"""The search player: looks ahead for all its rows at once, then plays the move it found."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from sparring.core import Answers, Array, Decisions, Episodes
from sparring.search.evaluator import Evaluator
from sparring.search.gumbel import GumbelSettings
from sparring.search.minimax import Minimax, MinimaxSettings
from sparring.search.puct import PuctSettings
from sparring.search.waves import Found, TreeSearch

SearchSettings = GumbelSettings | PuctSettings | MinimaxSettings


class PlaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a move is taken from what the search found."""

    temperature: Annotated[float, Meta(ge=0)] = 0.0
    """Above 0 the first moves are drawn from the search's policy so heated; 0 plays the move the search chose."""
    temperature_moves: Annotated[int, Meta(ge=0)] = 0
    """A seat's moves that are drawn at `temperature`; the later ones are the search's choice."""
    resign: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """A match in which a seat's value has fallen to -`resign` is played out by the network alone; 0 never.

    So every resignation is checked against how the match ends, and episodes always end with a true outcome.
    """
    resign_checks: Annotated[float, Meta(ge=0, le=1)] = 0.1
    """The part of resigned matches that is searched to the end all the same."""


class SearchPlayer:
    """Answers decisions by search; the answers carry the root's value and the search's policy.

    Args:
        evaluator: the model to look ahead in and the network to ask.
        search: which search, and how far.
        play: how moves are taken from it.
        matches: of the arena it plays in.
        seats: of the game.
        seed: of all its draws.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        search: SearchSettings,
        *,
        play: PlaySettings,
        matches: int,
        seats: int = 2,
        seed: int,
    ) -> None:
        self.evaluator = evaluator
        self._moves = 0
        self._moves_before = 0
        self._search: TreeSearch | Minimax = (
            Minimax(evaluator, search)
            if isinstance(search, MinimaxSettings)
            else TreeSearch(evaluator, search, trees=matches)
        )
        self._play = play
        self._seed = seed
        self._moved = np.zeros((matches, seats), np.int32)
        self._resigned = np.zeros(matches, np.bool_)
        self._checked = np.zeros(matches, np.bool_)

    @property
    def version(self) -> int:
        """Version of the weights that answer now."""
        return self.evaluator.version()

    def memory(self, decisions: Decisions) -> dict[str, Array]:
        """None: a search starts from the position alone."""
        return {}

    def act(self, decisions: Decisions) -> Answers:
        """One search for all rows together."""
        rng = np.random.default_rng((self._seed, self._moves))
        self._moves += 1
        match, seat = decisions.match, decisions.seat
        self._moved[match, seat] = np.where(decisions.first, 0, self._moved[match, seat] + 1)
        opening = match[decisions.first]
        self._checked[opening] = rng.random(len(opening)) < self._play.resign_checks
        self._resigned[opening] = False
        found = self.look(decisions, rng, simulate=~self._resigned[match] | self._checked[match])
        if self._play.resign:
            self._resigned[match] |= found.value <= -self._play.resign
        action = self._take_moves(found, self._moved[match, seat], decisions.legal, rng)
        return Answers(action=action, value=found.value, policy=found.policy)

    def look(
        self, decisions: Decisions, rng: np.random.Generator, *, simulate: NDArray[np.bool_] | None = None
    ) -> Found:
        """What the search finds for each row, without playing: the analysis behind `act`."""
        states = self.evaluator.model.states(decisions.observation, decisions.legal)
        everywhere = np.ones(len(decisions), np.bool_) if simulate is None else simulate
        return self._search.search(decisions.match, states, rng, simulate=everywhere)

    def snapshot(self) -> dict[str, Array]:
        """What a continued run needs; trees are searched anew."""
        return {
            "moves": np.array(self._moves),
            "moved": self._moved.copy(),
            "checked": self._checked.copy(),
            "resigned": self._resigned.copy(),
        }

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to `snapshot`."""
        self._moves = self._moves_before = int(snapshot["moves"])
        self._moved[:] = snapshot["moved"]
        self._checked[:] = snapshot["checked"]
        self._resigned[:] = snapshot["resigned"]

    def report(self) -> dict[str, float]:
        """Network calls a move (of all matches together), rows a call, and the cache's part."""
        counters = self.evaluator.counters
        return {
            "calls_per_move": counters.calls / max(1, self._moves - self._moves_before),
            "search_batch": counters.mean_batch,
            "cache_hits": counters.hit_rate,
        }

    def _take_moves(
        self, found: Found, moved: NDArray[np.int32], legal: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int32]:
        temperature = self._play.temperature
        drawn = np.flatnonzero(moved < self._play.temperature_moves) if temperature else np.empty(0, np.intp)
        uniform = rng.random((len(moved), 1))
        action = found.action.copy()
        if len(drawn):
            weight = np.where(legal[drawn], found.policy[drawn], 0).astype(np.float64) ** (1 / temperature)
            cumulative = np.cumsum(weight, axis=1)
            action[drawn] = (cumulative <= uniform[drawn] * (1 - 2**-30) * cumulative[:, -1:]).sum(axis=1)
        return action


def false_resigns(episodes: Episodes, resign: float) -> tuple[int, int]:
    """(episodes whose value fell to -`resign`, those of them that were won): what resigning there would cost."""
    hopeless = np.flatnonzero(np.minimum.reduceat(episodes.steps.value, episodes.starts) <= -resign)
    return len(hopeless), int((episodes.headers.outcome[hopeless] > 0).sum())
