"""One model of a policy server: its engine, its clients' memory, its queue, and how a batch of requests is answered."""

from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Game, GameSpec, InputError, load_game
from sparring.inference.device import Device
from sparring.inference.engine import Asked, InferenceEngine
from sparring.serving.batching import Batcher, Request
from sparring.serving.models import ModelSource
from sparring.serving.protocol import (
    Answer,
    ModelReport,
    ProtocolError,
    Refused,
    RowLayout,
    encode,
    misfit,
    write_answer,
)
from sparring.serving.sessions import Session, SlotPool, make_room
from sparring.serving.statistics import ModelCounters

Reply = tuple[Request, list[bytes]]
"""A request and the frames of its answer."""


class _Seated(NamedTuple):
    """A request whose rows have memory slots, and a place in the batch."""

    request: Request
    rows: slice
    slots: NDArray[np.int32]
    """`int32[k]` the engine slots."""
    new: NDArray[np.bool_]
    """`bool[k]` rows whose slot is new."""


class ServedModel:
    """Answers batches of requests with one policy."""

    def __init__(self, source: ModelSource, *, device: Device, slots: int, batch_size: int, timeout: float) -> None:
        self.source = source
        self.layout = RowLayout(source.spec)
        self.batcher = Batcher(batch_size=batch_size, timeout=timeout)
        self.sessions: dict[bytes, Session] = {}
        self.counters = ModelCounters()
        self.pool = SlotPool(slots)
        self.engine = InferenceEngine(source.spec, slots=slots, device=device, seed=0)
        self.engine.add(source.name, source.policy, version=source.version)
        self.has_memory = self.engine.has_memory(source.name)
        self._game: Game | None = None
        with suppress(InputError):  # now: a server under attack may have no file to spare for an import
            self._game = load_game(source.spec.game)
        self._staged = _room(source.spec, batch_size)

    @property
    def version(self) -> int:
        """Version of the weights."""
        return self.engine.policies[self.source.name]

    def refusal(self, spec: GameSpec, vocabulary: str) -> str | None:
        """Why this model cannot play `spec` of the vocabulary whose digest is given ("": none), or None."""
        mine = self.source.spec
        reason = misfit(mine, spec)
        if reason is not None:
            return reason
        if vocabulary != ("" if mine.vocabulary is None else mine.vocabulary.digest):
            return (
                f"your observations number other names than the model's: install the same {spec.game} on both machines"
            )
        if spec == replace(mine, vocabulary=None):
            return None
        if self._game is None:
            return f"the settings differ, and the game {spec.game} is not installed here"
        try:
            return self._game.fits(mine, spec)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return f"the settings are not those of {spec.game}: {type(error).__name__}: {error}"

    def patience(self, now: float) -> float:
        """Seconds for which waiting still pays; the queue must not be empty."""
        can_send = sum(session.can_send for session in self.sessions.values())
        return self.batcher.patience(now, can_send)

    def forget(self, session: Session) -> None:
        """Drops a client: its requests, its memory, itself."""
        self.batcher.drop(session)
        session.free_all(self.pool)
        del self.sessions[session.client]

    def answer(self, batch: list[Request]) -> list[Reply]:
        """Runs `batch` in one forward pass; returns each request with the frames of its answer.

        If the model raises an error, the requests are run one by one, so that only the one at fault is refused.
        """
        seated, replies = self._seat(batch)
        if not seated:
            return replies
        asked = self._stage(seated)
        try:
            return replies + self._run(asked, seated)
        except Exception:  # whatever the network raises for what a client sent
            for one in seated:
                replies.append((one.request, self._run_alone(asked.take(one.rows), one)))
        return replies

    def report(self) -> ModelReport:
        """Statistics up to now."""
        counters, engine = self.counters, self.engine.counters
        late = counters.latency.percentiles(50, 95, 99)
        return ModelReport(
            version=self.version,
            game=self.source.spec.game,
            sessions=len(self.sessions),
            slots_used=self.pool.used,
            slots=self.pool.slots,
            requests=counters.requests,
            rows=engine.rows,
            forwards=engine.forwards,
            mean_batch=engine.mean_batch,
            forward_seconds=engine.forward_seconds,
            p50=late[50],
            p95=late[95],
            p99=late[99],
            queue=self.batcher.rows,
            repeated=counters.repeated,
            lost=counters.lost,
            failed=counters.failed,
        )

    def _seat(self, batch: list[Request]) -> tuple[list[_Seated], list[Reply]]:
        """Gives every row a memory slot; also returns refusals, where none is left."""
        for request in batch:
            if len(request.ended):
                request.session.free(request.ended, self.pool)
        began = self.pool.clock + 1
        seated: list[_Seated] = []
        refused: list[Reply] = []
        end = 0
        for request in batch:
            placed = self._place(request, began)
            if placed is None:
                reason = f"the server has no memory slot left (it keeps {self.pool.slots} for this model)"
                refused.append((request, [encode(Refused(sequence=request.ask.sequence, reason=reason))]))
            else:
                seated.append(_Seated(request, slice(end, end := end + request.ask.rows), *placed))
        return seated, refused

    def _stage(self, seated: list[_Seated]) -> Asked:
        """The rows of all requests end to end, in arrays that are kept from batch to batch."""
        rows = seated[-1].rows.stop
        if rows > len(self._staged):
            self._staged = _room(self.source.spec, rows)
        asked = Asked.join([one.request.rows for one in seated], out=self._staged)
        np.concatenate([one.slots for one in seated], out=asked.slot)
        asked.first[:] |= np.concatenate([one.new for one in seated])
        return asked

    def _place(self, request: Request, began: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]] | None:
        session, slot = request.session, request.rows.slot
        placed = session.place(slot, self.pool)
        if placed is None:
            make_room(self.sessions.values(), self.pool, session, session.missing(slot), before=began)
            placed = session.place(slot, self.pool)
        return placed

    def _run(self, asked: Asked, seated: list[_Seated]) -> list[Reply]:
        """One forward pass for the rows of `seated`, which are `asked`."""
        _check_finite(asked)
        asks = [one.request.ask for one in seated]
        temperature: float | NDArray[np.float32] = asks[0].temperature
        if any(ask.temperature != temperature for ask in asks):
            temperature = np.repeat([ask.temperature for ask in asks], [ask.rows for ask in asks]).astype(np.float32)
        version = self.version  # before the forward: weights swapped in meanwhile must not make it newer
        answers = self.engine.answer_asked(
            asked, self.source.name, temperature=temperature, keep_policy=any(ask.policy for ask in asks)
        )
        columns, start = list(answers.columns().values()), seated[0].rows.start
        return [(one.request, self._reply(one, columns, start, version)) for one in seated]

    def _run_alone(self, asked: Asked, one: _Seated) -> list[bytes]:
        """The answer to one request, or why the model cannot give it."""
        try:
            return self._run(asked, [one])[0][1]
        except Exception as error:
            request = one.request
            self.counters.failed += 1
            request.session.free(request.rows.slot[one.new], self.pool)  # nothing of this client is in them
            reason = f"the model failed on these rows: {type(error).__name__}: {error}"
            if isinstance(error, ProtocolError):
                reason = str(error)
            return [encode(Refused(sequence=request.ask.sequence, reason=reason[:500]))]

    def _reply(self, one: _Seated, columns: list[Array], start: int, version: int) -> list[bytes]:
        """The frames of the answer, of a batch whose `columns` begin with row `start`."""
        ask = one.request.ask
        lost = int(np.count_nonzero(one.new & ~one.request.rows.first)) if self.has_memory else 0
        self.counters.lost += lost
        header = Answer(session=ask.session, sequence=ask.sequence, version=version, lost=lost)
        rows = slice(one.rows.start - start, one.rows.stop - start)
        return [encode(header), write_answer(columns if ask.policy else columns[:3], rows)]


def _check_finite(asked: Asked) -> None:
    for name, array in asked.observation.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ProtocolError(f"observation {name}: holds numbers that are not finite")


def _room(spec: GameSpec, rows: int) -> Asked:
    """Staging arrays of `rows` rows, kept from batch to batch."""
    return Asked(
        slot=np.zeros(rows, np.intp),
        first=np.zeros(rows, np.bool_),
        uniform=np.zeros(rows, np.float32),
        legal=np.zeros((rows, spec.actions), np.bool_),
        observation={name: field.zeros(rows) for name, field in spec.observation.items()},
    )
