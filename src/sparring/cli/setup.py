"""`sparring setup`."""

from typing import Annotated

import typer

from sparring.cli.app import app, say


@app.command(rich_help_panel="This machine", epilog="Example: sparring setup pokemon")
def setup(game: Annotated[str, typer.Argument(help="The game.")]) -> None:
    """Fetch what a game needs besides Python packages into the cache folder; does nothing the second time.

    Python packages that are missing are named, with the command that installs them.
    """
    from sparring.core import Installable, install_command, load_game, missing_packages

    plugin = load_game(game)
    if isinstance(plugin, Installable):
        plugin.install(say)
    missing = missing_packages(game)
    if missing:
        say(f"not installed: {', '.join(missing)}; {game} needs them, run: {install_command(game)}")
    elif not isinstance(plugin, Installable):
        say(f"{game} needs nothing more")
