"""The ties of a run's policy: its anchor, and other players' choices that it rehearses."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sparring.core import Array, GameSpec, InputError
from sparring.inference import Device
from sparring.league import Entrant
from sparring.learn.magnet import MagnetSettings
from sparring.learn.rehearsal import Rehearsal
from sparring.learn.ties import Anchor, Tie
from sparring.policy import Policy
from sparring.training.config import TrainConfig
from sparring.training.datasets import HeldOut, Lessons


class Rehearsing:
    """Other players' choices that a policy rehearses while it plays: episodes on disk, in every gradient step."""

    def __init__(
        self, config: TrainConfig, spec: GameSpec, policy: Policy, *, device: Device, say: Callable[[str], None]
    ) -> None:
        share = config.data_share
        learner = config.learner.ppo if isinstance(config.learner, MagnetSettings) else config.learner
        rows = max(1, round(learner.minibatch_size * share / (1 - share)))
        length = getattr(learner, "segment_length", 1) if policy.initial_memory(1) else 1
        alone = msgspec.structs.replace(config, workers=0)
        self._lessons = Lessons(alone, spec, policy, rows=rows, length=length, say=say)
        self._held_out = HeldOut(alone, spec, device=device)
        self.tie = Rehearsal(policy, self._lessons.draw, share=share, device=device)
        say(f"{share:.0%} of every gradient step from {self._lessons.about}")

    def validate(self, policy: Policy) -> dict[str, float]:
        """How well held-out choices are predicted."""
        return self._held_out.validate(policy, self._lessons.frequent)

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Where in the data the run is: values and arrays."""
        return self._lessons.snapshot()

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Goes on after the last batch of a `snapshot`."""
        self._lessons.restore(values, arrays)

    def close(self) -> None:
        """Stops reading."""
        self._lessons.close()


class Ties:
    """The ties of a run, which may change as it goes on."""

    def __init__(
        self,
        config: TrainConfig,
        spec: GameSpec,
        opponents: Mapping[str, Entrant],
        *,
        device: Device,
        rehearsing: Rehearsing | None = None,
    ) -> None:
        self._settings = config.anchor
        self._anchor: Anchor | None = None
        self._rehearsing = rehearsing
        if config.anchor is not None:
            network: tuple[Any, int] | None = opponents[config.anchor.to].network(spec)
            if network is None or not callable(getattr(network[0], "unroll", None)):
                raise InputError(f"anchor.to = {config.anchor.to}: a network that can be unrolled is needed")
            policy, _ = network
            truncate = getattr(config.learner, "truncate_after", 0)
            if policy.initial_memory(1) and truncate:
                raise InputError("anchor: its network has memory and needs whole episodes: learner.truncate_after=0")
            self._anchor = Anchor(policy, kl=config.anchor.kl, device=device)

    def at(self, decisions: int) -> list[Tie]:
        """The ties of the update after `decisions` decisions."""
        ties: list[Tie] = [] if self._rehearsing is None else [self._rehearsing.tie]
        if self._anchor is not None and self._settings is not None:
            until = self._settings.until
            left = 1.0 if until is None else max(0.0, 1 - decisions / until)
            self._anchor.kl = self._settings.kl * left
            ties.append(self._anchor)
        return ties
