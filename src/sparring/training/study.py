"""Learning from episodes on disk: an update reads some and learns from them. Only ratings play matches."""

from collections.abc import Callable, Mapping
from time import perf_counter

from sparring.core import Game
from sparring.core.rows import flatten, nested
from sparring.league import Entrant
from sparring.learn import parallel
from sparring.learn.imitation import ImitationSettings
from sparring.learn.probe import probe
from sparring.learn.sharding import is_sharded, part_of
from sparring.policy import Packing, Policy, parameter_text
from sparring.training.config import TrainConfig
from sparring.training.datasets import HeldOut, Lessons, validation_due
from sparring.training.limits import lower_if_too_large
from sparring.training.trainee import Snapshot, Trainee
from sparring.training.tying import Ties


class Study(Trainee):
    """A run that learns from episodes on disk."""

    def __init__(
        self, config: TrainConfig, game: Game, opponents: Mapping[str, Entrant], *, say: Callable[[str], None]
    ) -> None:
        super().__init__(config, game, opponents, say=say)
        policy = self.algorithm.learner.policy
        self._lessons = Lessons(
            config, self.spec, policy, rows=self.algorithm.batch_size, length=_window(config, policy), say=say
        )
        self._held_out = HeldOut(config, self.spec, device=self._device)
        self._ties = Ties(config, self.spec, opponents, device=self._device)
        say(f"{config.game} network: {parameter_text(policy)}, on {self._device.kind}")
        say(f"{self._lessons.about} to learn from")

    def start(self) -> None:
        """Says how much memory and time the run will take."""
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
        losses = self._learn(episodes)
        self.update += 1
        self.decisions += int(parallel.total(episodes.rows))
        play = {"decisions_per_second": episodes.rows / (perf_counter() - began), "epoch": self._lessons.epoch}
        groups = {"play": play, "loss": losses, "time": self.stages.shares()}
        return flatten(groups) | self._validate() | self._device.usage()

    def snapshot(self) -> Snapshot:
        """Where in the data the run is."""
        values, arrays = self._lessons.snapshot()
        return Snapshot(values, arrays=flatten({"lessons": arrays}))

    def restore(self, snapshot: Snapshot) -> None:
        """Goes on after the last batch; with another number of processes, equally far into the epoch."""
        self._lessons.restore(snapshot.values, nested(snapshot.arrays)["lessons"])

    def close(self) -> None:
        """Ends the loader processes."""
        self._lessons.close()

    def _validate(self) -> dict[str, float]:
        """How well held-out choices are predicted, when a rating is due and at the end."""
        if not validation_due(self._config, self.update, self.decisions):
            return {}
        with self.stages.time("validate"):
            return self._held_out.validate(self.algorithm.learner.policy, self._lessons.frequent)


def _window(config: TrainConfig, policy: Policy) -> int | None:
    """Length of the windows that episodes are cut into; None if whole episodes are needed."""
    if not isinstance(config.learner, ImitationSettings):
        return None
    if not policy.initial_memory(1):
        return 1
    return None if isinstance(policy, Packing) else config.learner.segment_length
