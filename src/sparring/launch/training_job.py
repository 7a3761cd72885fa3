"""A preset as a job: its configuration checked here, so that no job waits for hours to end by a misspelt word."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparring.core import InputError
from sparring.launch.cluster import look
from sparring.launch.placing import place
from sparring.launch.request import JobRequest, checked
from sparring.launch.script import batch_script
from sparring.learn.alphazero import AlphaZeroSettings
from sparring.learn.magnet import MagnetSettings
from sparring.training.config import TrainConfig, check_data, load_config
from sparring.training.presets import STORED
from sparring.training.run import check_same_run

_THREADS = 4
"""CPUs that the networks of a process are given where the configuration does not say."""
_CHECKPOINT_MINUTES = 15.0
_TEST_HOURS = 1 / 6


@dataclass(frozen=True)
class TrainingJob:
    """A job that is ready to be sent."""

    request: JobRequest
    script: str
    signal: str


def prepare(
    preset: str,
    overrides: Sequence[str],
    *,
    run: Path | None,
    resume: bool,
    test_mode: bool,
    mock_data: bool,
    hours: float,
    gpus_per_node: int,
    processes_per_node: int | None,
    say: Callable[[str], None],
    **asked: object,
) -> TrainingJob:
    """Checks all that was asked for, finds where it fits, says what was chosen and why, and writes the script."""
    words = list(overrides)
    config, _ = load_config(preset, words)
    if test_mode:
        small = small_sizes(config)
        sized = {text.partition("=")[0] for text in small}
        words = [text for text in words if text.partition("=")[0] not in sized] + small  # a key is written once
        config, _ = load_config(preset, words)
        hours = min(hours, _TEST_HOURS)
    if not mock_data:
        check_data(config, where=preset)
    folder = run or Path("runs") / (Path(preset).stem + ("-test" if test_mode else ""))
    request = checked(
        preset=preset,
        overrides=words,
        run=str(folder.absolute()),
        folder=str(Path.cwd()),
        hours=hours,
        gpus_per_node=gpus_per_node,
        processes_per_node=processes_per_node or max(1, gpus_per_node),
        first_seed=config.seed,
        brief=test_mode,
        **asked,
    )
    if config.cluster.address is not None and request.nodes * request.processes_per_node > 1:
        raise InputError("cluster: several processes would each want all of it; allowed: one node, one process")
    _check_folder(folder, config, resume=resume, seeds=request.seeds)
    placement = place(request, look(say), cpus_per_process=config.workers + (config.threads or _THREADS))
    for reason in placement.reasons:
        say(reason)
    more = [] if config.checkpoint.minutes else ["--checkpoint-minutes", f"{_CHECKPOINT_MINUTES:g}"]
    more += ["--mock-data"] if mock_data else []
    script = batch_script(request, placement, python=sys.executable, train=more, signal=config.job.signal)
    return TrainingJob(request, script, config.job.signal)


def small_sizes(config: TrainConfig) -> list[str]:
    """Overrides that make a run as small as it can be and still do all that the whole one does."""
    at = "learner.ppo" if isinstance(config.learner, MagnetSettings) else "learner"
    sizes = ["decisions=4096", "matches=32", f"{at}.batch_size=512", f"{at}.minibatch_size=256"]
    sizes += ["evaluation.matches=16", "checkpoint.every=1"]
    if isinstance(config.learner, AlphaZeroSettings):
        sizes += ["learner.window_size=4096"]
    return sizes


def _check_folder(folder: Path, config: TrainConfig, *, resume: bool, seeds: int) -> None:
    """Raises `InputError` unless `folder` is as `resume` says: a run to go on with, or none yet."""
    runs = sorted(folder.glob(f"seed-*/{STORED}")) if seeds else [path for path in (folder / STORED,) if path.exists()]
    if runs and not resume:
        raise InputError(f"{runs[0].parent} holds a run: go on with it by --resume, or choose another with --run")
    if resume and not runs:
        raise InputError(f"{folder} holds no run to go on with; leave out --resume")
    if not seeds:
        check_same_run(folder, config)
