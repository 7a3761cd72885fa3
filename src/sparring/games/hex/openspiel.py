"""OpenSpiel's MCTS with random playouts as a player of Hex: an opponent whose strength others know too."""

import numpy as np

from sparring.core import Answers, Decisions, Guest, InputError, optional
from sparring.games.hex.course import Courses
from sparring.games.hex.settings import HexSettings

with optional("OpenSpiel's MCTS", package="open-spiel"):
    import pyspiel

_EXPLORATION = 2.0
_MEGABYTES = 1000
_MOST = 10_000_000


class OpenSpielPlayer:
    """Asks one bot of so many simulations a move about all rows, one after the other."""

    def __init__(self, settings: HexSettings, simulations: str, guest: Guest) -> None:
        if not simulations.isdecimal() or not 2 <= int(simulations[:9]) <= _MOST:
            raise InputError(f"openspiel:{simulations}: not a number of simulations from 2 to {_MOST:,}")
        if settings.swap:
            raise InputError(f"openspiel:{simulations}: OpenSpiel's Hex has no swap rule; play with --swap false")
        self._courses = Courses(settings.size)
        self._game = pyspiel.load_game(f"hex(board_size={settings.size})")
        evaluator = pyspiel.RandomRolloutEvaluator(1, guest.seed % 2**31)
        self._bot = pyspiel.MCTSBot(
            self._game, evaluator, _EXPLORATION, int(simulations), _MEGABYTES, True, guest.seed % 2**31, False
        )

    def act(self, decisions: Decisions) -> Answers:
        """A move for each row."""
        action = np.empty(len(decisions), np.int32)
        for row in range(len(decisions)):
            state = self._game.new_initial_state()
            for move in self._courses.follow(decisions, row):
                state.apply_action(move)
            action[row] = self._courses.play(decisions, row, int(self._bot.step(state)))
        return Answers(action=action)
