"""The words everything else is written in. numpy only: no torch, no game.

`spec` what a game looks like; `decisions` the batches that flow; `arena`, `player`, `model` and `game` the
protocols; `distribution` the one masked distribution; `episodes` what training sees; `check` the arena checker.
"""

from sparring.core.arena import Adaptive, Arena, Gathering, IllegalAction, Resumable, gather
from sparring.core.check import ArenaFault, ArenaReport, check_arena
from sparring.core.decisions import Answers, Array, Decisions, Results
from sparring.core.distribution import drop_unlikely, entropy, masked_log_softmax, sample
from sparring.core.episodes import Episodes
from sparring.core.errors import InputError, RunError
from sparring.core.game import Game, Installable, Solvable, Watchable, game_names, load_game
from sparring.core.model import ForwardModel
from sparring.core.player import Player, RandomPlayer
from sparring.core.spec import Field, GameSpec

__all__ = [
    "Adaptive",
    "Answers",
    "Arena",
    "ArenaFault",
    "ArenaReport",
    "Array",
    "Decisions",
    "Episodes",
    "Field",
    "ForwardModel",
    "Game",
    "GameSpec",
    "Gathering",
    "IllegalAction",
    "InputError",
    "Installable",
    "Player",
    "RandomPlayer",
    "Results",
    "Resumable",
    "RunError",
    "Solvable",
    "Watchable",
    "check_arena",
    "drop_unlikely",
    "entropy",
    "game_names",
    "gather",
    "load_game",
    "masked_log_softmax",
    "sample",
]
