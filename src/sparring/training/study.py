"""Learning from episodes on disk: one update reads some of them and learns from them. Nothing is played but ratings."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import torch

from sparring.core import Game, GameSpec, Stages
from sparring.core.rows import flatten, nested
from sparring.core.settings import convert
from sparring.inference import Device
from sparring.league import Entrant
from sparring.learn import parallel
from sparring.learn.imitation import ImitationSettings
from sparring.learn.probe import probe
from sparring.learn.sharding import is_sharded, part_of
from sparring.policy import Packing, Policy, parameter_text
from sparring.policy.checkpoint import Checkpoint
from sparring.training.algorithms import Algorithm, build_algorithm
from sparring.training.config import TrainConfig
from sparring.training.datasets import HeldOut, Lessons, validation_due
from sparring.training.limits import lower_if_too_large
from sparring.training.rating import Rater, Standing
from sparring.training.self_play import first_policy
from sparring.training.trainee import Snapshot, copy_policy
from sparring.training.tying import Ties


class Study:
    """Data and learner of a run, joined, and how far they have come."""

    def __init__(
        self, config: TrainConfig, game: Game, opponents: Mapping[str, Entrant], *, say: Callable[[str], None]
    ) -> None:
        self.update = 0
        self.decisions = 0
        self.stages = Stages()
        self._config = config
        self._say = say
        settings: Any = convert(config.settings, game.settings, where="settings")
        self.spec: GameSpec = game.spec(settings)
        self._device = Device.pick(config.device, config.dtype)
        torch.manual_seed(config.seed)
        policy = first_policy(config, game, self.spec, say)
        self.algorithm: Algorithm = build_algorithm(
            config.learner,
            policy,
            spec=self.spec,
            device=self._device,
            seed=config.seed,
            sharded=config.parallel.sharded,
        )
        self.rater = Rater(
            game, config, opponents, settings=settings, spec=self.spec, device=self._device, policy_threshold=0.0
        )
        self._lessons = Lessons(
            config, self.spec, policy, rows=self.algorithm.batch_size, length=_window(config, policy), say=say
        )
        self._held_out = HeldOut(config, self.spec, device=self._device)
        self._ties = Ties(config, self.spec, opponents, device=self._device)
        say(f"{config.game} network: {parameter_text(policy)}, on {self._device.kind}")
        say(f"{self._lessons.about} to learn from")

    def start(self) -> None:
        """Says what the run will take."""
        settings, policy = self._config.learner, self.algorithm.learner.policy
        if is_sharded(policy):
            own = sum(part_of(weight).numel() for weight in policy.parameters())
            self._say(f"{own:,} weights in each of {parallel.size()} processes, besides the layer that is gathered")
            return
        rows = int(getattr(settings, "minibatch_size", self.algorithm.batch_size))
        length = int(getattr(settings, "segment_length", 1)) if policy.initial_memory(1) else 1
        with lower_if_too_large("trying out a gradient step", "learner.minibatch_size", "the size of the network"):
            found = probe(policy, self.spec, rows=rows, length=length, device=self._device)
        self._say(found.text(self._config.decisions, self._device))

    def advance(self) -> dict[str, float]:
        """One update: read, learn, and validate now and then. Returns its metrics."""
        began = perf_counter()
        with self.stages.time("load"):
            episodes = self._lessons.draw()
        progress = min(1.0, self.decisions / self._config.decisions)
        sizes = ("learner.minibatch_size", "the size of the network")
        with self.stages.time("learn"), lower_if_too_large("learning", *sizes):
            ties = self._ties.at(self.decisions)
            losses = self.algorithm.learner.update(episodes, progress=progress, ties=ties)
        self.update += 1
        self.decisions += int(parallel.total(episodes.rows))
        play = {"decisions_per_second": episodes.rows / (perf_counter() - began), "epoch": self._lessons.epoch}
        groups = {"play": play, "loss": losses, "time": self.stages.shares()}
        return flatten(groups) | self._validate() | self._device.usage()

    def adapt(self, metrics: Mapping[str, float]) -> None:
        """There is no curriculum."""

    @property
    def standing(self) -> Standing:
        """There is no curriculum."""
        return None

    def checkpoint(self) -> Checkpoint:
        """A copy of the policy."""
        return copy_policy(self.algorithm, self.spec, self._config, update=self.update, decisions=self.decisions)

    def snapshot(self) -> Snapshot:
        """Where in the data the run is."""
        values, arrays = self._lessons.snapshot()
        return Snapshot(values, arrays=flatten({"lessons": arrays}))

    def restore(self, snapshot: Snapshot) -> None:
        """Goes on behind the last batch; with another number of processes, as far into the epoch as it was."""
        self._lessons.restore(snapshot.values, nested(snapshot.arrays)["lessons"])

    def pause(self) -> None:
        """Nothing is played."""

    def close(self) -> None:
        """Ends the loader processes."""
        self._lessons.close()

    def _validate(self) -> dict[str, float]:
        """How well held-out choices are foretold, when a rating is due and at the end."""
        if not validation_due(self._config, self.update, self.decisions):
            return {}
        with self.stages.time("validate"):
            return self._held_out.validate(self.algorithm.learner.policy, self._lessons.frequent)


def _window(config: TrainConfig, policy: Policy) -> int | None:
    """Decisions of the windows that episodes are cut into; None where whole episodes are needed."""
    if not isinstance(config.learner, ImitationSettings):
        return None
    if not policy.initial_memory(1):
        return 1
    return None if isinstance(policy, Packing) else config.learner.segment_length
