"""Saving and resuming: a run between two updates as arrays and numbers, and when it is written to disk."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import torch

from sparring.core import Array, InputError, RunError, Vocabulary
from sparring.core.rows import flatten, nested
from sparring.core.versions import first_vocabulary
from sparring.learn import parallel
from sparring.learn.learner import NotFinite
from sparring.learn.sharding import is_part, joined_parts, part_of
from sparring.policy.checkpoint import Checkpoint
from sparring.training.background import Background
from sparring.training.rating import Ratings
from sparring.training.run import SHARDS, ResumeState, RunFolder
from sparring.training.settings import CheckpointSettings
from sparring.training.trainee import Snapshot, Trainee

_OWN = ("learner/window/", "random/")
"""Parts of a learner's state that differ between processes: the replay window and random states."""
_ANYONES = ("lessons/",)
"""Parts of the rest that any process can use: how often each choice was seen."""
_PARTS_SECONDS = 600.0
"""How long rank 0 waits for the other processes' parts of a save."""


@dataclass
class Saver:
    """Saves a run into its folder: whenever it is due, and at the end of its `with` block, however that ends.

    Between two updates the whole run is saved: it is copied, and a thread writes the copy while training goes on. If
    an update is interrupted, its learner is halfway to the next weights: then only the policy of the last complete
    update is saved, and resuming goes back to what was saved before. The same holds if one of several processes fails.

    Rank 0 writes what all processes share, after each has written its own part.
    """

    trainee: Trainee
    ratings: Ratings
    folder: RunFolder
    settings: CheckpointSettings
    _unsaved: Checkpoint | None = None
    _in_update: bool = False
    _failed: bool = False
    _saved_at: float = field(default_factory=time.monotonic)
    _writing: Background[None] = field(default_factory=lambda: Background("save"))

    @contextmanager
    def update(self) -> Iterator[None]:
        """The block is one update, complete if no exception leaves it."""
        self._in_update = True
        yield
        self._unsaved, self._in_update = self.trainee.checkpoint(), False

    @property
    def due(self) -> bool:
        """Whether enough updates, or enough minutes, have passed."""
        waited = time.monotonic() - self._saved_at
        return self.trainee.update % self.settings.every == 0 or 0 < self.settings.minutes * 60 <= waited

    def save(self, *, policy_only: bool = False) -> None:
        """Begins to write what is not saved yet, once the previous save is on disk; raises if that failed."""
        self._writing.take(wait=True)
        if self._unsaved is None:
            return
        self._saved_at = time.monotonic()
        state = None if policy_only else capture(self.trainee, self.ratings)
        self._writing.begin(partial(self._write, self._unsaved, state))
        self._unsaved = None

    def _write(self, checkpoint: Checkpoint, state: ResumeState | None) -> None:
        rank = parallel.rank()
        if rank and state is not None:
            self.folder.save_resume(own_part(state), rank=rank)
            parallel.tell(f"saved/{state.update}/{rank}", "1")
        elif rank == 0:
            self.folder.save_checkpoint(checkpoint, keep=self.settings.keep)
            if state is not None:
                others = [f"saved/{state.update}/{number}" for number in range(1, parallel.size())]
                end = time.monotonic() + _PARTS_SECONDS
                there = False
                while not (there or self._failed or time.monotonic() > end):
                    there = parallel.wait_for(others, seconds=1)
                if there or not state.shards:
                    self.folder.save_resume(state)
                elif not self._failed:
                    raise RunError(f"update {state.update} is not saved: another process did not write its part")

    def __enter__(self) -> "Saver":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._failed = error is not None  # then other processes may never write their parts
        if isinstance(error, NotFinite) and parallel.rank() == 0:
            path = self.folder.save_bad_batch(error.batch)
            error.args = (f"{error.args[0]} at update {self.trainee.update + 1}; the batch is in {path}",)
        try:
            self.save(policy_only=self._in_update or (error is not None and parallel.size() > 1))
            self._writing.take(wait=True)
        finally:
            self._writing.close()


def capture(trainee: Trainee, ratings: Ratings) -> ResumeState:
    """Everything that `restore` needs, between two updates, as copies that training does not change."""
    trainee.pause()
    tensors, values = trainee.algorithm.learner.state()
    own, vocabulary = trainee.snapshot(), trainee.spec.vocabulary
    learner = flatten({"learner": tensors, **own.tensors, "random": {"torch": torch.get_rng_state()}})
    spread = {name: tensor for name, tensor in learner.items() if is_part(tensor)}
    return ResumeState(
        update=trainee.update,
        values={
            "decisions": trainee.decisions,
            "best": ratings.best,
            "processes": parallel.size(),
            "learner": values,
            **own.values,
            **({} if vocabulary is None else {"vocabulary": vocabulary.digest}),
            **({SHARDS: {name: len(tensor) for name, tensor in spread.items()}} if spread else {}),
        },
        learner={name: tensor.detach().cpu().clone() for name, tensor in learner.items() if name not in spread},
        shards={name: part_of(tensor).detach().cpu().clone() for name, tensor in spread.items()},
        playing={name: array.copy() for name, array in own.arrays.items()},
    )


def own_part(state: ResumeState) -> ResumeState:
    """The part of a process's state that differs between processes."""
    return replace(state, learner={name: part for name, part in state.learner.items() if name.startswith(_OWN)})


def read_own(folder: RunFolder, state: ResumeState, say: Callable[[str], None], *, sharded: bool) -> ResumeState:
    """This process's state, given that of rank 0; if the learner is `sharded` now, only its rows.

    If the number of processes has changed there is no such state: each goes on with the learner and with the replay
    window of rank 0, and begins new matches.
    """
    if SHARDS in state.values:
        rows: Mapping[str, int] = state.values[SHARDS]
        parts = joined_parts(folder.read_shards(state), rows, split=sharded)
        state = replace(state, learner={**state.learner, **parts})
    rank = parallel.rank()
    if int(state.values.get("processes", 1)) != parallel.size():
        say(f"the number of processes was {state.values.get('processes', 1)}: new matches begin")
        return replace(state, playing=_anyones(state))
    if rank == 0:
        return state
    try:
        own = folder.read_resume(state.update, rank=rank)
    except InputError as error:
        say(f"rank {rank}: {error}; it begins new matches")
        return replace(state, playing=_anyones(state))
    return replace(own, learner={**state.learner, **own.learner})


def _anyones(state: ResumeState) -> dict[str, Array]:
    return {name: array for name, array in state.playing.items() if name.startswith(_ANYONES)}


def restore(state: ResumeState, trainee: Trainee, ratings: Ratings, *, run: Path) -> None:
    """Continues from where `state` of the folder `run` was captured; matches in play too where the arena can.

    Raises `InputError` if the game has another vocabulary now: weights can follow it, an optimiser cannot.
    """
    game = trainee.spec.game
    if state.values.get("vocabulary", _digest(first_vocabulary(game))) != _digest(trainee.spec.vocabulary):
        raise InputError(
            f"{run}: trained with another version of {game}, whose numbers stand for other names; "
            f"its weights can begin a new run: init={run}, in another folder with --run or run="
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
