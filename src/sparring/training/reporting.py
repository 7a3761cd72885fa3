"""What a run reports while it trains: metrics on disk and in TensorBoard, and the panel on the screen."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from sparring.core import Game
from sparring.learn import parallel
from sparring.report.metrics import Metrics
from sparring.report.panel import TrainingPanel
from sparring.training.config import TrainConfig, flat_settings
from sparring.training.rating import Rating
from sparring.training.run import RunFolder
from sparring.training.trainee import Trainee


@dataclass(frozen=True)
class Reporter:
    """Reports on a run; does nothing without metrics and panel."""

    metrics: Metrics | None = None
    panel: TrainingPanel | None = None

    def updated(self, trainee: Trainee, figures: Mapping[str, float], rating: Rating | None) -> None:
        """An update has ended with these figures, perhaps with a rating."""
        if self.metrics is not None:
            self.metrics.write(trainee.update, trainee.decisions, figures)
        if self.panel is not None:
            self.panel.update(trainee.update, trainee.decisions, figures)
            if rating is not None:
                self.panel.rated(rating.checkpoint.version, rating.scores, rating.nash_conv)

    def rated(self, trainee: Trainee, rating: Rating) -> None:
        """A rating after the last update."""
        if self.metrics is not None:
            self.metrics.write(trainee.update, trainee.decisions, rating.metrics())
        if self.panel is not None:
            self.panel.rated(rating.checkpoint.version, rating.scores, rating.nash_conv)

    def doing(self, text: str) -> None:
        """Something other than training goes on."""
        if self.panel is not None:
            self.panel.doing(text)


@contextmanager
def reporting(
    folder: RunFolder, config: TrainConfig, game: Game, trainee: Trainee, say: Callable[[str], None], *, panel: bool
) -> Iterator[Reporter]:
    """The reporter of a run, with or without a `panel`; of several processes only rank 0 reports anything."""
    if parallel.rank() != 0:
        yield Reporter()
        return
    settings = flat_settings(config, game)
    with ExitStack() as stack:
        metrics = Metrics(folder.path, resumed_at=trainee.update, settings=settings, report=config.report, say=say)
        shown = TrainingPanel(total=config.decisions, done=trainee.decisions, update=trainee.update) if panel else None
        yield Reporter(stack.enter_context(metrics), shown and stack.enter_context(shown))
