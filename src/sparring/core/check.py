"""`check_arena`: plays random matches and tells a game author which rule of the arena protocol was broken."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.core.arena import Arena, IllegalAction
from sparring.core.decisions import Decisions, Results
from sparring.core.player import RandomPlayer
from sparring.core.spec import GameSpec


class ArenaFault(AssertionError):
    """A rule of the arena protocol that an arena broke; the message names rule, row and values."""


@dataclass(frozen=True)
class ArenaReport:
    """What a clean check saw."""

    matches: int
    decisions: int
    failed: int


def check_arena(arena: Arena, *, matches: int = 100, seed: int = 0, most_waits: int = 100_000) -> ArenaReport:
    """Plays until `matches` matches have ended; raises `ArenaFault` at the first broken rule.

    The arena must be fresh (no `wait` before) and is left open.
    """
    spec = arena.spec
    player = RandomPlayer(seed)
    started = np.zeros((arena.matches, spec.seats), np.bool_)
    played = np.zeros(arena.matches, np.bool_)
    decisions_seen = ended = failed = 0
    for _ in range(most_waits):
        decisions, results = arena.wait()
        _require(len(decisions) + len(results) > 0, "wait returned neither rows nor results")
        _check_results(results, spec, arena.matches)
        _require(
            bool(started[results.match].any(axis=1).all()),
            "a result arrived for a match in which no seat had a row",
        )
        started[results.match] = False
        _check_rows(decisions, spec, arena.matches)
        misplaced = decisions.first == started[decisions.match, decisions.seat]
        _forbid(misplaced, "first must be set on a seat's first row of a match and only there", decisions)
        _forbid(decisions.first & (decisions.reward != 0), "reward must be 0 on a seat's first row", decisions)
        started[decisions.match, decisions.seat] = True
        played[decisions.match] = True
        decisions_seen += len(decisions)
        ended += len(results)
        failed += int(results.failed.sum())
        if ended >= matches:
            idle = np.flatnonzero(~played)
            _require(matches < 4 * arena.matches or len(idle) == 0, f"match slot {idle[:1]} never had a row")
            return ArenaReport(matches=ended, decisions=decisions_seen, failed=failed)
        if len(decisions):
            try:
                arena.act(decisions, player.act(decisions).action)
            except IllegalAction as error:
                raise ArenaFault(f"an action the mask calls legal was refused: {error}") from error
    raise ArenaFault(f"only {ended} of {matches} matches ended in {most_waits} waits")


def _check_rows(decisions: Decisions, spec: GameSpec, matches: int) -> None:
    k = len(decisions)
    _require(
        set(decisions.observation) == set(spec.observation),
        f"observation has fields {sorted(decisions.observation)}, the spec says {sorted(spec.observation)}",
    )
    for name, like in Decisions.none(spec).columns().items():
        seen, shape = decisions.columns()[name], (k, *like.shape[1:])
        _require(
            seen.shape == shape and seen.dtype == like.dtype,
            f"decisions.{name} must be {like.dtype}{list(shape)}, got {seen.dtype}{list(seen.shape)}",
        )
        if np.issubdtype(seen.dtype, np.floating):
            infinite = ~np.isfinite(seen).all(axis=tuple(range(1, seen.ndim)))
            _forbid(infinite, f"decisions.{name} is not finite", decisions)
    match, seat = decisions.match, decisions.seat
    _forbid((match < 0) | (match >= matches), f"match must lie in 0..{matches - 1}", decisions)
    _forbid((seat < 0) | (seat >= spec.seats), f"seat must lie in 0..{spec.seats - 1}", decisions)
    _forbid(~decisions.legal.any(axis=1), "a row has no legal action", decisions)
    _require(len(np.unique(decisions.slots(spec))) == k, "a seat has two rows in one batch")


def _check_results(results: Results, spec: GameSpec, matches: int) -> None:
    n = len(results)
    _require(results.outcome.shape == (n, spec.seats), f"results.outcome must be [n, {spec.seats}]")
    _require(results.reward.shape == (n, spec.seats), f"results.reward must be [n, {spec.seats}]")
    _require(results.failed.shape == (n,), "results.failed must be [n]")
    _require(bool(((results.match >= 0) & (results.match < matches)).all()), "results.match is out of range")
    _require(len(np.unique(results.match)) == n, "a match has two results in one batch")
    _require(bool(np.isfinite(results.reward).all()), "results.reward is not finite")
    _require(bool((np.abs(results.outcome) <= 1).all()), "results.outcome must lie in [-1, 1]")


def _require(kept: bool, rule: str) -> None:
    if not kept:
        raise ArenaFault(rule)


def _forbid(broken: NDArray[np.bool_] | np.bool_, rule: str, decisions: Decisions) -> None:
    """Names the first row with `broken: bool[k]`, if there is one."""
    if broken.any():
        row = int(broken.argmax())
        raise ArenaFault(f"{rule} (row {row}: match {int(decisions.match[row])}, seat {int(decisions.seat[row])})")
