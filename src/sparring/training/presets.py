"""Presets: YAML files in the games' packages, or the user's own, with `key=value` overrides laid over them.

Names and keys are checked here, before torch is imported: a typo is told at once.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sparring.core import Game, InputError, did_you_mean, installed_games, load_game
from sparring.core.code import code_names
from sparring.core.networks import FACTORY, check_network
from sparring.core.settings import apply_overrides, convert, read_settings
from sparring.league.entrants import names_code
from sparring.training.settings import RunSettings

STORED = "config.yaml"
"""The file in a run folder that holds its configuration."""


def preset_names() -> dict[str, Path]:
    """Every installed preset by name."""
    found: dict[str, Path] = {}
    for game in installed_games().values():
        for path in sorted(game.presets.glob("*.yaml"), key=lambda path: path.stem):
            found[path.stem] = path
    return found


def check_preset(preset: str, overrides: Sequence[str]) -> None:
    """Raises `InputError` if a name or key of a preset with overrides is unknown; the learner's keys are not looked at.

    What takes seconds to import calls this first.
    """
    check_run(read_preset(preset, overrides), where=preset)


def preset_path(preset: str) -> Path:
    """The file of the preset called `preset`, which may itself be the path of a YAML file."""
    path = Path(preset)
    if path.suffix in (".yaml", ".yml"):
        return path
    presets = preset_names()
    if preset not in presets and path.is_file():
        raise InputError(f"{preset}: a preset of your own is a file whose name ends in .yaml or .yml")
    if preset not in presets:
        raise InputError(f"unknown preset {preset!r}{did_you_mean(preset, presets)}; presets: {', '.join(presets)}")
    return presets[preset]


def read_preset(preset: str, overrides: Sequence[str]) -> dict[str, Any]:
    """The preset called `preset` (or the YAML file at that path) with overrides, as plain data."""
    path = preset_path(preset)
    return _with_overrides(read_settings(path), overrides, path)


def check_run(data: dict[str, Any], *, where: str) -> Game:
    """The game of a configuration, which accepts its settings and network; all but the learner is checked."""
    config = convert(with_stores(data), RunSettings, where=where)
    game = load_game(config.game)
    convert(config.settings, game.settings, where=f"{where}: settings")
    check_network(config.network, game, where=f"{where}: network")
    return game


def with_stores(data: dict[str, Any]) -> dict[str, Any]:
    """A configuration whose `data` is a list, even if it names a single store."""
    return {**data, "data": [data["data"]]} if isinstance(data.get("data"), str) else data


def _with_overrides(data: dict[str, Any], overrides: Sequence[str], path: Path) -> dict[str, Any]:
    """`data` with overrides; code named in a run folder's file counts only if an override names it again."""
    if not (path.resolve().parent / STORED).exists():
        return apply_overrides(data, overrides)
    for name in code_names([data.get("settings"), data.get("mock")]):
        raise InputError(f"{path}: a run folder is data, and this names {name}, code of your own: use your own preset")
    given = {text.partition("=")[0] for text in overrides}
    for key, name in _opponents_by_code(data):
        if given.isdisjoint((key, key.partition(".")[0])):
            raise InputError(f"{path}: among its opponents is {name}, code of your own: add {key}=... with all of them")
    network = data.get("network")
    if not isinstance(network, dict) or FACTORY not in network:
        return apply_overrides(data, overrides)
    without = {**data, "network": {key: value for key, value in network.items() if key != FACTORY}}
    config = apply_overrides(without, overrides)
    if config.get("network") == without["network"]:
        own = network[FACTORY]
        raise InputError(f"{path}: its network is built by {own}, code of your own: add network.{FACTORY}={own}")
    return config


def _opponents_by_code(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The opponents that are code, in a configuration that is still plain data, each with the key that names it."""
    evaluation = data.get("evaluation")
    rating = evaluation.get("opponents") if isinstance(evaluation, dict) else None
    anchor = data.get("anchor")
    tied = [anchor.get("to")] if isinstance(anchor, dict) else None
    named = (("opponents", data.get("opponents")), ("evaluation.opponents", rating), ("anchor.to", tied))
    for key, names in named:
        if isinstance(names, dict | list):
            yield from ((key, name) for name in names if isinstance(name, str) and names_code(name))
