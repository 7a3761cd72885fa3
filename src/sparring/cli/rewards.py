"""`sparring rewards`: what a run was paid for, and what each component is worth."""

from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, console, say

rewards = typer.Typer(help="Look into the rewards of a Rocket League run.", no_args_is_help=True)
app.add_typer(rewards, name="rewards")


@rewards.command("inspect", epilog="Example: sparring rewards inspect runs/rocket-1v1 --out rewards.svg")
def inspect_rewards(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path | None, typer.Option(help="Plot to write.  [default: RUN/rewards.svg]")] = None,
) -> None:
    """Plot what a row was paid by each component over the run, and print the first and last values."""
    from sparring.games.rocket.reward_study import inspect_run

    table, path = inspect_run(run, out or run / "rewards.svg")
    console.print(table)
    say(f"wrote {path}")


@rewards.command("ablate", epilog="Example: sparring rewards ablate rocket-1v1 --decisions 500000")
def ablate_rewards(
    preset: Annotated[str, typer.Argument(help="A preset's name, or the path of a YAML file.")],
    overrides: Annotated[list[str] | None, typer.Argument(help="key=value settings laid over the preset.")] = None,
    decisions: Annotated[int, typer.Option(min=1, help="Decisions of each short run.")] = 300_000,
    folder: Annotated[Path, typer.Option(help="Where the runs go.")] = Path("runs/ablate"),
) -> None:
    """Train short runs, one with all components and one without each, and compare them."""
    from sparring.games.rocket.reward_study import compare, variants
    from sparring.learn.config import load_config
    from sparring.learn.run import RunFolder
    from sparring.learn.training import train

    config, _ = load_config(preset, overrides or [])
    scores = {}
    for name, change in variants(config.game, config.settings).items():
        changed, game = load_config(preset, [*(overrides or []), f"decisions={decisions}", *change])
        path = folder / name.replace(" ", "-")
        say(f"{name}: {decisions:,} decisions in {path}")
        outcome = train(changed, game, RunFolder(path), say=say)
        scores[name] = {f"vs {rival}": score.rate for rival, score in outcome.scores.items()}
    console.print(compare(folder, scores))
