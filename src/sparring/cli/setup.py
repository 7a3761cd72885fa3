"""`sparring setup`."""

import typer

from sparring.cli.app import app, say
from sparring.core import Installable, load_game


@app.command(epilog="Example: sparring setup pokemon")
def setup(game: str = typer.Argument(help="A game's name; see `sparring games`.")) -> None:
    """Install what a game needs besides its Python packages; what is there is left alone."""
    chosen = load_game(game)
    if isinstance(chosen, Installable):
        chosen.setup(say)
    else:
        say(f"{game} needs nothing more")
