"""Any game as a Gymnasium environment: you in one seat, a player of your choice in the others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.adapters.match import Ended, SingleMatch, nothing_seen, observation_row
from sparring.adapters.spaces import LegalActions, observation_space
from sparring.core import InputError, Player, optional
from sparring.league import Entrant, Seating, Style

with optional("sparring.adapters", extra="adapters"):
    import gymnasium


class MatchEnv(gymnasium.Env[dict[str, Any], np.int64]):
    """One match per episode. The legal mask is in `info["action_mask"]` and, as SB3 expects, `action_masks()`;
    `action_space.sample()` draws a legal action.

    Args:
        game: an installed game.
        opponent: the player in the other seats, by any name that `sparring evaluate` takes (a built-in player, a run
            or checkpoint folder, shipped weights, ...), or any `Player`.
        seat: your seat.
        seed: of the arena and the opponent.
        style: how an opponent that is a network plays.
        settings: the game's own options; those left out are the opponent's, if it is a checkpoint.
    """

    def __init__(
        self,
        game: str,
        *,
        opponent: str | Player = "random",
        seat: int = 0,
        seed: int = 0,
        style: Style | None = None,
        **settings: Any,
    ) -> None:
        seating = Seating.of(opponent, game=game, settings=settings)
        self._match = SingleMatch(seating.game, seating.settings, seed=seed)
        spec = self._match.spec
        if not 0 <= seat < spec.seats:
            raise InputError(f"seat = {seat}: {game} has seats 0 to {spec.seats - 1}")
        self._seat = seat
        self._style = style
        self._opponent: Entrant = seating.entrants[0]
        self._seat_opponent(seed)
        self.observation_space = observation_space(spec)
        self.action_space: LegalActions = LegalActions(spec.actions)
        self._last: dict[str, Any] = nothing_seen(spec)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new match, played on to your first row."""
        super().reset(seed=seed)
        self._match.start(seed)
        if seed is not None:
            self._seat_opponent(seed)
        if self._play_on() is not None:
            raise InputError(f"seat {self._seat} never acts in this match")
        return self._last, self._info()

    def step(self, action: np.int64) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Your action, and everyone else's until you must act again or the match ends."""
        ended = self._play_on(int(action))
        if ended is None:
            return self._last, self._reward, False, False, self._info()
        info = {**self._info(), "outcome": float(ended.outcome[self._seat])}
        return self._last, float(ended.reward[self._seat]), True, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """`bool[actions]` what is legal now."""
        return self.action_space.legal

    def close(self) -> None:
        """Frees the arena."""
        self._match.close()

    def _seat_opponent(self, seed: int) -> None:
        """A named opponent is made again from `seed`; a player object stays as it is."""
        match = self._match
        self._player = self._opponent.seat(match.game, match.spec, matches=1, seed=seed, style=self._style)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_space.legal.astype(np.int8)}

    def _play_on(self, action: int | None = None) -> Ended | None:
        """Answers waiting rows, yours with `action`, until your next row or the end."""
        while True:
            waiting = self._match.waiting
            if waiting is None:
                raise InputError("call reset() before step()")
            mine = np.flatnonzero(waiting.seat == self._seat)
            if len(mine) and action is None:
                row = int(mine[0])
                self._last = observation_row(waiting, row)
                self.action_space.legal = waiting.legal[row]
                self._reward = float(waiting.reward[row])
                return None
            others = np.flatnonzero(waiting.seat != self._seat)
            actions = np.zeros(len(waiting), np.int32)
            if len(others):
                actions[others] = self._player.act(waiting.take(others)).action
            if len(mine) and action is not None:
                actions[mine] = action
                action = None
            ended = self._match.act(actions)
            if ended is not None:
                return ended
