"""Small poker set-ups that many tests share."""

from pathlib import Path

import torch

from sparring.core import load_game
from sparring.core.settings import convert
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.rollout import Collector, everyone
from sparring.training.config import validate_config
from sparring.training.opponents import find_opponents
from sparring.training.self_play import SelfPlay

CPU = Device("cpu", "float32")


def policy(name="leduc", seed=0, *, loud=True, **network):
    """A small network; `loud` gives it weights large enough that its policy is far from uniform."""
    game = load_game(name)
    torch.manual_seed(seed)
    made = game.policy(game.spec(game.settings()), convert({"width": 16, **network}, game.network, where="net"))
    if loud:
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return made


def collect(rows, *, name="leduc", played=None, segment=0, matches=32):
    """Episodes of self-play by `played`, with whole behaviour policies."""
    game = load_game(name)
    engine = InferenceEngine(game.spec(game.settings()), slots=2 * matches, device=CPU, seed=0)
    engine.add("main", policy(name) if played is None else played)
    arena = game.arena(game.settings(), matches=matches, seed=0)
    player = NetworkPlayer(engine, "main", keep_policy=True)
    return Collector(
        arena, {"main": player}, everyone(0, 2), record=["main"], segment=segment, keep_policy=True
    ).collect(rows)


def training(**config):
    """A run of the training loop's parts, without a folder."""
    checked, game = validate_config({"threads": 1, **config}, where="test")
    opponents = find_opponents(checked, game, Path("nowhere"))
    return SelfPlay(checked, game, opponents, say=lambda text: None)
