"""Saving and resuming: a run between two updates as arrays and numbers, and when it is written down."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from sparring.core import InputError, Vocabulary
from sparring.core.rows import flatten, nested
from sparring.core.versions import first_vocabulary
from sparring.learn.learner import NotFinite
from sparring.policy.checkpoint import Checkpoint
from sparring.training.config import CheckpointSettings
from sparring.training.rating import Ratings
from sparring.training.run import ResumeState, RunFolder
from sparring.training.trainee import Snapshot, Trainee


@dataclass
class Saver:
    """Saves a run into its folder: whenever it is due, and at the end of its `with` block, however that comes.

    Between two updates all of the run is saved. If an update is broken off, its learner is halfway to the next weights:
    then only the policy of the last complete update is saved, and resuming goes back to what was saved before.
    """

    trainee: Trainee
    ratings: Ratings
    folder: RunFolder
    settings: CheckpointSettings
    _unsaved: Checkpoint | None = None
    _in_update: bool = False

    @contextmanager
    def update(self) -> Iterator[None]:
        """The block is one update, complete if no exception leaves it."""
        self._in_update = True
        yield
        self._unsaved, self._in_update = self.trainee.checkpoint(), False

    def save(self, *, policy_only: bool = False) -> None:
        """Writes what is not saved yet."""
        if self._unsaved is not None:
            self.folder.save_checkpoint(self._unsaved, keep=self.settings.keep)
            if not policy_only:
                self.folder.save_resume(capture(self.trainee, self.ratings))
            self._unsaved = None

    def __enter__(self) -> "Saver":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, NotFinite):
            path = self.folder.save_bad_batch(error.batch)
            error.args = (f"{error.args[0]} at update {self.trainee.update + 1}; the batch is in {path}",)
        self.save(policy_only=self._in_update)


def capture(trainee: Trainee, ratings: Ratings) -> ResumeState:
    """All that `restore` needs, between two updates."""
    trainee.pause()
    tensors, values = trainee.algorithm.learner.state()
    own, vocabulary = trainee.snapshot(), trainee.spec.vocabulary
    return ResumeState(
        update=trainee.update,
        values={
            "decisions": trainee.decisions,
            "best": ratings.best,
            "learner": values,
            **own.values,
            **({} if vocabulary is None else {"vocabulary": vocabulary.digest}),
        },
        learner=flatten({"learner": tensors, **own.tensors, "random": {"torch": torch.get_rng_state()}}),
        playing=dict(own.arrays),
    )


def restore(state: ResumeState, trainee: Trainee, ratings: Ratings, *, run: Path) -> None:
    """Continues from where `state` of the folder `run` was captured; matches in play too where the arena can.

    Raises `InputError` if the game has another vocabulary now: weights can follow it, an optimiser cannot.
    """
    game = trainee.spec.game
    if state.values.get("vocabulary", _digest(first_vocabulary(game))) != _digest(trainee.spec.vocabulary):
        raise InputError(
            f"{run}: trained with another version of {game}, whose numbers stand for other names; "
            f"its weights can begin a new run: init={run}, in another folder with --run"
        )
    trainee.update = state.update
    trainee.decisions = int(state.values["decisions"])
    ratings.best = float(state.values["best"])
    tensors = nested(state.learner)
    torch.set_rng_state(tensors["random"]["torch"])
    trainee.algorithm.learner.load(tensors["learner"], state.values["learner"])
    trainee.restore(Snapshot(state.values, tensors, state.playing))


def _digest(vocabulary: Vocabulary | None) -> str | None:
    return None if vocabulary is None else vocabulary.digest
