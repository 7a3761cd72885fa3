"""Built-in players: an opponent to measure training against, and a person at the terminal."""

from collections.abc import Callable

import numpy as np

from connect_four.rules import from_planes, winning_columns
from connect_four.settings import Settings
from sparring.core import Answers, Decisions, SeededPlayer


class TacticalPlayer(SeededPlayer):
    """Wins if it can, blocks if it must, and else plays at random, more often near the middle."""

    def __init__(self, settings: Settings, seed: int) -> None:
        super().__init__(seed)
        columns = np.arange(settings.columns)
        self._middle = np.minimum(columns, columns[::-1]) / settings.columns  # less than 0.5

    def act(self, decisions: Decisions) -> Answers:
        """All rows at once: each column gets a score, and the highest legal one is played."""
        boards = from_planes(decisions.observation["planes"])
        preference = self._middle + self._rng.random(decisions.legal.shape)  # less than 2
        score = 4.0 * winning_columns(boards) + 2.0 * winning_columns(-boards) + preference
        return Answers(action=np.where(decisions.legal, score, -1.0).argmax(axis=1).astype(np.int32))


class HumanPlayer:
    """Draws the board and asks for a column. A player called `human` is what makes `sparring play` work."""

    def __init__(
        self, settings: Settings, seed: int, *, ask: Callable[[str], str] = input, tell: Callable[[str], None] = print
    ) -> None:
        self._numbers = " ".join(str((column + 1) % 10) for column in range(settings.columns))
        self._ask, self._tell = ask, tell

    def show(self, decisions: Decisions, *, seat: int) -> None:
        """The boards as whoever has `seat` sees them; with a forward model, the last position is shown too."""
        boards = from_planes(decisions.observation["planes"])
        for board, mover in zip(boards, decisions.seat.tolist(), strict=True):
            lines = (" ".join(".XO"[stone] for stone in line) for line in (board if mover == seat else -board).tolist())
            self._tell("\n".join([*lines, self._numbers]))

    def act(self, decisions: Decisions) -> Answers:
        """One question a row; the end of the input (`EOFError`) is the caller's to handle."""
        action = np.empty(len(decisions), np.int32)
        for row, seat in enumerate(decisions.seat.tolist()):
            self.show(decisions.take(np.array([row])), seat=seat)
            self._tell("You are X.")
            action[row] = self._column(decisions.legal[row])
        return Answers(action=action)

    def _column(self, legal: np.ndarray) -> int:
        while True:
            text = self._ask("Your column: ").strip()
            if text.isdecimal() and 1 <= int(text) <= len(legal) and legal[int(text) - 1]:
                return int(text) - 1
            allowed = ", ".join(str(column + 1) for column in np.flatnonzero(legal))
            self._tell(f"{text!r} is no column with room; type one of {allowed}.")
