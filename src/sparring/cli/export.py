"""`sparring export`: a trained policy for use without Sparring."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sparring.cli.app import app, say
from sparring.core import InputError

export = typer.Typer(help="Write a trained policy for use without Sparring.", no_args_is_help=True)
app.add_typer(export, name="export")


@export.command("rocket", epilog="Example: sparring export rocket runs/rocket-1v1 bot/")
def export_rocket(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint or run folder.")],
    folder: Annotated[Path, typer.Argument(help="The bundle's folder.")],
) -> None:
    """Write a bundle for an RLBot agent: TorchScript policy, observation, actions, tick skip and delay."""
    from sparring.games.rocket.export import export_bundle
    from sparring.learn.checkpoint import load_checkpoint

    loaded = load_checkpoint(checkpoint)
    if loaded.spec.game != "rocket":
        raise InputError(f"{checkpoint}: a checkpoint of {loaded.spec.game}, not of rocket")
    policy: Any = loaded.policy(loaded.spec)
    export_bundle(policy, loaded.spec, folder)
    say(f"wrote {folder}")
