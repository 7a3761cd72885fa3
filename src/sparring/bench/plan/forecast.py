"""What a run would come to: the simulated pipeline at the rates of a diagnosis, over the hours it is given."""

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

import msgspec
import numpy as np

from sparring.bench.diagnose.model import Model, check_stages
from sparring.bench.diagnose.result import Diagnosis
from sparring.bench.diagnose.subject import make_subject
from sparring.bench.diagnose.verdict import NAMES
from sparring.bench.plan.simulation import Layout, Timeline, Work, simulate
from sparring.core import Game, GameSpec, InputError, Steps
from sparring.core.settings import convert
from sparring.learn.alphazero import AlphaZeroSettings
from sparring.learn.rnad import RnadSettings
from sparring.policy.network import build_network
from sparring.training.config import TrainConfig, flat_settings

_METRICS = 4096
"""Bytes that an update adds to metrics.jsonl and TensorBoard's file together, about."""
_COPIES = 2
"""Copies of a batch that are there at once: the log of episodes, and what was taken out of it."""
_LINK = "link"
_OF_NO_ACCOUNT = ("checkpoint", "report", "key", "job", "seed", "decisions", "evaluation")
"""Settings that no rate depends on."""


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """What `sparring plan` says."""

    preset: str
    nodes: int
    processes: int
    """That learn, in all."""
    collectors: int
    hours: float
    decisions_per_second: float
    """Learned from, ratings included."""
    update_seconds: float
    updates: int
    decisions: int
    matches: int | None
    preset_hours: float
    """How long the preset's own number of decisions takes."""
    memory_mib: float
    """Of the fullest node."""
    storage_mib: float
    """Of the run folder at the end."""
    shares: dict[str, float]
    """Of the time of a process that learns."""
    bottleneck: str
    measured: str
    """The machine whose rates these are."""
    notes: list[str]
    """What was assumed."""


def forecast(
    preset: str,
    config: TrainConfig,
    game: Game,
    rates: Diagnosis,
    layout: Layout,
    *,
    hours: float,
    gpus: int = 0,
    epochs: float | None = None,
    speeds: Mapping[str, float] | None = None,
) -> Forecast:
    """The run that `config` describes on the machines of `layout`, at `rates`, with stages so many times as fast.

    `epochs` are those that updates really make, where the learner ends them early; rates are of all of them.
    """
    speeds = dict(speeds or {})
    if epochs is not None:
        speeds["learner"] = speeds.get("learner", 1.0) * _all_epochs(config) / epochs
    if rates.model is None:
        raise InputError("the rates are of no whole pipeline: measure with --test learner, or --test all")
    if layout.collectors and layout.nodes * layout.processes > layout.nodes:
        raise InputError("--collectors play for one process that learns; leave out --gpus, or give --gpus 1")
    check_stages(speeds, rates.model)
    size = _Size(preset, config, game, rates)
    work = size.work(rates.model, layout.learners, speeds)
    timeline = simulate(work, layout)
    seconds = timeline.seconds + size.rating_seconds(work)
    updates = int(3600 * hours / seconds)
    rate = work.rows * layout.learners / seconds
    decisions = updates * work.rows * layout.learners
    length = rates.decisions_per_match
    return Forecast(
        preset=preset,
        nodes=layout.nodes,
        processes=layout.learners,
        collectors=layout.collectors,
        hours=hours,
        decisions_per_second=rate,
        update_seconds=seconds,
        updates=updates,
        decisions=decisions,
        matches=None if not length else int(decisions / size.learned_share / length),
        preset_hours=config.decisions / rate / 3600,
        memory_mib=size.memory(layout),
        storage_mib=size.storage(layout, updates),
        shares=timeline.shares,
        bottleneck=_bottleneck(size, rates.model, layout, speeds, timeline),
        measured=f"{rates.machine.cores} cores, {rates.machine.processor}",
        notes=_notes(config, game, rates, layout, gpus, timeline, speeds, ended_early=epochs is not None),
    )


def _all_epochs(config: TrainConfig) -> float:
    """The most passes over its decisions that an update makes."""
    learner: dict[str, Any] = msgspec.to_builtins(config.learner)
    epochs = learner.get("ppo", learner).get("epochs")
    if epochs is None:
        raise InputError(f"--epochs: {learner['kind']} always makes all of its updates; leave it out")
    return float(epochs)


