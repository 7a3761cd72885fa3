"""All tests of a diagnosis, in turns: a short round of each, again and again, until the time is over."""

import resource
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from statistics import mean, median
from time import perf_counter
from typing import Any, Literal, get_args

import torch

from sparring.bench.diagnose.figures import arena_figures, inference_figures, pipeline_figures, store_figures
from sparring.bench.diagnose.gpu import GpuPart
from sparring.bench.diagnose.model import Model, check_stages
from sparring.bench.diagnose.parts import (
    ArenaPart,
    Asking,
    InferencePart,
    PipelinePart,
    Played,
    Stored,
    StorePart,
    Trained,
)
from sparring.bench.diagnose.result import Diagnosis, Figure, this_machine
from sparring.bench.diagnose.subject import Subject
from sparring.bench.diagnose.verdict import bottleneck
from sparring.core import InputError, did_you_mean
from sparring.core.machine import free_memory
from sparring.inference.threads import set_threads
from sparring.report.progress import ProgressLine
from sparring.report.usage import ProcessTree, Usage
from sparring.training.config import flat_settings

Test = Literal["env", "encode", "mask", "inference", "learner", "store", "gpu", "all"]
TESTS: tuple[str, ...] = get_args(Test)
_ARENA = {"env", "encode", "mask"}
LEAST_ROUNDS = 16
"""So many that a rank test can tell two measurements apart."""
_PART_OF_ROUND = {"arena": 0.1, "pipeline": 0.25, "inference": 0.15}
"""Seconds of one round of each part, at most; one update may take longer."""


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
    threads: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> Diagnosis:
    """Measures `subject` for about `seconds`, set-up apart, and at least `LEAST_ROUNDS`.

    If `subject` leaves the number of torch's threads open, `threads` decides; 0 takes as many as cores are free.
    """
    wanted = check_tests(tests)
    set_threads(subject.short.threads or threads, say)
    with ExitStack() as open_parts:
        measured = _Measured(subject, wanted, open_parts, say)
        with ProgressLine(f"measuring {subject.name}", total=seconds) as progress:
            start = perf_counter()
            while (spent := perf_counter() - start) < seconds or measured.rounds < LEAST_ROUNDS:
                measured.round()
                done = min(spent / seconds, measured.rounds / LEAST_ROUNDS, 0.99)
                progress.update(done * seconds, f"round {measured.rounds} of at least {LEAST_ROUNDS}")
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
        self._played: list[Played] = []
        self._trained: list[Trained] = []
        self._asked: list[dict[int, Asking]] = []
        self._stored: list[Stored] = []
        self._tree = ProcessTree()
        self._used: list[Usage] = []

    def round(self) -> None:
        """A short round of every part."""
        self.rounds += 1
        if self._arena is not None:
            self._played.append(self._arena.round(_PART_OF_ROUND["arena"]))
        if self._pipeline is not None and self._wanted & {"learner", "gpu"}:
            self._tree.sample()
            self._trained.append(self._pipeline.round(_PART_OF_ROUND["pipeline"]))
            self._used.append(self._tree.sample())
            if self._gpu is not None:
                self._gpu.sample()
        if self._inference is not None:
            self._asked.append(self._inference.round(_PART_OF_ROUND["inference"]))
        if self._store is not None:
            self._stored.append(self._store.round())

    def diagnosis(self, whatif: dict[str, float]) -> Diagnosis:
        """What the rounds come to."""
        subject = self._subject
        found: dict[str, Any] = {}
        figures: dict[str, Figure] = {}
        on_gpu = self._pipeline is not None and self._pipeline.on_gpu
        if self._played and self._arena is not None:
            found |= arena_figures(self._played, figures, waits=self._arena.waits)
        if self._asked:
            found |= inference_figures(self._asked, figures, on_gpu=on_gpu)
        if self._stored and self._store is not None:
            found |= store_figures(self._stored, figures, rows=self._store.rows)
        if self._trained and self._pipeline is not None:
            model = make_model(
                self._trained,
                waits=self._pipeline.waits,
                helpers=self._pipeline.helper_count,
                overlap=self._pipeline.overlap,
            )
            check_stages(whatif, model)
            batch = mean(one.batch for one in self._trained)
            found |= pipeline_figures(
                self._trained, figures, waits=self._pipeline.waits, overlap=self._pipeline.overlap, on_gpu=on_gpu
            )
            found |= {
                "model": model,
                "mean_batch": batch,
                "decisions_per_match": self._pipeline.decisions_per_match,
                "cores_used": median(one.cores for one in self._used),
                "tree_mib": max(one.memory for one in self._used) / 2**20,
                "bottleneck": bottleneck(
                    model,
                    subject.config,
                    batch=batch,
                    best_batch=found.get("best_batch"),
                    setting=self._pipeline.setting,
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
            threads=torch.get_num_threads(),
            rounds=self.rounds,
            figures=figures,
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
