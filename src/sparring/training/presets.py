"""Presets: YAML files in the games' packages, or the user's own, with `key=value` overrides laid over them.

Names and keys are checked here, before torch is imported: a typo is told at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sparring.core import Game, InputError, closest, game_names, installed_games, instead, load_game
from sparring.core.admitted import options, plain
from sparring.core.code import code_names
from sparring.core.game import check_workers
from sparring.core.networks import FACTORY, check_network
from sparring.core.settings import Override, apply_overrides, convert, override_keys, read_settings
from sparring.league.entrants import names_code
from sparring.training.settings import RunSettings

STORED = "config.yaml"
"""The file in a run folder that holds its configuration."""


def preset_names(game: str | None = None) -> dict[str, Path]:
    """Every installed preset, or those of one game, by name."""
    found: dict[str, Path] = {}
    for plugin in [*installed_games().values()] if game is None else [load_game(game)]:
        for path in sorted(plugin.presets.glob("*.yaml"), key=lambda path: path.stem):
            found[path.stem] = path
    return found


def check_preset(preset: str, overrides: Sequence[Override]) -> None:
    """Raises `InputError` if a name or key of a preset with overrides is unknown; the learner's keys are not looked at.

    What takes seconds to import calls this first.
    """
    check_run(read_preset(preset, overrides), where=preset)


def check_installed(preset: str, overrides: Sequence[Override]) -> None:
    """As `check_preset`; raises `InputError` also if what the game needs besides packages is not installed."""
    data = read_preset(preset, overrides)
    game = check_run(data, where=preset)
    game.spec(convert(data.get("settings", {}), game.settings, where=preset, under="settings"))


def preset_path(preset: str) -> Path:
    """The file of the preset called `preset`, which may itself be the path of a YAML file."""
    path = Path(preset)
    if path.suffix in (".yaml", ".yml"):
        return path
    presets = preset_names()
    if preset not in presets and path.is_file():
        raise InputError(f"{preset}: a preset of your own is a file whose name ends in .yaml or .yml")
    if preset not in presets:
        raise _unknown_preset(preset, presets)
    return presets[preset]


def _unknown_preset(preset: str, presets: Iterable[str]) -> InputError:
    """What is wrong with `preset`, which is no name of a preset."""
    if preset in game_names():
        own = instead("", preset_names(preset), label="its presets", see=f"sparring presets {preset}")
        return InputError(f"{preset} is a game, not a preset{own}")
    if "=" in preset:
        return InputError(f"{preset!r}: the preset comes first, then key=value, as in: hex-quick {preset}")
    return InputError(f"unknown preset {preset!r}{instead(preset, presets, label='presets', see='sparring presets')}")


def read_preset(preset: str, overrides: Sequence[Override]) -> dict[str, Any]:
    """The preset called `preset` (or the YAML file at that path) with overrides, as plain data."""
    path = preset_path(preset)
    return _with_overrides(read_settings(path), overrides, path)


def check_run(data: dict[str, Any], *, where: str) -> Game:
    """The game of a configuration, which accepts its settings and network; all but the learner is checked."""
    _check_keys(data, where)
    config = convert(with_stores(data), RunSettings, where=where, see=f"sparring presets {where} --all")
    game = load_game(config.game)
    convert(config.settings, game.settings, where=where, under="settings", see=f"sparring settings {game.name}")
    check_network(config.network, game, where=where)
    check_workers(game, config.workers)
    return game


def full_key(word: str) -> str | None:
    """The key of a run's configuration whose last part is `word`, such as `settings.size`; None if there is none."""
    return word if word in RunSettings.__struct_fields__ else _keys_below(installed_games().values()).get(word)


def _check_keys(data: dict[str, Any], where: str) -> None:
    """Raises `InputError` at the first key that belongs one level below the top, as `size` belongs to `settings`."""
    top = RunSettings.__struct_fields__
    for word in data:
        if word in top:
            continue
        known = data.get("game") in game_names()
        below = _keys_below([load_game(data["game"])] if known else installed_games().values())
        near = None if closest(word, top) else closest(word, below)
        found = below.get(word) or (near and below[near])
        if found:
            raise InputError(f"{where}: {word}: unknown key (did you mean {found!r}?)")


def _keys_below(games: Iterable[Game]) -> dict[str, str]:
    """The keys one level below the top by their last part: those of `games` first, and learners' that presets set."""
    parts: list[tuple[str, Iterable[str]]] = []
    for game in games:
        parts.append(("settings", (field.name for field in msgspec.structs.fields(game.settings))))
        parts.append(("network", (field.name for field in msgspec.structs.fields(game.network))))
    learners = (read_settings(path).get("learner") for path in preset_names().values())
    parts += [("learner", learner) for learner in learners if isinstance(learner, dict)]
    for field in msgspec.structs.fields(RunSettings):
        structs = [kind for kind in map(plain, options(field.type)) if hasattr(kind, "__struct_fields__")]
        parts += [(field.name, kind.__struct_fields__) for kind in structs]
    found: dict[str, str] = {}
    for part, names in parts:
        for name in names:
            found.setdefault(name, f"{part}.{name}")
    return found


def with_stores(data: dict[str, Any]) -> dict[str, Any]:
    """A configuration whose `data` is a list, even if it names a single store."""
    return {**data, "data": [data["data"]]} if isinstance(data.get("data"), str) else data


def _with_overrides(data: dict[str, Any], overrides: Sequence[Override], path: Path) -> dict[str, Any]:
    """`data` with overrides; code named in a run folder's file counts only if an override names it again."""
    if not (path.resolve().parent / STORED).exists():
        return apply_overrides(data, overrides)
    for name in code_names([data.get("settings"), data.get("mock")]):
        raise InputError(f"{path}: a run folder is data, and this names {name}, code of your own: use your own preset")
    given = override_keys(overrides)
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
