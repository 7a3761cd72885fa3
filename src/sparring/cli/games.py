"""`sparring games` and `sparring version`."""

from sparring.cli.app import app, print_version, show


@app.command(rich_help_panel="Look up", epilog="Example: sparring games")
def games() -> None:
    """List the installed games, their built-in players, their presets and the agents that come with them."""
    from sparring.core import installed_games
    from sparring.report.tables import games_table

    show(games_table(list(installed_games().values())))


@app.command(rich_help_panel="Look up", epilog="Example: sparring version")
def version() -> None:
    """Print the version."""
    print_version()
