"""The training loop: collect, learn, publish, rate, save, again.

`SelfPlay` plays and learns, or `Study` learns from episodes on disk; `Ratings` rates, `Saver` saves; here they are
joined.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass

from sparring.core import Game, Interrupts, Score
from sparring.inference.threads import set_threads
from sparring.league import Entrant
from sparring.policy.checkpoint import Checkpoint
from sparring.report.metrics import Metrics, check_report
from sparring.report.panel import TrainingPanel
from sparring.report.progress import compiling_announced
from sparring.training.config import TrainConfig, flat_settings
from sparring.training.opponents import find_opponents
from sparring.training.rating import Ratings
from sparring.training.run import RunFolder
from sparring.training.self_play import SelfPlay
from sparring.training.state import Saver, restore
from sparring.training.study import Study
from sparring.training.trainee import Trainee


@dataclass(frozen=True)
class Update:
    """A run after an update, for a callback."""

    update: int
    """How many updates there have been."""
    decisions: int
    """Trained on so far."""
    metrics: Mapping[str, float]
    """Of this update, as in metrics.jsonl."""
    checkpoint: Checkpoint
    """A copy of the policy."""


@dataclass(frozen=True)
class Outcome:
    """How a call of `train` ended."""

    updates: int
    decisions: int
    finished: bool
    """False when it was asked to stop before the end; the same call continues it."""
    scores: Mapping[str, Score]
    """Of the last policy, by opponent; empty unless finished."""


def _trainee(config: TrainConfig, game: Game, opponents: Mapping[str, Entrant], say: Callable[[str], None]) -> Trainee:
    """What learns: from what it plays, or from episodes on disk."""
    return Study(config, game, opponents, say=say) if config.data else SelfPlay(config, game, opponents, say=say)


def train(
    config: TrainConfig,
    game: Game,
    folder: RunFolder,
    *,
    on_update: Callable[[Update], None] | None = None,
    say: Callable[[str], None] = print,
) -> Outcome:
    """Trains until `config.decisions`, resuming whatever `folder` holds, and rates the result.

    `on_update` is called after each update. What it raises ends the run, which is saved first.
    """
    check_report(config.report)
    opponents = find_opponents(config, game, folder.opponents, say)
    set_threads(config.threads, say)
    with (
        compiling_announced(say),
        closing(_trainee(config, game, opponents, say)) as trainee,
        closing(folder),
        closing(Ratings(trainee.rater, folder, trainee.stages)) as ratings,
    ):
        trainee.start()  # before the folder is made: settings may still prove unusable
        resumed = folder.open(config)
        folder.keep_opponents(opponents.values())
        if resumed is not None:
            restore(resumed, trainee, ratings, run=folder.path)
            say(f"resuming {folder.path} at update {trainee.update}, {trainee.decisions:,} decisions")
        with (
            Metrics(
                folder.path,
                resumed_at=trainee.update,
                settings=flat_settings(config, game),
                report=config.report,
                say=say,
            ) as metrics,
            TrainingPanel(total=config.decisions, done=trainee.decisions, update=trainee.update) as panel,
        ):
            with (
                Interrupts(lambda: say("stopping after this update; again to stop now")) as interrupts,
                Saver(trainee, ratings, folder, config.checkpoint) as saver,
            ):
                while trainee.decisions < config.decisions and not interrupts.asked:
                    with saver.update():
                        figures = trainee.advance()  # collect, learn, publish
                        checkpoint = trainee.checkpoint()
                        rating = ratings.after_update(checkpoint, trainee.standing, watch=panel.doing)
                        figures |= rating.metrics() if rating is not None else {}
                        trainee.adapt(figures)
                        metrics.write(trainee.update, trainee.decisions, figures)
                    panel.update(trainee.update, trainee.decisions, figures)
                    if rating is not None:
                        panel.rated(rating.checkpoint.version, rating.scores, rating.nash_conv)
                    if on_update is not None:
                        on_update(Update(trainee.update, trainee.decisions, figures, checkpoint))
                    if trainee.update % config.checkpoint.every == 0:
                        saver.save()
            finished = trainee.decisions >= config.decisions
            if finished:
                for rating in ratings.finish(trainee.checkpoint(), trainee.standing, watch=panel.doing):
                    metrics.write(trainee.update, trainee.decisions, rating.metrics())
                    panel.rated(rating.checkpoint.version, rating.scores, rating.nash_conv)
    scores = ratings.latest.scores if finished and ratings.latest is not None else {}
    return Outcome(trainee.update, trainee.decisions, finished, scores)
