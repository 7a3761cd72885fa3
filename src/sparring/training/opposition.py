"""The opponents of a run's policy: itself, the fixed ones of its configuration, and the pool of its league."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from sparring.core import Episodes, Game, GameSpec, Player
from sparring.inference import InferenceEngine
from sparring.league.entrants import tag_of
from sparring.policy.checkpoint import Checkpoint
from sparring.policy.network import build_network
from sparring.rollout import Lineup, Meetings
from sparring.training.algorithms import Algorithm
from sparring.training.config import TrainConfig
from sparring.training.league import League
from sparring.training.league.away import Roster
from sparring.training.league.league import POOL
from sparring.training.opponents import POLICY


class Opposition:
    """Which opponent is met in which match, how often, and how the policy does.

    Opponents have numbers: 0 is the policy itself, then those of the configuration, then the members of the pool.
    """

    def __init__(
        self,
        config: TrainConfig,
        game: Game,
        spec: GameSpec,
        *,
        engine: InferenceEngine,
        algorithm: Algorithm,
        pool: Path | None,
        say: Callable[[str], None],
    ) -> None:
        """`pool` is the folder of the league's members, for a run that has a league."""
        self._config = config
        self._game = game
        self._spec = spec
        self._say = say
        fixed = len(config.opponents)
        self._meetings = Meetings(spec.seats, seed=config.seed, last=fixed + (config.league is not None))
        self.league: League | None = None
        if config.league is not None:
            if pool is None:
                raise ValueError("a league needs a folder for its pool")
            self.league = League(
                config.league,
                folder=pool,
                engine=engine,
                beside=POLICY,
                copy=self._copy_member,
                seat=algorithm.player,
                meetings=self._meetings,
                first=fixed + 1,
                matches=config.matches,
                seed=config.seed,
                say=say,
            )
        self._meetings.change(self._shares(), at=0)
        self._oldest = 0
        """No match before this number is needed any more."""

    @property
    def lineup(self) -> Lineup:
        """Who sits where, by the numbers of matches."""
        return self._meetings

    @property
    def players(self) -> dict[str, Player]:
        """The players of the pool by name, numbered after the fixed opponents."""
        return {} if self.league is None else {POOL: self.league.player}

    def renew(self, *, oldest: int, upcoming: int) -> None:
        """From match number `upcoming` on, the pool is met as its present shares say; `oldest` is still in play."""
        if self.league is not None:
            self._oldest = oldest
            self._meetings.change(self._shares(), at=upcoming)

    def opponents(self, serials: NDArray[np.int64]) -> NDArray[np.int64]:
        """`int64[n]` the opponent in each match of this process; 0 for the policy itself."""
        return self._meetings.opponents(serials)

    def roster(self) -> Roster:
        """Who may be met, and how often, for those who play elsewhere."""
        return Roster([] if self.league is None else self.league.seated(), self._shares())

    def win_rates(self, episodes: Episodes, met: NDArray[np.int64]) -> dict[str, float]:
        """The policy's win rate against each fixed opponent that it met in `episodes`, by tag.

        `met: int64[n]` is the opponent of each episode.
        """
        won = (episodes.headers.outcome + 1) / 2
        tags = map(tag_of, self._config.opponents)
        of = {tag: episodes.headers.complete & (met == number) for number, tag in enumerate(tags, 1)}
        return {tag: float(won[rows].mean()) for tag, rows in of.items() if rows.any()}

    def after_update(
        self, checkpoint: Callable[[], Checkpoint], update: int, episodes: Episodes, met: NDArray[np.int64]
    ) -> dict[str, float]:
        """Counts the matches of `episodes` against the pool, shows the league the new policy, returns its metrics.

        `met: int64[n]` is the opponent of each episode.
        """
        if self.league is None:
            return {}
        headers = episodes.headers
        ended = np.flatnonzero(headers.complete)
        _, first = np.unique(headers.serial[ended], return_index=True)
        points = (headers.outcome[ended][first].astype(np.float64) + 1) / 2
        self.league.note(met[ended][first], points)
        self._meetings.forget(self._oldest)
        self.league.after_update(checkpoint, update, episodes)
        return self.league.metrics()

    def snapshot(self) -> dict[str, Any]:
        """The league and its meetings, JSON-ready; empty without a league."""
        if self.league is None:
            return {}
        return {"league": self.league.snapshot(), "meetings": self._meetings.snapshot()}

    def restore(self, snapshot: Mapping[str, Any], *, fresh: bool) -> None:
        """Goes back to a `snapshot`; if matches are `fresh`, who meets whom in them has been drawn already."""
        if self.league is not None:
            self.league.restore(snapshot["league"])
            if not fresh:
                self._meetings.restore(snapshot["meetings"])

    def _copy_member(self, checkpoint: Checkpoint) -> nn.Module:
        """A new network; code that a member's checkpoint names is used only if the run's own network is the same."""
        own = dict(checkpoint.network) == dict(self._config.network)
        factory = partial(build_network, self._config.network, self._game) if own else None
        return checkpoint.policy(self._spec, factory, say=self._say)

    def _shares(self) -> dict[int, float]:
        """How often each opponent is met, by number: the fixed ones, and in the rest those of the pool."""
        fixed = dict(enumerate(self._config.opponents.values(), 1))
        pool = {} if self.league is None else self.league.shares()
        rest = max(0.0, 1 - sum(fixed.values()))
        return fixed | {number: rest * share for number, share in pool.items()}
