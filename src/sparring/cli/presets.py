"""`sparring presets` and `sparring settings`."""

from typing import Annotated

import typer

from sparring.cli.app import app, show


@app.command(rich_help_panel="Look up", epilog="Example: sparring presets hex-quick learner.epochs=2")
def presets(
    preset: Annotated[str | None, typer.Argument(help="A preset's name, or the path of a YAML file.")] = None,
    overrides: Annotated[list[str] | None, typer.Argument(help="key=value settings laid over the preset.")] = None,
) -> None:
    """List the training presets, or show one with every setting, its value and what it means."""
    from sparring.report.settings import settings_list, settings_of
    from sparring.report.tables import presets_table
    from sparring.training.config import TrainConfig, game_parts, load_config, preset_names

    if preset is None:
        show(presets_table(preset_names()))
        return
    config, game = load_config(preset, overrides or [])
    show(settings_list(settings_of(TrainConfig, config, parts=game_parts(config, game))))


@app.command(rich_help_panel="Look up", epilog="Example: sparring settings hex")
def settings(game: Annotated[str, typer.Argument(help="The game.")]) -> None:
    """Show the settings of a game and of its network: defaults, what is allowed, what they mean."""
    from sparring.core import load_game
    from sparring.report.settings import settings_list, settings_of

    plugin = load_game(game)
    show(settings_list(settings_of(plugin.settings)))
    print("\nThe network, as in `sparring train PRESET network.KEY=VALUE`:\n")
    show(settings_list(settings_of(plugin.network)))
