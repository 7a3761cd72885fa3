"""`sparring setup`."""

from typing import Annotated

import typer

from sparring.cli.app import app, say


@app.command(epilog="Example: sparring setup pokemon")
def setup(game: Annotated[str, typer.Argument(help="The game.")]) -> None:
    """Fetch what a game needs besides Python packages into the cache folder; does nothing the second time."""
    from sparring.core import Installable, load_game

    plugin = load_game(game)
    if isinstance(plugin, Installable):
        plugin.install(say)
    else:
        say(f"{game} needs nothing more")
