"""Saving and resuming: a run between two updates as arrays and numbers, and when it is written down."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from sparring.core import Adaptive, InputError, Resumable, Vocabulary
from sparring.core.rows import flatten, nested
from sparring.core.versions import first_vocabulary
from sparring.learn.learner import NotFinite
from sparring.policy.checkpoint import Checkpoint
from sparring.training.config import CheckpointSettings
from sparring.training.opponents import POLICY
from sparring.training.rating import Ratings
from sparring.training.run import ResumeState, RunFolder
from sparring.training.self_play import SelfPlay


@dataclass
class Saver:
    """Saves a run into its folder: whenever it is due, and at the end of its `with` block, however that comes.

    Between two updates all of the run is saved. If an update is broken off, its learner is halfway to the next weights:
    then only the policy of the last complete update is saved, and resuming goes back to what was saved before.
    """

    play: SelfPlay
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
        self._unsaved, self._in_update = self.play.checkpoint(), False

    def save(self, *, policy_only: bool = False) -> None:
        """Writes what is not saved yet."""
        if self._unsaved is not None:
            self.folder.save_checkpoint(self._unsaved, keep=self.settings.keep)
            if not policy_only:
                self.folder.save_resume(capture(self.play, self.ratings))
            self._unsaved = None

    def __enter__(self) -> "Saver":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, NotFinite):
            path = self.folder.save_bad_batch(error.batch)
            error.args = (f"{error.args[0]} at update {self.play.update + 1}; the batch is in {path}",)
        self.save(policy_only=self._in_update)


def capture(play: SelfPlay, ratings: Ratings) -> ResumeState:
    """All that `restore` needs, between two updates."""
    play.pause()
    tensors, values = play.algorithm.learner.state()
    return ResumeState(
        update=play.update,
        values={
            "decisions": play.decisions,
            "best": ratings.best,
            "learner": values,
            "engine_rng": play.engine.rng.bit_generator.state,
            "arena": play.standing,
            "playing_version": play.engine.policies[POLICY],
            **({} if play.spec.vocabulary is None else {"vocabulary": play.spec.vocabulary.digest}),
        },
        learner=flatten(
            {"learner": tensors, "playing": play.engine.weights(POLICY), "random": {"torch": torch.get_rng_state()}}
        ),
        playing=flatten({name: part.snapshot() for name, part in _resumable(play).items()}),
    )


def restore(state: ResumeState, play: SelfPlay, ratings: Ratings, *, run: Path) -> None:
    """Continues from where `state` of the folder `run` was captured; matches in play too where the arena can.

    Raises `InputError` if the game has another vocabulary now: weights can follow it, an optimiser cannot.
    """
    if state.values.get("vocabulary", _digest(first_vocabulary(play.spec.game))) != _digest(play.spec.vocabulary):
        raise InputError(
            f"{run}: trained with another version of {play.spec.game}, whose numbers stand for other names; "
            f"its weights can begin a new run: init={run}, in another folder with --run"
        )
    play.update = state.update
    play.decisions = int(state.values["decisions"])
    ratings.best = float(state.values["best"])
    tensors = nested(state.learner)
    torch.set_rng_state(tensors["random"]["torch"])
    play.algorithm.learner.load(tensors["learner"], state.values["learner"])
    play.engine.swap(POLICY, tensors["playing"], version=int(state.values["playing_version"]))
    play.engine.rng.bit_generator.state = state.values["engine_rng"]
    if isinstance(play.arena, Adaptive):
        play.arena.stand_at(state.values["arena"])
    if state.playing:
        arrays = nested(state.playing)
        for name, part in _resumable(play).items():
            part.restore(arrays.get(name, {}))


def _digest(vocabulary: Vocabulary | None) -> str | None:
    return None if vocabulary is None else vocabulary.digest


def _resumable(play: SelfPlay) -> dict[str, Resumable]:
    """The parts that hold matches in play; none if the arena starts fresh matches."""
    if not isinstance(play.arena, Resumable):
        return {}
    parts: dict[str, Resumable] = {"arena": play.arena, "collector": play.collector, "engine": play.engine}
    players = {"player": play.player} | {f"opponent-{tag}": player for tag, player in play.opponents.items()}
    return parts | {name: player for name, player in players.items() if isinstance(player, Resumable)}
