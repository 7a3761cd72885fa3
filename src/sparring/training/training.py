"""The training loop: collect, learn, swap weights, save, rate, again.

Everything that makes a run what it is lives in a `Training`; `train` is the loop over it.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import nn

from sparring.core import (
    Adaptive,
    Arena,
    Array,
    Episodes,
    Game,
    GameSpec,
    InputError,
    Interrupts,
    Resumable,
    Score,
    Stages,
    gather,
)
from sparring.core.settings import convert
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.league import Entrant, evaluate
from sparring.learn.diagnosis import value_calibration
from sparring.learn.learner import NotFinite
from sparring.policy import parameter_text
from sparring.policy.checkpoint import Checkpoint
from sparring.policy.network import build_network
from sparring.report.metrics import Metrics
from sparring.report.progress import ProgressLine, share_text
from sparring.rollout import Collector, WorkerArena, everyone
from sparring.training.algorithms import Algorithm, Reporting, build_algorithm
from sparring.training.config import TrainConfig
from sparring.training.limits import lower_if_too_large
from sparring.training.overlap import Ahead, young
from sparring.training.rating import Background, Rated, Rater
from sparring.training.run import ResumeState, RunFolder

POLICY = "main"


@dataclass(frozen=True)
class Update:
    """A run after an update, for a callback."""

    update: int
    """How many updates there have been."""
    decisions: int
    """Trained on so far."""
    metrics: Mapping[str, float]
    """Of this update, as in metrics.jsonl."""
    checkpoint: Checkpoint
    """The policy as it is now."""


@dataclass(frozen=True)
class Outcome:
    """How a call of `train` ended."""

    updates: int
    decisions: int
    finished: bool
    """False when it was asked to stop before the end; the same command continues it."""
    scores: Mapping[str, Score]


def train(
    config: TrainConfig,
    game: Game,
    folder: RunFolder,
    *,
    on_update: Callable[[Update], None] | None = None,
    say: Callable[[str], None] = print,
) -> Outcome:
    """Trains until `config.decisions`, resuming whatever `folder` holds; rates the result at the end.

    `on_update` is called after each update.
    """
    torch.set_num_threads(config.threads or torch.get_num_threads())
    with (
        closing(Training(config, game, say=say)) as training,  # first: settings may still prove unusable
        closing(folder),
    ):
        resumed = folder.open(config)
        if resumed is not None:
            training.restore(resumed)
            say(f"resuming {folder.path} at update {training.update}, {training.decisions:,} decisions")
        with closing(Metrics(folder.path, resumed_at=training.update)) as metrics:
            try:
                _advance_to_the_end(training, config, folder, metrics, on_update)
            except NotFinite as error:
                path = folder.save_bad_batch(error.batch)
                error.args = (f"{error.args[0]} at update {training.update + 1}; the batch is in {path}",)
                raise
        finished = training.decisions >= config.decisions
        scores = {}
        if finished:
            training.judge(folder, last=True)
            scores = training.rate()
            training.keep_best(folder, Rated(training.checkpoint(scores), scores))
            training.show(folder)
    return Outcome(training.update, training.decisions, finished, scores)


def _advance_to_the_end(
    training: "Training",
    config: TrainConfig,
    folder: RunFolder,
    metrics: Metrics,
    on_update: Callable[[Update], None] | None,
) -> None:
    """Update after update, until all decisions are made or someone asks to stop; saved wherever it ends."""
    with (
        Interrupts() as interrupts,
        ProgressLine("training", total=config.decisions, done=training.decisions) as bar,
    ):
        while training.decisions < config.decisions and not interrupts.asked:
            values = training.advance()
            values |= training.judge(folder)
            training.adapt(values)
            metrics.write(training.update, values)
            if on_update is not None:
                on_update(Update(training.update, training.decisions, values, training.checkpoint({})))
            if training.update % config.checkpoint.every == 0:
                training.save(folder)
            bar.update(training.decisions, training.progress_text(values))
        training.save(folder)


class Training:
    """The parts of a run, joined: arena, engine, collector, learner, and where they stand."""

    def __init__(self, config: TrainConfig, game: Game, *, say: Callable[[str], None]) -> None:
        self.update = 0
        self.decisions = 0
        self._best = -1.0
        self._config = config
        self._game = game
        self._say = say
        self._settings: Any = convert(config.settings, game.settings, where="settings")
        self.spec: GameSpec = game.spec(self._settings)
        self._device = Device.pick(config.device, config.dtype)
        torch.manual_seed(config.seed)
        policy = self._fresh_policy()
        if config.init is not None:
            policy.load_state_dict(self._initial_weights(config.init))
        self.algorithm: Algorithm = build_algorithm(
            config.learner, policy, spec=self.spec, device=self._device, seed=config.seed
        )
        self.engine = InferenceEngine(
            self.spec,
            slots=config.matches * self.spec.seats,
            device=self._device.acting_in(config.actor_dtype),
            seed=config.seed,
            backend="torch" if self.algorithm.exact and config.backend == "auto" else config.backend,
            compiled=config.compiled,
            say=say,
        )
        self.engine.add(POLICY, self._copy_policy(policy))
        arena: Arena = (
            WorkerArena(game, self._settings, matches=config.matches, seed=config.seed, workers=config.workers, say=say)
            if config.workers
            else game.arena(self._settings, matches=config.matches, seed=config.seed)
        )
        self.arena = gather(arena, config.batch_size, config.batch_timeout_ms / 1000)
        self.player = self.algorithm.player(self.engine, POLICY)
        self.collector = Collector(
            self.arena,
            {POLICY: self.player},
            everyone(0, self.spec.seats),
            record=[POLICY],
            segment=self.algorithm.segment,
            truncate_after=self.algorithm.cut,
            keep_policy=self.algorithm.keep_policy,
        )
        self._ahead = Ahead(self.collector, self.algorithm.rows) if config.overlap else None
        self._rater = Rater(
            game=game,
            settings=self._settings,
            spec=self.spec,
            device=self._device,
            evaluation=config.evaluation,
            matches=config.matches,
            seed=config.seed,
            least=self.algorithm.least,
        )
        self._background = Background() if config.evaluation.background else None
        self._stages = Stages()
        say(f"{config.game} {dict(self.spec.settings)}: {parameter_text(policy)} on {self._device.kind}")

    def advance(self) -> dict[str, float]:
        """One update: collect, learn, swap. Returns its metrics."""
        start = perf_counter()
        counters, engine = self.collector.counters, self.engine.counters
        before = (counters.decisions, counters.matches, counters.batches, engine.forward_seconds)
        rows = f"{self.algorithm.settings_at}.rows"
        with self._stages.time("collect"), lower_if_too_large("playing", "matches", rows):
            episodes, too_old = self._collect()
        progress = min(1.0, self.decisions / self._config.decisions)
        batch = f"{self.algorithm.settings_at}.batch"
        with self._stages.time("learn"), lower_if_too_large("learning", batch, "the size of the network"):
            values = self.algorithm.learner.update(episodes, progress=progress)
        values |= value_calibration(episodes)
        self.update += 1
        self.decisions += episodes.rows
        with self._stages.time("swap"):
            values |= self._publish()
        seconds = perf_counter() - start
        if self._ahead is None:  # else forwards run beside the other stages
            forward = engine.forward_seconds - before[3]
            self._stages.seconds["collect"] -= forward
            self._stages.add("forward", forward)
        if isinstance(self.player, Reporting):
            values |= self.player.report()
        return values | {
            "decisions": self.decisions,
            "episode_rows": episodes.rows / len(episodes),
            "decisions_per_second": (counters.decisions - before[0]) / seconds,
            "matches_per_second": (counters.matches - before[1]) / seconds,
            "mean_batch": (counters.decisions - before[0]) / max(1, counters.batches - before[2]),
            "failed_matches": counters.failed,
            "policy_age": float(np.mean(self.update - 1 - episodes.headers.version)),
            "too_old": too_old,
            **{f"share/{stage}": share for stage, share in self._stages.shares().items()},
            **(self.arena.report() if isinstance(self.arena, Reporting) else {}),
            **self._device.usage(),
        }

    def _collect(self) -> tuple[Episodes, int]:
        """The next episodes to learn from, and how many were too old to keep."""
        found = self.collector.collect(self.algorithm.rows) if self._ahead is None else self._ahead.take()
        if self._config.most_age == 0:
            return found, 0
        episodes = young(found, version=self.engine.policies[POLICY], most_age=self._config.most_age)
        return episodes, len(found) - len(episodes)

    def adapt(self, values: Mapping[str, float]) -> None:
        """Lets a curriculum see an update's metrics."""
        if not isinstance(self.arena, Adaptive):
            return
        if self._ahead is not None:
            self._ahead.pause()  # an arena is not changed while it plays
        changed = self.arena.adapt(values)
        if changed is not None:
            self._say(changed)

    def progress_text(self, values: Mapping[str, float]) -> str:
        """What the progress line says after an update."""
        return (
            f"{values['matches_per_second']:,.0f} matches/s  {values['decisions_per_second']:,.0f} decisions/s  "
            f"batch {values['mean_batch']:.0f}  {share_text(self._stages.shares())}"
        )

    def judge(self, folder: RunFolder, *, last: bool = False) -> dict[str, float]:
        """Rates the policy if it is time to, and returns what is known by now; `last` waits for what is under way.

        In the background a rating is of weights as they were (`rated_update`), and a new one begins only when the one
        before is done.
        """
        every = self._config.evaluation.every
        due = bool(every) and not last and self.update % every == 0
        if due:
            self.show(folder)
        if self._background is None:
            if not due:
                return {}
            scores = self.rate()
            return self._noted(folder, Rated(self.checkpoint(scores), scores)) | self.solve()
        rated = self._background.take(wait=due or last)
        figures = {} if rated is None else self._noted(folder, rated)
        if not due:
            return figures
        frozen, update, standing = self._copy_policy(self._deployed()), self.update, self._standing()
        checkpoint, pulse = self.checkpoint({}, policy=frozen), self._background.pulse

        def rating() -> Rated:
            scores = self._rater.rate(lambda: self._copy_policy(frozen), update=update, standing=standing, pulse=pulse)
            about = {**checkpoint.about, "win_rates": {name: score.win_rate for name, score in scores.items()}}
            return Rated(replace(checkpoint, about=about), scores)

        self._background.begin(rating)
        return figures | self.solve()

    def _noted(self, folder: RunFolder, rated: Rated) -> dict[str, float]:
        """Keeps the rated policy if it is the best, and returns its scores as metrics."""
        self.keep_best(folder, rated)
        rates = {f"win_rate/{name}": score.win_rate for name, score in rated.scores.items()}
        return rates | {"rated_update": rated.checkpoint.version}

    def rate(self) -> dict[str, Score]:
        """Matches of the present policy against the built-in opponents, in an arena of its own."""
        with self._stages.time("evaluate"):
            return self._rater.rate(
                lambda: self._copy_policy(self._deployed()), update=self.update, standing=self._standing()
            )

    def show(self, folder: RunFolder) -> None:
        """Lets a game whose matches can be shown keep the best of some."""
        with self._stages.time("evaluate"):
            self._rater.show(
                lambda: self._copy_policy(self._deployed()),
                folder.path / "matches",
                update=self.update,
                standing=self._standing(),
            )

    def solve(self) -> dict[str, float]:
        """Exact figures of the present policy, where the game can be solved."""
        with self._stages.time("evaluate"):
            return self._rater.solve(lambda: self._copy_policy(self._deployed()))

    def rated_player(self, matches: int, *, seed: int) -> NetworkPlayer:
        """The present policy as it is rated, with room for `matches` matches."""
        return self._rater.player(self._copy_policy(self._deployed()), matches=matches, seed=seed)

    def _standing(self) -> Mapping[str, int] | None:
        return self.arena.standing() if isinstance(self.arena, Adaptive) else None

    def _publish(self) -> dict[str, float]:
        """Hands the new weights to self-play: at once, or where there is a gate when they beat the present ones."""
        gate = self.algorithm.gate
        weights = self.algorithm.learner.policy.state_dict()
        figures = {}
        if gate is not None:
            if self.update % gate.every:
                return {}
            seed = self._config.seed + 7_000_003 * self.update
            arena = self._game.arena(self._settings, matches=min(gate.matches, self._config.matches), seed=seed)
            engine = InferenceEngine(self.spec, slots=arena.matches * self.spec.seats, device=self._device, seed=seed)
            engine.add("new", self._copy_policy(self.algorithm.learner.policy))
            engine.add("best", self._copy_policy(self.algorithm.learner.policy))
            engine.swap("best", self.engine.weights(POLICY), version=0)
            players = [self.algorithm.player(engine, name) for name in ("new", "best")]
            score = evaluate(players[0], players[1], arena, matches=gate.matches)
            arena.close()
            figures = {"gate": score.win_rate}
            if score.win_rate < gate.threshold:
                return figures
        self.engine.swap(POLICY, weights, version=self.update)
        return figures

    def keep_best(self, folder: RunFolder, rated: Rated) -> None:
        """Saves a rated policy as the best if its mean score is no worse than any before."""
        rates = [score.win_rate for score in rated.scores.values()]
        mean = float(np.mean(rates)) if rates else 0.0
        if mean >= self._best:
            self._best = mean
            folder.save_best(rated.checkpoint)

    def checkpoint(self, scores: Mapping[str, Score], *, policy: nn.Module | None = None) -> Checkpoint:
        """The present policy at rest, or a copy of it."""
        return Checkpoint(
            spec=self.spec,
            network=self._config.network,
            version=self.update,
            weights=(policy or self._deployed()).state_dict(),
            about={"decisions": self.decisions, "win_rates": {name: score.win_rate for name, score in scores.items()}},
        )

    def save(self, folder: RunFolder) -> None:
        """A checkpoint, and all that continuing takes."""
        if self._ahead is not None:
            self._ahead.pause()
        folder.save_checkpoint(self.checkpoint({}), keep=self._config.checkpoint.keep)
        tensors, values = self.algorithm.learner.state()
        folder.save_resume(
            ResumeState(
                update=self.update,
                values={
                    "decisions": self.decisions,
                    "best": self._best,
                    "learner": values,
                    "engine_rng": self.engine.rng.bit_generator.state,
                    "arena": self.arena.standing() if isinstance(self.arena, Adaptive) else {},
                    "playing_version": self.engine.policies[POLICY],
                },
                learner={
                    **tensors,
                    "torch_rng": torch.get_rng_state(),
                    **{f"playing/{name}": tensor for name, tensor in self.engine.weights(POLICY).items()},
                },
                playing=self._playing(),
            )
        )

    def restore(self, state: ResumeState) -> None:
        """Continues from a saved state; matches in play are continued too where the arena can."""
        self.update = state.update
        self.decisions = int(state.values["decisions"])
        self._best = float(state.values["best"])
        tensors = dict(state.learner)
        torch.set_rng_state(tensors.pop("torch_rng"))
        playing = {name: tensors.pop(name) for name in list(tensors) if name.startswith("playing/")}
        self.algorithm.learner.load(tensors, state.values["learner"])
        weights = {name.removeprefix("playing/"): tensor for name, tensor in playing.items()}
        self.engine.swap(POLICY, weights, version=int(state.values["playing_version"]))
        self.engine.rng.bit_generator.state = state.values["engine_rng"]
        if isinstance(self.arena, Adaptive):
            self.arena.stand_at(state.values["arena"])
        if state.playing and isinstance(self.arena, Resumable):
            self.arena.restore(_part(state.playing, "arena/"))
            self.collector.restore(_part(state.playing, "collector/"))
            self.engine.restore(_part(state.playing, "engine/"))
            if isinstance(self.player, Resumable):
                self.player.restore(_part(state.playing, "player/"))

    def close(self) -> None:
        """Ends playing and rating, and frees the arena."""
        if self._ahead is not None:
            self._ahead.close()
        if self._background is not None:
            self._background.close()
        self.arena.close()

    def _playing(self) -> dict[str, Array]:
        if not isinstance(self.arena, Resumable):
            return {}
        parts: dict[str, Resumable] = {"arena": self.arena, "collector": self.collector, "engine": self.engine}
        if isinstance(self.player, Resumable):
            parts["player"] = self.player
        return {f"{name}/{key}": array for name, part in parts.items() for key, array in part.snapshot().items()}

    def _initial_weights(self, path: str) -> dict[str, Any]:
        """The weights of the checkpoint at `path`, for this run's game and network."""
        checkpoint = Entrant.parse(path).checkpoint
        if checkpoint is None:
            raise InputError(f"init = {path}: not a run or checkpoint folder or shipped weights")
        if checkpoint.network != self._config.network:
            raise InputError(f"init = {path}: its network is {checkpoint.network}, not {self._config.network}")
        try:
            return checkpoint.policy(self.spec, lambda spec: self._fresh_policy()).state_dict()
        except InputError as error:
            raise InputError(f"init = {path}: {error}") from error

    def _deployed(self) -> nn.Module:
        """The policy that is rated and saved."""
        return self.algorithm.deployed or self.algorithm.learner.policy

    def _copy_policy(self, source: nn.Module) -> Any:
        policy = self._fresh_policy()
        policy.load_state_dict(source.state_dict())
        return policy

    def _fresh_policy(self) -> Any:
        return build_network(self._config.network, self._game, self.spec)


def _part(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
