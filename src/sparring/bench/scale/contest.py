"""Who is measured next, and what came of it: rounds of all cells in turns, of which fewer and fewer go on.

Everything here follows from the measurements that are there, so that a stopped contest goes on from its file. Another
program that slows the machine down for a minute slows down all cells of a round alike: cells are compared within
rounds, never across them.
"""

from collections.abc import Mapping, Sequence
from math import ceil, exp, log
from typing import Any

import msgspec

from sparring.bench.scale.grid import Cell

KEEP = (2 / 3, 1 / 2, 1 / 2, 1.0)
"""The part of the cells that goes on after each round; there is one round more than numbers here."""
FINALISTS = 3
"""As many go on at least."""
EQUAL = 0.03
"""Cells whose rates differ by less are taken for equally fast; then the one with less memory is recommended."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one cell did in one round."""

    cell: Cell
    round: int
    seconds: float = 0.0
    """Of play that counts: without starting up and warming up."""
    decisions: int = 0
    ended: int = 0
    """Matches that ended, without failed ones."""
    failed: int = 0
    batches: int = 0
    cpu: float = 0.0
    """CPU seconds a second, of all processes."""
    cpu_peak: float = 0.0
    memory: int = 0
    """The most bytes that all processes together took."""
    error: str = ""
    """Why there are no figures."""

    @property
    def rate(self) -> float:
        """Decisions a second."""
        return self.decisions / self.seconds if self.seconds and not self.error else 0.0


def alive(cells: Sequence[Cell], measured: Sequence[Measurement], round: int) -> list[Cell]:
    """The cells of a round: all in the first, of the round before the best part in every later one."""
    if round == 0:
        return list(cells)
    before = alive(cells, measured, round - 1)
    scores = {cell: _score(cell, measured, round) for cell in before}
    running = [cell for cell in before if scores[cell] is not None]
    count = min(len(running), max(FINALISTS, ceil(KEEP[round - 1] * len(before))))
    best = sorted(running, key=lambda cell: -(scores[cell] or 0.0))[:count]
    return [cell for cell in before if cell in best]


def _score(cell: Cell, measured: Sequence[Measurement], round: int) -> float | None:
    """The mean logarithm of the rates in the rounds before `round`; None if one of them is no rate."""
    rates = [one.rate for one in measured if one.cell == cell and one.round < round]
    return sum(map(log, rates)) / len(rates) if rates and all(rate > 0 for rate in rates) else None


def pending(cells: Sequence[Cell], measured: Sequence[Measurement]) -> tuple[int, list[Cell]] | None:
    """The present round and its cells that are still to be measured, in order; None when all is done.

    Every other round goes backwards, so that a machine that gets slower and slower favours nobody.
    """
    done = {(one.round, one.cell) for one in measured}
    for round in range(len(KEEP) + 1):
        left = [cell for cell in alive(cells, measured, round) if (round, cell) not in done]
        if left:
            return round, left if round % 2 == 0 else left[::-1]
    return None


def still_to_do(cells: Sequence[Cell], measured: Sequence[Measurement]) -> int:
    """How many measurements are left, if no cell fails."""
    step = pending(cells, measured)
    if step is None:
        return 0
    round, left = step
    total, size = len(left), len(alive(cells, measured, round))
    for share in KEEP[round:]:
        size = min(size, max(FINALISTS, ceil(share * size)))
        total += size
    return total


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a cell in the end."""

    cell: Cell
    rate: float
    """Decisions a second, as if it had been measured in every round."""
    rounds: int
    ended: int
    failed: int
    batch: float
    """Rows a forward pass."""
    cpu: float
    cpu_peak: float
    memory: int
    linear: float | None
    """The rate over what it would be if it grew with the lanes; None where nothing smaller was measured."""


def estimates(measured: Sequence[Measurement]) -> list[Estimate]:
    """The cells that were measured without an error, the fastest first."""
    broken = {one.cell for one in measured if one.rate <= 0}
    by_cell: dict[Cell, dict[int, Measurement]] = {}
    for one in measured:
        if one.cell not in broken:
            by_cell.setdefault(one.cell, {})[one.round] = one
    rounds = {number for found in by_cell.values() for number in found}
    throughout = [found for found in by_cell.values() if found.keys() == rounds]
    level = {number: _mean([log(found[number].rate) for found in throughout]) for number in rounds}
    usual = _mean(list(level.values()))
    rates = {
        cell: exp(usual + _mean([log(one.rate) - level[number] for number, one in found.items()]))
        for cell, found in by_cell.items()
    }
    made = [_estimate(cell, list(found.values()), rates) for cell, found in by_cell.items()]
    return sorted(made, key=lambda estimate: -estimate.rate)


def _estimate(cell: Cell, found: Sequence[Measurement], rates: Mapping[Cell, float]) -> Estimate:
    seconds = sum(one.seconds for one in found)
    return Estimate(
        cell=cell,
        rate=rates[cell],
        rounds=len(found),
        ended=sum(one.ended for one in found),
        failed=sum(one.failed for one in found),
        batch=sum(one.decisions for one in found) / max(1, sum(one.batches for one in found)),
        cpu=sum(one.cpu * one.seconds for one in found) / seconds,
        cpu_peak=max(one.cpu_peak for one in found),
        memory=max(one.memory for one in found),
        linear=_linear(cell, rates),
    )


def _linear(cell: Cell, rates: Mapping[Cell, float]) -> float | None:
    """The cell's rate a lane over that of the cell with as many matches and the fewest lanes."""
    alike = [other for other in rates if other.matches == cell.matches and bool(other.servers) == bool(cell.servers)]
    base = min(alike, key=lambda other: (other.lanes, other.workers))
    return None if base.lanes == cell.lanes and base != cell else rates[cell] / cell.lanes * base.lanes / rates[base]


def recommended(found: Sequence[Estimate]) -> Estimate | None:
    """The fastest cell that training can use, or one as fast that takes less memory; None if there is none.

    Only cells that went through as many rounds as any are taken.
    """
    usable = [one for one in found if one.cell.servers == 0]
    last = max((one.rounds for one in usable), default=0)
    finalists = [one for one in usable if one.rounds == last]
    if not finalists:
        return None
    best = max(one.rate for one in finalists)
    return min((one for one in finalists if one.rate >= (1 - EQUAL) * best), key=lambda one: (one.memory, -one.rate))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def estimate_json(one: Estimate, decisions_per_match: float) -> dict[str, Any]:
    """An estimate as plain data, with its matches an hour."""
    return {
        **msgspec.to_builtins(one),
        "matches_per_hour": 3600 * one.rate / decisions_per_match,
        "completion_rate": completion(one),
    }


def completion(one: Estimate) -> float | None:
    """The part of the ended matches that did not fail; None if none has ended."""
    return one.ended / (one.ended + one.failed) if one.ended + one.failed else None
