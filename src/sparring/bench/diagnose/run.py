"""All tests of a diagnosis, in turns: a short round of each, again and again, until the time is over."""

import resource
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from statistics import mean, median
from time import perf_counter
from typing import Any, Literal, get_args

import numpy as np

from sparring.bench.diagnose.gpu import GpuPart
from sparring.bench.diagnose.model import Model, check_stages
from sparring.bench.diagnose.parts import (
    ArenaPart,
    InferencePart,
    PipelinePart,
    Played,
    StorePart,
    Trained,
    reference,
)
from sparring.bench.diagnose.result import BatchFigure, Diagnosis, this_machine
from sparring.bench.diagnose.subject import Subject
from sparring.bench.diagnose.verdict import bottleneck
from sparring.core import InputError, did_you_mean
from sparring.core.machine import free_memory
from sparring.inference.threads import set_threads
from sparring.report.progress import ProgressLine, compiling_announced
from sparring.report.usage import ProcessTree, Usage
from sparring.training.config import flat_settings

Test = Literal["env", "encode", "mask", "inference", "learner", "store", "gpu", "all"]
TESTS: tuple[str, ...] = get_args(Test)
_ARENA = {"env", "encode", "mask"}
_LEAST_ROUNDS = 8
"""So many that a rank test can tell two measurements apart."""
_PART_OF_ROUND = {"arena": 0.1, "pipeline": 0.25, "inference": 0.15}
"""Seconds of one round of each part, at most; one update may take longer."""
_NEARLY_BEST = 0.95


def check_tests(names: Collection[str]) -> set[str]:
    """The tests to run; raises `InputError` for a name that is none."""
    for name in names:
        if name not in TESTS:
            raise InputError(f"--test {name}: no such test{did_you_mean(name, TESTS)}; tests: {', '.join(TESTS)}")
    return set(TESTS) - {"all"} if "all" in names else set(names)


