"""`sparring bench scale`: the contest of a preset's cells on this machine, kept in a file that it goes on from."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from sparring.bench.scale.cell import play_cell, send_match_length
from sparring.bench.scale.contest import (
    KEEP,
    Measurement,
    estimate_json,
    estimates,
    pending,
    recommended,
    still_to_do,
)
from sparring.bench.scale.grid import Cell, overrides
from sparring.core import Interrupts, Online, RunError, Spread
from sparring.core.errors import InputError
from sparring.core.files import lock_folder, write_file
from sparring.core.machine import machine_name
from sparring.report.progress import ProgressLine
from sparring.report.usage import ProcessTree
from sparring.training.config import TrainConfig, load_config
from sparring.training.settings import ClusterSettings

FILE = "scale.json"
OVERRIDE = "override.txt"
_LEAST_SECONDS, _MOST_SECONDS = 2.0, 30.0
_START_UP = 4.0
"""Seconds that starting and ending a cell is thought to take, until it is known."""
_PATIENCE = 900.0
"""Seconds after which a cell that says nothing has failed."""
_SAMPLE = 0.5
_LENGTHS = 32
"""Matches that the mean length is taken from."""


class Contest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What scale.json holds."""

    preset: str
    overrides: list[str]
    cells: list[Cell]
    machine: str
    decisions_per_match: float = 0.0
    """0 until it is known."""
    measured: list[Measurement] = []
    seconds: float = 0.0
    """How long it has taken so far."""


class _Stopped(Exception):
    """The user wants to end it."""


def scale(
    preset: str,
    given: Sequence[str],
    cells: Sequence[Cell],
    folder: Path,
    *,
    minutes: float,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Measures `cells` of a preset within about so many minutes, and returns what is known then, JSON-ready.

    What `folder` holds of the same contest is gone on with. Raises `InputError` if it holds another, `RunError` if no
    cell can be played.
    """
    configs = {cell: _config(preset, given, cell) for cell in cells}
    lock = lock_folder(folder, busy=f"{folder}: another process measures there")
    try:
        contest = _stored(
            folder, Contest(preset=preset, overrides=list(given), cells=list(cells), machine=machine_name())
        )
        with Interrupts() as interrupts:
            try:
                _measure(contest, configs, folder, minutes=minutes, stop=lambda: interrupts.asked, say=say)
            except _Stopped:
                say(f"stopped; what was measured is in {folder / FILE}, the same command goes on")
        result = summary(contest)
        best = result["recommended"]
        if best is not None:
            write_file(folder / OVERRIDE, ("\n".join(best["overrides"]) + "\n").encode())
        return result
    finally:
        os.close(lock)


def summary(contest: Contest) -> dict[str, Any]:
    """The contest's estimates, the fastest first, and the cell that is recommended; JSON-ready."""
    game = load_config(contest.preset, contest.overrides)[1]
    found, length = estimates(contest.measured), contest.decisions_per_match or 1.0
    best = recommended(found)
    errors = {one.cell: one.error or "no decision in time" for one in contest.measured if one.rate <= 0}
    return {
        "preset": contest.preset,
        "overrides": contest.overrides,
        "machine": contest.machine,
        "seconds": contest.seconds,
        "decisions_per_match": contest.decisions_per_match,
        "spread": game.spread if isinstance(game, Spread) else None,
        "finished": pending(contest.cells, contest.measured) is None,
        "cells": [estimate_json(one, length) for one in found],
        "failed": [{"cell": cell.text, "error": error} for cell, error in errors.items()],
        "recommended": best and {**estimate_json(best, length), "overrides": overrides(best.cell, game)},
    }


def _config(preset: str, given: Sequence[str], cell: Cell) -> TrainConfig:
    """The preset as the cell plays it: by itself, against nobody else."""
    _, game = load_config(preset, given)
    if cell.servers and not isinstance(game, Online):
        raise InputError(f"--servers: {game.name} is not played over servers")
    config, _ = load_config(preset, [*given, *overrides(cell, game)])
    if config.data:
        raise InputError(f"{preset}: it learns from episodes on disk and plays no matches; take another preset")
    return msgspec.structs.replace(config, opponents={}, cluster=ClusterSettings())


def _stored(folder: Path, fresh: Contest) -> Contest:
    """The contest in `folder`, or `fresh` if there is none."""
    path = folder / FILE
    if not path.exists():
        return fresh
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Contest)
    except (msgspec.DecodeError, OSError) as error:
        raise InputError(f"{path}: not a file of bench scale ({error}); delete it or choose another --save") from None
    for name in ("preset", "overrides", "cells", "machine"):
        if getattr(found, name) != getattr(fresh, name):
            raise InputError(f"{path}: measured with another {name.rstrip('s')}; delete it or choose another --save")
    known = set(fresh.cells)
    if any(one.cell not in known or not 0 <= one.round <= len(KEEP) for one in found.measured):
        raise InputError(f"{path}: holds cells that are not of its grid; delete it or choose another --save")
    return found


