"""One model of a policy server: its engine, its clients' memory, its queue, and how a batch of requests is answered."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.core import Answers, Game, GameSpec, InputError, load_game
from sparring.inference.device import Device
from sparring.inference.engine import Asked, InferenceEngine
from sparring.serving.batching import Batcher, Request
from sparring.serving.models import ModelSource
from sparring.serving.protocol import Answer, ModelReport, Refused, RowLayout, encode, misfit, write_answer
from sparring.serving.sessions import Session, SlotPool, make_room
from sparring.serving.statistics import ModelCounters

Reply = tuple[Request, list[bytes]]
"""A request and the frames of its answer."""


@dataclass(frozen=True, slots=True)
class _Seated:
    """A request whose rows have memory slots and stand in the staging arrays."""

    request: Request
    rows: slice
    new: NDArray[np.bool_]
    """`bool[k]` rows that were given a slot just now."""


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
        self._temperature = np.ones(batch_size, np.float32)

    @property
    def version(self) -> int:
        """Version of the weights."""
        return self.engine.policies[self.source.name]

    def refusal(self, spec: GameSpec) -> str | None:
        """Why this model cannot play `spec`, or None."""
        reason = misfit(self.source.spec, spec)
        if reason is not None or spec == self.source.spec:
            return reason
        if self._game is None:
            return f"the settings differ, and the game {spec.game} is not installed here"
        try:
            return self._game.fits(self.source.spec, spec)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return f"the settings are not those of {spec.game}: {type(error).__name__}: {error}"

    def patience(self, now: float) -> float:
        """Seconds the queue is still worth waiting with; it must not be empty."""
        can_send = sum(session.can_send for session in self.sessions.values())
        return self.batcher.patience(now, can_send)

    def forget(self, session: Session) -> None:
        """Drops a client: its requests, its memory, itself."""
        self.batcher.drop(session)
        session.free_all(self.pool)
        del self.sessions[session.client]

    def answer(self, batch: list[Request]) -> list[Reply]:
        """Runs `batch` in one forward pass; each request with the frames of its answer.

        If the model raises an error, the requests are run one by one, so that only the guilty one is refused.
        """
        seated, replies = self._seat(batch)
        if not seated:
            return replies
        try:
            return replies + self._run(seated)
        except Exception:  # whatever the network raises at what a client sent
            for one in seated:
                replies += self._run_alone(one)
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
        """Gives every row a memory slot and copies it into the staging arrays; also refusals where none is left."""
        for request in batch:
            if len(request.ended):
                request.session.free(request.ended, self.pool)
        rows = sum(request.ask.rows for request in batch)
        if rows > len(self._staged):
            self._staged = _room(self.source.spec, rows)
            self._temperature = np.ones(rows, np.float32)
        staged = self._staged
        began = self.pool.clock + 1
        seated: list[_Seated] = []
        refused: list[Reply] = []
        end = 0
        for request in batch:
            placed = self._place(request, began)
            if placed is None:
                reason = f"the server has no memory slot left (it keeps {self.pool.slots} for this model)"
                refused.append((request, [encode(Refused(sequence=request.ask.sequence, reason=reason))]))
                continue
            slots, new = placed
            here = slice(end, end := end + request.ask.rows)
            staged.write(here, request.rows)
            staged.slot[here] = slots
            staged.first[here] |= new
            self._temperature[here] = request.ask.temperature
            seated.append(_Seated(request, here, new))
        return seated, refused

    def _place(self, request: Request, began: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]] | None:
        session, slot = request.session, request.rows.slot
        placed = session.place(slot, self.pool)
        if placed is None:
            make_room(self.sessions.values(), self.pool, session, session.missing(slot), before=began)
            placed = session.place(slot, self.pool)
        return placed

    def _run(self, seated: list[_Seated]) -> list[Reply]:
        """One forward pass for requests that stand one behind the other in the staging arrays."""
        start = seated[0].rows.start
        whole = slice(start, seated[-1].rows.stop)
        temperature = self._temperature[whole]
        answers = self.engine.answer_asked(
            self._staged.take(whole),
            self.source.name,
            temperature=float(temperature[0]) if (temperature == temperature[0]).all() else temperature,
            keep_policy=any(one.request.ask.policy for one in seated),
        )
        version = self.version
        return [
            (
                one.request,
                self._reply(one, answers.take(slice(one.rows.start - start, one.rows.stop - start)), version),
            )
            for one in seated
        ]

    def _run_alone(self, one: _Seated) -> list[Reply]:
        try:
            return self._run([one])
        except Exception as error:
            request = one.request
            self.counters.failed += 1
            request.session.free(request.rows.slot[one.new], self.pool)  # nothing of this client is in them
            reason = f"the model failed on these rows: {type(error).__name__}: {error}"
            return [(request, [encode(Refused(sequence=request.ask.sequence, reason=reason[:500]))])]

    def _reply(self, one: _Seated, answers: Answers, version: int) -> list[bytes]:
        request = one.request
        lost = int(np.count_nonzero(one.new & ~request.rows.first)) if self.has_memory else 0
        self.counters.lost += lost
        header = Answer(session=request.session.number, sequence=request.ask.sequence, version=version, lost=lost)
        return [encode(header), write_answer(answers, policy=request.ask.policy)]


def _room(spec: GameSpec, rows: int) -> Asked:
    """Staging arrays of `rows` rows, kept from batch to batch."""
    return Asked(
        slot=np.zeros(rows, np.intp),
        first=np.zeros(rows, np.bool_),
        uniform=np.zeros(rows, np.float32),
        legal=np.zeros((rows, spec.actions), np.bool_),
        observation={name: field.zeros(rows) for name, field in spec.observation.items()},
    )