def diagnose(
    subject: Subject,
    tests: Collection[str] = ("all",),
    *,
    seconds: float = 20.0,
    whatif: Mapping[str, float] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Diagnosis:
    """Measures `subject` for about `seconds`, set-up apart, and at least eight rounds."""
    wanted = check_tests(tests)
    set_threads(subject.short.threads, say)
    with ExitStack() as open_parts, compiling_announced(say):
        measured = _Measured(subject, wanted, open_parts, say)
        with ProgressLine(f"measuring {subject.name}", total=seconds) as progress:
            start = perf_counter()
            while (spent := perf_counter() - start) < seconds or measured.rounds < _LEAST_ROUNDS:
                measured.round()
                progress.update(min(spent, 0.99 * seconds), f"round {measured.rounds}")
        return measured.diagnosis(dict(whatif or {}))


class _Measured:
    """The parts that the wanted tests need, and what their rounds have found."""

    def __init__(self, subject: Subject, wanted: set[str], held: ExitStack, say: Callable[[str], None]) -> None:
        self.rounds = 0
        self._subject = subject
        self._wanted = wanted
        self._arena = ArenaPart(subject) if wanted & _ARENA else None
        if self._arena is not None:
            held.callback(self._arena.close)
            self._arena.round(0.5)
        self._pipeline = PipelinePart(subject, say=say) if wanted - _ARENA else None
        self._inference: InferencePart | None = None
        self._store: StorePart | None = None
        self._gpu = GpuPart(subject.short.device) if "gpu" in wanted else None
        if self._pipeline is not None:
            held.callback(self._pipeline.close)
            episodes = self._pipeline.episodes()
            if "inference" in wanted:
                self._inference = InferencePart(self._pipeline, episodes)
            if "store" in wanted:
                self._store = StorePart(episodes)
                held.callback(self._store.close)
        reference()
        self._reference: list[float] = []
        self._played: list[Played] = []
        self._trained: list[Trained] = []
        self._asked: list[dict[int, list[float]]] = []
        self._stored: list[tuple[float, float]] = []
        self._tree = ProcessTree()
        self._used: list[Usage] = []

    def round(self) -> None:
        """A short round of every part."""
        self.rounds += 1
        speed = [reference()]
        if self._arena is not None:
            self._played.append(self._arena.round(_PART_OF_ROUND["arena"]))
        if self._pipeline is not None and self._wanted & {"learner", "gpu"}:
            self._tree.sample()
            self._trained.append(self._pipeline.round(_PART_OF_ROUND["pipeline"]))
            self._used.append(self._tree.sample())
            if self._gpu is not None:
                self._gpu.sample()
        speed.append(reference())
        if self._inference is not None:
            self._asked.append(self._inference.round(_PART_OF_ROUND["inference"]))
        if self._store is not None:
            self._stored.append(self._store.round())
        speed.append(reference())
        self._reference.append(mean(speed))

    def diagnosis(self, whatif: dict[str, float]) -> Diagnosis:
        """What the rounds come to."""
        subject = self._subject
        found: dict[str, Any] = {}
        figures: dict[str, list[float]] = {}
        if self._played:
            found |= _arena_figures(self._played, figures)
        if self._asked:
            found |= _inference_figures(self._asked, figures)
        if self._stored and self._store is not None:
            rows = self._store.rows
            figures["store write"], figures["store read"] = (
                [seconds / rows for seconds in part] for part in zip(*self._stored, strict=True)
            )
            found["store_write_rows_per_second"] = 1 / median(figures["store write"])
            found["store_read_rows_per_second"] = 1 / median(figures["store read"])
        if self._trained and self._pipeline is not None:
            waits, setting = self._pipeline.helped_by
            model = make_model(
                self._trained, waits=waits, helpers=self._pipeline.helper_count, overlap=self._pipeline.overlap
            )
            check_stages(whatif, model)
            batch = mean(one.batch for one in self._trained)
            found |= _pipeline_figures(self._trained, figures, overlap=self._pipeline.overlap)
            found |= {
                "model": model,
                "mean_batch": batch,
                "decisions_per_match": self._pipeline.decisions_per_match,
                "cores_used": median(one.cores for one in self._used),
                "tree_mib": max(one.memory for one in self._used) / 2**20,
                "bottleneck": bottleneck(
                    model, subject.config, batch=batch, best_batch=found.get("best_batch"), setting=setting
                ),
            }
            if whatif:
                found |= {"whatif": whatif, "whatif_rows_per_second": 1 / model.predict(whatif)}
        elif whatif:
            raise InputError("--whatif: it needs the whole pipeline; add --test learner, or --test all")
        if self._gpu is not None:
            found |= {"gpus": self._gpu.found(), "gpu_note": self._gpu.note}
        free = free_memory()
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return Diagnosis(
            game=subject.game.name,
            preset=subject.name,
            settings=flat_settings(subject.config, subject.game),
            machine=this_machine(),
            rounds=self.rounds,
            figures=figures,
            reference=self._reference,
            memory_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit,
            free_memory_mib=None if free is None else free / 2**20,
            **found,
        )


def make_model(rounds: list[Trained], *, waits: str, helpers: int, overlap: bool) -> Model:
    """The pipeline as the rounds have shown it."""
    rows = sum(one.rows for one in rows_of(rounds))

    def a_row(part: Callable[[Trained], dict[str, float]]) -> dict[str, float]:
        stages = {stage for one in rounds for stage in part(one)}
        return {stage: sum(part(one).get(stage, 0.0) for one in rounds) / rows for stage in sorted(stages)}

    acting, helping = a_row(lambda one: one.acting), a_row(lambda one: one.helpers)
    waited = acting.pop(waits, 0.0)
    return Model(
        acting=acting,
        waits=waits,
        waited=waited,
        helpers=helping if helpers else {},
        helper_count=helpers,
        learning=a_row(lambda one: one.learning),
        overlap=overlap,
        wall=sum(one.seconds for one in rounds) / rows,
    )


def rows_of(rounds: list[Trained]) -> list[Trained]:
    """The rounds that learned anything; raises `InputError` if none did."""
    if not any(one.rows for one in rounds):
        raise InputError("no decision was learned from; raise --seconds")
    return rounds


def _arena_figures(rounds: list[Played], figures: dict[str, list[float]]) -> dict[str, Any]:
    rounds = [one for one in rounds if one.decisions]
    for stage in sorted({stage for one in rounds for stage in one.stages}):
        figures[f"arena {stage}"] = [one.stages.get(stage, 0.0) / one.decisions for one in rounds]
    figures["arena"] = [one.seconds / one.decisions for one in rounds]
    ticks = [one.seconds / one.ticks for one in rounds if one.ticks]
    return {
        "decisions_per_second": 1 / median(figures["arena"]),
        "ticks_per_second": 1 / median(ticks) if ticks else None,
        "microseconds": {
            name.removeprefix("arena "): 1e6 * median(values)
            for name, values in figures.items()
            if name.startswith("arena ")
        },
    }


def _inference_figures(rounds: list[dict[int, list[float]]], figures: dict[str, list[float]]) -> dict[str, Any]:
    found = []
    for batch in rounds[0]:
        took = np.concatenate([one[batch] for one in rounds])
        figures[f"inference, batch {batch}"] = [median(one[batch]) / batch for one in rounds]
        p50, p95, p99 = (1000 * np.percentile(took, (50, 95, 99))).tolist()
        found.append(BatchFigure(batch=batch, p50_ms=p50, p95_ms=p95, p99_ms=p99, rows_per_second=1000 * batch / p50))
    enough = _NEARLY_BEST * max(one.rows_per_second for one in found)
    return {"inference": found, "best_batch": next(one.batch for one in found if one.rows_per_second >= enough)}


def _pipeline_figures(rounds: list[Trained], figures: dict[str, list[float]], *, overlap: bool) -> dict[str, Any]:
    figures["end to end"] = [one.seconds / one.rows for one in rounds]
    stages = {name: None for one in rounds for name in (*one.acting, *one.learning)}
    for stage in stages:
        figures[stage] = [{**one.acting, **one.learning}.get(stage, 0.0) / one.rows for one in rounds]
    wall = sum(one.seconds for one in rounds)
    acting = {stage: sum(one.acting.get(stage, 0.0) for one in rounds) / wall for stage in rounds[0].acting}
    learning = {stage: sum(one.learning.get(stage, 0.0) for one in rounds) / wall for stage in rounds[0].learning}
    if overlap:
        waiting = sum(one.waiting for one in rounds) / wall
        shares = {
            "collecting": acting | {"idle": max(0.0, 1 - sum(acting.values()))},
            "learning": learning | {"waiting for episodes": waiting},
        }
    else:
        shares = {"all": acting | learning}
    learned = sum(one.learning["learner"] for one in rounds)
    rows = sum(one.rows for one in rounds)
    return {
        "learner_rows_per_second": rows / wall,
        "learning_rows_per_second": rows / learned,
        "shares": shares,
        "accounted": {name: sum(part.values()) for name, part in shares.items()},
    }
