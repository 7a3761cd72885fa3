"""The training configuration, validated whole."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

import msgspec

from sparring.core import Game, InputError
from sparring.core.networks import FACTORY
from sparring.core.settings import Override, convert, override_keys
from sparring.learn.alphazero import AlphaZeroSettings
from sparring.learn.choices import ChoiceSettings
from sparring.learn.imitation import ImitationSettings
from sparring.learn.magnet import MagnetSettings
from sparring.learn.offline import OfflineSettings
from sparring.learn.ppo import PpoSettings
from sparring.learn.rnad import RnadSettings
from sparring.training.presets import check_run, read_preset, with_stores
from sparring.training.settings import MockSettings, RunSettings

LearnerSettings = PpoSettings | AlphaZeroSettings | MagnetSettings | RnadSettings | ImitationSettings | OfflineSettings


class TrainConfig(RunSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A training run."""

    learner: LearnerSettings
    """The algorithm (`kind`) and its settings."""


FREE_TO_CHANGE = {
    "data", "mock", "strict", "decisions", "workers", "inference_batch_size", "inference_timeout_ms", "overlap",
    "max_policy_lag", "device", "actor_dtype", "backend", "compile", "threads", "checkpoint", "evaluation", "report",
    "key", "parallel", "job", "cluster",
}  # fmt: skip
"""Keys that may differ when a run is resumed."""


def load_config(preset: str, overrides: Sequence[Override]) -> tuple[TrainConfig, Game]:
    """The preset called `preset` (or the YAML file at that path) with overrides, fully validated."""
    data = read_preset(preset, overrides)
    _check_other_kind(data.get("learner"), override_keys(overrides), where=preset)
    return validate_config(data, where=preset)


def _check_other_kind(learner: object, given: set[str], *, where: str) -> None:
    """Raises `InputError` if overrides change a preset's kind of learner, whose other settings the new kind lacks."""
    if "learner.kind" not in given or not isinstance(learner, dict):
        return
    kinds = {struct.__struct_config__.tag: struct for struct in get_args(TrainConfig.__annotations__["learner"])}
    kind = learner.get("kind")
    if kind in kinds:
        left = set(learner) - {"kind", *kinds[kind].__struct_fields__}
        unfit = sorted(key for key in left if f"learner.{key}" not in given)
        if unfit:
            raise InputError(
                f"{where}: learner.kind={kind}: {', '.join(unfit)} of the preset's learner are not settings of {kind}; "
                f"to begin with its defaults, write 'learner={{kind: {kind}}}'"
            )


def validate_config(data: dict[str, Any], *, where: str) -> tuple[TrainConfig, Game]:
    """`data` as a config whose game exists and accepts its settings and network.

    Its opponents are looked up only when the run starts; see `training.opponents`.
    """
    game = check_run(data, where=where)
    config = convert(with_stores(data), TrainConfig, where=where, see=f"sparring presets {where} --all")
    if learns_from_data(config) and config.opponents:
        raise InputError(f"{where}: opponents: {_kind(config)} plays no matches to learn from; allowed: none")
    if learns_from_data(config) and config.data_share:
        raise InputError(f"{where}: data_share: {_kind(config)} learns from data alone; allowed: 0")
    if not learns_from_data(config) and bool(config.data) != bool(config.data_share):
        raise InputError(f"{where}: data, data_share: {_kind(config)} needs both to learn from episodes on disk too")
    _ = validation_day(config)
    _check_mock(config.mock, game, where)
    if sum(config.opponents.values()) > 1 + 1e-6:
        raise InputError(f"{where}: opponents: shares of the matches add up to more than 1")
    _check_league(config, where)
    _check_cluster(config, where)
    _check_sharded(config, where)
    return config, game


def _check_mock(mock: MockSettings, game: Game, where: str) -> None:
    """Raises `InputError` unless `game` can play the matches that `mock` describes."""
    allowed = ["random", *(name for name in game.players if name != "human")]
    if mock.player not in allowed:
        raise InputError(f"{where}: mock.player = {mock.player!r}; allowed: {', '.join(allowed)}")


