"""The words everything else is written in. numpy only: no torch, no game.

`spec` what a game looks like; `vocabulary` what its numbers stand for; `rows` structs of arrays; `decisions` the
batches that flow; `arena`, `player`, `forward_model` and `game` the protocols; `plugins` what installed packages offer;
`arguments` checks of calls; `documented` fields in `help`; `versions` what outlasts a version of a game; `distribution`
the one masked distribution; `episodes` what training sees; `check` the arena checker; `score` what matches came to;
`words` what a game says of its episodes; `stages` where time goes; `interrupts` how work is stopped; `extras` optional
packages; `machine` the cores and memory that are ours; `checkup` the words of `sparring doctor`; `replays` matches that
were played elsewhere.
"""

from sparring.core.arena import (
    Adaptive,
    Arena,
    ClosingArena,
    Explaining,
    Gathering,
    IllegalAction,
    Naming,
    Resumable,
    check_actions,
    check_rows,
    gather,
    illegal_action,
    no_row,
    nothing_to_wait_for,
)
from sparring.core.arguments import check_argument, check_settings
from sparring.core.check import ArenaFault, ArenaReport, GameFault, check_arena
from sparring.core.decisions import Answers, Decisions, Results
from sparring.core.distribution import drop_unlikely, entropy, masked_log_softmax, sample
from sparring.core.episodes import Episodes, Headers, SegmentMemory, Steps
from sparring.core.errors import InputError, RunError, closest, did_you_mean, instead
from sparring.core.extras import MissingPackage, install_command, missing_packages, optional
from sparring.core.forward_model import ForwardModel
from sparring.core.game import (
    Followed,
    Game,
    Guest,
    Hosting,
    Installable,
    MatchRecord,
    Named,
    Online,
    Rated,
    Solvable,
    Spread,
    Undivided,
    Varied,
    Watchable,
    built_in,
    check_divisible,
    game_names,
    guest_kinds,
    installed_games,
    lending,
    load_game,
    player_names,
    shipped_weights,
)
from sparring.core.interrupts import Interrupts
from sparring.core.player import (
    Attending,
    Closing,
    Forfeit,
    Forfeiting,
    Player,
    RandomPlayer,
    SeededPlayer,
    is_player,
)
from sparring.core.rows import Array, Rows
from sparring.core.score import Score, wilson_interval
from sparring.core.spec import Field, GameSpec
from sparring.core.stages import Helped, Helpers, Staged, Stages, Ticking
from sparring.core.vocabulary import Vocabulary

__all__ = [
    "Adaptive",
    "Answers",
    "Arena",
    "ArenaFault",
    "ArenaReport",
    "Array",
    "Attending",
    "Closing",
    "ClosingArena",
    "Decisions",
    "Episodes",
    "Explaining",
    "Field",
    "Followed",
    "Forfeit",
    "Forfeiting",
    "ForwardModel",
    "Game",
    "GameFault",
    "GameSpec",
    "Gathering",
    "Guest",
    "Headers",
    "Helped",
    "Helpers",
    "Hosting",
    "IllegalAction",
    "InputError",
    "Installable",
    "Interrupts",
    "MatchRecord",
    "MissingPackage",
    "Named",
    "Naming",
    "Online",
    "Player",
    "RandomPlayer",
    "Rated",
    "Results",
    "Resumable",
    "Rows",
    "RunError",
    "Score",
    "SeededPlayer",
    "SegmentMemory",
    "Solvable",
    "Spread",
    "Staged",
    "Stages",
    "Steps",
    "Ticking",
    "Undivided",
    "Varied",
    "Vocabulary",
    "Watchable",
    "built_in",
    "check_actions",
    "check_arena",
    "check_argument",
    "check_divisible",
    "check_rows",
    "check_settings",
    "closest",
    "did_you_mean",
    "drop_unlikely",
    "entropy",
    "game_names",
    "gather",
    "guest_kinds",
    "illegal_action",
    "install_command",
    "installed_games",
    "instead",
    "is_player",
    "lending",
    "load_game",
    "masked_log_softmax",
    "missing_packages",
    "no_row",
    "nothing_to_wait_for",
    "optional",
    "player_names",
    "sample",
    "shipped_weights",
    "wilson_interval",
]
