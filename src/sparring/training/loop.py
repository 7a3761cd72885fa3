"""The training loop: collect, learn, publish, rate, save, again.

`SelfPlay` plays and learns, or `Study` learns from episodes on disk; `Ratings` rates, `Saver` saves; this module joins
them.
"""

import signal
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sparring.core import Game, InputError, Interrupts, Score
from sparring.core.documented import documented
from sparring.core.interrupts import Noted
from sparring.core.processes import end_if_unguarded
from sparring.inference.threads import set_threads
from sparring.league import Entrant
from sparring.learn import parallel
from sparring.policy.checkpoint import Checkpoint
from sparring.report.metrics import check_report
from sparring.training.config import TrainConfig, check_data, learns_from_data
from sparring.training.deadline import Deadline
from sparring.training.mock_data import with_mock_data
from sparring.training.opponents import find_opponents
from sparring.training.ranks import as_one, own_config
from sparring.training.rating import Ratings
from sparring.training.reporting import reporting
from sparring.training.run import RunFolder
from sparring.training.self_play import SelfPlay
from sparring.training.state import Saver, read_own, restore
from sparring.training.study import Study
from sparring.training.trainee import Trainee


@documented
@dataclass(frozen=True)
class Update:
    """A run after an update, for a callback."""

    update: int
    """How many updates there have been."""
    decisions: int
    """How many decisions have been trained on."""
    metrics: Mapping[str, float]
    """Of this update, as in metrics.jsonl."""
    checkpoint: Checkpoint
    """A copy of the policy."""


@documented
@dataclass(frozen=True)
class Outcome:
    """How a call of `train` ended."""

    updates: int
    """How many there have been."""
    decisions: int
    """How many decisions have been trained on."""
    finished: bool
    """False if the run was asked to stop before its end; the same call continues it."""
    scores: Mapping[str, Score]
    """Of the last policy, by opponent; empty unless finished."""
    run: Path
    """The run folder."""
    stopped: str = ""
    """Why it was asked to stop: a signal's name, the callback or the time limit; empty if finished."""
    leads: bool = True
    """Whether this process rates and writes: False for all but rank 0 of several."""


def _trainee(
    config: TrainConfig, game: Game, opponents: Mapping[str, Entrant], pool: Path, say: Callable[[str], None]
) -> Trainee:
    """What learns: from what it plays, or from episodes on disk."""
    if learns_from_data(config):
        return Study(config, game, opponents, say=say)
    return SelfPlay(config, game, opponents, say=say, pool=pool)


def train(
    config: TrainConfig,
    game: Game,
    folder: RunFolder,
    *,
    mock_data: bool = False,
    on_update: Callable[[Update], bool | None] | None = None,
    say: Callable[[str], None] | None = print,
) -> Outcome:
    """Trains until `config.decisions`, resuming whatever `folder` holds, and rates the result.

    With `mock_data` matches are played first, beside the run folder, and learned from (`config.mock`). `on_update` is
    called after each update; if it returns True or raises, the run is saved and stops there. Without `say` nothing is
    shown. If torchrun started several processes, all play and learn, and only rank 0 rates, writes and prints.
    """
    end_if_unguarded()
    early = Noted(signal.Signals[f"SIG{config.job.signal}"])
    with early, parallel.joined(config.parallel.timeout_minutes), closing(folder):
        lead = parallel.rank() == 0
        heard, shown, say = on_update if lead else None, say is not None, say if lead and say is not None else _silent
        try:
            if mock_data:
                config = with_mock_data(config, game, folder.path, say=say)
            return _train(config, game, folder, early, on_update=heard, shown=shown, say=say)
        except KeyboardInterrupt:
            folder.note_ending("stopped", "at once, by Ctrl-C")
            saved = folder.newest_resume
            begins = "begins anew" if saved is None else f"continues after update {saved}"
            say(f"stopped at once; the same command {begins}")
            raise
        except BaseException as error:
            folder.note_ending("failed", f"{type(error).__name__}: {error}".splitlines()[0])
            raise


