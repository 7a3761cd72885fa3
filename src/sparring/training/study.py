"""Learning from episodes on disk: one update reads some of them and learns from them. Nothing is played but ratings."""

from collections.abc import Callable, Mapping
from contextlib import closing
from time import perf_counter
from typing import Any

import torch

from sparring.core import Episodes, Game, GameSpec, InputError, Stages
from sparring.core.rows import flatten
from sparring.core.settings import convert
from sparring.data.catalogue import Filter
from sparring.data.dataset import Dataset
from sparring.inference import Device
from sparring.league import Entrant
from sparring.learn import parallel
from sparring.learn.imitation import Imitation, ImitationSettings
from sparring.learn.probe import probe
from sparring.policy import parameter_text
from sparring.policy.checkpoint import Checkpoint
from sparring.training.algorithms import Algorithm, build_algorithm
from sparring.training.config import TrainConfig
from sparring.training.limits import lower_if_too_large
from sparring.training.rating import Rater, Standing
from sparring.training.self_play import first_policy
from sparring.training.trainee import Snapshot, copy_policy

_VALIDATED_ROWS = 32_768
"""At most so many held-out decisions are foretold at a validation."""


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
            config.learner, policy, spec=self.spec, device=self._device, seed=config.seed
        )
        self.rater = Rater(
            game, config, opponents, settings=settings, spec=self.spec, device=self._device, policy_threshold=0.0
        )
        assert isinstance(config.learner, ImitationSettings)
        held = config.learner.holdout
        self._data = self._dataset(Filter(split=(0.0, 1.0 - held)), config.learner, say, shared=True)
        self._held_out = self._dataset(Filter(split=(1.0 - held, 1.0)), config.learner, say) if held else None
        self._check()
        self._batches = self._data.batches()
        self._position: Mapping[str, Any] | None = None
        rows = f"{self._data.rows:,} decisions of {self._data.episodes:,} episodes"
        say(f"{config.game} network: {parameter_text(policy)}, on {self._device.kind}; {rows} to learn from")

    def start(self) -> None:
        """Says what the run will take."""
        settings, policy = self._config.learner, self.algorithm.learner.policy
        rows = int(getattr(settings, "minibatch_size", self.algorithm.batch_size))
        length = int(getattr(settings, "segment_length", 1)) if policy.initial_memory(1) else 1
        with lower_if_too_large("trying out a gradient step", "learner.minibatch_size", "the size of the network"):
            found = probe(policy, self.spec, rows=rows, length=length, device=self._device)
        self._say(found.text(self._config.decisions, self._device))

    def advance(self) -> dict[str, float]:
        """One update: read, learn, and validate now and then. Returns its metrics."""
        began = perf_counter()
        with self.stages.time("load"):
            batch = next(self._batches)
        episodes = self._fitting(batch.episodes)
        progress = min(1.0, self.decisions / self._config.decisions)
        sizes = ("learner.minibatch_size", "the size of the network")
        with self.stages.time("learn"), lower_if_too_large("learning", *sizes):
            losses = self.algorithm.learner.update(episodes, progress=progress)
        self._position = batch.position
        self.update += 1
        self.decisions += int(parallel.total(episodes.rows))
        play = {"decisions_per_second": episodes.rows / (perf_counter() - began), "epoch": batch.position["epoch"]}
        groups = {"play": play, "loss": losses, "validation": self._validate(), "time": self.stages.shares()}
        return flatten(groups) | self._device.usage()

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
        batch = self._position["batch"] if self._position else 0
        return Snapshot({"position": self._position, "part": batch / len(self._data)})

    def restore(self, snapshot: Snapshot) -> None:
        """Goes on behind the last batch; with another number of processes, as far into the epoch as it was."""
        self._position = snapshot.values["position"]
        if self._position and snapshot.values.get("processes", 1) != parallel.size():
            self._position = self._data.position(int(self._position["epoch"]), float(snapshot.values["part"]))
        self._batches = self._data.batches(self._position)

    def pause(self) -> None:
        """Nothing is played."""

    def close(self) -> None:
        """Ends the loader processes."""
        self._batches.close()

    def _dataset(
        self, where: Filter, settings: ImitationSettings, say: Callable[[str], None], *, shared: bool = False
    ) -> Dataset:
        """Some of the episodes; if `shared`, each of several processes gets its part of them."""
        recurrent = bool(self.algorithm.learner.policy.initial_memory(1))
        length = settings.segment_length if recurrent else 1
        return Dataset(
            self._config.data,
            batch_size=max(1, settings.batch_size // length),
            length=length,
            where=where,
            seed=self._config.seed,
            workers=self._config.workers,
            rank=parallel.rank() if shared else 0,
            world_size=parallel.size() if shared else 1,
            say=say,
        )

    def _check(self) -> None:
        """Raises `InputError` if the network cannot learn from the episodes."""
        for spec in self._data.specs:
            reason = f"episodes of {spec.game}" if spec.game != self.spec.game else None
            if reason is None and spec.actions != self.spec.actions:
                reason = f"{spec.actions} actions, not {self.spec.actions}: {dict(spec.settings)}"
            missing = [name for name, field in self.spec.observation.items() if spec.observation.get(name) != field]
            if reason is None and missing:
                reason = f"no {', '.join(missing)} in the observation, as the settings of this run want it"
            if reason is not None:
                raise InputError(f"data: {reason}")

    def _fitting(self, episodes: Episodes) -> Episodes:
        """`episodes` with the fields that the network sees, and no others."""
        return episodes.observing(tuple(self.spec.observation), self.spec)

    def _validate(self) -> dict[str, float]:
        """How well held-out choices are foretold, when a rating is due."""
        every, learner = self._config.evaluation.every or self._config.checkpoint.every, self.algorithm.learner
        if self._held_out is None or self.update % every or not isinstance(learner, Imitation):
            return {}
        total: dict[str, float] = {}
        rows = 0
        with self.stages.time("validate"), closing(self._held_out.epoch()) as batches:
            for batch in batches:
                found = learner.validate(self._fitting(batch.episodes))
                for name, value in found.items():
                    total[name] = total.get(name, 0.0) + value * batch.episodes.rows
                rows += batch.episodes.rows
                if rows >= _VALIDATED_ROWS:
                    break
        return {name: value / rows for name, value in total.items()}
