"""`sparring games`, `sparring help` and `sparring version`."""

from typing import Annotated, Any

import typer

from sparring.cli.app import app, print_version, say, show


@app.command(rich_help_panel="Look up", epilog="Example: sparring games hex")
def games(game: Annotated[str | None, typer.Argument(help="This one alone, with its presets.")] = None) -> None:
    """List the installed games with their built-in players and the agents that come with them, or show one game."""
    from sparring.core import installed_games, load_game
    from sparring.report.tables import game_table, games_table

    if game is not None:
        show(game_table(load_game(game)))
        say(f"\nwhat each preset trains: sparring presets {game}; settings: sparring settings {game}")
        return
    show(games_table([*installed_games().values()]))
    say("\none game with its presets: sparring games NAME")


@app.command("help", rich_help_panel="Look up", epilog="Example: sparring help train")
def show_help(
    context: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(help="A command, as in: bench selfplay.")] = None,
) -> None:
    """Print the help of a command, as --help after it does."""
    from sparring.core import InputError

    within = context.find_root()
    for word in command or []:
        group: Any = within.command
        if not hasattr(group, "resolve_command"):
            raise InputError(f"{within.command_path} has no commands of its own; see: {within.command_path} --help")
        name, found, _ = group.resolve_command(within, [word])
        within = typer.Context(found, info_name=name, parent=within, **found.context_settings)
    print(within.get_help())


@app.command(rich_help_panel="Look up", epilog="Example: sparring version")
def version() -> None:
    """Print the version."""
    print_version()
