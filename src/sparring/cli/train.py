"""`sparring train`."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sparring.cli.app import NEXT_STEPS, app, say, show
from sparring.cli.options import Cluster, Overrides, Profile

if TYPE_CHECKING:
    from sparring.core import Game


@app.command(
    rich_help_panel="Train and play",
    epilog="Example: sparring train hex-quick learner.learning_rate=5e-4 --run runs/try",
)
def train(
    preset: Annotated[str, typer.Argument(help="A preset's name, or the path of a YAML file.")],
    overrides: Overrides = None,
    run: Annotated[Path | None, typer.Option(help="Run folder; resumed if it exists.  [default: runs/PRESET]")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that play; 0: all in one, deterministic.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything random.")] = None,
    checkpoint_minutes: Annotated[
        float | None, typer.Option(help="Save at least this often, while training goes on.")
    ] = None,
    time_limit_hours: Annotated[
        float | None, typer.Option(help="Save and stop before this many hours have passed.")
    ] = None,
    mock_data: Annotated[
        bool, typer.Option("--mock-data", help="Play some matches to learn from: to try imitation without data.")
    ] = False,
    strict: Annotated[
        bool | None, typer.Option("--strict", help="Refuse damaged files of data instead of skipping them.")
    ] = None,
    cluster: Cluster = None,
    profile: Profile = None,
) -> None:
    """Train an agent by self-play or from data; Ctrl-C saves, the same command goes on from there.

    Under torchrun all its processes train one agent together; see docs/cluster.md.
    """
    from sparring.training.presets import check_installed

    options = {
        "workers": workers,
        "seed": seed,
        "strict": strict,
        "checkpoint.minutes": checkpoint_minutes,
        "job.time_limit_hours": time_limit_hours,
        "cluster.address": cluster,
    }
    extra = [f"{key}={value}" for key, value in options.items() if value is not None]
    words = [*(overrides or []), *extra]
    check_installed(preset, words)

    from sparring.training.config import check_data, load_config

    config, game = load_config(preset, words)
    if not mock_data:
        check_data(config, where=preset)

    from sparring.bench.profiling import profiled
    from sparring.report.tables import score_table
    from sparring.training.loop import train as run_training
    from sparring.training.run import RunFolder

    folder = run or Path("runs") / Path(preset).stem
    with profiled(profile, say):
        outcome = run_training(config, game, RunFolder(folder), mock_data=mock_data, say=say)
    if not outcome.leads:
        return
    if not outcome.finished:
        say(f"stopped after {outcome.decisions:,} decisions; the same command continues")
        return
    if outcome.scores:
        show(score_table(f"{folder} after {outcome.decisions:,} decisions", outcome.scores))
    else:
        print(f"{folder} after {outcome.decisions:,} decisions, rated against nobody (evaluation.opponents is empty)")
    print(f"Next: {typed(next_step(game, folder))}")


def typed(command: str) -> str:
    """`command` as it can be typed here: by its path, if the shell would not find this `sparring`."""
    program = Path(sys.argv[0])
    found = shutil.which("sparring")
    unknown = program.name != "sparring" or not program.is_file()
    if unknown or (found is not None and Path(found).samefile(program)):
        return command
    return f"{os.path.relpath(program)}{command.removeprefix('sparring')}"


def next_step(game: "Game", run: Path) -> str:
    """The command to try on a trained agent: play it by hand, or what the game's own commands offer, or rate it."""
    if "human" in game.players:
        return f"sparring play {game.name} {run}"
    return NEXT_STEPS.get(game.name, "sparring evaluate {run} random").format(run=run)
