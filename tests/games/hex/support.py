"""A Hex arena that tests can ask for matches that are over, and what the page of a match holds."""

import json
import re
from typing import Any
from urllib.parse import unquote

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


def game_in(page: str) -> dict[str, Any]:
    """What the page of a match holds as data."""
    found = re.search(r'<script type="application/json" id="match">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    game: dict[str, Any] = json.loads(found.group(1))
    return game


def sgf_in(page: str) -> str:
    """The SGF that the page of a match offers."""
    return unquote(game_in(page)["sgf"].partition(",")[2])
