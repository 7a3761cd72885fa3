"""Games one of whose parts is slower than it is, by a known number of seconds, to see whether that is found out."""

from time import sleep

import torch

from sparring.bench.diagnose.subject import make_subject
from sparring.core import load_game
from sparring.training.config import load_config

SMALL = ("matches=32", "learner.batch_size=64", "learner.minibatch_size=64", "threads=1")
ONE_PASS = "learner.epochs=1"


class Slowed:
    """A game with slow parts: `encode` and `env` seconds a wait, `inference` and `learner` seconds a call."""

    def __init__(self, name, **slow):
        self.inner = load_game(name)
        self.slow = slow

    def __reduce__(self):
        return _slowed, (self.inner.name, self.slow)

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def arena(self, settings, *, matches, seed):
        return SlowArena(self.inner.arena(settings, matches=matches, seed=seed), self.slow)

    def policy(self, spec, network):
        return slow_policy(self.inner.policy(spec, network), self.slow)


def _slowed(name, slow):
    return Slowed(name, **slow)


class SlowArena:
    def __init__(self, inner, slow):
        self.inner, self.slow = inner, slow
        self.spec, self.matches, self.stages, self.close = inner.spec, inner.matches, inner.stages, inner.close

    def wait(self):
        found = self.inner.wait()
        with self.stages.time("encode"):
            sleep(self.slow.get("encode", 0.0))
        return found

    def act(self, decisions, actions):
        with self.stages.time("env"):
            sleep(self.slow.get("env", 0.0))
        self.inner.act(decisions, actions)


def slow_policy(policy, slow):
    """The policy itself, whose passes take longer."""
    kind = type(policy)

    class Slow(kind):
        def step(self, *arguments):
            sleep(slow.get("inference", 0.0))
            return super().step(*arguments)

        def unroll(self, *arguments):
            sleep(slow.get("learner", 0.0))
            return super().unroll(*arguments)

    assert isinstance(policy, torch.nn.Module)
    policy.__class__ = Slow
    return policy


def subject(*overrides, preset="kuhn-ppo", **slow):
    """A small run with slow parts."""
    config, game = load_config(preset, [*SMALL, ONE_PASS, *overrides])
    return make_subject(preset, config, Slowed(game.name, **slow))
