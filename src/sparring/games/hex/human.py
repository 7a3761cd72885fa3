"""A person at the terminal as a player: sees the board, types `c4` or `swap`."""

from collections.abc import Callable

import numpy as np

from sparring.core import Answers, Decisions, InputError
from sparring.games.hex.settings import HexSettings
from sparring.games.hex.text import cell_name, draw_board, mirrored, parse_move

_SIDES = ("You are X and connect top and bottom.", "You are O and connect left and right.")


class HumanPlayer:
    """Asks for each row's move until it is legal. `EOFError` from `ask` (the end of the input) goes to the caller."""

    def __init__(
        self, settings: HexSettings, *, ask: Callable[[str], str] = input, tell: Callable[[str], None] = print
    ) -> None:
        self._size = settings.size
        self._ask = ask
        self._tell = tell

    def act(self, decisions: Decisions) -> Answers:
        """One question a row, on the board as it lies, whichever seat the person has."""
        size = self._size
        action = np.empty(len(decisions), np.int32)
        for row, seat in enumerate(decisions.seat.tolist()):
            planes = decisions.observation["planes"][row]
            black, white = (planes[0], planes[1]) if seat == 0 else (planes[1].T, planes[0].T)
            self._tell(draw_board(size, (black + 2 * white).ravel().tolist()))
            self._tell(_SIDES[seat])
            action[row] = self._move(seat, decisions.legal[row])
        return Answers(action=action)

    def _move(self, seat: int, legal: np.ndarray) -> int:
        """The action, in the mover's frame, of the first legal move typed."""
        size = self._size
        swap_open = len(legal) > size * size and bool(legal[size * size])
        allowed = f"a free cell from a1 to {cell_name(size, size * size - 1)}" + (", or swap" if swap_open else "")
        while True:
            text = self._ask("Your move: ")
            try:
                move = parse_move(size, text)
            except InputError:
                self._tell(f"{text.strip()!r} is no move; type {allowed}.")
                continue
            action = move if seat == 0 else mirrored(size, move)
            if action < len(legal) and legal[action]:
                return action
            self._tell(f"{cell_name(size, move)} is not allowed now; type {allowed}.")


def human_player(settings: HexSettings, seed: int) -> HumanPlayer:
    """The built-in player `human`; whoever sits there needs no seed."""
    return HumanPlayer(settings)
