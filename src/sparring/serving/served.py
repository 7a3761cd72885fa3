"""One model of a policy server: its engine, its clients' memory, its queue, and how a batch of requests is answered."""

from collections.abc import Iterator

import numpy as np

from sparring.core import Array, GameSpec, load_game
from sparring.inference.device import Device
from sparring.inference.engine import InferenceEngine
from sparring.serving.batching import Batcher, Request
from sparring.serving.models import ModelSource
from sparring.serving.protocol import Answer, ModelReport, Refused, RowLayout, encode, misfit, write_answer
from sparring.serving.sessions import Session, SlotPool
from sparring.serving.statistics import ModelCounters


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
        self._staged: dict[str, Array] = {}

    @property
    def version(self) -> int:
        """Version of the weights."""
        return self.engine.policies[self.source.name]

    def refusal(self, spec: GameSpec) -> str | None:
        """Why this model cannot play `spec`, or None."""
        reason = misfit(self.source.spec, spec)
        if reason is not None or spec == self.source.spec:
            return reason
        return load_game(spec.game).fits(self.source.spec, spec)

    def patience(self, now: float) -> float:
        """Seconds the queue is still worth waiting with; it must not be empty."""
        can_send = sum(session.can_send for session in self.sessions.values())
        return self.batcher.patience(now, can_send)

    def forget(self, session: Session) -> None:
        """Drops a client: its requests, its memory, itself."""
        self.batcher.drop(session)
        session.free_all(self.pool)
        del self.sessions[session.client]

    def answer(self, batch: list[Request]) -> Iterator[tuple[Request, list[bytes]]]:
        """Runs `batch` in one forward pass; yields each request with the frames of its answer.

        If the model raises an error, the requests are run one by one, so that only the guilty one is refused.
        """
        try:
            answered = self._answer(batch)
        except Exception as error:  # whatever the network raises at what a client sent
            if len(batch) == 1:
                self.counters.failed += 1
                reason = f"the model failed on these rows: {type(error).__name__}: {error}"
                yield batch[0], [encode(Refused(sequence=batch[0].ask.sequence, reason=reason[:500]))]
                return
            for request in batch:
                yield from self.answer([request])
            return
        yield from answered

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

    def _answer(self, batch: list[Request]) -> list[tuple[Request, list[bytes]]]:
        for request in batch:
            if len(request.rows.ended):
                request.session.free(request.rows.ended, self.pool)
        refused: list[tuple[Request, list[bytes]]] = []
        seated: list[tuple[Request, slice]] = []
        lost: list[int] = []
        end = 0
        staged = self._room(sum(request.ask.rows for request in batch))
        for request in batch:
            placed = request.session.place(request.rows.slot, self.pool)
            if placed is None:
                reason = f"the server has no memory slot left (it keeps {self.pool.slots} for this model)"
                refused.append((request, [encode(Refused(sequence=request.ask.sequence, reason=reason))]))
                continue
            slots, new = placed
            rows = slice(end, end := end + request.ask.rows)
            asked = request.rows
            staged["slot"][rows] = slots
            staged["first"][rows] = asked.first | new
            staged["uniform"][rows] = asked.uniform
            staged["temperature"][rows] = request.ask.temperature
            staged["legal"][rows] = asked.legal
            for name, array in asked.observation.items():
                staged[f"observation/{name}"][rows] = array
            seated.append((request, rows))
            lost.append(int((new & ~asked.first).sum()) if self.has_memory else 0)
        if not seated:
            return refused
        temperature = staged["temperature"][:end]
        answers = self.engine.answer_at(
            self.source.name,
            {name: staged[f"observation/{name}"][:end] for name in self.source.spec.observation},
            staged["legal"][:end],
            first=staged["first"][:end],
            slots=staged["slot"][:end],
            uniform=staged["uniform"][:end],
            temperature=float(temperature[0]) if (temperature == temperature[0]).all() else temperature,
            keep_policy=any(request.ask.policy for request, _ in seated),
        )
        self.counters.lost += sum(lost)
        version = self.version
        return refused + [
            (
                request,
                [
                    encode(
                        Answer(
                            session=request.session.number,
                            sequence=request.ask.sequence,
                            version=version,
                            lost=missing,
                        )
                    ),
                    write_answer(answers, rows, policy=request.ask.policy),
                ],
            )
            for (request, rows), missing in zip(seated, lost, strict=True)
        ]

    def _room(self, rows: int) -> dict[str, Array]:
        """Staging arrays of at least `rows` rows, kept from batch to batch."""
        if not self._staged or len(self._staged["slot"]) < rows:
            rows = max(rows, self.batcher.batch_size)
            spec = self.source.spec
            self._staged = {
                "slot": np.zeros(rows, np.intp),
                "first": np.zeros(rows, np.bool_),
                "uniform": np.zeros(rows, np.float32),
                "temperature": np.zeros(rows, np.float32),
                "legal": np.zeros((rows, spec.actions), np.bool_),
                **{f"observation/{name}": field.zeros(rows) for name, field in spec.observation.items()},
            }
        return self._staged
