"""Metrics for Weights & Biases, over decisions, if asked for (`report: [wandb]`).

Its environment variables hold here too: WANDB_MODE=offline keeps everything in the run folder for `wandb sync`,
WANDB_PROJECT and WANDB_ENTITY say where it goes.
"""

import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sparring.core import InputError
from sparring.core.extras import optional
from sparring.core.files import write_file
from sparring.report.progress import announced

PROJECT = "sparring"


def load_wandb() -> Any:
    """The package; raises `InputError` that says how to install it."""
    with optional("report: wandb", extra="wandb"):
        import wandb
    return wandb


class WeightsAndBiases:
    """Sends metrics to a W&B run, which is continued under the same id whenever the run in `folder` is.

    If that fails, it says so once and sends nothing more; training goes on.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any], *, say: Callable[[str], None]) -> None:
        self._wandb = load_wandb()
        self._say = say
        self._run: Any = None
        run_id = folder / "wandb-id"
        if not run_id.exists():
            write_file(run_id, secrets.token_hex(4).encode())
        try:
            with announced("waiting for Weights & Biases", say):
                self._run = self._wandb.init(
                    project=os.environ.get("WANDB_PROJECT", PROJECT),
                    name=os.environ.get("WANDB_NAME", folder.resolve().name),
                    id=run_id.read_text(),
                    resume="allow",
                    dir=str(folder),
                    config=dict(settings),
                    settings=self._wandb.Settings(console="off", silent=True, save_code=False),
                )
        except self._wandb.errors.UsageError as error:  # not logged in, or the environment makes no sense
            raise InputError(f"report: wandb: {_first_line(error)}; WANDB_MODE=offline needs no login") from error
        except Exception as error:
            self._give_up(error)
        else:
            where = f"{folder}/wandb, for wandb sync" if self._run.offline else self._run.url
            if where is not None:  # WANDB_MODE=disabled has none
                say(f"metrics go to Weights & Biases: {where}")

    def show(self, line: Mapping[str, Any]) -> None:
        """Logs a line with its decisions as the step."""
        if self._run is None:
            return
        try:
            values = {name: value for name, value in line.items() if name == "update" or "/" in name}
            self._run.log(values, step=line["decisions"])
        except Exception as error:
            self._give_up(error)

    def close(self, *, failed: bool) -> None:
        """Waits until all is sent."""
        if self._run is None:
            return
        try:
            with announced("waiting for Weights & Biases", self._say):
                self._run.finish(exit_code=int(failed))
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._run = None
        self._say(f"Weights & Biases failed, training goes on without it: {_first_line(error)}")
        with suppress(Exception):
            self._wandb.teardown()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "").rstrip(".") or type(error).__name__
