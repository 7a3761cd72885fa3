"""Playing and learning: one update collects episodes, learns from them and publishes the new weights.

With `overlap` the next episodes are collected in a thread while the learner works on the last ones. Both release the
interpreter lock in their kernels, so that two cores are busy. New weights reach the engine between two of its forwards,
even in the middle of a collection: an episode may begin with one version and end with another, which is what
`Headers.version`, importance weights and clipping are for.
"""

import copy
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from torch import Tensor

from sparring.core import Array, Episodes, Game, RunError
from sparring.core.rows import flatten, nested
from sparring.league import Entrant
from sparring.learn import parallel
from sparring.learn.diagnosis import value_calibration
from sparring.learn.sharding import gathered_weights, is_sharded
from sparring.policy import parameter_text
from sparring.training.background import Background
from sparring.training.config import TrainConfig
from sparring.training.datasets import validation_due
from sparring.training.limits import lower_if_too_large
from sparring.training.opponents import POLICY
from sparring.training.opposition import Opposition
from sparring.training.playing import LocalPlay, Playing, fresh, make_engine, set_table
from sparring.training.rating import Standing
from sparring.training.trainee import Snapshot, Trainee, first_checkpoint
from sparring.training.tying import Rehearsing, Ties

_HAND_OVER_SECONDS = 0.0005
"""With `overlap`: how long a thread may keep the interpreter lock while another waits for it; usually 5 ms."""


