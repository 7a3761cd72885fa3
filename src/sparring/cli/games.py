"""`sparring games` and `sparring version`."""

import typer
from rich.table import Table

from sparring import __version__
from sparring.cli.app import app, console
from sparring.core import game_names, load_game


@app.command(epilog="Example: sparring games")
def games() -> None:
    """List the installed games, their built-in players and their presets."""
    table = Table("game", "what it is", "players", "presets")
    for name in game_names():
        game = load_game(name)
        presets = "\n".join(sorted(path.stem for path in game.presets.glob("*.yaml")))
        table.add_row(name, game.summary, ", ".join(["random", *game.players]), presets)
    console.print(table)


@app.command(epilog="Example: sparring version")
def version() -> None:
    """Print the version."""
    typer.echo(f"sparring {__version__}")
