import numpy as np
import pytest

from sparring.games.hex import HexArena, HexSettings
from sparring.games.hex.human import HumanPlayer


class Terminal:
    """Types the given lines and keeps what it is told; at the end of the lines the input ends."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.told: list[str] = []

    def ask(self, prompt: str) -> str:
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)


def human(settings: HexSettings, terminal: Terminal) -> HumanPlayer:
    return HumanPlayer(settings, ask=terminal.ask, tell=terminal.told.append)


def test_types_cells_as_the_board_shows_them_in_either_seat() -> None:
    settings = HexSettings(size=4)
    arena = HexArena(settings, matches=1, seed=0)
    terminal = Terminal("c1", "a3")
    player = human(settings, terminal)
    for _ in range(2):
        decisions, _ = arena.wait()
        arena.act(decisions, player.act(decisions).action)
    assert arena.history(0) == [2, 8]
    arena_view = terminal.told
    assert arena_view[0].splitlines()[1] == " 1  . . . .  1"
    assert arena_view[1] == "You are X and connect top and bottom."
    assert arena_view[2].splitlines()[1] == " 1  . . X .  1"
    assert arena_view[3] == "You are O and connect left and right."


def test_says_what_is_allowed_and_asks_again() -> None:
    settings = HexSettings(size=3, swap=True)
    arena = HexArena(settings, matches=1, seed=0)
    terminal = Terminal("hello", "", "d1", "swap", "b2")
    decisions, _ = arena.wait()
    arena.act(decisions, human(settings, terminal).act(decisions).action)
    assert terminal.told[2:] == [
        "'hello' is no move; type a free cell from a1 to c3.",
        "'' is no move; type a free cell from a1 to c3.",
        "'d1' is no move; type a free cell from a1 to c3.",
        "swap is not allowed now; type a free cell from a1 to c3.",
    ]
    terminal = Terminal("b2", "swap")
    decisions, _ = arena.wait()
    answers = human(settings, terminal).act(decisions)
    assert terminal.told[3:] == ["b2 is taken; type a free cell from a1 to c3, or swap."]
    assert answers.action.tolist() == [9]
    assert answers.action.dtype == np.int32


def test_the_end_of_the_input_is_the_callers_matter() -> None:
    settings = HexSettings(size=3)
    decisions, _ = HexArena(settings, matches=1, seed=0).wait()
    with pytest.raises(EOFError):
        human(settings, Terminal()).act(decisions)