class SelfPlay(Trainee):
    """A run that learns from the matches it plays."""

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
        super().__init__(config, game, opponents, say=say)
        policy = self.algorithm.learner.policy
        self.engine = make_engine(
            config,
            self.spec,
            self.rater.copy(replace(self.checkpoint(), weights=self._learned())),
            algorithm=self.algorithm,
            device=self._device,
            say=say,
        )
        self._opposition = Opposition(
            config, game, self.spec, engine=self.engine, algorithm=self.algorithm, pool=pool, say=say
        )
        self._first_state = copy.deepcopy(self.algorithm.learner.state()) if config.league is not None else None
        """What an exploiter of a league is reset to."""
        self.playing: Playing = self._set_up(game, opponents)
        first = first_checkpoint(config)
        if first is not None:
            self.playing.go_on_after(int(first.about.get("decisions", 0)))
        self._rehearsing = (
            Rehearsing(config, self.spec, policy, device=self._device, say=say) if config.data_share else None
        )
        self._ties = Ties(config, self.spec, opponents, device=self._device, rehearsing=self._rehearsing)
        self._ahead: Background[Episodes] = Background("collect")
        self._usual_hand_over = sys.getswitchinterval()
        if config.overlap:
            sys.setswitchinterval(_HAND_OVER_SECONDS)
        say(f"{config.game} network: {parameter_text(policy)}, on {self._device.kind}")

    def _set_up(self, game: Game, opponents: Mapping[str, Entrant]) -> Playing:
        """Who plays the run's matches: this process, or those of a cluster."""
        config, algorithm, say = self._config, self.algorithm, self._say
        if config.cluster.address is None:
            player = algorithm.player(self.engine, POLICY)
            table = set_table(config, game, opponents, engine=self.engine, player=player, say=say)
            return LocalPlay(table, algorithm, self._opposition, say=say)
        from sparring.training.cluster import ClusterPlay  # needs Ray

        return ClusterPlay(
            config,
            game,
            opponents,
            spec=self.spec,
            algorithm=algorithm,
            opposition=self._opposition,
            device=self._device,
            say=say,
        )

    def start(self) -> None:
        """Waits until matches can be played; raises `InputError` if they cannot."""
        self.playing.publish(self.engine.weights(POLICY), self.update)
        self.playing.start()

    def advance(self) -> dict[str, float]:
        """One update: collect, learn, publish. Returns its metrics."""
        began, before = perf_counter(), copy.copy(self.playing.counters)
        self._begin_anew_if_due()
        episodes, dropped = self._collect()
        losses = self._learn(episodes)
        policy_lag = float(np.mean(self.update - episodes.headers.version))
        self.update += 1
        self.decisions += int(parallel.total(episodes.rows))
        gate = self._publish()
        with self.stages.time("publish"):
            met = self.playing.opponents(episodes)
            pooled = self._opposition.after_update(self.checkpoint, self.update, episodes, met)
        seconds, now = perf_counter() - began, self.playing.counters
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
        play |= {f"against/{name}": rate for name, rate in self._opposition.win_rates(episodes, met).items()}
        play |= self.playing.report()
        loss = losses | value_calibration(episodes)
        groups = {"play": play, "loss": loss, "rating": gate, "league": pooled, "time": self.stages.shares()}
        return flatten(groups) | self._validate() | self._device.usage()

    def _validate(self) -> dict[str, float]:
        """How well held-out choices are predicted, when it is due, in a run that rehearses some."""
        if self._rehearsing is None or not validation_due(self._config, self.update, self.decisions):
            return {}
        with self.stages.time("validate"):
            return self._rehearsing.validate(self.algorithm.learner.policy)

    def adapt(self, metrics: Mapping[str, float]) -> None:
        """Lets a curriculum see an update's metrics."""
        if self.standing is None:
            return
        self.pause()  # an arena is not changed while it plays
        changed = self.playing.adapt(metrics)
        if changed is not None:
            self._say(changed)

    @property
    def standing(self) -> Standing:
        """Where the arena's curriculum stands."""
        return self.playing.standing

    def snapshot(self) -> Snapshot:
        """The weights that play, and the matches in play where the arena can keep them."""
        nothing: tuple[dict[str, Any], dict[str, Array]] = ({}, {})
        position, frequent = nothing if self._rehearsing is None else self._rehearsing.snapshot()
        return Snapshot(
            values={
                **position,
                "engine_rng": self.engine.rng.bit_generator.state,
                "arena": self.standing,
                "playing_version": self.engine.policies[POLICY],
                **self._opposition.snapshot(),
            },
            tensors={"playing": self.engine.weights(POLICY)},
            arrays=flatten(
                {name: part.snapshot() for name, part in self.playing.resumable().items()} | {"lessons": frequent}
            ),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Goes back to a `snapshot`."""
        values = snapshot.values
        self._play_with(snapshot.tensors["playing"], version=int(values["playing_version"]))
        self.engine.rng.bit_generator.state = values["engine_rng"]
        self.playing.stand_at(values["arena"])
        arrays = nested(snapshot.arrays)
        lessons = arrays.pop("lessons", {})
        self._opposition.restore(values, fresh=not arrays)
        if self._rehearsing is not None:
            self._rehearsing.restore(values, lessons)
        if arrays:
            for name, part in self.playing.resumable().items():
                part.restore(arrays.get(name, {}))

    def pause(self) -> None:
        """Waits until nothing is being played; what was collected stays for the next update."""
        self._ahead.pause()

    def close(self) -> None:
        """Ends playing and reading."""
        self._ahead.close()
        if self._rehearsing is not None:
            self._rehearsing.close()
        sys.setswitchinterval(self._usual_hand_over)
        self.playing.close()

    def _collect(self) -> tuple[Episodes, int]:
        """The next episodes to learn from, and how many were dropped because their weights were too old."""
        rows, max_lag = self.algorithm.batch_size, self._config.max_policy_lag
        forward_before = self.engine.counters.forward
        settings = ("matches", f"{self.algorithm.settings_at}.batch_size")
        with self.stages.time("collect"), lower_if_too_large("playing", *settings):
            found = self._ahead.take(wait=True)
            self.playing.between()
            found = found or self.playing.collect(rows)
            if self._config.overlap:
                self._ahead.begin(partial(self.playing.collect, rows))
            kept = recent(found, version=self.engine.policies[POLICY], max_policy_lag=max_lag) if max_lag else found
        if not self._config.overlap:  # otherwise forwards run beside the other stages
            forward = self.engine.counters.forward - forward_before
            self.stages.add("forward", forward)
            self.stages.add("collect", -forward)
        return kept, self.playing.take_dropped() + len(found) - len(kept)

    def _begin_anew_if_due(self) -> None:
        """Goes back to the first weights, if the run's role in a league asks for that after a snapshot."""
        league = self._opposition.league
        if league is None or not league.reset_due:
            return
        assert self._first_state is not None
        self.algorithm.learner.load(*copy.deepcopy(self._first_state))
        self._play_with(self.algorithm.learner.policy.state_dict(), version=self.update)
        league.forget_results()

    def _publish(self) -> dict[str, float]:
        """Hands the new weights to self-play: at once, or, with a gate, when they beat the present ones."""
        gate, new, figures = self.algorithm.gate, self._learned(), {}
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

    def _learned(self) -> Mapping[str, Tensor]:
        """The learner's weights as they are now, whole in every process."""
        policy = self.algorithm.learner.policy
        return gathered_weights(policy, everywhere=True) if is_sharded(policy) else policy.state_dict()

    def _play_with(self, weights: Mapping[str, Tensor], *, version: int) -> None:
        """Gives `weights` to everything that plays."""
        self.engine.swap(POLICY, weights, version=version)
        self.playing.publish(weights, version)


def recent(episodes: Episodes, *, version: int, max_policy_lag: int) -> Episodes:
    """The episodes of matches that every seat began with weights at most `max_policy_lag` updates before `version`.

    Raises `RunError` if none is left: then more matches are played at once than updates of this size can use.
    """
    kept = fresh(episodes, version=version, max_policy_lag=max_policy_lag)
    if len(kept) == len(episodes):
        return episodes
    if len(kept) == 0:
        raise RunError(f"every episode began more than max_policy_lag = {max_policy_lag} updates ago; lower matches")
    return episodes.take(kept)
