"""A run folder: everything one training run leaves on disk, each part whole or absent.

Reading one imports no code: its config.yaml is only compared with the user's configuration, as data.

config.yaml        the resolved configuration
environment.json   versions and machine
metrics.jsonl      one line per update; the same under tensorboard/
checkpoints/N/     the policy after update N, the newest few
best/              the policy with the best evaluation so far
opponents/NAME/    checkpoints of opponents, as they were when the run first met them
pool/NAME/         members of the league: the run's own snapshots by update, others' as RUN-UPDATE
matches/           matches worth seeing, where the game can show them
resume/N/          what a continuation needs: learner, random states, matches in play; the newest two
resume/rank-R/N/   the same of the other processes of a run, without what is equal in all
job/               script, log and number of the job of a cluster that trains it; see `sparring.launch`
ending.json        how the last process that trained here ended, unless it was killed
"""

import hashlib
import json
import os
import platform
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
import yaml
from torch import Tensor

from sparring.core import Array, InputError, RunError
from sparring.core.checksums import read_checked, with_checksums
from sparring.core.files import (
    cannot_write,
    is_leftover,
    lock_folder,
    remove_folder,
    safe_name,
    sweep,
    write_file,
    write_folder,
)
from sparring.core.machine import machine_name
from sparring.core.settings import convert, read_settings
from sparring.league import Entrant
from sparring.policy.checkpoint import Checkpoint, parse_tensors, save_checkpoint, tensor_bytes
from sparring.training.config import TrainConfig, differences
from sparring.training.league.league import POOL
from sparring.training.presets import STORED

JOB = "job"
"""The folder of the cluster job that trains a run; it exists before the run does."""
_ENDING = "ending.json"
_STATE, _LEARNER, _PLAYING = "state.json", "learner.safetensors", "playing.safetensors"
_SHARDS = "shards.safetensors"
SHARDS = "shards"
"""The key in a state's values for the number of rows of each tensor that is split over several processes' folders."""


@dataclass(frozen=True)
class ResumeState:
    """Where a run stands between two updates."""

    update: int
    values: Mapping[str, Any]
    learner: Mapping[str, Tensor]
    playing: Mapping[str, Array]
    shards: Mapping[str, Tensor] = field(default_factory=dict)
    """The rows of a sharded learner that this process holds; see `SHARDS`."""


class Ending(msgspec.Struct, frozen=True):
    """How a process that trained in a run folder ended."""

    how: Literal["finished", "stopped", "failed"]
    reason: str
    update: int | None
    time: float
    """Unix time."""


