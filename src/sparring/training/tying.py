"""What a run holds its policy to: its anchor, and choices of others that it rehearses."""

from collections.abc import Mapping
from typing import Any

from sparring.core import GameSpec, InputError
from sparring.inference import Device
from sparring.league import Entrant
from sparring.learn.ties import Anchor, Tie
from sparring.training.config import TrainConfig


class Ties:
    """The ties of a run, as they are after so many decisions."""

    def __init__(
        self, config: TrainConfig, spec: GameSpec, opponents: Mapping[str, Entrant], *, device: Device
    ) -> None:
        self._settings = config.anchor
        self._anchor: Anchor | None = None
        self.rehearsal: Tie | None = None
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
        """What holds the policy in the next update."""
        ties: list[Tie] = [] if self.rehearsal is None else [self.rehearsal]
        if self._anchor is not None and self._settings is not None:
            until = self._settings.until
            left = 1.0 if until is None else max(0.0, 1 - decisions / until)
            self._anchor.kl = self._settings.kl * left
            ties.append(self._anchor)
        return ties
