"""Rating: matches of a policy against its opponents, or of new weights against old, in arenas of their own.

`Rater` plays them. `Ratings` decides when, at once or in the background, and keeps the best policy.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from sparring.core import Adaptive, Arena, Game, GameSpec, Player, Score, Solvable, Stages, Watchable
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.league import Entrant, evaluate
from sparring.league.entrants import leaving, tag_of
from sparring.policy.checkpoint import Checkpoint
from sparring.policy.network import build_network
from sparring.training.background import Background
from sparring.training.config import TrainConfig
from sparring.training.opponents import POLICY, opponent_style
from sparring.training.run import RunFolder

Standing = Mapping[str, int] | None
"""Where the curriculum of an arena stands, if it has one."""


@dataclass(frozen=True)
class Rating:
    """How a policy did."""

    checkpoint: Checkpoint
    scores: Mapping[str, Score]
    """By opponent, as the configuration names them."""
    nash_conv: float | None
    """Exact exploitability, where the game can be solved."""

    def metrics(self) -> dict[str, float]:
        """As metrics; `rating/update` is the update whose policy was rated."""
        metrics = {win_rate_metric(name): score.win_rate for name, score in self.scores.items()}
        if self.nash_conv is not None:
            metrics["rating/nash_conv"] = self.nash_conv
        return metrics | {"rating/update": self.checkpoint.version}


@dataclass(frozen=True)
class Rater:
    """Plays the policies of one run."""

    game: Game
    config: TrainConfig
    opponents: Mapping[str, Entrant]
    """Every opponent in the configuration, by name."""
    settings: Any
    """The game's."""
    spec: GameSpec
    device: Device
    policy_threshold: float
    """Actions less likely than this are left out."""

    def rate(
        self, checkpoint: Checkpoint, standing: Standing = None, *, watch: Callable[[str], None] = lambda text: None
    ) -> Rating:
        """Matches against every opponent; `watch` is told of progress, and may raise to stop."""
        scores, total = {}, self.config.evaluation.matches
        for number, name in enumerate(self.config.evaluation.opponents):
            seed = self.config.seed + 1_000_003 * (number + 1) + checkpoint.version
            with (
                self._arena(total, seed=seed, standing=standing) as arena,
                self._meeting(checkpoint, name, matches=arena.matches, seed=seed) as (player, opponent),
            ):
                names, pulse = (f"update-{checkpoint.version}", name), partial(_tell, watch, name, total)
                scores[name] = evaluate(player, opponent, arena, matches=total, names=names, pulse=pulse)
        about = {**checkpoint.about, "win_rates": {name: score.win_rate for name, score in scores.items()}}
        return Rating(replace(checkpoint, about=about), scores, self.nash_conv(checkpoint))

    def compare(
        self, new: Checkpoint, old: Checkpoint, seat: Callable[[InferenceEngine, str], Player], *, matches: int
    ) -> Score:
        """Matches of `new` against `old`, both seated by `seat`."""
        seed = self.config.seed + 7_000_003 * new.version
        with self._arena(matches, seed=seed) as arena:
            engine = self._engine({"new": new, "old": old}, matches=arena.matches, seed=seed)
            return evaluate(seat(engine, "new"), seat(engine, "old"), arena, matches=matches, names=("new", "old"))

    def nash_conv(self, checkpoint: Checkpoint) -> float | None:
        """What best responses in both seats would win from the policy together; None if the game cannot be solved."""
        if not isinstance(self.game, Solvable):
            return None
        return self.game.nash_conv(self.settings, lambda matches: self.player(checkpoint, matches=matches, seed=0))

    def keep_highlights(self, checkpoint: Checkpoint, standing: Standing, folder: Path) -> None:
        """Plays some matches against the last opponent and keeps the best, if the game's matches can be shown."""
        if not isinstance(self.game, Watchable) or not self.config.evaluation.opponents:
            return
        rival, seed = self.config.evaluation.opponents[-1], self.config.seed + 11_000_003 * checkpoint.version
        with (
            self._arena(1, seed=seed, standing=standing) as arena,
            self._meeting(checkpoint, rival, matches=1, seed=seed) as players,
        ):
            names = (self.game.name, rival)
            self.game.keep_matches(arena, players, folder, names=names, update=checkpoint.version)

    def copy(self, checkpoint: Checkpoint) -> nn.Module:
        """A new network with the weights of `checkpoint`."""
        return checkpoint.policy(self.spec, partial(build_network, checkpoint.network, self.game))

    def player(self, checkpoint: Checkpoint, *, matches: int, seed: int) -> NetworkPlayer:
        """The policy as it is rated, with room for `matches` matches."""
        engine = self._engine({POLICY: checkpoint}, matches=matches, seed=seed)
        temperature = self.config.evaluation.temperature
        return NetworkPlayer(
            engine, POLICY, temperature=temperature, policy_threshold=self.policy_threshold, keep_policy=True
        )

    @contextmanager
    def _meeting(
        self, checkpoint: Checkpoint, name: str, *, matches: int, seed: int
    ) -> Iterator[tuple[Player, Player]]:
        """The policy as it is rated and the opponent called `name`, in one engine if that is a network too."""
        player = self.player(checkpoint, matches=matches, seed=seed)
        style = opponent_style(self.config, temperature=self.config.evaluation.temperature)
        opponent = self.opponents[name].seat(
            self.game, self.spec, matches=matches, seed=seed, style=style, engine=player.engine
        )
        with leaving(opponent):
            yield player, opponent

    def _engine(self, policies: Mapping[str, Checkpoint], *, matches: int, seed: int) -> InferenceEngine:
        engine = InferenceEngine(self.spec, slots=matches * self.spec.seats, device=self.device, seed=seed)
        for name, checkpoint in policies.items():
            engine.add(name, self.copy(checkpoint))
        return engine

    @contextmanager
    def _arena(self, matches: int, *, seed: int, standing: Standing = None) -> Iterator[Arena]:
        """A fresh arena for `matches` matches, closed afterwards."""
        arena = self.game.arena(self.settings, matches=min(matches, self.config.matches), seed=seed)
        try:
            if standing is not None and isinstance(arena, Adaptive):
                arena.stand_at(standing)
            yield arena
        finally:
            arena.close()


