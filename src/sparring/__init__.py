"""Sparring trains game-playing agents by self-play at the speed of the hardware.

What a program needs is here by name (see docs/python.md); each name is imported when it is first used.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparring.core import (
        Answers,
        Arena,
        ArenaFault,
        ArenaReport,
        Decisions,
        Episodes,
        Game,
        GameFault,
        GameSpec,
        IllegalAction,
        InputError,
        Player,
        RandomPlayer,
        Results,
        RunError,
        Score,
        check_arena,
        game_names,
        load_game,
    )
    from sparring.league import Style
    from sparring.policy.checkpoint import Checkpoint, load_checkpoint
    from sparring.rollout.store import EpisodeStore, read_episodes
    from sparring.training.check_game import GameReport, check_game
    from sparring.training.loop import Outcome, Update

    __version__: str

__all__ = [
    "Answers",
    "Arena",
    "ArenaFault",
    "ArenaReport",
    "Checkpoint",
    "Decisions",
    "EpisodeStore",
    "Episodes",
    "Game",
    "GameFault",
    "GameReport",
    "GameSpec",
    "IllegalAction",
    "InputError",
    "Outcome",
    "Player",
    "RandomPlayer",
    "Results",
    "RunError",
    "Score",
    "Style",
    "Update",
    "__version__",
    "check_arena",
    "check_game",
    "evaluate",
    "game_names",
    "load_checkpoint",
    "load_game",
    "read_episodes",
    "train",
]

_ELSEWHERE = {
    "Checkpoint": "sparring.policy.checkpoint",
    "EpisodeStore": "sparring.rollout.store",
    "GameReport": "sparring.training.check_game",
    "Outcome": "sparring.training.loop",
    "Style": "sparring.league",
    "Update": "sparring.training.loop",
    "check_game": "sparring.training.check_game",
    "load_checkpoint": "sparring.policy.checkpoint",
    "read_episodes": "sparring.rollout.store",
}
"""Names that are not in `sparring.core`, and where they are."""


def train(
    preset: str | Path,
    *overrides: str | Mapping[str, Any],
    run: str | Path | None = None,
    game: "Game | None" = None,
    mock_data: bool = False,
    on_update: "Callable[[Update], bool | None] | None" = None,
    say: Callable[[str], None] | None = print,
) -> "Outcome":
    """Trains an agent as `sparring train` does, and rates it.

    Ctrl-C saves the run and then raises `KeyboardInterrupt`; the same call continues it.

    Args:
        preset: a preset's name, or the path of a YAML file.
        overrides: settings laid over it, as texts (`"learner.learning_rate=1e-3"`) or mappings
            (`{"learner.learning_rate": 1e-3}`).
        run: the run folder, resumed if it exists; `runs/PRESET` by default.
        game: the preset's game, if it is a `Game` of your own that is not installed.
        mock_data: for learners of data: play some matches first, and learn from those.
        on_update: called after each update with its metrics and the policy as it is then; returns True to stop there.
        say: takes the messages of the run; None shows nothing, not even the panel.
    """
    from contextlib import nullcontext

    from sparring.core import InputError, lending
    from sparring.training.config import load_config
    from sparring.training.loop import train as run_training
    from sparring.training.run import RunFolder

    if not isinstance(preset, str | Path):
        raise InputError(f"preset = {preset!r}: allowed: the name of a preset, such as 'hex-quick', or a YAML file")
    if on_update is not None and not callable(on_update):
        raise InputError(f"on_update = {on_update!r}: allowed: a function of one `Update`, or None")
    if run is not None and not isinstance(run, str | Path):
        raise InputError(f"run = {run!r}: allowed: the path of a folder, or None for runs/PRESET")
    if say is not None and not callable(say):
        raise InputError(f"say = {say!r}: allowed: a function of one text, or None for silence")
    folder = Path(run) if run is not None else Path("runs") / Path(preset).stem
    with nullcontext() if game is None else lending(game):
        config, named = load_config(str(preset), overrides)
        if game is not None and named is not game:
            raise InputError(f"game = {game.name}: {preset} is a preset of {named.name}")
        outcome = run_training(config, named, RunFolder(folder), mock_data=mock_data, on_update=on_update, say=say)
    if outcome.stopped == "SIGINT":
        raise KeyboardInterrupt(f"{folder} is saved; the same call continues it")
    return outcome


def evaluate(
    first: "str | Path | Player | Checkpoint",
    second: "str | Path | Player | Checkpoint",
    *,
    game: "str | Game | None" = None,
    settings: Mapping[str, Any] | None = None,
    matches: int | None = None,
    parallel: int = 256,
    style: "Style | None" = None,
    seed: int = 0,
    ledger: str | Path | None = None,
) -> "Score":
    """The score of `first` against `second`, seats changing from match to match, as `sparring evaluate` gives it.

    Args:
        first: a player by name (shipped weights, a built-in player, ...), the path of a run or checkpoint folder, any
            `Player`, or a `Checkpoint`, as a callback of `train` is given it.
        second: likewise.
        game: the game, by name, or a `Game` of your own that is not installed; by default that of the first checkpoint
            among the players.
        settings: the game's rule options, laid over that checkpoint's and what the game is judged by.
        matches: how many count; by default 400, in Rocket League 64 of five minutes.
        parallel: matches played at the same time.
        style: how networks play: temperature, look-ahead, device.
        seed: of everything random.
        ledger: a file that every match is kept in too, made if it is not there; see docs/league.md.
    """
    from contextlib import ExitStack

    from sparring.core import InputError, check_argument, lending
    from sparring.core.settings import Count, NonNegativeInt
    from sparring.league import Seating
    from sparring.league.entrants import check_style
    from sparring.league.evaluation import evaluate_entrants, rating_matches

    check_argument("matches", matches, Count | None)
    check_argument("parallel", parallel, Count)
    check_argument("seed", seed, NonNegativeInt)
    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(f"settings = {settings!r}: allowed: a mapping, such as {{'size': 5}}")
    if style is not None:
        check_style(style)
    if ledger is not None and not isinstance(ledger, str | Path):
        raise InputError(f"ledger = {ledger!r}: allowed: the path of a file, or None")
    kept = None if ledger is None else Path(ledger)
    with ExitStack() as stack:
        if "torch" in sys.modules:  # what calls this may have chosen its number of threads
            from sparring.inference.threads import threads_kept

            stack.enter_context(threads_kept())
        named = game if game is None or isinstance(game, str) else stack.enter_context(lending(game))
        seating = Seating.of(first, second, game=named, settings=settings, rating=True)
        matches = matches or rating_matches(seating.game)
        return evaluate_entrants(seating, matches=matches, parallel=parallel, seed=seed, style=style, ledger=kept)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("sparring")
    if name not in __all__:
        raise AttributeError(f"module 'sparring' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    return getattr(import_module(_ELSEWHERE.get(name, "sparring.core")), name)


def __dir__() -> list[str]:
    return [*__all__]


class _BeforeNumba:
    """Arranges for numba's cache (see `core.kernels`) when numba is about to be imported, and costs nothing before."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "numba":
            sys.meta_path.remove(self)
            from sparring.core.kernels import keep_kernels_safe

            keep_kernels_safe()


if "numba" in sys.modules:
    from sparring.core.kernels import keep_kernels_safe

    keep_kernels_safe()
else:
    sys.meta_path.insert(0, _BeforeNumba())