def _measure(
    contest: Contest,
    configs: dict[Cell, TrainConfig],
    folder: Path,
    *,
    minutes: float,
    stop: Callable[[], bool],
    say: Callable[[str], None],
) -> None:
    """Goes on with the contest until it is decided or the time is up; everything measured is saved at once."""
    begun, spent = monotonic(), contest.seconds
    extra: list[float] = []

    def save() -> None:
        contest.seconds = spent + monotonic() - begun
        write_file(folder / FILE, msgspec.json.format(msgspec.json.encode(contest), indent=1) + b"\n")

    total = len(contest.measured) + still_to_do(contest.cells, contest.measured)
    with ProgressLine("bench scale", total=total, done=len(contest.measured)) as bar:
        if not contest.decisions_per_match:
            bar.update(len(contest.measured), f"playing {_LENGTHS} whole matches, to know how long one is")
            contest.decisions_per_match = _match_length(configs[contest.cells[0]], stop)
            save()
        deadline = monotonic() + 60 * minutes  # kernels are compiled by now
        while (step := pending(contest.cells, contest.measured)) is not None:
            round, left = step
            usual = sum(extra) / len(extra) if extra else _START_UP
            share = (deadline - monotonic()) / still_to_do(contest.cells, contest.measured) - usual
            seconds = min(_MOST_SECONDS, max(_LEAST_SECONDS, share))
            for cell in left:
                detail = f"round {round + 1} of {len(KEEP) + 1}: {cell.text}"
                bar.update(len(contest.measured), detail)
                started = monotonic()
                one = _measured(cell, configs[cell], round, seconds, stop)
                extra.append(monotonic() - started - one.seconds)
                contest.measured.append(one)
                save()
                if monotonic() > deadline and pending(contest.cells, contest.measured) is not None:
                    say(f"time is up in round {round + 1} of {len(KEEP) + 1}; the same command goes on")
                    return
            if not any(one.rate > 0 for one in contest.measured):
                raise RunError(f"bench scale: no cell can be played: {contest.measured[0].error}")
        bar.update(total, "done")


def _measured(cell: Cell, config: TrainConfig, round: int, seconds: float, stop: Callable[[], bool]) -> Measurement:
    """One measurement, in a process of its own."""
    with _child(play_cell, config, cell.servers, seconds) as (line, tree):
        told = _listen(line, stop, lambda: None)
        if told != "playing":
            return Measurement(cell=cell, round=round, error=_error(told))
        samples = [tree.sample()][1:]  # what it took to start does not count
        told = _listen(line, stop, lambda: samples.append(tree.sample()))
        if not isinstance(told, dict) or "error" in told:
            return Measurement(cell=cell, round=round, error=_error(told))
        samples = samples or [tree.sample()]
    return Measurement(
        cell=cell,
        round=round,
        **told,
        cpu=sum(one.cores for one in samples) / len(samples),
        cpu_peak=max(one.cores for one in samples),
        memory=max(one.memory for one in samples),
    )


def _match_length(config: TrainConfig, stop: Callable[[], bool]) -> float:
    small = msgspec.structs.replace(config, matches=max(_LENGTHS, config.workers), workers=0)
    with _child(send_match_length, small, _LENGTHS) as (line, _):
        told = _listen(line, stop, lambda: None)
    if not isinstance(told, dict) or "error" in told:
        raise RunError(f"bench scale: no match can be played: {_error(told)}")
    return float(told["decisions"])


def _error(told: Any) -> str:
    return str(told["error"]) if isinstance(told, dict) and "error" in told else str(told)


def _listen(line: "Connection[Any, Any]", stop: Callable[[], bool], meanwhile: Callable[[], None]) -> Any:
    """The next message; a line about it if the process ended or says nothing. Raises `_Stopped` if asked to."""
    since = monotonic()
    while not line.poll(_SAMPLE):
        if stop():
            raise _Stopped
        if monotonic() - since > _PATIENCE:
            return f"nothing came for {_PATIENCE:.0f} s"
        meanwhile()
    try:
        return line.recv()
    except EOFError:
        return "its process ended without a word; its traceback is above"


@contextmanager
def _child(work: Callable[..., None], *arguments: Any) -> Iterator[tuple["Connection[Any, Any]", ProcessTree]]:
    """A process that does `work` with a line to us; it and all below it is gone when the block ends.

    Processes come from a server that has imported everything once, so that they start at once and share no state.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(["sparring.bench.scale.cell"])
    ours, theirs = context.Pipe()
    process: ForkServerProcess = context.Process(target=work, args=(*arguments, theirs))
    process.start()
    theirs.close()
    assert process.pid is not None
    tree = ProcessTree(process.pid)
    try:
        yield ours, tree
    finally:
        ours.close()
        process.join(_SAMPLE)
        tree.kill()
        process.join()