def _check_cluster(config: TrainConfig, where: str) -> None:
    """Raises `InputError` if the run cannot be played on a cluster."""
    if config.cluster.address is None:
        if config.cluster.server is not None:
            raise InputError(f"{where}: cluster.server: without a cluster nobody would ask it; allowed: null")
        return
    if config.cluster.server is not None and isinstance(config.learner, AlphaZeroSettings):
        raise InputError(f"{where}: cluster.server: alphazero searches where it plays; allowed: null")
    if learns_from_data(config):
        raise InputError(f"{where}: cluster: {_kind(config)} plays no matches to learn from; allowed: none")
    if config.workers:
        raise InputError(f"{where}: workers: with a cluster its collectors play; allowed: 0")


def _check_sharded(config: TrainConfig, where: str) -> None:
    """Raises `InputError` if the policy cannot be sharded as `config` asks for."""
    if not config.parallel.sharded:
        return
    if not learns_from_data(config) and not isinstance(config.learner, PpoSettings):
        raise InputError(
            f"{where}: parallel.sharded: not for {_kind(config)}, but for ppo, imitation and offline; allowed: false"
        )
    if config.league is not None or (config.data_share and not learns_from_data(config)):
        raise InputError(f"{where}: parallel.sharded: not with a league or with data_share; allowed: false")
    if getattr(config.learner, "compile", False):
        raise InputError(f"{where}: learner.compile: not of a policy that is spread over processes; allowed: false")
    if config.dtype == "float16":
        raise InputError(f"{where}: dtype: a policy that is spread over processes learns in float32 or bfloat16")


def _check_league(config: TrainConfig, where: str) -> None:
    """Raises `InputError` if the run cannot have the league that `config` asks for."""
    league = config.league
    if league is None:
        return
    if learns_from_data(config):
        raise InputError(f"{where}: league: {_kind(config)} plays no matches to learn from; allowed: null")
    if sum(league.draws.values()) <= 0:
        raise InputError(f"{where}: league.mix: some weight must be above 0")
    if league.role != "main" and not league.runs:
        raise InputError(f"{where}: league.runs: an exploiter needs the run that it exploits: league.runs=[runs/main]")


def learns_from_data(config: TrainConfig) -> bool:
    """Whether a run learns from episodes on disk and plays nothing itself."""
    return isinstance(config.learner, ChoiceSettings)


def check_data(config: TrainConfig, where: str) -> None:
    """Raises `InputError` if a run lacks the episodes that it is to learn from."""
    if learns_from_data(config) and not config.data:
        raise InputError(
            f"{where}: data: {_kind(config)} needs episodes: data=FOLDER, or --mock-data to try it without"
        )


def validation_day(config: TrainConfig) -> int | None:
    """The time from which on matches are held out, in seconds since 1970; None if the date does not matter."""
    text = config.validation.since
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) if text else None
    except ValueError:
        raise InputError(f"validation.since = {text!r}: no such day; as in 2025-03-31") from None


def _kind(config: TrainConfig) -> str:
    return str(config.learner.__struct_config__.tag)


def game_parts(config: TrainConfig, game: Game) -> dict[str, msgspec.Struct]:
    """The game's part of a config as typed structs: its `settings`, and its `network` unless a factory builds it."""
    parts: dict[str, msgspec.Struct] = {"settings": convert(config.settings, game.settings, where="settings")}
    if FACTORY not in config.network:
        parts["network"] = convert(config.network, game.network, where="network")
    return parts


def flat_settings(config: TrainConfig, game: Game) -> dict[str, bool | float | str]:
    """Every setting of a run by its dotted key, the game's defaults included; lists and the like as JSON text."""
    data = msgspec.to_builtins(config) | {
        name: msgspec.to_builtins(part) for name, part in game_parts(config, game).items()
    }
    return {
        key: value if isinstance(value, bool | float | int | str) else json.dumps(value) for key, value in _flat(data)
    }


def differences(stored: TrainConfig, wanted: TrainConfig) -> list[str]:
    """What keeps a run with config `stored` from being resumed with `wanted`: each key with both values."""
    there, here = (dict(_flat(msgspec.to_builtins(config))) for config in (stored, wanted))
    keys = [key for key in there | here if key.partition(".")[0] not in FREE_TO_CHANGE]
    return [f"{key}: {there.get(key)} there, {here.get(key)} here" for key in keys if there.get(key) != here.get(key)]


def _flat(data: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
