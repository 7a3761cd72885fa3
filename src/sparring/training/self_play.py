"""Playing and learning: one update collects episodes, learns from them and publishes the new weights.

With `overlap` the next episodes are collected in a thread while the learner works on the last ones. Both release the
interpreter lock in their kernels, so that two cores are busy. New weights reach the engine between two of its forwards,
also in the middle of a collection: an episode may be begun by one version and ended by another, which is what
`Headers.version`, importance weights and clipping are for.
"""

import copy
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import torch
from torch import Tensor

from sparring.core import (
    Adaptive,
    Arena,
    Array,
    Episodes,
    Game,
    GameSpec,
    InputError,
    Resumable,
    RunError,
    Stages,
)
from sparring.core.rows import flatten, nested
from sparring.core.settings import convert
from sparring.inference import Device
from sparring.league import Entrant
from sparring.league.entrants import tag_of
from sparring.learn import parallel
from sparring.learn.diagnosis import value_calibration
from sparring.learn.magnet import MagnetSettings
from sparring.learn.rehearsal import Rehearsal
from sparring.policy import Policy, parameter_text
from sparring.policy.checkpoint import Checkpoint, tensor_bytes
from sparring.policy.network import build_network
from sparring.report.progress import announced
from sparring.rollout import Collector, Meetings, WorkerArena
from sparring.training.algorithms import Algorithm, Reporting, build_algorithm
from sparring.training.background import Background
from sparring.training.config import TrainConfig
from sparring.training.datasets import HeldOut, Lessons, validation_due
from sparring.training.league import League, LeagueSettings
from sparring.training.league.league import POOL
from sparring.training.limits import lower_if_too_large
from sparring.training.opponents import POLICY
from sparring.training.playing import make_engine, set_table
from sparring.training.rating import Rater, Standing
from sparring.training.trainee import Snapshot, copy_policy
from sparring.training.tying import Ties

if TYPE_CHECKING:
    from sparring.training.cluster import ClusterCollector

_HAND_OVER_SECONDS = 0.0005
"""How long a thread may keep the interpreter lock while another waits for it, with `overlap`; usually 5 ms."""