@dataclass
class Ratings:
    """The ratings of one run, up to the final one. The best rated policy is kept in the run's folder."""

    rater: Rater
    folder: RunFolder
    stages: Stages
    best: float = -1.0
    """The best mean win rate so far."""
    latest: Rating | None = None
    _background: Background[Rating] = field(default_factory=lambda: Background("rate"))

    def after_update(
        self, checkpoint: Checkpoint, standing: Standing, *, watch: Callable[[str], None] = lambda text: None
    ) -> Rating | None:
        """Rates the policy if that is due, telling `watch` of progress; returns the rating that is ready, if any.

        In the background that is an earlier one, and the next begins only when it has ended.
        """
        settings = self.rater.config.evaluation
        due = settings.every > 0 and checkpoint.version % settings.every == 0
        with self.stages.time("rating"):
            rating = self._background.take(wait=due)
            if rating is not None:
                self._note(rating)
            if due and settings.background:
                self.rater.keep_highlights(checkpoint, standing, self.folder.path / "matches")
                abandoned = self._background.pulse
                self._background.begin(partial(self.rater.rate, checkpoint, standing, watch=lambda text: abandoned()))
            elif due:
                rating = self._rate(checkpoint, standing, watch)
            return rating

    def finish(
        self, checkpoint: Checkpoint, standing: Standing, *, watch: Callable[[str], None] = lambda text: None
    ) -> Iterator[Rating]:
        """Waits for a rating in the background, then rates the last policy unless that was it; yields each."""
        if (rating := self._background.take(wait=True)) is not None:
            self._note(rating)
            yield rating
        if self.latest is None or self.latest.checkpoint.version != checkpoint.version:
            yield self._rate(checkpoint, standing, watch)

    def close(self) -> None:
        """Cancels a rating in the background."""
        self._background.close()

    def _rate(self, checkpoint: Checkpoint, standing: Standing, watch: Callable[[str], None]) -> Rating:
        self.rater.keep_highlights(checkpoint, standing, self.folder.path / "matches")
        rating = self.rater.rate(checkpoint, standing, watch=watch)
        self._note(rating)
        return rating

    def _note(self, rating: Rating) -> None:
        """Keeps a rated policy if its mean win rate is at least the best so far."""
        self.latest = rating
        mean = float(np.mean([score.win_rate for score in rating.scores.values()] or [0.0]))
        if mean >= self.best:
            self.best = mean
            self.folder.save_best(rating.checkpoint)


def win_rate_metric(opponent: str) -> str:
    """The name of the metric for the win rate against `opponent`."""
    return f"rating/win_rate/{tag_of(opponent)}"


def _tell(watch: Callable[[str], None], opponent: str, matches: int, ended: int) -> None:
    watch(f"rating against {opponent}: {ended:,} of {matches:,} matches")
