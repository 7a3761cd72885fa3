"""A run folder: everything one training run leaves on disk, each part whole or absent.

config.yaml        the resolved configuration
environment.json   versions and machine
metrics.jsonl      one line an update; the same under tensorboard/
checkpoints/N/     the policy after update N, the newest few
best/              the policy with the best evaluation so far
matches/           matches worth seeing, where the game can show them
resume/N/          what a continuation needs: learner, random states, matches in play
"""

import fcntl
import json
import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import torch
import yaml
from torch import Tensor

from sparring.core import Array, InputError
from sparring.core.files import cannot_write, write_file, write_folder
from sparring.policy.checkpoint import Checkpoint, read_tensors, save_checkpoint, write_tensors
from sparring.training.config import TrainConfig, differences, validate_config


@dataclass(frozen=True)
class ResumeState:
    """Where a run stands between two updates."""

    update: int
    values: Mapping[str, Any]
    learner: Mapping[str, Tensor]
    playing: Mapping[str, Array]


class RunFolder:
    """Reads and writes one run's folder; from `open` to `close` nobody else can open it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def open(self, config: TrainConfig) -> ResumeState | None:
        """Creates the folder, or finds where its run stands; raises `InputError` if `config` is another run's."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        self._lock = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise InputError(
                f"{self.path}: another process is training there; wait, or choose another with --run"
            ) from None
        stored = self.path / "config.yaml"
        if stored.exists():
            before, _ = validate_config(yaml.safe_load(stored.read_text()), where=str(stored))
            changed = differences(before, config)
            if changed:
                raise InputError(
                    f"{self.path} holds another run ({changed[0]}); choose another folder with --run, or delete it"
                )
        elif any(self.path.iterdir()):
            raise InputError(f"{self.path} is not empty and holds no run; choose another folder with --run")
        write_file(stored, yaml.safe_dump(msgspec.to_builtins(config), sort_keys=False).encode())
        write_file(self.path / "environment.json", json.dumps(_environment(), indent=2).encode())
        return self._read_resume()

    def close(self) -> None:
        """Lets others open it; may be called twice."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def save_checkpoint(self, checkpoint: Checkpoint, *, keep: int) -> None:
        """Adds a checkpoint and drops all but the newest `keep`."""
        save_checkpoint(self.path / "checkpoints" / f"{checkpoint.version:08d}", checkpoint)
        for old in _numbered(self.path / "checkpoints")[:-keep]:
            shutil.rmtree(old)

    def save_best(self, checkpoint: Checkpoint) -> None:
        """Replaces the best checkpoint."""
        save_checkpoint(self.path / "best", checkpoint)

    def save_resume(self, state: ResumeState) -> None:
        """Writes where the run stands, then drops what it replaces."""
        folder = self.path / "resume" / f"{state.update:08d}"
        arrays = {name: torch.from_numpy(array.copy()) for name, array in state.playing.items()}
        write_folder(
            folder,
            {
                "state.json": json.dumps({"update": state.update, "values": state.values}).encode(),
                "learner.safetensors": write_tensors(state.learner),
                "playing.safetensors": write_tensors(arrays),
            },
        )
        for old in _numbered(self.path / "resume"):
            if old != folder:
                shutil.rmtree(old)

    def save_bad_batch(self, batch: Mapping[str, Tensor]) -> Path:
        """Keeps the batch that stopped a run, for a post-mortem."""
        path = self.path / "not-finite.safetensors"
        write_file(path, write_tensors(batch))
        return path

    def _read_resume(self) -> ResumeState | None:
        folders = _numbered(self.path / "resume")
        if not folders:
            return None
        folder = folders[-1]
        try:
            data = json.loads((folder / "state.json").read_bytes())
            return ResumeState(
                update=int(data["update"]),
                values=data["values"],
                learner=read_tensors(folder / "learner.safetensors"),
                playing={name: t.numpy() for name, t in read_tensors(folder / "playing.safetensors").items()},
            )
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{folder}: cannot resume from here: {error}") from error


def _numbered(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir())


def _environment() -> dict[str, str]:
    packages = ("sparring", "torch", "numpy", "numba")
    return {
        "python": platform.python_version(),
        "machine": platform.platform(),
        "cpu_threads": str(torch.get_num_threads()),
        **{name: version(name) for name in packages},
    }
