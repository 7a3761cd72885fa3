"""Reads matches played elsewhere into episode stores: in parallel, each once, every one accounted for.

A match has a serial number of its own (`Replay.serial`), which its episodes carry into the store. So a run that was
killed goes on where it was, and running it again adds nothing: what is in the store, or was rejected, is skipped.
Matches are read in chunks by worker processes; a chunk comes back as whole files, which only this process writes.
"""

import json
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sparring.core import InputError, RunError, load_game
from sparring.core.files import append_file, lock_folder, safe_name, sweep, whole_lines, write_file
from sparring.core.interrupts import ctrl_c_held_back, stay_with_parent
from sparring.core.replays import FAILED, Filters, ImportReport, Rejected, Replay, Replayed, Replays
from sparring.rollout.store import EpisodeStore, ShardSize, shard_bytes, shard_serials, shards, size_of, spec_of

CHUNK = 128
"""Matches that a worker reads at a time, and that a file holds at most."""
CHUNK_CHARACTERS = 16 << 20
"""A chunk with this many characters is full even if it has fewer matches."""
REJECTED = "rejected.jsonl"
REPORT = "report.json"
READING = "reading.json"
"""How the matches in a folder were read: filters and the game's options."""


@dataclass(frozen=True)
class ImportPlan:
    """What is read, and how."""

    game: str
    inputs: Sequence[Path]
    output: Path
    workers: int = 1
    cluster: str | None = None
    """The address of a Ray cluster that reads, on all but one of its CPUs; None: this machine."""
    most: int | None = None
    """Stop after this many matches."""
    filters: Filters = field(default_factory=Filters)
    options: Mapping[str, str] = field(default_factory=dict)
    """The game's own."""


def import_replays(
    plan: ImportPlan,
    *,
    on_progress: Callable[[ImportReport], None] = lambda report: None,
    stopped: Callable[[], bool] = lambda: False,
    say: Callable[[str], None] = lambda text: None,
) -> ImportReport:
    """Reads all matches of `plan` into one store per format below `plan.output`; returns when done or `stopped`.

    Beside the stores, rejected.jsonl says why each match that was not read was rejected, and report.json counts
    everything.
    """
    game = load_game(plan.game)
    if not isinstance(game, Replayed):
        raise InputError(f"{plan.game} has no replays to read")
    _check_apart(plan)
    found = game.find_replays(plan.inputs)
    with ExitStack() as opened:
        busy = f"{plan.output}: another process writes episodes there; wait, or choose another folder"
        opened.callback(os.close, lock_folder(plan.output, busy=busy))
        sweep(plan.output)
        _read_as_before(plan)
        _forget_failed(plan.output / REJECTED)
        before = _Before(plan.output)
        report = ImportReport(rejected=before.reasons)
        writer = _Writer(plan.output, report, opened)
        waiting: deque[Future[_Chunk]] = deque()
        pool, size = _pool(plan, say)
        opened.enter_context(pool)
        try:
            for chunk in _chunks(found, before, report, plan, writer):
                waiting.append(_submit(pool, plan, chunk))
                if len(waiting) > 2 * size:
                    writer.write(waiting.popleft().result())
                    on_progress(report)
                if stopped():
                    break
            while waiting:
                writer.write(waiting.popleft().result())
                on_progress(report)
        except BrokenProcessPool as error:
            raise RunError("a worker died while reading; run the same command again to go on") from error
        report.share = 1.0
        write_file(plan.output / REPORT, json.dumps(report.to_json(), indent=2).encode())
    return report


def _check_apart(plan: ImportPlan) -> None:
    """Raises `InputError` if the output would be among the inputs."""
    for path in plan.inputs:
        if plan.output.resolve().is_relative_to(path.resolve()):
            raise InputError(f"{plan.output} lies inside {path}, which is read; choose another folder for the episodes")


def _read_as_before(plan: ImportPlan) -> None:
    """Raises `InputError` if the folder's matches were read with other options: the two would not mix.

    With other filters, what the earlier ones left out is considered again.
    """
    path = plan.output / READING
    now = {"options": {key: value for key, value in plan.options.items() if key not in _NO_KIND}}
    now["filters"] = asdict(plan.filters) | {"formats": sorted(plan.filters.formats)}
    if path.exists():
        try:
            then = json.loads(path.read_bytes())
            same = then["options"] == now["options"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: damaged; remove it, or choose another folder for the episodes") from error
        if not same:
            raise InputError(
                f"{plan.output}: its battles were read with {_named(then['options'])}, these would be with "
                f"{_named(now['options'])}; choose another folder for the episodes"
            )
        if then == now:
            return
        _forget_filtered(plan.output / REJECTED)
    write_file(path, json.dumps(now).encode())


_NO_KIND = ("corpus",)
"""Options that may change from run to run."""


def _named(options: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in options.items()) or "no options"


def _forget_filtered(path: Path) -> None:
    """Drops from rejected.jsonl what only a filter rejected."""
    if path.exists():
        with path.open("rb") as file:
            write_file(path, b"".join(line for line in file if b'"reason": "filtered' not in line))


def _forget_failed(path: Path) -> None:
    """Drops matches that the reader of another version failed on: this one may read them."""
    if path.exists():
        failed, now = f'"reason": "{FAILED}"'.encode(), f'"version": "{version("sparring")}"'.encode()
        lines = path.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if failed not in line or now in line]
        if len(kept) < len(lines):
            write_file(path, b"".join(kept))


