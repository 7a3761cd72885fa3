"""Any game as a Gymnasium environment: you in one seat, a player of your choice in the others."""

from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.adapters.match import UNDRAWN, Ended, SingleMatch, nothing_seen, observation_row
from sparring.adapters.spaces import LegalActions, observation_space
from sparring.core import Game, InputError, Player, check_argument, game_names, lending, optional
from sparring.core.settings import NonNegativeInt
from sparring.league import Entrant, Seating, Style
from sparring.league.entrants import check_style

with optional("sparring.adapters", extra="adapters"):
    import gymnasium


Number = int | np.integer | NDArray[np.integer]
"""How an action may be given: as Python's, numpy's, or in an array of its own, as learners do."""
_HINT = "see info['action_mask'], or learn with sb3-contrib's MaskablePPO"


class MatchEnv(gymnasium.Env[dict[str, Any], np.int64]):
    """One match per episode. The legal mask is in `info["action_mask"]` and, as SB3 expects, `action_masks()`;
    `action_space.sample()` draws a legal action. At the end nothing is legal, and `reset` begins the next match.

    Args:
        game: an installed game by name, or a `Game` of your own that is not installed.
        opponent: the player in the other seats, by any name that `sparring evaluate` takes (a built-in player, a run
            or checkpoint folder, shipped weights, ...), or any `Player`.
        seat: your seat.
        seed: of the arena and the opponent.
        style: how an opponent that is a network plays.
        render_mode: Gymnasium's; there is none but None.
        settings: the game's own options by name, such as `size=5`; those left out are the opponent's, if it is a
            checkpoint.
    """

    def __init__(
        self,
        game: str | Game,
        *,
        opponent: str | Player = "random",
        seat: int = 0,
        seed: int = 0,
        style: Style | None = None,
        render_mode: None = None,
        **settings: Any,
    ) -> None:
        if render_mode is not None:
            raise InputError(f"render_mode = {render_mode!r}: {UNDRAWN}")
        if "settings" in settings:
            raise InputError("settings: give the game's options by name, such as MatchEnv('hex', size=5)")
        check_argument("seed", seed, NonNegativeInt)
        if style is not None:
            check_style(style)
        with nullcontext(game) if isinstance(game, str) else lending(game) as name:
            seating = Seating.of(opponent, game=name, settings=settings)
        self._match = SingleMatch(seating.game, seating.settings, seed=seed)
        spec = self._match.spec
        if not isinstance(seat, int | np.integer) or not 0 <= seat < spec.seats:
            raise InputError(f"seat = {seat!r}: {name} has seats 0 to {spec.seats - 1}")
        self._seat = seat
        self._style = style
        self._opponent: Entrant = seating.entrants[0]
        self._seat_opponent(seed)
        self.observation_space = observation_space(spec)
        self.action_space: LegalActions = LegalActions(spec.actions)
        self._last: dict[str, Any] = nothing_seen(spec)

    def __repr__(self) -> str:
        return f"<MatchEnv: {self._match.spec}, seat {self._seat} against {self._opponent.name}>"

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

    def step(
        self, action: int | np.integer | NDArray[np.integer]
    ) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Your action, and everyone else's until you must act again or the match ends."""
        mine = np.flatnonzero(self._match.waiting.seat == self._seat)
        ended = self._play_on(self._match.action(int(mine[0]), action, _HINT))
        if ended is None:
            return self._last, self._reward, False, False, self._info()
        self.action_space.legal = np.zeros_like(self.action_space.legal)
        info = {**self._info(), "outcome": float(ended.outcome[self._seat])}
        return self._last, float(ended.reward[self._seat]), True, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """`bool[actions]` what is legal now."""
        return self.action_space.legal

    def render(self) -> None:
        """Raises `InputError`: nothing is drawn here."""
        raise InputError(f"render(): {UNDRAWN}")

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


def register_games() -> None:
    """Makes every installed game known to `gymnasium.make`, as `sparring/GAME`; options are those of `MatchEnv`."""
    for game in game_names():
        gymnasium.register(f"sparring/{game}", "sparring.adapters:MatchEnv", kwargs={"game": game})
