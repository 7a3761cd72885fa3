"""The training configuration: presets as YAML in the games' packages, `key=value` overrides, validated whole."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml
from msgspec import Meta

from sparring.core import Game, InputError, game_names, load_game
from sparring.core.code import code_names
from sparring.core.settings import apply_overrides, convert
from sparring.inference.backend import BackendName
from sparring.inference.device import DeviceName, DtypeName
from sparring.learn.alphazero import AlphaZeroSettings
from sparring.learn.magnet import MagnetSettings
from sparring.learn.ppo import PpoSettings
from sparring.learn.rnad import RnadSettings
from sparring.policy.network import FACTORY, check_network

STORED = "config.yaml"
"""What a run folder calls the configuration it was trained with."""

Count = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]


class CheckpointSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When to save, and how many to keep besides the best."""

    every: Count = 10
    """Updates between checkpoints."""
    keep: Count = 3


class EvaluationSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Matches against built-in players during and after training."""

    every: NotNegative = 0
    """Updates between evaluations; 0: only at the end."""
    matches: Count = 400
    opponents: tuple[str, ...] = ("random",)
    temperature: Annotated[float, Meta(ge=0)] = 1.0
    """1 rates the policy as it is trained, 0 its likeliest actions."""
    background: bool = False
    """Whether training goes on meanwhile; scores then come some updates later, and runs are no longer deterministic."""


class TrainConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of a training run."""

    game: str
    settings: dict[str, Any] = {}
    """The game's rule options."""
    network: dict[str, Any] = {}
    """The network's size options; or `factory`, the `package.module:function` of your own that builds it."""
    learner: PpoSettings | AlphaZeroSettings | MagnetSettings | RnadSettings
    init: str | None = None
    """A checkpoint or run folder whose weights the run starts from; the game must say that they fit."""
    decisions: Count = 1_000_000
    """Decisions to train on in all."""
    matches: Count = 512
    """Matches played at the same time."""
    seed: int = 0
    workers: NotNegative = 0
    """Processes that play; 0 plays in this one, deterministic from the seed."""
    batch_size: Count = 1
    """Rows a forward pass of self-play waits for, where they trickle in: with workers, and in Pokémon."""
    batch_timeout_ms: Annotated[float, Meta(ge=0)] = 20.0
    """But no longer than this after the first of them."""
    overlap: bool = False
    """Whether the next episodes are collected while the last are learned from; no longer deterministic."""
    most_age: NotNegative = 0
    """Episodes begun with weights more than this many updates old are dropped; 0: none is."""
    device: DeviceName = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    actor_dtype: DtypeName | None = None
    """Precision of self-play's forward passes alone (bfloat16, or int8 on a CPU); null: as `dtype`."""
    backend: BackendName = "auto"
    """What runs self-play's forward passes; "auto": the faster one here, if the learner does not need torch's own."""
    compiled: bool = False
    """Whether inference runs through torch.compile."""
    threads: NotNegative = 0
    """CPU threads for torch; 0 takes all cores."""
    checkpoint: CheckpointSettings = CheckpointSettings()
    evaluation: EvaluationSettings = EvaluationSettings()


FREE_TO_CHANGE = (
    "decisions",
    "workers",
    "batch_size",
    "batch_timeout_ms",
    "overlap",
    "most_age",
    "device",
    "actor_dtype",
    "backend",
    "compiled",
    "threads",
    "checkpoint",
    "evaluation",
)
"""Keys that may differ when a run is resumed."""


def preset_names() -> dict[str, Path]:
    """Every installed preset by name."""
    found: dict[str, Path] = {}
    for name in game_names():
        for path in sorted(Path(load_game(name).presets).glob("*.yaml")):
            found[path.stem] = path
    return found


def load_config(preset: str, overrides: Sequence[str]) -> tuple[TrainConfig, Game]:
    """The preset called `preset` (or a YAML file of that path) with overrides, validated to the last key."""
    path = Path(preset)
    if path.suffix not in (".yaml", ".yml"):
        presets = preset_names()
        if preset not in presets:
            raise InputError(f"unknown preset {preset!r}; presets: {', '.join(presets)}")
        path = presets[preset]
    try:
        data = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(data, dict):
        raise InputError(f"{path}: a preset is a mapping of keys")
    return validate_config(_with_overrides(data, overrides, path), where=preset)


def _with_overrides(data: dict[str, Any], overrides: Sequence[str], path: Path) -> dict[str, Any]:
    """`data` with overrides; a factory that a file of a run folder names counts only if an override names it again."""
    network = data.get("network")
    stored = (path.resolve().parent / STORED).exists()
    for name in code_names(data.get("settings")) if stored else ():
        raise InputError(f"{path}: a run folder is data, and this names {name}, code of your own: use your own preset")
    if not stored or not isinstance(network, dict) or FACTORY not in network:
        return apply_overrides(data, overrides)
    without = {**data, "network": {key: value for key, value in network.items() if key != FACTORY}}
    config = apply_overrides(without, overrides)
    if config.get("network") == without["network"]:
        own = network[FACTORY]
        raise InputError(f"{path}: its network is built by {own}, code of your own: add network.{FACTORY}={own}")
    return config


def validate_config(data: dict[str, Any], *, where: str) -> tuple[TrainConfig, Game]:
    """`data` as a config whose game exists and accepts its settings and network."""
    config = convert(data, TrainConfig, where=where)
    game = load_game(config.game)
    convert(config.settings, game.settings, where=f"{where}: settings")
    check_network(config.network, game, where=f"{where}: network")
    unknown = [name for name in config.evaluation.opponents if name not in {"random", *game.players}]
    if unknown:
        allowed = ", ".join(["random", *game.players])
        raise InputError(f"{where}: evaluation.opponents: unknown player {unknown[0]!r}; allowed: {allowed}")
    return config, game


def changed_keys(old: TrainConfig, new: TrainConfig) -> list[str]:
    """Top-level keys in which a resumed run would differ where it may not."""
    before, after = msgspec.to_builtins(old), msgspec.to_builtins(new)
    return [key for key in after if key not in FREE_TO_CHANGE and before.get(key) != after[key]]
