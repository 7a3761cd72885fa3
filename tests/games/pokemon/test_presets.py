"""Every preset trains out of the box: a few updates of each, in small."""

import math
from pathlib import Path

import pytest
import torch

from sparring.training.config import load_config
from sparring.training.opponents import find_opponents
from sparring.training.presets import preset_names
from sparring.training.rating import Ratings
from sparring.training.run import RunFolder
from sparring.training.self_play import SelfPlay

QUICK = ["pokemon-gen1", "pokemon-doubles", "pokemon-gen1-rnad", "pokemon-vgc"]
NAMES = ("gen1", "gen9", "gen1ou", "gen9ou", "nationaldex", "doubles", "vgc", "vgc2025")
PRESETS = [f"pokemon-{name}{kind}" for name in NAMES for kind in ("", "-rnad")]
SMALL = [
    "matches=6", "learner.batch_size=150", "learner.minibatch_size=80", "threads=1",
    "network.width=32", "network.heads=2",
    "evaluation.every=1", "evaluation.matches=2", "evaluation.opponents=[random]", "evaluation.background=false",
]  # fmt: skip


def updates(preset: str, *more: str) -> list[dict[str, float]]:
    """The metrics of two updates; the weights must have moved and stayed finite."""
    config, game = load_config(preset, [*SMALL, *more])
    training = SelfPlay(config, game, find_opponents(config, game, Path("run")), say=lambda text: None)
    try:
        before = {name: weight.clone() for name, weight in training.algorithm.learner.policy.state_dict().items()}
        metrics = [training.advance() for _ in range(2)]
        after = training.algorithm.learner.policy.state_dict()
    finally:
        training.close()
    assert any(not torch.equal(before[name], weight) for name, weight in after.items())
    assert all(weight.isfinite().all() for weight in after.values())
    return metrics


def check(preset: str) -> None:
    for metrics in updates(preset):
        assert metrics["play/failed_matches"] == 0
        assert all(math.isfinite(value) for value in metrics.values())
        assert metrics["loss/grad_norm"] > 0
        wanted = {"play/reward/outcome", "play/reward/damage", "play/policy_lag", "loss/calibration_error"}
        assert wanted <= set(metrics)
        assert (metrics["play/reward/damage"] > 0) == ("rnad" not in preset)


def test_all_presets_are_there() -> None:
    assert set(PRESETS) <= set(preset_names())


@pytest.mark.parametrize("preset", QUICK)
def test_a_preset_trains(preset: str) -> None:
    check(preset)


@pytest.mark.slow
@pytest.mark.parametrize("preset", [preset for preset in PRESETS if preset not in QUICK])
def test_every_other_preset_trains(preset: str) -> None:
    check(preset)


def test_it_trains_with_transformer_memory_and_int8_actors() -> None:
    overrides = ["network.memory=transformer", "network.window=4", "learner.segment_length=8", "overlap=false"]
    first, _ = updates("pokemon-gen1", *overrides)
    assert first["loss/clip_fraction"] < 0.5
    updates("pokemon-gen1", "actor_dtype=int8")


def test_ratings_in_the_background_go_on_beside_training(tmp_path: Path) -> None:
    config, game = load_config("pokemon-gen1", [*SMALL[:-1], "evaluation.background=true"])
    opponents, folder = find_opponents(config, game, tmp_path), RunFolder(tmp_path / "run")
    training = SelfPlay(config, game, opponents, say=lambda text: None)
    ratings = Ratings(training.rater, folder, training.stages)
    figures: dict[str, float] = {}
    try:
        folder.open(config)
        for _ in range(2):
            training.advance()
            rating = ratings.after_update(training.checkpoint(), None)
            figures |= rating.metrics() if rating is not None else {}
        assert figures["rating/update"] == 1
        (rating,) = ratings.finish(training.checkpoint(), None)
        figures = rating.metrics()
    finally:
        ratings.close()
        training.close()
    assert figures["rating/update"] == 2
    assert 0 <= figures["rating/win_rate/random"] <= 1