class _Before:
    """What earlier runs have done: the serial numbers of matches in the stores and of rejected ones."""

    def __init__(self, output: Path) -> None:
        self.serials: set[int] = set()
        self.reasons: Counter[str] = Counter()
        for shard in (shard for folder in output.iterdir() if folder.is_dir() for shard in shards(folder)):
            self.serials.update(shard_serials(shard).tolist())
        path = output / REJECTED
        if not path.exists():
            return
        os.truncate(path, whole_lines(path))
        with path.open("rb") as file:
            for line in file:
                self._note(line)

    def _note(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
            serial, reason = int(entry["serial"]), str(entry["reason"])
        except (ValueError, KeyError, TypeError):
            return
        if serial not in self.serials:
            self.serials.add(serial)
            self.reasons[reason] += 1


@dataclass(frozen=True)
class _Chunk:
    """What a worker has read."""

    files: list[tuple[str, bytes, ShardSize]]
    """Format, content and size of each shard."""
    rejected: list[tuple[int, str, str, str]]
    """Serial, id, reason, detail."""
    odd: Counter[str]


def _read(game: str, replays: Sequence[Replay], filters: Filters, options: Mapping[str, str]) -> _Chunk:
    """Reads a chunk; runs in a worker."""
    reader: Any = load_game(game)
    reading = reader.read_replays(replays, filters, options)
    ids = {replay.serial: replay.id for replay in replays}
    return _Chunk(
        files=[
            (format, shard_bytes(episodes, about={"source": "replays"}), size_of(episodes))
            for format, episodes in reading.episodes.items()
        ],
        rejected=[(serial, ids[serial], one.reason, one.detail) for serial, one in reading.rejected.items()],
        odd=reading.odd,
    )


def _chunks(
    found: Replays, before: _Before, report: ImportReport, plan: ImportPlan, writer: "_Writer"
) -> Iterator[list[Replay]]:
    """The matches that are new, in chunks."""
    chunk: list[Replay] = []
    seen: set[int] = set()
    taken = size = 0
    for one in found:
        if plan.most is not None and taken >= plan.most:
            break
        report.found += 1
        report.share = found.share
        serial = one.serial
        if serial in seen:
            report.duplicates += 1
            continue
        seen.add(serial)
        taken += isinstance(one, Replay)
        if serial in before.serials:
            report.already += 1
            continue
        if isinstance(one, Rejected):
            writer.reject([(serial, "", one.reason, one.detail)])
            continue
        chunk.append(one)
        size += len(one.log)
        if len(chunk) == CHUNK or size >= CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


class _Writer:
    """Writes what workers have read: one store per format, and the rejected."""

    def __init__(self, output: Path, report: ImportReport, open_stores: ExitStack) -> None:
        self._output = output
        self._report = report
        self._open = open_stores
        self._stores: dict[str, EpisodeStore] = {}

    def write(self, chunk: _Chunk) -> None:
        """Writes one chunk: its files first, so that nothing is noted as done before it is."""
        for format, content, size in chunk.files:
            self._store(format, content).add(content, size)
            self._report.accepted += size.matches
            self._report.episodes += size.episodes
            self._report.rows += size.rows
            self._report.by_format[format] += size.matches
        self.reject(chunk.rejected)
        self._report.odd.update(chunk.odd)

    def reject(self, rejected: Sequence[tuple[int, str, str, str]]) -> None:
        """Notes matches that were not read."""
        if not rejected:
            return
        entries = [
            {"serial": serial, "id": id, "reason": reason, "detail": detail}
            | ({"version": version("sparring")} if reason == FAILED else {})
            for serial, id, reason, detail in rejected
        ]
        append_file(self._output / REJECTED, b"".join(json.dumps(entry).encode() + b"\n" for entry in entries))
        self._report.rejected.update(reason for _, _, reason, _ in rejected)

    def _store(self, format: str, content: bytes) -> EpisodeStore:
        if format not in self._stores:
            spec = spec_of(content)
            self._stores[format] = self._open.enter_context(EpisodeStore(self._output / safe_name(format), spec))
        return self._stores[format]


def _pool(plan: ImportPlan, say: Callable[[str], None]) -> tuple[Executor, int]:
    """Processes that read, and how many; with 0 workers this process reads itself."""
    if plan.cluster is not None:
        from sparring.rollout.cluster_pool import ClusterPool  # needs Ray

        if plan.workers:
            raise InputError("--workers: with --cluster its processes read; allowed: 0")
        there = ClusterPool(plan.cluster, name=_about, say=say)
        return there, there.size
    if not plan.workers:
        return _Here(), 1
    context = get_context("spawn")
    pool = ProcessPoolExecutor(max_workers=plan.workers, mp_context=context, initializer=stay_with_parent)
    return pool, plan.workers


def _about(arguments: tuple[Any, ...]) -> str:
    """The chunk of a call of `_read`, for a message."""
    replays: Sequence[Replay] = arguments[1]
    return f"the {len(replays):,} battles from {replays[0].id} to {replays[-1].id}"


def _submit(pool: Executor, plan: ImportPlan, chunk: Sequence[Replay]) -> "Future[_Chunk]":
    with ctrl_c_held_back():  # it may start a process
        return pool.submit(_read, plan.game, chunk, plan.filters, dict(plan.options))


class _Here(Executor):
    """Runs what is submitted at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Calls `fn` now."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done
