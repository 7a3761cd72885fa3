"""The training configuration: presets as YAML in the games' packages, `key=value` overrides, validated whole."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sparring.core import Game, InputError, did_you_mean, game_names, load_game
from sparring.core.code import code_names
from sparring.core.settings import (
    Count,
    NonNegative,
    NonNegativeInt,
    Positive,
    apply_overrides,
    convert,
    read_settings,
)
from sparring.inference.backend import BackendName
from sparring.inference.device import DeviceName, DtypeName
from sparring.league.entrants import names_code
from sparring.learn.alphazero import AlphaZeroSettings
from sparring.learn.choices import ChoiceSettings
from sparring.learn.imitation import ImitationSettings
from sparring.learn.magnet import MagnetSettings
from sparring.learn.offline import OfflineSettings
from sparring.learn.ppo import PpoSettings
from sparring.learn.rnad import RnadSettings
from sparring.policy.network import FACTORY, check_network
from sparring.report.metrics import ReportName
from sparring.training.league.settings import LeagueSettings

STORED = "config.yaml"
"""The file in a run folder that holds its configuration."""

Share = Annotated[float, Meta(gt=0, le=1)]
LearnerSettings = PpoSettings | AlphaZeroSettings | MagnetSettings | RnadSettings | ImitationSettings | OfflineSettings


class CheckpointSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When to save, and how many to keep besides the best."""

    every: Count = 10
    """Updates between checkpoints."""
    keep: Count = 3
    """How many of the newest to keep."""
    minutes: NonNegative = 0.0
    """Minutes after which one is saved in any case; 0: only by updates."""


Scaling = Literal["sqrt", "linear", "off"]


class ParallelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Training in N processes started by torchrun; otherwise nothing here matters."""

    scaling: Scaling = "sqrt"
    """`sqrt`, `linear`: each process has the batches and matches of the preset, so that the run's are N times as large,
    and the learning rate is multiplied by the square root of N, or by N. `off`: each has an Nth of them, so that the
    run learns as one process would, but faster."""
    sharded: bool = False
    """Whether each process holds only an Nth of the weights, gradients and moments (FSDP2), and layers are gathered
    when they are needed: for networks that do not fit on one device, at the price of more communication. For PPO,
    whose processes each play with a whole copy besides, and for learners that learn from data."""
    timeout_minutes: Positive = 30.0
    """The run ends when a process keeps the others waiting longer than this, even for a rating."""


class JobSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a run behaves as a job of a cluster."""

    time_limit_hours: NonNegative = 0.0
    """Save and stop before this many hours have passed; 0: no limit."""
    signal: Literal["USR1", "USR2"] = "USR2"
    """The signal, besides SIGTERM, that asks to save and stop; NCCL uses USR1 for itself."""


class ClusterSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Playing on a Ray cluster; without an address this process plays, or its workers."""

    address: str | None = None
    """ray://HOST:PORT, HOST:PORT of the head, or auto for the cluster of this machine; null: none."""
    collectors: NonNegativeInt = 0
    """Processes that play, each on one CPU with its part of `matches`; 0: as many as the cluster has CPUs, but one."""
    server: Annotated[str, Meta(pattern=r"^tcp://[^/\s]+:[0-9]+$")] | None = None
    """tcp://HOST:PORT, an address of this machine that all hosts reach: the policy is served there, from the run's
    device, to collectors that have no network of their own; port 0 takes any. null: each has one."""


class EvaluationSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Matches against other players during and after training."""

    every: NonNegativeInt = 0
    """Updates between evaluations; 0: only at the end."""
    matches: Count = 400
    """Against each opponent."""
    opponents: tuple[str, ...] = ("random",)
    """Players by name: built-in ones, runs, checkpoints, shipped weights, code of yours, models of policy servers."""
    temperature: NonNegative = 1.0
    """1 rates the policy as trained, 0 its likeliest actions; the same for opponents that are networks."""
    background: bool = False
    """Whether training goes on meanwhile; scores then come some updates later, and runs are no longer deterministic."""


class ValidationSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Matches of `data` that are never trained on, to test the policy's predictions."""

    share: Annotated[float, Meta(ge=0, lt=1)] = 0.05
    """The part of the matches that is held out; 0: none."""
    since: Annotated[str, Meta(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")] = ""
    """A day, as in 2025-03-31: matches played from then on are held out too, and reported separately; matches without a
    date are then not used at all. Empty: none."""
    decisions: Count = 32_768
    """Decisions per validation, at most."""


class MockSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The matches that `--mock-data` plays, to try a run out before there is data."""

    player: str = "random"
    """A built-in player, which plays against itself."""
    matches: Count = 100
    """For each of `settings`."""
    settings: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)] = ({},)
    """What is played: each laid over the settings of the run."""


class AnchorSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy that the one in training is tied to by the KL divergence between them."""

    to: str
    """A checkpoint, run folder or shipped weights."""
    kl: NonNegative = 0.05
    """The coefficient of the divergence in the loss: raising it holds the policy closer."""
    until: Count | None = None
    """Decisions over which the coefficient falls to 0, evenly; null: it stays."""


class TrainConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A training run."""

    game: str
    """As `sparring games` lists it."""
    settings: dict[str, Any] = {}
    """The game's rule options."""
    network: dict[str, Any] = {}
    """The network's size options; or `factory`, the `package.module:function` of your own that builds it."""
    learner: LearnerSettings
    """The algorithm (`kind`) and its settings."""
    data: tuple[str, ...] = ()
    """Episode stores, or folders of them: what `imitation` and `offline` learn from, and the others by `data_share`."""
    data_share: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    """For learners that play: the part of each gradient step's decisions that comes from `data`, to be imitated."""
    strict: bool = False
    """Whether damaged files of `data` end the run; otherwise they are skipped and reported."""
    validation: ValidationSettings = ValidationSettings()
    mock: MockSettings = MockSettings()
    init: str | None = None
    """A checkpoint or run folder whose weights the run starts from; the game must say that they fit."""
    anchor: AnchorSettings | None = None
    """A policy that this one stays close to (`to`, `kl`, `until`), such as the one it starts from; null: none."""
    opponents: dict[str, Share] = {}
    """Players met in training, by name, each with its share of the matches; in the rest the policy meets itself."""
    league: LeagueSettings | None = None
    """A pool of past selves, met in the matches that `opponents` leave; null: only the present self."""
    key: str | None = None
    """The client key for policy servers among the opponents, if they ask for one."""
    decisions: Count = 1_000_000
    """Decisions to train on in all; the run ends with the update that reaches them."""
    matches: Count = 512
    """Matches played at the same time."""
    seed: Annotated[int, Meta(ge=0, lt=2**32)] = 0
    """Of everything random."""
    workers: NonNegativeInt = 0
    """Processes that play; 0 plays in this one, deterministic from the seed."""
    inference_batch_size: Count = 1
    """Rows a forward pass of self-play waits for, where they trickle in: with workers, and in Pokémon."""
    inference_timeout_ms: NonNegative = 20.0
    """But no longer than this after the first row."""
    overlap: bool = False
    """Whether the next episodes are collected while the last are learned from; no longer deterministic."""
    max_policy_lag: NonNegativeInt = 0
    """Episodes begun with weights more than this many updates old are dropped; 0 drops none."""
    device: DeviceName = "auto"
    """Where networks run; auto takes CUDA, then MPS, then the CPU."""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """Precision of forward passes and losses."""
    actor_dtype: DtypeName | None = None
    """Precision of self-play's forward passes alone (bfloat16, or int8 on a CPU); null: as `dtype`."""
    backend: BackendName = "auto"
    """What runs self-play's forward passes; "auto": the faster one here, unless the learner needs torch."""
    compile: bool = False
    """Whether inference runs through torch.compile."""
    threads: NonNegativeInt = 0
    """CPU threads for torch; 0 takes as many as there are free cores."""
    checkpoint: CheckpointSettings = CheckpointSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    parallel: ParallelSettings = ParallelSettings()
    job: JobSettings = JobSettings()
    cluster: ClusterSettings = ClusterSettings()
    report: tuple[ReportName, ...] = ("tensorboard",)
    """Where metrics go besides metrics.jsonl; wandb sends them to Weights & Biases."""


FREE_TO_CHANGE = {
    "data", "mock", "strict", "decisions", "workers", "inference_batch_size", "inference_timeout_ms", "overlap",
    "max_policy_lag", "device", "actor_dtype", "backend", "compile", "threads", "checkpoint", "evaluation", "report",
    "key", "parallel", "job", "cluster",
}  # fmt: skip
"""Keys that may differ when a run is resumed."""


def preset_names() -> dict[str, Path]:
    """Every installed preset by name."""
    found: dict[str, Path] = {}
    for name in game_names():
        for path in sorted(Path(load_game(name).presets).glob("*.yaml"), key=lambda path: path.stem):
            found[path.stem] = path
    return found


def load_config(preset: str, overrides: Sequence[str]) -> tuple[TrainConfig, Game]:
    """The preset called `preset` (or the YAML file at that path) with overrides, fully validated."""
    path = Path(preset)
    if path.suffix not in (".yaml", ".yml"):
        presets = preset_names()
        if preset not in presets:
            raise InputError(f"unknown preset {preset!r}{did_you_mean(preset, presets)}; presets: {', '.join(presets)}")
        path = presets[preset]
    return validate_config(_with_overrides(read_settings(path), overrides, path), where=preset)


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


def validate_config(data: dict[str, Any], *, where: str) -> tuple[TrainConfig, Game]:
    """`data` as a config whose game exists and accepts its settings and network.

    Its opponents are looked up only when the run starts; see `training.opponents`.
    """
    if isinstance(data.get("data"), str):
        data = {**data, "data": [data["data"]]}
    config = convert(data, TrainConfig, where=where)
    game = load_game(config.game)
    convert(config.settings, game.settings, where=f"{where}: settings")
    check_network(config.network, game, where=f"{where}: network")
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
        raise InputError(f"{where}: data: {_kind(config)} needs episodes: data=FOLDER")


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
