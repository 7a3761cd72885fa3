"""`sparring presets` and `sparring settings`."""

from typing import Annotated

import typer

from sparring.cli.app import app, say, show
from sparring.cli.options import Overrides


@app.command(rich_help_panel="Look up", epilog="Example: sparring presets hex-quick learner.epochs=2")
def presets(
    preset: Annotated[str | None, typer.Argument(help="A preset's name, the path of a YAML file, or a game.")] = None,
    overrides: Overrides = None,
    everything: Annotated[
        bool, typer.Option("--all", help="The settings that it leaves at their defaults too.")
    ] = False,
) -> None:
    """List the training presets, all or a game's, or show what one sets: each setting, its value and its meaning."""
    from sparring.core import game_names
    from sparring.report.settings import settings_list, settings_of, written_out
    from sparring.report.tables import preset_comment, presets_table
    from sparring.training.presets import check_preset, preset_names, preset_path, read_preset

    if preset is None or (preset in game_names() and not overrides):
        show(presets_table(preset_names(preset)))
        return
    check_preset(preset, overrides or [])

    from sparring.training.config import TrainConfig, game_parts, load_config

    config, game = load_config(preset, overrides or [])
    settings = list(settings_of(TrainConfig, config, parts=game_parts(config, game)))
    shown = settings if everything else written_out(settings, read_preset(preset, overrides or []))
    show(f"{preset}: {preset_comment(preset_path(preset))}".removesuffix(": "))
    print()
    show(settings_list(shown))
    if len(shown) < len(settings):
        command = " ".join(["sparring presets", preset, *(overrides or []), "--all"])
        say(f"\n{len(settings) - len(shown)} more settings have their defaults; all: {command}")


@app.command(rich_help_panel="Look up", epilog="Example: sparring settings hex")
def settings(game: Annotated[str, typer.Argument(help="The game.")]) -> None:
    """Show the settings of a game and of its network: defaults, what is allowed, what they mean."""
    from sparring.core import load_game
    from sparring.report.settings import settings_list, settings_of

    plugin = load_game(game)
    show(settings_list(settings_of(plugin.settings)))
    print("\nThe network, as in `sparring train PRESET network.KEY=VALUE`:\n")
    show(settings_list(settings_of(plugin.network)))
