"""The search player: one search for all its rows, then the move it found for each."""

from collections.abc import Iterator, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from sparring.core import Answers, Array, Decisions, Episodes
from sparring.core.distribution import draw
from sparring.core.settings import Fraction, NonNegative, NonNegativeInt
from sparring.search.evaluator import Evaluator
from sparring.search.gumbel import Gumbel, GumbelSettings
from sparring.search.minimax import Minimax, MinimaxSettings
from sparring.search.puct import Puct, PuctSettings
from sparring.search.tree import Line, root_lines
from sparring.search.waves import Found, TreeSearch

SearchSettings = GumbelSettings | PuctSettings | MinimaxSettings


class PlaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a move is taken from what the search found."""

    temperature: NonNegative = 0.0
    """Above 0 the first moves are drawn from the search's policy at this temperature; 0 plays the search's choice."""
    temperature_moves: NonNegativeInt = 0
    """How many of a seat's first moves are drawn at `temperature`."""
    resign: Fraction = 0.0
    """Once a seat's value has fallen to -`resign`, the network alone plays the match to its end; 0 turns this off.

    Every episode therefore ends with a true outcome, which shows how many resignations would have been wrong.
    """
    resign_checks: Fraction = 0.1
    """The fraction of resigned matches that is searched to the end all the same."""


def make_search(evaluator: Evaluator, settings: SearchSettings, *, trees: int) -> TreeSearch | Minimax:
    """The search that `settings` ask for, over up to `trees` matches at once."""
    match settings:
        case PuctSettings():
            return TreeSearch(evaluator, Puct(settings), trees=trees)
        case GumbelSettings():
            return TreeSearch(evaluator, Gumbel(settings), trees=trees)
        case MinimaxSettings():
            return Minimax(evaluator, settings)


class SearchPlayer:
    """Answers decisions by search. The answers carry the root's value and the search's policy.

    Args:
        evaluator: the forward model and the network.
        search: the kind of search and its settings.
        play: how moves are taken from what it found.
        matches: matches of the arena it plays in.
        seats: seats of a match.
        seed: seed of everything it draws.
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
        self._search = make_search(evaluator, search, trees=matches)
        self._play = play
        self._seed = seed
        self._moved = np.zeros((matches, seats), np.int32)
        self._resigned = np.zeros(matches, np.bool_)
        self._checked = np.zeros(matches, np.bool_)

    @property
    def version(self) -> int:
        """Version of the weights that answer now."""
        return self.evaluator.version()

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
        """What the search finds for each row, for analysis; `act` plays moves from it."""
        states = self.evaluator.model.states(decisions.observation, decisions.legal)
        everywhere = np.ones(len(decisions), np.bool_) if simulate is None else simulate
        return self._search.search(decisions.match, states, rng, simulate=everywhere)

    def ponder(self, decisions: Decisions, rng: np.random.Generator) -> Iterator[None]:
        """Looks at the rows without an end, one simulation further with each step, and `found` says what it sees.

        After as many steps as a move has simulations, it has seen what `look` finds.
        """
        states = self.evaluator.model.states(decisions.observation, decisions.legal)
        return self._tree_search().ponder(decisions.match, states, rng)

    def found(self, match: int) -> Found:
        """What pondering has found so far in `match`, as the one row of it."""
        return self._tree_search().found(np.array([match], np.int32))

    def lines(self, match: int) -> dict[int, Line]:
        """What is known of each action, as the last look at `match` left it."""
        forest = self._tree_search().forest
        return {} if forest is None else root_lines(forest, match)

    def snapshot(self) -> dict[str, Array]:
        """What a resumed run needs. Trees are not kept: the next search starts new ones."""
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
        """Network calls per move (of all matches together), mean batch size, and the share of cache hits."""
        counters = self.evaluator.counters
        return {
            "calls_per_move": counters.calls / max(1, self._moves - self._moves_before),
            "search_batch": counters.mean_batch,
            "cache_hits": counters.hit_rate,
        }

    def _tree_search(self) -> TreeSearch:
        if not isinstance(self._search, TreeSearch):
            raise TypeError("minimax looks at a fixed number of moves; only gumbel and puct can go on looking")
        return self._search

    def _take_moves(
        self, found: Found, moved: NDArray[np.int32], legal: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int32]:
        """`int32[k]` the search's choices; drawn from its policy where a seat has `moved: int32[k]` few times yet."""
        temperature = self._play.temperature
        drawn = np.flatnonzero(moved < self._play.temperature_moves) if temperature else np.empty(0, np.intp)
        uniform = rng.random(len(moved))
        action = found.action.copy()
        if len(drawn):
            weight = np.where(legal[drawn], found.policy[drawn], 0).astype(np.float64) ** (1 / temperature)
            action[drawn] = draw(weight, uniform[drawn], xp=np)
        return action


def false_resigns(episodes: Episodes, resign: float) -> tuple[int, int]:
    """(episodes in which the value fell to -`resign`, how many of those were won): what resigning there would cost."""
    hopeless = np.flatnonzero(np.minimum.reduceat(episodes.steps.value, episodes.starts) <= -resign)
    return len(hopeless), int((episodes.headers.outcome[hopeless] > 0).sum())