class _Size:
    """How large the parts of a run are."""

    def __init__(self, preset: str, config: TrainConfig, game: Game, rates: Diagnosis) -> None:
        self._config, self._rates = config, rates
        self._subject = make_subject(preset, config, game)
        settings: Any = convert(config.settings, game.settings, where="settings")
        spec = game.spec(settings)
        whole_policy = isinstance(config.learner, AlphaZeroSettings | RnadSettings)
        self._row = row_bytes(spec, policy=whole_policy)
        weights = build_network(config.network, game, spec).state_dict().values()
        self._weights = sum(tensor.nbytes for tensor in weights)
        learner: dict[str, Any] = msgspec.to_builtins(config.learner)
        self._sizes = learner.get("ppo", learner)

    @property
    def learned_share(self) -> float:
        """The part of the decisions of all seats that are learned from: opponents' are not."""
        return 1 - sum(self._config.opponents.values()) / 2

    def work(self, model: Model, learners: int, speeds: Mapping[str, float]) -> Work:
        """What an update costs each of so many processes that learn."""
        rows = self._subject.batch_size
        if self._config.parallel.scaling == "off":
            rows = max(1, rows // learners)
        collect, learn = model.parts(speeds)
        passes = float(self._sizes.get("epochs", self._sizes.get("replay_ratio", 1.0)))
        measured = self._rates.figures.get("end to end")
        rounds = np.asarray(measured.seconds if measured is not None else [1.0])
        playing = sum(model.acting.values()) + sum(model.helpers.values())
        busy = playing + sum(model.learning.values())
        return Work(
            rows=rows,
            collect=collect,
            learn=learn,
            lost=model.lost,
            overlap=model.overlap,
            steps=max(1, round(passes * rows / int(self._sizes["minibatch_size"]))),
            gradient=self._weights,
            row=self._row,
            cores=self._rates.cores_used or busy / model.wall,
            playing_cores=min(1.0 + model.helper_count, playing / model.parts({})[0]),
            variation=tuple((rounds / rounds.mean()).tolist()),
        )

    def rating_seconds(self, work: Work) -> float:
        """What ratings add to an update, in the mean."""
        evaluation, length = self._config.evaluation, self._rates.decisions_per_match
        if not evaluation.every or evaluation.background or not length:
            return 0.0
        matches = evaluation.matches * len(evaluation.opponents)
        return matches * length * work.collect / evaluation.every

    def memory(self, layout: Layout) -> float:
        """MiB that the fullest node needs: what the measured processes held, and what longer updates hold besides."""
        measured = self._rates.tree_mib or self._rates.memory_mib or 0.0
        longer = self._subject.batch_size - self._subject.short_rows
        held = longer * _COPIES + int(self._sizes.get("window_size", 0))
        learner = measured + held * self._row / 2**20
        if not layout.collectors:
            return layout.processes * learner
        return learner + -(-layout.collectors // layout.nodes) * measured

    def storage(self, layout: Layout, updates: int) -> float:
        """MiB: checkpoints and the best, two states to resume from with optimiser and replay window, metrics."""
        window = int(self._sizes.get("window_size", 0)) * self._row
        states = 2 * (4 * self._weights + window * layout.learners)
        checkpoints = (self._config.checkpoint.keep + 1) * self._weights
        return float(checkpoints + states + updates * _METRICS) / 2**20


def row_bytes(spec: GameSpec, *, policy: bool) -> int:
    """Bytes of one decision in an episode."""
    columns = Steps.none(spec, policy=policy).columns().values()
    return sum(array.itemsize * prod(array.shape[1:]) for array in columns)


def _bottleneck(size: _Size, model: Model, layout: Layout, speeds: Mapping[str, float], found: Timeline) -> str:
    """The sentence: the part that the whole would gain most from if it were twice as fast."""
    kinds = sorted({stage.partition("/")[0] for stage in (*model.acting, *model.learning, *model.helpers)})
    gains: dict[str, float] = {}
    for kind in kinds:
        faster = {**speeds, kind: 2 * speeds.get(kind, 1.0)}
        gains[kind] = simulate(size.work(model, layout.learners, faster), layout).rate / found.rate
    work = size.work(model, layout.learners, speeds)
    if layout.nodes > 1:
        gains[_LINK] = simulate(work, replace(layout, link=2 * layout.link)).rate / found.rate
    kind, gain = max(gains.items(), key=lambda item: item[1])
    what = "the link between the nodes" if kind == _LINK else NAMES.get(kind, kind)
    return f"The bottleneck is {what} ({kind}): twice as fast, it would give {gain:.2f} times the decisions."


def _notes(
    config: TrainConfig,
    game: Game,
    rates: Diagnosis,
    layout: Layout,
    gpus: int,
    found: Timeline,
    speeds: Mapping[str, float],
    *,
    ended_early: bool,
) -> list[str]:
    """What was taken for granted."""
    notes = [f"rates as measured on {rates.machine.cores} cores, {rates.machine.processor}"]
    if gpus and not rates.gpus:
        told = (
            "--whatif says how much faster one is" if not {"learner", "inference"} & set(speeds) else "as --whatif says"
        )
        notes.append(f"the rates were measured without a GPU; {told}")
    learner: dict[str, Any] = msgspec.to_builtins(config.learner)
    if "target_kl" in learner.get("ppo", learner) and not ended_early:
        notes.append("as if no update ended early: a run's loss/epochs tells how many passes it makes (--epochs)")
    if layout.nodes > 1:
        notes.append(f"nodes exchange {8 * layout.link / 1e9:g} Gbit/s; nothing of it was measured")
    if found.crowded > 1.0:
        notes.append(f"a node has too few cores: work takes {found.crowded:.2f} times as long there")
    if layout.collectors:
        notes.append("a collector plays as fast as the measured process did: measure with threads=1")
    now = flat_settings(config, game)
    other = [
        f"{key} is {now[key]}, was {rates.settings.get(key)}"
        for key in now
        if key.partition(".")[0] not in _OF_NO_ACCOUNT and now[key] != rates.settings.get(key, now[key])
    ]
    if other:
        notes.append(f"measured with other settings: {'; '.join(other[:4])}{' ...' if other[4:] else ''}")
    return notes
