"""Matches played to try out a run that learns from data, before there is any.

Where a game reads records of matches, these are first written as a spectator would see them, and read like records of
people: the whole path of data, except for the download.
"""

import json
import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec

from sparring.core import Game, InputError, RunError
from sparring.core.files import lock_folder
from sparring.core.replays import Recordable, Replayed
from sparring.data.importing import ImportPlan, import_replays
from sparring.league import Seating, Style
from sparring.league.recording import record_matches
from sparring.league.selfplay import Plan, self_play
from sparring.learn import parallel
from sparring.report.progress import ProgressLine
from sparring.report.replays import ImportLine
from sparring.training.config import TrainConfig, learns_from_data

_PARALLEL = 16
"""Matches played at the same time."""


def with_mock_data(config: TrainConfig, game: Game, run: Path, *, say: Callable[[str], None]) -> TrainConfig:
    """`config` with matches to learn from, which are played now unless they are already beside the folder `run`.

    Of several processes, rank 0 plays and the others wait.
    """
    if not learns_from_data(config):
        kind = config.learner.__struct_config__.tag
        raise InputError(f"--mock-data: {kind} plays what it learns from; allowed: imitation, offline")
    if config.data:
        raise InputError(f"--mock-data: there is data already ({config.data[0]}); allowed: one of them")
    episodes = run.with_name(f"{run.name}-mock-data") / _digest(config) / "episodes"
    if parallel.rank() == 0:
        player, records = config.mock.player, isinstance(game, Recordable) and isinstance(game, Replayed)
        seatings = [
            Seating.of(*[player] * (2 if records else 1), game=config.game, settings={**config.settings, **changes})
            for changes in config.mock.settings
        ]
        busy = f"{episodes.parent}: another process plays mock data there; wait, or choose another with --run or run="
        lock = lock_folder(episodes.parent, busy=busy)
        try:
            (_as_records if records else _as_episodes)(config, seatings, episodes, say)
        finally:
            os.close(lock)
    parallel.gather("made")
    return msgspec.structs.replace(config, data=(str(episodes),))


def _digest(config: TrainConfig) -> str:
    """Names what is played: matches with other settings get a folder of their own."""
    played = [config.game, config.settings, msgspec.to_builtins(config.mock), config.seed]
    return blake2b(json.dumps(played, sort_keys=True).encode(), digest_size=4).hexdigest()


def _as_records(config: TrainConfig, seatings: Sequence[Seating], episodes: Path, say: Callable[[str], None]) -> None:
    """Writes matches as records, and reads those."""
    files = []
    for number, seating in enumerate(seatings):
        files.append(episodes.with_name(f"matches-{number}.jsonl"))
        if not files[-1].exists():
            _record(config, seating, files[-1], config.seed + number, say)
    with ImportLine() as line:
        report = import_replays(ImportPlan(config.game, files, episodes, workers=0), on_progress=line.show)
    for reason, count in report.rejected.items():
        say(f"mock data: {count:,} matches not read: {reason}")
    say(f"mock data: {config.mock.player} against itself, {config.mock.matches:,} matches a setting, in {episodes}")


def _record(config: TrainConfig, seating: Seating, path: Path, seed: int, say: Callable[[str], None]) -> None:
    """Writes matches to `path` when all of them have been played."""
    unfinished, matches = path.with_suffix(".unfinished"), config.mock.matches
    with ProgressLine("playing mock data", total=matches) as line:
        record_matches(
            seating,
            unfinished,
            matches=matches,
            parallel=_PARALLEL,
            seed=seed,
            pulse=lambda ended: line.update(ended, f"{ended:,} matches  {line.per_second:.1f} a second"),
            say=say,
        )
    unfinished.replace(path)


def _as_episodes(config: TrainConfig, seatings: Sequence[Seating], episodes: Path, say: Callable[[str], None]) -> None:
    """Writes the matches of each seating to a store."""
    for number, seating in enumerate(seatings):
        plan = Plan(matches=config.mock.matches, parallel=_PARALLEL, seed=config.seed + number)
        summary = self_play(seating, episodes / str(number), plan, style=Style(), say=say)
        if summary is not None and summary["matches_stored"] < config.mock.matches:
            raise RunError("stopped while mock data was being played; the same command goes on")
