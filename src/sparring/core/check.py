"""`check_arena`: plays random matches and tells a game author which rule of the arena protocol was broken."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core.arena import Arena, Explaining, IllegalAction
from sparring.core.arguments import check_argument
from sparring.core.decisions import Decisions, Results
from sparring.core.documented import documented
from sparring.core.errors import InputError
from sparring.core.player import RandomPlayer
from sparring.core.settings import Count, NonNegativeInt
from sparring.core.spec import GameSpec


class GameFault(AssertionError):
    """What is wrong with a game, in one line; see `sparring.check_game`."""


class ArenaFault(GameFault):
    """A rule of the arena protocol that an arena broke; the message names rule, row and values."""


@documented
@dataclass(frozen=True)
class ArenaReport:
    """What a clean check saw."""

    matches: int
    """Matches that ended."""
    decisions: int
    """Rows that were answered."""
    failed: int
    """How many of the matches failed."""


def check_arena(arena: Arena, *, matches: int = 100, seed: int = 0, most_waits: int = 100_000) -> ArenaReport:
    """Plays until `matches` matches have ended; raises `ArenaFault` at the first broken rule.

    The arena must be fresh (no `wait` before) and is left open. At its first rows, mistakes of a caller are tried:
    illegal actions, a `wait` while every row is out, a row that is answered twice.
    """
    check_argument("matches", matches, Count)
    check_argument("seed", seed, NonNegativeInt)
    _check_members(arena)
    spec = arena.spec
    player = RandomPlayer(seed)
    started = np.zeros((arena.matches, spec.seats), np.bool_)
    played = np.zeros(arena.matches, np.bool_)
    out = np.zeros((arena.matches, spec.seats), np.bool_)
    held: list[Decisions] = []
    decisions_seen = ended = failed = 0
    holding = True
    for _ in range(most_waits):
        found = _waited(arena, too_often=holding and bool(held))
        if found is None:
            _try_mistakes(arena, held, player)
            holding, out[:] = False, False
            continue
        decisions, results = found
        _require(len(decisions) + len(results) > 0, "wait returned neither rows nor results")
        _check_results(results, arena)
        _require(
            bool(started[results.match].any(axis=1).all()),
            "a result arrived for a match in which no seat had a row",
        )
        started[results.match] = out[results.match] = False
        _check_rows(decisions, spec, arena.matches)
        _forbid(
            out[decisions.match, decisions.seat],
            "a seat was shown another row before its last was answered; a wait that nothing can end raises InputError",
            decisions,
        )
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
        if holding:
            out[decisions.match, decisions.seat] = True
            held.append(decisions.take(np.arange(len(decisions))))
        elif len(decisions):
            _answer(arena, decisions, player.act(decisions).action)
    raise ArenaFault(f"only {ended} of {matches} matches ended in {most_waits} waits")


def _answer(arena: Arena, decisions: Decisions, actions: NDArray[np.int32]) -> None:
    """Actions that the mask allows must be taken."""
    try:
        arena.act(decisions, actions)
    except IllegalAction as error:
        raise ArenaFault(f"an action the mask calls legal was refused: {error}") from error


def _try_mistakes(arena: Arena, held: list[Decisions], player: RandomPlayer) -> None:
    """Answers the rows of several waits, and tries what must be refused."""
    actions = [player.act(rows).action for rows in held]
    _check_refusal(arena, held[0], actions[0])
    for rows, chosen in zip(held, actions, strict=True):
        try:
            _answer(arena, rows, chosen)
        except GameFault:
            raise
        except Exception as error:
            raise ArenaFault(
                f"rows of which one was refused an illegal action cannot be answered any more "
                f"({type(error).__name__}: {error}): then nothing may be played"
            ) from error
    try:
        arena.act(held[0], actions[0])
    except InputError:
        return
    except Exception as error:
        raise ArenaFault(
            f"act must raise InputError for rows that were answered before; it raised {type(error).__name__}: {error}"
        ) from error
    raise ArenaFault("act took rows that were answered before: it must raise InputError")


def _check_members(arena: Any) -> None:
    """An arena, not a game or a class, with everything that the protocol asks for."""
    members = ("spec", "matches", "wait", "act", "close", "__enter__", "__exit__")
    missing = [f"`{name}`" for name in members if not hasattr(arena, name)]
    made = "check_arena takes an arena, as game.arena(game.settings(), matches=8, seed=0) makes it"
    _require(not isinstance(arena, type), f"this is the class {getattr(arena, '__name__', '')}: {made}")
    _require(not missing, f"{type(arena).__name__} has no {', '.join(missing)}: {made}")
    _require(isinstance(arena.spec, GameSpec), f"spec must be a GameSpec, got {arena.spec!r:.60}")
    _require(isinstance(arena.matches, int), f"matches must be a whole number, got {arena.matches!r:.60}")
    for name in ("wait", "act", "close"):
        _require(callable(getattr(arena, name)), f"{name} must be a method, got {getattr(arena, name)!r:.60}")


def _waited(arena: Arena, *, too_often: bool) -> tuple[Decisions, Results] | None:
    """What `wait` returns, if it is what it should be; None if it was called `too_often`, and says so."""
    try:
        found: Any = arena.wait()
    except Exception as error:
        if too_often and isinstance(error, InputError):
            return None
        if too_often:
            what = f"{type(error).__name__}: {error}"
            raise ArenaFault(f"a wait that nothing can end must raise InputError; it raised {what}") from error
        raise
    kinds = [type(part).__name__ for part in found] if isinstance(found, tuple) else [type(found).__name__]
    _require(kinds == ["Decisions", "Results"], f"wait must return (Decisions, Results), got {', '.join(kinds)}")
    decisions, results = found
    return decisions, results


def _check_refusal(arena: Arena, decisions: Decisions, actions: NDArray[np.int32]) -> None:
    """Actions that the mask forbids, or that are no action at all, must be refused with `IllegalAction`."""
    wrong = [(0, arena.spec.actions), (0, -1)]
    forbidden = np.argwhere(~decisions.legal)
    if len(forbidden):
        row, action = forbidden[-1].tolist()
        wrong.append((row, action))
    for row, action in wrong:
        tried = actions.copy()
        tried[row] = action
        try:
            arena.act(decisions, tried)
        except IllegalAction:
            continue
        except Exception as error:
            raise ArenaFault(
                f"act must raise IllegalAction for action {action}, which is not legal in row {row}; "
                f"it raised {type(error).__name__}: {error}"
            ) from error
        raise ArenaFault(f"act took action {action}, which is not legal in row {row}: it must raise IllegalAction")


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


def _check_results(results: Results, arena: Arena) -> None:
    n, spec, matches = len(results), arena.spec, arena.matches
    _require(results.outcome.shape == (n, spec.seats), f"results.outcome must be [n, {spec.seats}]")
    _require(results.reward.shape == (n, spec.seats), f"results.reward must be [n, {spec.seats}]")
    _require(results.failed.shape == (n,), "results.failed must be [n]")
    _require(bool(((results.match >= 0) & (results.match < matches)).all()), "results.match is out of range")
    _require(len(np.unique(results.match)) == n, "a match has two results in one batch")
    _require(bool(np.isfinite(results.reward).all()), "results.reward is not finite")
    _require(bool((np.abs(results.outcome) <= 1).all()), "results.outcome must lie in [-1, 1]")
    rule = "results.outcome is 1 for a seat that won, -1 for one that lost, 0 for a draw"
    _require(not bool((results.outcome > 0).all(axis=1).any()), f"{rule}; here all seats of a match won")
    if results.ending is not None:
        reasons = len(arena.endings) if isinstance(arena, Explaining) else 0
        _require(results.ending.shape == (n,), "results.ending must be [n]")
        told = results.ending[~results.failed]
        _require(bool(((told >= 0) & (told < reasons)).all()), "results.ending must number the arena's `endings`")


def _require(kept: bool, rule: str) -> None:
    if not kept:
        raise ArenaFault(rule)


def _forbid(broken: NDArray[np.bool_] | np.bool_, rule: str, decisions: Decisions) -> None:
    """Names the first row with `broken: bool[k]`, if there is one."""
    if broken.any():
        row = int(broken.argmax())
        raise ArenaFault(f"{rule} (row {row}: match {int(decisions.match[row])}, seat {int(decisions.seat[row])})")