class SelfPlay:
    """Arena, engine, collector and learner of a run, joined, and how far they have come."""

    def __init__(
        self,
        config: TrainConfig,
        game: Game,
        opponents: Mapping[str, Entrant],
        *,
        say: Callable[[str], None],
        pool: Path | None = None,
    ) -> None:
        """`pool` is the folder of the league's members, for a run that has a league."""
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
            game,
            config,
            opponents,
            settings=settings,
            spec=self.spec,
            device=self._device,
            policy_threshold=self.algorithm.policy_threshold,
        )
        self.engine = make_engine(
            config,
            self.spec,
            self.rater.copy(self.checkpoint()),
            algorithm=self.algorithm,
            device=self._device,
            say=say,
        )
        self.table = (
            set_table(config, game, opponents, engine=self.engine, algorithm=self.algorithm, say=say)
            if config.cluster.address is None
            else None
        )
        self._meetings = Meetings(
            self.spec.seats, seed=config.seed, last=len(config.opponents) + (config.league is not None)
        )
        self.league = None if config.league is None else self._make_league(config.league, pool)
        self._meetings.change(self._shares(), at=0)
        self._first_state = copy.deepcopy(self.algorithm.learner.state()) if self.league is not None else None
        self.collector = self._make_collector(game, opponents)
        self._oldest = 0
        """No match before this number will be asked about again."""
        self._ties = Ties(config, self.spec, opponents, device=self._device)
        self._lessons: Lessons | None = None
        self._held_out: HeldOut | None = None
        if config.data_share:
            self._rehearse(policy)
        self._ahead: Background[Episodes] = Background("collect")
        self._usual_hand_over = sys.getswitchinterval()
        if config.overlap:
            sys.setswitchinterval(_HAND_OVER_SECONDS)
        say(f"{config.game} network: {parameter_text(policy)}, on {self._device.kind}")

    def _rehearse(self, policy: Policy) -> None:
        """Gets episodes on disk ready, of which every gradient step has its share."""
        config, share = self._config, self._config.data_share
        learner = config.learner.ppo if isinstance(config.learner, MagnetSettings) else config.learner
        rows = max(1, round(learner.minibatch_size * share / (1 - share)))
        length = getattr(learner, "segment_length", 1) if policy.initial_memory(1) else 1
        alone = msgspec.structs.replace(config, workers=0)
        self._lessons = Lessons(alone, self.spec, policy, rows=rows, length=length, say=self._say)
        self._held_out = HeldOut(alone, self.spec, device=self._device)
        self._ties.rehearsal = Rehearsal(policy, self._lessons.draw, share=share, device=self._device)
        self._say(f"{share:.0%} of every gradient step from {self._lessons.about}")

    def _make_collector(self, game: Game, opponents: Mapping[str, Entrant]) -> "Collector | ClusterCollector":
        """Who plays the run's matches: this process, or those of a cluster."""
        if self.table is not None:
            pooled = {} if self.league is None else {POOL: self.league.player}
            return self.table.collector(self.algorithm, self._meetings, others=pooled)
        from sparring.training.cluster import ClusterCollector  # needs Ray

        rows = self.algorithm.batch_size
        return ClusterCollector(self._config, game, opponents, spec=self.spec, rows=rows, say=self._say)

    @property
    def arena(self) -> Arena | None:
        """Where this process plays; None if a cluster does."""
        return None if self.table is None else self.table.arena

    def start(self) -> None:
        """Waits for worker processes or a cluster, if there are any; raises `InputError` if they cannot play."""
        if isinstance(self.arena, WorkerArena):
            with announced(f"waiting for {self._config.workers} workers to start", self._say):
                self.arena.start()
        elif not isinstance(self.collector, Collector):
            self._play_with(self.engine.weights(POLICY), version=self.update)
            with announced("waiting for the cluster to start", self._say):
                self.collector.start()

    def advance(self) -> dict[str, float]:
        """One update: collect, learn, publish. Returns its metrics."""
        began, before = perf_counter(), copy.copy(self.collector.counters)
        if self.league is not None and self.league.reset_due:
            self._begin_anew()
        episodes, dropped = self._collect()
        losses = self._learn(episodes)
        policy_lag = float(np.mean(self.update - episodes.headers.version))
        self.update += 1
        self.decisions += int(parallel.total(episodes.rows))
        gate = self._publish()
        pooled = self._meet_pool(episodes)
        seconds, now = perf_counter() - began, self.collector.counters
        play = {
            "decisions_per_second": (now.decisions - before.decisions) / seconds,
            "matches_per_second": (now.matches - before.matches) / seconds,
            "mean_batch": (now.decisions - before.decisions) / max(1, now.batches - before.batches),
            "episode_length": episodes.rows / len(episodes),
            "mean_return": float(np.add.reduceat(episodes.steps.reward, episodes.starts).mean()),
            "failed_matches": now.failed,
            "policy_lag": policy_lag,
            "dropped": dropped,
        }
        play |= {f"against/{name}": rate for name, rate in self._win_rates(episodes).items()}
        for part in (self.collector, *(() if self.table is None else (self.table.player, self.table.arena))):
            if isinstance(part, Reporting):
                play |= part.report()
        loss = losses | value_calibration(episodes)
        groups = {"play": play, "loss": loss, "rating": gate, "league": pooled, "time": self.stages.shares()}
        return flatten(groups) | self._validate() | self._device.usage()

    def _validate(self) -> dict[str, float]:
        """How well held-out choices are foretold, where some are rehearsed, when it is due."""
        if self._lessons is None or self._held_out is None:
            return {}
        if not validation_due(self._config, self.update, self.decisions):
            return {}
        with self.stages.time("validate"):
            return self._held_out.validate(self.algorithm.learner.policy, self._lessons.frequent)

    def adapt(self, metrics: Mapping[str, float]) -> None:
        """Lets a curriculum see an update's metrics."""
        if not isinstance(self.arena, Adaptive):
            return
        self.pause()  # an arena is not changed while it plays
        changed = self.arena.adapt(metrics)
        if changed is not None:
            self._say(changed)

    @property
    def standing(self) -> Standing:
        """Where the arena's curriculum stands."""
        return self.arena.standing() if isinstance(self.arena, Adaptive) else None

    def checkpoint(self) -> Checkpoint:
        """A copy of the policy that is rated and saved."""
        return copy_policy(self.algorithm, self.spec, self._config, update=self.update, decisions=self.decisions)

    def snapshot(self) -> Snapshot:
        """The weights that play, and the matches in play where the arena can keep them."""
        nothing: tuple[dict[str, Any], dict[str, Array]] = ({}, {})
        position, frequent = nothing if self._lessons is None else self._lessons.snapshot()
        return Snapshot(
            values={
                **position,
                "engine_rng": self.engine.rng.bit_generator.state,
                "arena": self.standing,
                "playing_version": self.engine.policies[POLICY],
                **({} if self.league is None else {"league": self.league.snapshot()}),
                **({} if self.league is None else {"meetings": self._meetings.snapshot()}),
            },
            tensors={"playing": self.engine.weights(POLICY)},
            arrays=flatten({name: part.snapshot() for name, part in self._resumable().items()} | {"lessons": frequent}),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Goes back to a `snapshot`."""
        values = snapshot.values
        self._play_with(snapshot.tensors["playing"], version=int(values["playing_version"]))
        self.engine.rng.bit_generator.state = values["engine_rng"]
        if isinstance(self.arena, Adaptive):
            self.arena.stand_at(values["arena"])
        if self.league is not None:
            self.league.restore(values["league"])
            self._meetings.restore(values["meetings"])
        arrays = nested(snapshot.arrays)
        lessons = arrays.pop("lessons", {})
        if self._lessons is not None:
            self._lessons.restore(values, lessons)
        if arrays:
            for name, part in self._resumable().items():
                part.restore(arrays.get(name, {}))

    def _resumable(self) -> dict[str, Resumable]:
        """The parts that hold matches in play; none if the arena starts fresh matches."""
        if self.table is None or not isinstance(self.table.arena, Resumable):
            return {}
        assert isinstance(self.collector, Collector)
        parts: dict[str, Resumable] = {"arena": self.table.arena, "collector": self.collector, "engine": self.engine}
        opponents = {f"opponent-{tag}": player for tag, player in self.table.opponents.items()}
        players = {"player": self.table.player} | opponents
        players |= {} if self.league is None else {POOL: self.league.player}
        return parts | {name: player for name, player in players.items() if isinstance(player, Resumable)}

    def pause(self) -> None:
        """Waits until nothing is being played; what was collected stays for the next update."""
        self._ahead.pause()

    def close(self) -> None:
        """Ends playing and frees the arena."""
        self._ahead.close()
        if self._lessons is not None:
            self._lessons.close()
        sys.setswitchinterval(self._usual_hand_over)
        if self.table is not None:
            self.table.close()
        if not isinstance(self.collector, Collector):
            self.collector.close()

    def _collect(self) -> tuple[Episodes, int]:
        """The next episodes to learn from, and how many were dropped because their weights were too old."""
        rows, max_lag = self.algorithm.batch_size, self._config.max_policy_lag
        forward_before = self.engine.counters.forward_seconds
        settings = ("matches", f"{self.algorithm.settings_at}.batch_size")
        with self.stages.time("collect"), lower_if_too_large("playing", *settings):
            found = self._ahead.take(wait=True)
            if self.league is not None and isinstance(self.collector, Collector):  # nothing plays now
                self._oldest = int(self.collector.serials.min())
                self._meetings.change(self._shares(), at=self.collector.next_serial)
            found = found or self.collector.collect(rows)
            if self._config.overlap:
                self._ahead.begin(partial(self.collector.collect, rows))
            kept = recent(found, version=self.engine.policies[POLICY], max_policy_lag=max_lag) if max_lag else found
        if not self._config.overlap:  # else forwards run beside the other stages
            forward = self.engine.counters.forward_seconds - forward_before
            self.stages.add("forward", forward)
            self.stages.add("collect", -forward)
        late = 0 if isinstance(self.collector, Collector) else self.collector.take_dropped()
        return kept, late + len(found) - len(kept)

    def _win_rates(self, episodes: Episodes) -> dict[str, float]:
        """How the policy did against each opponent that it met in `episodes`, by tag; a draw is a half."""
        met = self._meetings.opponents(episodes.headers.serial)  # the policy's own number is 0
        won = (episodes.headers.outcome + 1) / 2
        tags = map(tag_of, self._config.opponents)
        of = {tag: episodes.headers.complete & (met == number) for number, tag in enumerate(tags, 1)}
        return {tag: float(won[rows].mean()) for tag, rows in of.items() if rows.any()}

    def _make_league(self, settings: LeagueSettings, pool: Path | None) -> League:
        if pool is None:
            raise ValueError("a league needs a folder for its pool")
        return League(
            settings,
            folder=pool,
            engine=self.engine,
            beside=POLICY,
            copy=self._copy_member,
            seat=self.algorithm.player,
            meetings=self._meetings,
            first=len(self._config.opponents) + 1,
            matches=self._config.matches,
            seed=self._config.seed,
            say=self._say,
        )

    def _copy_member(self, checkpoint: Checkpoint) -> torch.nn.Module:
        """A network of its own; code that a checkpoint of the pool names counts only if the run's own network is it."""
        own = dict(checkpoint.network) == dict(self._config.network)
        factory = partial(build_network, self._config.network, self.rater.game) if own else None
        return checkpoint.policy(self.spec, factory, say=self._say)

    def _shares(self) -> dict[int, float]:
        """How often each opponent is met, by number: the fixed ones, and in the rest those of the pool."""
        fixed = dict(enumerate(self._config.opponents.values(), 1))
        pool = {} if self.league is None else self.league.shares()
        rest = max(0.0, 1 - sum(fixed.values()))
        return fixed | {number: rest * share for number, share in pool.items()}

    def _meet_pool(self, episodes: Episodes) -> dict[str, float]:
        """Counts the matches of `episodes` against the pool, and lets the league see the new policy."""
        if self.league is None:
            return {}
        headers = episodes.headers
        ended = np.flatnonzero(headers.complete)
        serials, first = np.unique(headers.serial[ended], return_index=True)
        points = (headers.outcome[ended][first].astype(np.float64) + 1) / 2
        self.league.note(self._meetings.opponents(serials), points)
        self._meetings.forget(self._oldest)
        with self.stages.time("publish"):
            self.league.after_update(self.checkpoint, self.update, episodes)
        return self.league.metrics()

    def _begin_anew(self) -> None:
        """Back to the first weights, as roles ask for after a snapshot."""
        assert self.league is not None
        assert self._first_state is not None
        self.algorithm.learner.load(*copy.deepcopy(self._first_state))
        self._play_with(self.algorithm.learner.policy.state_dict(), version=self.update)
        self.league.forget_results()

    def _learn(self, episodes: Episodes) -> dict[str, float]:
        """Lets the learner update its policy."""
        progress = min(1.0, self.decisions / self._config.decisions)
        settings = (f"{self.algorithm.settings_at}.minibatch_size", "the size of the network")
        with self.stages.time("learn"), lower_if_too_large("learning", *settings):
            ties = self._ties.at(self.decisions)
            return self.algorithm.learner.update(episodes, progress=progress, ties=ties)

    def _publish(self) -> dict[str, float]:
        """Hands the new weights to self-play: at once, or where there is a gate when they beat the present ones."""
        gate, new, figures = self.algorithm.gate, self.algorithm.learner.policy.state_dict(), {}
        with self.stages.time("publish"):
            if gate is not None:
                if self.update % gate.every:
                    return {}
                learned = replace(self.checkpoint(), weights=new)
                playing = replace(learned, weights=self.engine.weights(POLICY))
                score = self.rater.compare(learned, playing, self.algorithm.player, matches=gate.matches)
                win_rate = parallel.average(score.win_rate)
                figures = {"gate": win_rate}
                if win_rate < gate.threshold:
                    return figures
            self._play_with(new, version=self.update)
        return figures

    def _play_with(self, weights: Mapping[str, Tensor], *, version: int) -> None:
        """Has everybody who plays take up `weights`."""
        self.engine.swap(POLICY, weights, version=version)
        if not isinstance(self.collector, Collector):
            self.collector.publish(tensor_bytes(weights), version)


def recent(episodes: Episodes, *, version: int, max_policy_lag: int) -> Episodes:
    """The episodes of matches in which every seat began with weights at most `max_policy_lag` updates before `version`.

    Raises `RunError` if none is left: then more matches are played at once than updates of this size can use up.
    """
    old = episodes.headers.serial[version - episodes.headers.version > max_policy_lag]
    if len(old) == 0:
        return episodes
    kept = np.flatnonzero(~np.isin(episodes.headers.serial, old))
    if len(kept) == 0:
        raise RunError(f"every episode began more than max_policy_lag = {max_policy_lag} updates ago; lower matches")
    return episodes.take(kept)


def first_policy(config: TrainConfig, game: Game, spec: GameSpec, say: Callable[[str], None]) -> Any:
    """The policy that a run starts from: fresh, or with the weights of the checkpoint that `init` names."""
    build = partial(build_network, config.network, game)
    if config.init is None:
        return build(spec)
    checkpoint = Entrant.parse(config.init).checkpoint
    if checkpoint is None:
        raise InputError(f"init = {config.init}: not a run or checkpoint folder, or shipped weights")
    if checkpoint.network != config.network:
        raise InputError(f"init = {config.init}: its network is {checkpoint.network}, not {config.network}")
    try:
        return checkpoint.policy(spec, build, say=lambda text: say(f"{config.init}: {text}"))
    except InputError as error:
        raise InputError(f"init = {config.init}: {error}") from error
