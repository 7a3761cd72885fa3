"""Small Hex set-ups that many tests share."""

import torch

from sparring.core import load_game
from sparring.core.settings import convert

GAME = load_game("hex")


def settings(size=4, **more):
    return convert({"size": size, **more}, GAME.settings, where="hex")


def spec(size=4, **more):
    return GAME.spec(settings(size, **more))


def arena(size=4, matches=16, seed=0, **more):
    return GAME.arena(settings(size, **more), matches=matches, seed=seed)


def policy(size=4, seed=0, *, loud=True, **network):
    """A small network; `loud` gives it weights large enough that its policy is far from uniform."""
    torch.manual_seed(seed)
    made = GAME.policy(spec(size), convert({"channels": 8, "blocks": 1, **network}, GAME.network, where="net"))
    if loud:
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return made
