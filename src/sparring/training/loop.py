"""The training loop: collect, learn, publish, rate, save, again.

`SelfPlay` plays and learns, `Ratings` rates, `Saver` saves; here they are joined.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass

from sparring.core import Game, Interrupts, Score
from sparring.inference.threads import set_threads
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
        closing(SelfPlay(config, game, opponents, say=say)) as play,
        closing(folder),
        closing(Ratings(play.rater, folder, play.stages)) as ratings,
    ):
        play.start()  # before the folder is made: settings may still prove unusable
        resumed = folder.open(config)
        folder.keep_opponents(opponents.values())
        if resumed is not None:
            restore(resumed, play, ratings, run=folder.path)
            say(f"resuming {folder.path} at update {play.update}, {play.decisions:,} decisions")
        with (
            Metrics(
                folder.path,
                resumed_at=play.update,
                settings=flat_settings(config, game),
                report=config.report,
                say=say,
            ) as metrics,
            TrainingPanel(total=config.decisions, done=play.decisions, update=play.update) as panel,
        ):
            with (
                Interrupts(lambda: say("stopping after this update; again to stop now")) as interrupts,
                Saver(play, ratings, folder, config.checkpoint) as saver,
            ):
                while play.decisions < config.decisions and not interrupts.asked:
                    with saver.update():
                        figures = play.advance()  # collect, learn, publish
                        checkpoint = play.checkpoint()
                        rating = ratings.after_update(checkpoint, play.standing, watch=panel.doing)
                        figures |= rating.metrics() if rating is not None else {}
                        play.adapt(figures)
                        metrics.write(play.update, play.decisions, figures)
                    panel.update(play.update, play.decisions, figures)
                    if rating is not None:
                        panel.rated(rating.checkpoint.version, rating.scores, rating.nash_conv)
                    if on_update is not None:
                        on_update(Update(play.update, play.decisions, figures, checkpoint))
                    if play.update % config.checkpoint.every == 0:
                        saver.save()
            finished = play.decisions >= config.decisions
            if finished:
                for rating in ratings.finish(play.checkpoint(), play.standing, watch=panel.doing):
                    metrics.write(play.update, play.decisions, rating.metrics())
                    panel.rated(rating.checkpoint.version, rating.scores, rating.nash_conv)
    scores = ratings.latest.scores if finished and ratings.latest is not None else {}
    return Outcome(play.update, play.decisions, finished, scores)
