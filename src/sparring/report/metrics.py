"""Metrics of a run: one JSON object a line in metrics.jsonl, and the same numbers for TensorBoard."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from sparring.core.files import cannot_write, write_file


class Metrics:
    """Appends metrics by update. On resume, lines after `resumed_at` are dropped: they will be played again."""

    def __init__(self, folder: Path, *, resumed_at: int) -> None:
        self._path = folder / "metrics.jsonl"
        if self._path.exists():
            kept = [line for line in self._path.read_bytes().splitlines(keepends=True) if _update(line) <= resumed_at]
            write_file(self._path, b"".join(kept))
        self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=resumed_at + 1)

    def write(self, update: int, values: Mapping[str, float]) -> None:
        """Records `values` of update number `update`."""
        line = json.dumps({"update": update, **{name: round(float(v), 6) for name, v in values.items()}})
        try:
            with self._path.open("a") as file:
                file.write(line + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise cannot_write(self._path, error) from error
        for name, value in values.items():
            self._board.add_scalar(name, value, update)

    def close(self) -> None:
        """Flushes TensorBoard's file."""
        self._board.close()


def _update(line: bytes) -> float:
    """The update a line belongs to; infinity for a line cut short by a crash, be it by its last character."""
    if not line.endswith(b"\n"):
        return float("inf")
    try:
        return float(json.loads(line)["update"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
