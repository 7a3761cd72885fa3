"""`sparring setup`: fetches what a game needs besides Python packages."""

import typer

from sparring.cli.app import app, say

setup = typer.Typer(help="Fetch what a game needs besides Python packages.", no_args_is_help=True)
app.add_typer(setup, name="setup")


@setup.command("rocket", epilog="Example: sparring setup rocket")
def setup_rocket() -> None:
    """Fetch the collision meshes of the Rocket League field into the cache folder, once."""
    from sparring.games.rocket.setup import setup_rocket as fetch

    fetch(say=say)
