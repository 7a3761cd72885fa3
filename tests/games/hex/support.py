"""A Hex arena that tests can ask for matches that are over."""

import numpy as np

from sparring.core import Decisions
from sparring.games.hex import HexArena, HexSettings
from sparring.games.hex.text import mirrored


class RecordingArena(HexArena):
    """Keeps the moves of every slot's last finished match, as `history` gives them, in `finished`."""

    def __init__(self, settings: HexSettings, *, matches: int, seed: int) -> None:
        super().__init__(settings, matches=matches, seed=seed)
        self.finished: dict[int, list[int]] = {}

    def act(self, decisions: Decisions, actions: np.ndarray) -> None:
        """Plays the actions and notes which of them ended a match."""
        before = [self.history(match) for match in decisions.match]
        super().act(decisions, actions)
        size = self.spec.observation["planes"].shape[-1]
        for history, match, seat, action in zip(before, decisions.match, decisions.seat, actions, strict=True):
            if len(self.history(match)) <= len(history):
                self.finished[int(match)] = [*history, int(action) if seat == 0 else mirrored(size, int(action))]
