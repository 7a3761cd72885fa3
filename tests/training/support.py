"""Small runs to test with."""

import torch

from sparring.training.config import validate_config
from sparring.training.loop import train
from sparring.training.run import RunFolder

TINY = {
    "game": "hex",
    "settings": {"size": 3},
    "network": {"channels": 8, "blocks": 1},
    "learner": {"kind": "ppo", "batch_size": 256, "minibatch_size": 64, "epochs": 2, "segment_length": 3},
    "decisions": 1500,
    "matches": 16,
    "threads": 1,
    "checkpoint": {"every": 2, "keep": 2},
    "evaluation": {"every": 3, "matches": 20, "opponents": ["random"]},
}
"""Self-play: some seconds."""

TINY_STUDY = {
    "game": "hex",
    "settings": {"size": 3},
    "network": {"channels": 8, "blocks": 1},
    "learner": {"kind": "imitation", "batch_size": 100, "minibatch_size": 50, "lr_schedule": "constant"},
    "validation": {"share": 0.2},
    "decisions": 600,
    "threads": 1,
    "checkpoint": {"every": 1},
    "evaluation": {"matches": 4, "opponents": ["random"]},
}
"""Imitation of episodes on disk, which `data` must name."""


def run(folder, *, on_update=None, **changes):
    config, game = validate_config({**TINY, **changes}, where="test")
    return train(config, game, RunFolder(folder), on_update=on_update, say=lambda text: None)


def assert_same_weights(ours, theirs):
    assert ours.weights.keys() == theirs.weights.keys()
    for name, weight in ours.weights.items():
        assert torch.equal(weight, theirs.weights[name]), name
