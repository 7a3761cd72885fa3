"""Metrics of a run: one JSON object per line in metrics.jsonl, and the same numbers wherever else the user wants them.

Names are grouped: `play/`, `loss/`, `rating/`, `time/`, `gpu/`. Each line also has the `update`, the `decisions` so far
and the `time` in Unix seconds.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol

from sparring.core.files import cannot_write, write_file

ReportName = Literal["tensorboard", "wandb"]
"""Where metrics may go besides metrics.jsonl."""


def check_report(report: Sequence[ReportName]) -> None:
    """Raises `InputError` if something in `report` needs a package that is not installed."""
    if "wandb" in report:
        from sparring.report.weights_and_biases import load_wandb

        load_wandb()


class Sink(Protocol):
    """Where metrics go."""

    def show(self, line: Mapping[str, Any]) -> None:
        """Takes a line of metrics.jsonl."""
        ...

    def close(self, *, failed: bool) -> None:
        """Ends; `failed` if the run ended with an error."""
        ...


class Metrics:
    """Appends one line of metrics per update, and lines with the last update's number for the final ratings.

    A resumed run drops what it will measure again: lines of updates after `resumed_at`, and final ratings. `settings`
    are the run's, for sinks that show them beside the metrics.
    """

    def __init__(
        self,
        folder: Path,
        *,
        resumed_at: int,
        settings: Mapping[str, Any],
        report: Sequence[ReportName] = (),
        say: Callable[[str], None] = print,
    ) -> None:
        self._path = folder / "metrics.jsonl"
        kept: list[dict[str, Any]] = [{"update": 0, "decisions": 0}]
        for text in self._path.read_bytes().splitlines() if self._path.exists() else ():
            with suppress(ValueError, KeyError, TypeError):  # a line cut short by a crash
                line = json.loads(text)
                if kept[-1]["update"] < line["update"] <= resumed_at:
                    kept.append(line)
        write_file(self._path, b"".join(json.dumps(line).encode() + b"\n" for line in kept[1:]))
        self._sinks: list[Sink] = []
        if "tensorboard" in report:
            from sparring.report.board import Board

            self._sinks.append(Board(folder / "tensorboard", settings, last=kept[-1]))
        if "wandb" in report:
            from sparring.report.weights_and_biases import WeightsAndBiases

            self._sinks.append(WeightsAndBiases(folder, settings, say=say))

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
        for sink in self._sinks:
            sink.show(line)

    def __enter__(self) -> "Metrics":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        for sink in self._sinks:
            sink.close(failed=kind is not None)
