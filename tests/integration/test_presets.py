"""Every preset trains: a thousand decisions from its own configuration, then a rating against its own opponents.

Presets that learn from data get some battles, which are played, written as records and read again.
"""

import json
import math

import pytest
import torch

from sparring.core import Installable
from sparring.core.settings import convert
from sparring.learn.alphazero import AlphaZeroSettings
from sparring.learn.magnet import MagnetSettings
from sparring.policy.checkpoint import load_checkpoint
from sparring.training.config import learns_from_data, load_config
from sparring.training.loop import train
from sparring.training.presets import preset_names
from sparring.training.run import RunFolder

DECISIONS = 1000
SMALL = [f"decisions={DECISIONS}", "matches=16", "threads=1", "evaluation.matches=2", "report=[]"]


def small(preset):
    """The preset with little to play: fewer matches and smaller batches, everything else as it is."""
    config, _ = load_config(preset, [])
    learner = config.learner
    at = "learner.ppo" if isinstance(learner, MagnetSettings) else "learner"
    sizes = [f"{at}.batch_size=256", f"{at}.minibatch_size=128"]
    if isinstance(learner, AlphaZeroSettings):
        sizes += [
            "learner.window_size=2000",
            "learner.search.simulations=4",
            "learner.search.max_num_considered_actions=4",
        ]
    if learns_from_data(config):
        sizes += ["mock.matches=6", "validation.share=0.3"]
    return load_config(preset, [*SMALL, *sizes])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("preset", sorted(preset_names()))
def test_a_preset_trains_and_is_rated(tmp_path, preset):
    config, game = small(preset)
    if isinstance(game, Installable):
        game.install(convert(config.settings, game.settings, where=preset), lambda text: None)
    mock_data = learns_from_data(config)
    outcome = train(config, game, RunFolder(tmp_path / "run"), mock_data=mock_data, say=lambda text: None)
    assert outcome.finished
    assert outcome.decisions >= DECISIONS
    assert outcome.scores.keys() == set(config.evaluation.opponents)
    assert all(score.matches == 2 and score.failed == 0 for score in outcome.scores.values())
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    losses = [value for line in lines for name, value in line.items() if name.startswith("loss/")]
    assert losses
    assert all(map(math.isfinite, losses))
    weights = load_checkpoint(tmp_path / "run").weights
    assert all(bool(torch.isfinite(weight).all()) for weight in weights.values() if weight.is_floating_point())


def test_there_are_presets_of_every_learner_that_plays_and_of_imitation():
    kinds = {load_config(preset, [])[0].learner.__struct_config__.tag for preset in preset_names()}
    assert {"ppo", "alphazero", "magnet", "rnad", "imitation"} <= kinds