def _train(
    config: TrainConfig,
    game: Game,
    folder: RunFolder,
    early: Noted,
    *,
    on_update: Callable[[Update], bool | None] | None,
    shown: bool,
    say: Callable[[str], None],
) -> Outcome:
    """`early` has noted whether the signal to stop came before `Interrupts` listened; `shown`: with a panel."""
    check_report(config.report)
    check_data(config, where=config.game)
    lead, given, config = parallel.rank() == 0, config, own_config(config)
    if lead:
        folder.check(given)  # the first thing that is told
    opponents = find_opponents(config, game, folder.opponents, say)
    threads: list[str] = []
    set_threads(config.threads, threads.append)  # told once nothing can be wrong with the input any more
    with (
        closing(_trainee(config, game, opponents, folder.pool, say)) as trainee,
        closing(Ratings(trainee.rater, folder, trainee.stages)) as ratings,
    ):
        trainee.start()  # before the folder is made: settings may still turn out to be unusable
        resumed = folder.open(given, say) if lead else None
        saved = int(parallel.most(-1 if resumed is None else resumed.update))
        for line in threads:
            say(line)
        if saved >= 0:
            state = read_own(folder, resumed or folder.read_resume(saved), say, sharded=config.parallel.sharded)
            restore(state, trainee, ratings, run=folder.path)
            say(_resumed(folder.path, trainee, config.decisions))
        if lead:
            folder.keep_opponents(opponents.values())
        interrupts = Interrupts(
            lambda: say("stopping after this update; again to stop now"),
            also=[signal.Signals[f"SIG{config.job.signal}"]],
            patient=parallel.size() > 1,
        )
        deadline, stopped, fault = Deadline(config.job.time_limit_hours), "", None
        with reporting(folder, given, game, trainee, say, panel=shown) as reporter:
            with interrupts, Saver(trainee, ratings, folder, config.checkpoint) as saver:
                while trainee.decisions < config.decisions and not stopped:
                    with saver.update():
                        figures = trainee.advance()  # collect, learn, publish
                        checkpoint = trainee.checkpoint()
                        rating = (
                            ratings.after_update(checkpoint, trainee.standing, watch=reporter.doing) if lead else None
                        )
                        figures = as_one(figures | (rating.metrics() if rating is not None else {}))
                        trainee.adapt(figures)
                        reporter.updated(trainee, figures, rating)
                    update = Update(trainee.update, trainee.decisions, figures, checkpoint)
                    enough, fault = _told(on_update, update)
                    deadline.update_ended()
                    stopped = _reason_to_stop(interrupts, early, enough, deadline)
                    if not stopped and parallel.decided(saver.due):
                        saver.save()
            if fault is not None:  # all processes have saved
                raise fault
            finished = trainee.decisions >= config.decisions
            if finished:
                last = trainee.checkpoint()
                for rating in ratings.finish(last, trainee.standing, watch=reporter.doing) if lead else ():
                    reporter.rated(trainee, rating)
        folder.note_ending("finished" if finished else "stopped", stopped or "all decisions", update=trainee.update)
    scores = ratings.latest.scores if finished and ratings.latest is not None else {}
    return Outcome(
        trainee.update, trainee.decisions, finished, scores, folder.path, "" if finished else stopped, leads=lead
    )


def _resumed(folder: Path, trainee: Trainee, decisions: int) -> str:
    """Where a run that is started again stands."""
    if trainee.decisions >= decisions:
        return f"{folder} is finished; to go on, set a higher decisions=N"
    return f"resuming {folder} at update {trainee.update}, {trainee.decisions:,} decisions"


def _told(on_update: Callable[[Update], bool | None] | None, update: Update) -> tuple[bool, Exception | None]:
    """Whether the callback wants no further update, and what it raised, if it did: then the run is saved first."""
    if on_update is None:
        return False, None
    try:
        enough = on_update(update)
    except Exception as error:
        return True, error
    if enough is None or isinstance(enough, bool | np.bool_):
        return bool(enough), None
    return True, InputError(f"on_update returned {enough!r}: allowed: True to stop here, False or None to go on")


def _reason_to_stop(interrupts: Interrupts, early: Noted, enough: bool, deadline: Deadline) -> str:
    """Why no further update should begin, agreed on by all processes; "" if one should."""
    if parallel.anyone(interrupts.asked or early.asked):
        return interrupts.name or (early.name if early.asked else "") or "a signal to another process"
    if parallel.decided(enough):
        return "the callback"
    return "time limit" if parallel.decided(deadline.reached) else ""


def _silent(text: str) -> None:
    """What nobody wants to hear: a run without `say`, and the processes other than rank 0."""
