"""One run in several processes: each one's part of it, and their metrics as those of one run."""

import json
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from sparring.core import InputError
from sparring.learn import parallel
from sparring.learn.alphazero import AlphaZeroSettings
from sparring.learn.magnet import MagnetSettings
from sparring.training.config import LearnerSettings, TrainConfig
from sparring.training.settings import Scaling

S = TypeVar("S", bound=msgspec.Struct)

_APART = 100_000_007
"""Seeds of two processes differ by this."""
_SUMMED = ("_per_second", "failed_matches", "dropped", "window_rows")
"""Endings of metrics that are summed over processes; all others are averaged."""


def own_config(config: TrainConfig) -> TrainConfig:
    """`config` for this process: with a seed of its own for what it plays, and its part of every batch.

    Episodes on disk are dealt out by their dataset, for which all must have the same seed. Raises `InputError` if
    several processes are to share a cluster.
    """
    count = parallel.size()
    if count == 1:
        return config
    if config.cluster.address is not None:
        raise InputError(f"cluster: {count} processes would each want all of it; allowed in several: none")
    matches = config.matches if config.parallel.scaling != "off" else max(1, config.matches // count)
    seed = config.seed if config.data else config.seed + _APART * parallel.rank()
    learner = scaled(config.learner, config.parallel.scaling, count)
    return msgspec.structs.replace(config, seed=seed, matches=matches, learner=learner)


def scaled(learner: LearnerSettings, scaling: Scaling, count: int) -> LearnerSettings:
    """The settings of each of `count` processes: see `ParallelSettings.scaling`."""
    if isinstance(learner, MagnetSettings):
        return msgspec.structs.replace(learner, ppo=_scaled(learner.ppo, scaling, count))
    return _scaled(learner, scaling, count)


def _scaled(learner: S, scaling: Scaling, count: int) -> S:
    settings = msgspec.structs.asdict(learner)
    if scaling == "off":
        sizes = ["batch_size", "minibatch_size"] + ["window_size"] * isinstance(learner, AlphaZeroSettings)
        return msgspec.structs.replace(learner, **{name: max(1, settings[name] // count) for name in sizes})
    factor = count if scaling == "linear" else count**0.5
    return msgspec.structs.replace(learner, learning_rate=settings["learning_rate"] * factor)


def as_one(figures: Mapping[str, float]) -> dict[str, float]:
    """The metrics of all processes: rates and counts summed, everything else averaged over those that have it."""
    if parallel.size() == 1:
        return dict(figures)
    parts = [json.loads(text) for text in parallel.gather(json.dumps(dict(figures)))]
    joined: dict[str, list[float]] = {}
    for part in parts:
        for name, value in part.items():
            joined.setdefault(name, []).append(float(value))
    return {name: sum(v) if name.endswith(_SUMMED) else sum(v) / len(v) for name, v in joined.items()}