class RunFolder:
    """Reads and writes one run's folder, locked from `open` to `close`."""

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is a file, not a run folder; choose another with --run or run=")
        self.path = path
        self._lock: int | None = None
        self._opened = False
        self._content = ""

    def open(self, config: TrainConfig, say: Callable[[str], None] = print) -> ResumeState | None:
        """Creates the folder, or finds where its run stands; raises `InputError` if `config` is another run's.

        `say` reports damaged states; an older one is used instead.
        """
        self._lock = lock_folder(
            self.path,
            busy=f"{self.path}: another process is training there; wait, or choose another with --run or run=",
        )
        self.check(config)
        try:
            for part in (".", "checkpoints", "resume", "matches", "opponents", POOL):
                sweep(self.path / part)
            for other in self.path.glob("resume/rank-*"):
                sweep(other)
            (self.path / _ENDING).unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        write_file(self.path / STORED, yaml.safe_dump(msgspec.to_builtins(config), sort_keys=False).encode())
        write_file(self.path / "environment.json", json.dumps(_environment(), indent=2).encode())
        self._opened = True
        return self._newest_resume(say)

    def check(self, config: TrainConfig) -> None:
        """Raises `InputError` if a folder that exists is not for `config`; writes nothing."""
        if not self.path.is_dir():
            return
        check_same_run(self.path, config)
        empty = all(is_leftover(path) or path.name == JOB for path in self.path.iterdir())
        if not empty and not (self.path / STORED).exists():
            raise InputError(f"{self.path} is not empty and holds no run; choose another folder with --run or run=")

    @property
    def opponents(self) -> Path:
        """Where checkpoints of opponents are kept, each under the `safe_name` of its name."""
        return self.path / "opponents"

    @property
    def pool(self) -> Path:
        """Where the members of the run's league are kept."""
        return self.path / POOL

    def keep_opponents(self, entrants: Iterable[Entrant]) -> None:
        """Copies the checkpoints of opponents that are not here yet."""
        for entrant in entrants:
            folder = self.opponents / safe_name(entrant.name)
            if entrant.checkpoint is not None and not folder.exists():
                save_checkpoint(folder, entrant.checkpoint)

    def close(self) -> None:
        """Unlocks the folder; may be called twice."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
            self._opened = False

    def save_checkpoint(self, checkpoint: Checkpoint, *, keep: int) -> None:
        """Adds a checkpoint and drops all but the newest `keep`."""
        save_checkpoint(self.path / "checkpoints" / f"{checkpoint.version:08d}", checkpoint)
        for old in _numbered(self.path / "checkpoints")[:-keep]:
            remove_folder(old)

    def save_best(self, checkpoint: Checkpoint) -> None:
        """Replaces the best checkpoint."""
        save_checkpoint(self.path / "best", checkpoint)

    def save_resume(self, state: ResumeState, *, rank: int = 0) -> None:
        """Writes where the run stands; once that is on disk, drops all older states but one.

        Raises `RunError` if the learner equals the one saved before: then training, or saving, has stalled.
        """
        folder = self._resume(rank) / f"{state.update:08d}"
        arrays = {name: torch.from_numpy(array.copy()) for name, array in state.playing.items()}
        learner, shards = tensor_bytes(state.learner), tensor_bytes(state.shards)
        content = hashlib.sha256(learner + shards if state.shards else learner).hexdigest()
        if rank == 0 and state.learner and content == self._content:
            raise RunError(f"{folder}: not saved: the learner is the same as in the checkpoint before")
        write_folder(
            folder,
            with_checksums(
                {
                    _STATE: json.dumps({"update": state.update, "values": state.values, "content": content}).encode(),
                    _LEARNER: learner,
                    _PLAYING: tensor_bytes(arrays),
                    **({_SHARDS: shards} if state.shards else {}),
                }
            ),
        )
        self._content = content
        # The others are ahead of rank 0, whose two states need their parts.
        for old in [path for path in _numbered(folder.parent) if path != folder][: -2 if rank else -1]:
            remove_folder(old)

    def save_bad_batch(self, batch: Mapping[str, Tensor]) -> Path:
        """Keeps the batch that stopped a run, for a post-mortem."""
        path = self.path / "not-finite.safetensors"
        write_file(path, tensor_bytes(batch))
        return path

    def note_ending(
        self, how: Literal["finished", "stopped", "failed"], reason: str, *, update: int | None = None
    ) -> None:
        """Records how training ended; does nothing in a folder that this process has not opened."""
        if self._opened:
            ending = Ending(how, reason, update, round(time.time(), 3))
            write_file(self.path / _ENDING, json.dumps(msgspec.to_builtins(ending)).encode())

    @property
    def newest_resume(self) -> int | None:
        """The update after which training would go on; None if it would begin anew."""
        return max((int(folder.name) for folder in _numbered(self.path / "resume")), default=None)

    def _resume(self, rank: int) -> Path:
        return self.path / "resume" / (f"rank-{rank}" if rank else ".")

    def _newest_resume(self, say: Callable[[str], None]) -> ResumeState | None:
        """The newest undamaged state; raises `InputError` if all are damaged."""
        damage: InputError | None = None
        for folder in reversed(_numbered(self.path / "resume")):
            try:
                state = self.read_resume(int(folder.name))
                deque(self.read_shards(state), maxlen=0)
            except InputError as error:
                say(f"{error}; going back to the one before")
                damage = damage or error
            else:
                self._drop_parts()
                return state
        if damage is not None:
            raise damage
        return None

    def _drop_parts(self) -> None:
        """Removes other processes' parts of states that rank 0 has not completed, or has dropped since."""
        complete = {folder.name for folder in _numbered(self.path / "resume")}
        for part in self.path.glob("resume/rank-*/[0-9]*"):
            if part.name not in complete:
                remove_folder(part)

    def read_resume(self, update: int, *, rank: int = 0) -> ResumeState:
        """The state of one process after `update`; raises `InputError` if it is damaged or missing."""
        folder = self._resume(rank) / f"{update:08d}"
        where = f"{folder}: cannot resume from here"
        files = read_checked(folder, [_STATE, _LEARNER, _PLAYING])
        playing = parse_tensors(files[_PLAYING], where=where)
        try:
            data = json.loads(files[_STATE])
            self._content = str(data.get("content", ""))
            return ResumeState(
                update=int(data["update"]),
                values=dict(data["values"]),
                learner=parse_tensors(files[_LEARNER], where=where),
                playing={name: tensor.numpy() for name, tensor in playing.items()},
            )
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{where}: {error}") from error

    def read_shards(self, state: ResumeState) -> Iterator[Mapping[str, Tensor]]:
        """Each process's part of the learner in `state`, by rank; nothing if it was not sharded.

        Raises `InputError` if a part is damaged or missing.
        """
        if SHARDS not in state.values:
            return
        for rank in range(int(state.values["processes"])):
            folder = self._resume(rank) / f"{state.update:08d}"
            where = f"{folder}: cannot resume from here"
            part = parse_tensors(read_checked(folder, [_SHARDS])[_SHARDS], where=where)
            if part.keys() != state.values[SHARDS].keys():
                raise InputError(f"{where}: {_SHARDS} has other tensors than the state says")
            yield part


def read_ending(folder: Path) -> Ending | None:
    """How the last process that trained in `folder` ended; None if it was killed, or is still training.

    Raises `InputError` if the record is damaged.
    """
    try:
        return msgspec.json.decode((folder / _ENDING).read_bytes(), type=Ending)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except msgspec.MsgspecError as error:
        raise InputError(f"{folder / _ENDING}: damaged: {error}") from error


def check_same_run(folder: Path, config: TrainConfig) -> None:
    """Raises `InputError` if `folder` holds a run that cannot be resumed with `config`."""
    stored = folder / STORED
    changed = differences(_read_config(stored), config) if stored.exists() else []
    if changed:
        raise InputError(
            f"{folder} holds another run ({changed[0]}); choose another folder with --run or run=, or delete it"
        )


def _read_config(path: Path) -> TrainConfig:
    """A run's configuration as data: neither its game nor a factory it names is loaded."""
    return convert(read_settings(path), TrainConfig, where=str(path))


def _numbered(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir())


def _environment() -> dict[str, str]:
    packages = ("sparring", "torch", "numpy", "numba")
    return {
        "python": platform.python_version(),
        "machine": platform.platform(),
        "processor": machine_name(),
        "cpu_threads": str(torch.get_num_threads()),
        **{name: version(name) for name in packages},
    }
