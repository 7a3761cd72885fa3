"""The settings of a training run, from which a preset or an override is checked before torch is imported."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sparring.core.devices import BackendName, DeviceName, DtypeName
from sparring.core.settings import Count, NonNegative, NonNegativeInt, Positive
from sparring.report.metrics import ReportName
from sparring.training.league.settings import LeagueSettings

Share = Annotated[float, Meta(gt=0, le=1)]


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
    """Players by name: built-in ones, runs, checkpoints, shipped weights, code of yours, models of policy servers.
    Empty: none, so nothing is rated."""
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


class RunSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A training run, but for the settings of its learner: those are known only to the learners, which need torch."""

    game: str
    """As `sparring games` lists it."""
    settings: dict[str, Any] = {}
    """The game's rule options."""
    network: dict[str, Any] = {}
    """The network's size options; or `factory`, the `package.module:function` of your own that builds it."""
    learner: Any
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
