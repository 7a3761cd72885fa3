"""What is diagnosed: a preset as it would train, in short updates that change nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sparring.core import Game, InputError, load_game
from sparring.core.settings import convert
from sparring.training.config import TrainConfig, load_config, validate_config

_NO_CHANGE = 1e-12
"""The learning rate: what is played stays the same from the first round to the last, and from one run to another."""


@dataclass(frozen=True)
class Subject:
    """A training configuration, and the same in short updates."""

    name: str
    config: TrainConfig
    game: Game
    batch_size: int
    """Decisions of an update of `config`."""
    short: TrainConfig
    """The same updates, but shorter, with every epoch, and without the will to learn."""
    short_rows: int
    """Decisions of an update of `short`."""


def find_subject(preset: str | None, game: str | None, overrides: Sequence[str]) -> Subject:
    """The preset of that name, or the game's default one; raises `InputError` if it plays another game, or none."""
    if preset is not None:
        config, played = load_config(preset, overrides)
        if game is not None and played.name != game:
            raise InputError(f"{preset} trains {played.name}, not {game}; allowed: one of the two")
        return make_subject(preset, config, played)
    if game is None:
        raise InputError("nothing to diagnose: give a preset, or --game GAME")
    name = default_preset(load_game(game))
    if name is None:
        config, played = validate_config({"game": game, "learner": {"kind": "ppo"}}, where=game)
        return make_subject(game, config, played)
    return make_subject(name, *load_config(name, overrides))


def default_preset(game: Game) -> str | None:
    """Of the game's presets that of PPO, if there is one, that plays most nearly its default settings."""
    found: list[tuple[bool, int, str]] = []
    for path in Path(game.presets).glob("*.yaml"):
        config, _ = load_config(path.stem, [])
        if not config.data:
            settings: Any = convert(config.settings, game.settings, where=path.stem)
            usual, given = msgspec.to_builtins(game.settings()), msgspec.to_builtins(settings)
            differing = sum(usual[key] != given[key] for key in usual)
            found.append((_kind(config) != "ppo", differing, path.stem))
    return min(found)[2] if found else None


def make_subject(name: str, config: TrainConfig, game: Game) -> Subject:
    """`config`, and its short form; raises `InputError` for one that plays nothing."""
    if config.data:
        raise InputError(f"{name} learns from episodes on disk: there is no self-play to diagnose")
    data: dict[str, Any] = msgspec.to_builtins(config)
    data["cluster"] = {}  # it is this machine that is measured
    learner = data["learner"]
    sizes = learner.get("ppo", learner)
    batch_size = int(sizes["batch_size"])
    rows = min(batch_size, max(int(sizes.get("minibatch_size", 0)), config.matches))
    sizes["batch_size"] = rows
    for part in (learner, sizes):
        if "learning_rate" in part:
            part["learning_rate"] = _NO_CHANGE
        if "target_kl" in part:
            part["target_kl"] = 1e9  # every epoch is played, as in the costliest update
    if "gate" in learner:
        learner["gate"] = {**learner["gate"], "every": 0}  # matches that only a whole run plays
    short, _ = validate_config(data, where=name)
    return Subject(name, config, game, batch_size, short, rows)


def _kind(config: TrainConfig) -> str:
    return str(msgspec.to_builtins(config.learner)["kind"])
