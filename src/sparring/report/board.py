"""Metrics for TensorBoard, over decisions, and the run's settings for its HPARAMS tab."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams


class Board:
    """Writes an event file into `folder`, and purges what earlier ones have from the decisions of the `last` line on.

    It leaves out the description of the experiment that `add_hparams` writes: TensorBoard would use the first run's for
    all runs in a folder, and hide settings and metrics that only others have.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any], *, last: Mapping[str, Any]) -> None:
        self._writer = SummaryWriter(str(folder), purge_step=last["decisions"])
        _, start, self._end = hparams(dict(settings), {})  # type: ignore[no-untyped-call]
        self._writer.file_writer.add_summary(start)  # type: ignore[attr-defined]
        self.show(last)  # purged together with the final ratings

    def show(self, line: Mapping[str, Any]) -> None:
        """Adds a point to every curve."""
        for name, value in line.items():
            if "/" in name:
                self._writer.add_scalar(name, value, line["decisions"], line["time"])

    def close(self, *, failed: bool) -> None:
        """Marks the run as successful unless it `failed`, and flushes the file."""
        if not failed:
            self._writer.file_writer.add_summary(self._end)  # type: ignore[attr-defined]
        self._writer.close()
