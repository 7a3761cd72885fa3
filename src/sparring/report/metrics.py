"""Metrics of a run: one JSON object a line in metrics.jsonl, and the same numbers for TensorBoard, over decisions.

Names are grouped: `play/`, `loss/`, `rating/`, `time/`, `gpu/`. Each line also has the `update`, the `decisions` so far
and the `time` in Unix seconds.
"""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from sparring.core.files import cannot_write, write_file


class Metrics:
    """Appends the metrics of updates, one line each, and of the final ratings, lines with the last update's number.

    A resumed run drops what it will measure again: lines of updates after `resumed_at`, and final ratings.
    """

    def __init__(self, folder: Path, *, resumed_at: int) -> None:
        self._path = folder / "metrics.jsonl"
        kept: list[dict[str, Any]] = [{"update": 0, "decisions": 0}]
        for text in self._path.read_bytes().splitlines() if self._path.exists() else ():
            with suppress(ValueError, KeyError, TypeError):  # a line cut short by a crash
                line = json.loads(text)
                if kept[-1]["update"] < line["update"] <= resumed_at:
                    kept.append(line)
        write_file(self._path, b"".join(json.dumps(line).encode() + b"\n" for line in kept[1:]))
        self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=kept[-1]["decisions"])
        self._show(kept[-1])  # purged together with the final ratings

    def write(self, update: int, decisions: int, metrics: Mapping[str, float]) -> None:
        """Records `metrics` of update number `update`, after `decisions` decisions in all."""
        line = {"update": update, "decisions": decisions, "time": round(time.time(), 3)}
        line |= {name: float(f"{value:.9g}") for name, value in metrics.items()}
        try:
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise cannot_write(self._path, error) from error
        self._show(line)

    def close(self) -> None:
        """Flushes TensorBoard's file."""
        self._board.close()

    def _show(self, line: Mapping[str, Any]) -> None:
        for name, value in line.items():
            if "/" in name:
                self._board.add_scalar(name, value, line["decisions"], line["time"])
