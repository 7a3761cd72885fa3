"""`sparring setup`."""

from typing import Annotated, Any

import typer

from sparring.cli.app import app, say
from sparring.cli.options import EXTRA, game_settings


@app.command(rich_help_panel="This machine", context_settings=EXTRA, epilog="Example: sparring setup pokemon")
def setup(context: typer.Context, game: Annotated[str, typer.Argument(help="The game.")]) -> None:
    """Fetch what a game needs besides Python packages into the cache folder; does nothing the second time.

    Game settings say what for: `sparring setup pokemon --showdown 0.11.10` installs and tries that version.

    Python packages that are missing are named, with the command that installs them.
    """
    from sparring.core import Installable, install_command, load_game, missing_packages
    from sparring.core.settings import convert

    plugin = load_game(game)
    settings: Any = convert(game_settings(context), plugin.settings, where=game)
    if isinstance(plugin, Installable):
        plugin.install(settings, say)
    missing = missing_packages(game)
    if missing:
        say(f"not installed: {', '.join(missing)}; {game} needs them, run: {install_command(game)}")
    elif not isinstance(plugin, Installable):
        say(f"{game} needs nothing more")
