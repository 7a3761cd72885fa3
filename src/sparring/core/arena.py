"""The arena protocol: many matches of one game, played at the same time.

In Pokémon one side or both may have to act, in Hex the seats alternate, in Rocket League everyone acts at
once. One shape serves them all: an arena says which seats must act now, in one batch, whatever is ready.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sparring.core.decisions import Answers, Decisions, Results
from sparring.core.errors import InputError, RunError
from sparring.core.rows import Array
from sparring.core.spec import GameSpec


class Arena(Protocol):
    """The only thing that steps an engine. It knows nothing of who answers.

    The rules, which `check_arena` tests:

    - `wait` returns what is ready: rows, results or both, never neither.
    - A row that was returned waits for exactly one `act`; a slot has no second row for the same seat before
      that. Rows of one `wait` may be answered by several `act` calls, each before the next `wait` or later.
    - Results come before the next match's rows: a slot whose match ended starts another by itself, and every
      seat's first row of it has `first` set and reward 0.
    - Every row has at least one legal action, and any legal action is accepted. An illegal one raises
      `IllegalAction`, and nothing is played: the same rows can still be answered.
    - An action for a row that does not wait (answered before, or never shown), and a `wait` that nothing could end
      since every row is out, are an `InputError`, and change nothing.
    - `with arena:` closes it at the end of the block. `ClosingArena` is a base that does so.
    """

    @property
    def spec(self) -> GameSpec:
        """What the rows look like."""
        ...

    @property
    def matches(self) -> int:
        """How many matches are played at the same time."""
        ...

    def wait(self) -> tuple[Decisions, Results]:
        """Blocks until some seat must act or some match has ended; its arrays live until the next call."""
        ...

    def act(self, decisions: Decisions, actions: NDArray[np.int32]) -> None:
        """Plays `actions: int32[k]` for the k rows of `decisions`; raises `IllegalAction` if one is not legal.

        It takes the array alone: `arena.act(decisions, player.act(decisions).action)`.
        """
        ...

    def close(self) -> None:
        """Frees what the arena holds (processes, threads); may be called twice."""
        ...

    def __enter__(self) -> Self:
        """The arena itself: `with game.arena(settings, matches=8, seed=0) as arena:`."""
        ...

    def __exit__(self, *failure: object) -> None:
        """Closes it."""
        ...


class ClosingArena:
    """What the arenas that come with Sparring have in common: `with`, how they print, and that a closed one says so."""

    _closed = False

    def __repr__(self: Arena) -> str:
        return f"<{type(self).__name__}: {self.matches:,} matches of {self.spec}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held but memory; the arena plays no more."""
        self._closed = True

    def _check_open(self) -> None:
        """Raises `RunError` if the arena is closed."""
        if self._closed:
            raise RunError("the arena is closed")


@runtime_checkable
class Resumable(Protocol):
    """A part whose whole state is arrays, so that a run can be continued bit for bit."""

    def snapshot(self) -> dict[str, Array]:
        """Copies of everything that the next call depends on."""
        ...

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to where `snapshot` was taken."""
        ...


@runtime_checkable
class Adaptive(Protocol):
    """An arena with a curriculum: it reports how it is played, and changes with how well."""

    def report(self) -> dict[str, float]:
        """Metrics by name since the last call."""
        ...

    def adapt(self, measures: Mapping[str, float]) -> str | None:
        """Takes in an update's metrics, win rates among them; says in words what that changed, or returns None."""
        ...

    def go_on_after(self, decisions: int) -> str | None:
        """A run begins here with weights trained on so many decisions; says in words what that changes, if anything."""
        ...

    def standing(self) -> dict[str, int]:
        """Where the curriculum stands, JSON-ready, for checkpoints and for arenas that must play the same."""
        ...

    def stand_at(self, standing: Mapping[str, int]) -> None:
        """Goes to where `standing` was taken."""
        ...


@runtime_checkable
class Naming(Protocol):
    """An arena that keeps records of its matches, and wants to know who plays them."""

    def name_seats(self, matches: Sequence[int], names: Sequence[Sequence[str]]) -> None:
        """`names[n][seat]` plays that seat of the match that has just begun in slot `matches[n]`."""
        ...


@runtime_checkable
class Explaining(Protocol):
    """An arena that says why its matches ended."""

    endings: Sequence[str]
    """The reasons, each a word (`time`, `overtime`); `Results.ending` numbers them."""


@runtime_checkable
class Gathering(Protocol):
    """An arena whose rows trickle in, and that can wait for a larger batch of them."""

    def gather(self, rows: int, seconds: float) -> None:
        """From now on `wait` waits for `rows` rows, but no longer than `seconds` after the first of them.

        Fewer and larger forward passes suit a network whose small batches cost as much as large ones.
        """
        ...


def gather(arena: Arena, rows: int, seconds: float) -> Arena:
    """`arena`, told to gather; raises `InputError` if it cannot, since all of its rows come at once."""
    if rows > 1:
        if not isinstance(arena, Gathering):
            raise InputError(f"batch size {rows}: {arena.spec.game} shows all its rows at once; allowed: 1, or workers")
        arena.gather(rows, seconds)
    return arena


class IllegalAction(Exception):
    """A player answered with an action the rules forbid. Never replaced by another one silently."""


_LISTED = 10
"""Legal actions that a message lists."""


def illegal_action(where: str, action: object, legal: NDArray[np.bool_]) -> IllegalAction:
    """The error for an `action` that `legal: bool[actions]` forbids: `match 1, seat 0: action 0 is not legal; ...`."""
    allowed = np.flatnonzero(legal)
    listed = ", ".join(map(str, allowed[:_LISTED].tolist())) + (", ..." if len(allowed) > _LISTED else "")
    return IllegalAction(f"{where}: action {action} is not legal; legal: {listed} ({len(allowed)} of {len(legal)})")


def check_actions(decisions: Decisions, actions: Any) -> None:
    """Raises `InputError` unless `actions` is an array of whole numbers, one for each row of `decisions`."""
    if not isinstance(decisions, Decisions):
        given = (
            f"of type {type(decisions).__name__}; allowed: what wait returned first: decisions, results = arena.wait()"
        )
        raise InputError(f"decisions: {given}")
    if isinstance(actions, np.ndarray) and actions.shape == decisions.match.shape and actions.dtype.kind in "iu":
        return
    if isinstance(actions, Answers):
        given = "Answers; allowed: their array, answers.action"
    elif not isinstance(actions, np.ndarray):
        given = f"of type {type(actions).__name__}; allowed: an array int32[{len(decisions)}]"
    else:
        given = f"{actions.dtype}{list(actions.shape)}; allowed: int32[{len(decisions)}], one for each row"
    raise InputError(f"actions: {given}")


def check_rows(match: NDArray[np.integer], seat: NDArray[np.integer], waiting: NDArray[np.bool_]) -> None:
    """Raises `InputError` unless each row (`match: int[k]`, `seat: int[k]`) is there once, and is one that waits.

    `waiting: bool[matches, seats]` says which were shown and have no action yet.
    """
    matches, seats = waiting.shape
    inside = (match >= 0) & (match < matches) & (seat >= 0) & (seat < seats)
    slot = np.where(inside, match, 0).astype(np.intp) * seats + np.where(inside, seat, 0)
    wrong = ~(inside & waiting.ravel()[slot])
    if wrong.any():
        raise no_row(match[wrong][0], seat[wrong][0])
    times = np.bincount(slot, minlength=1)
    if times.max() > 1:
        raise no_row(*divmod(int(times.argmax()), seats))


def no_row(match: object, seat: object) -> InputError:
    """The error for an action that no row waits for."""
    return InputError(
        f"match {match}, seat {seat}: no row waits for this action; each that `wait` shows is answered once"
    )


def nothing_to_wait_for() -> InputError:
    """The error for a `wait` that could never end."""
    return InputError("wait: every row that was shown still waits for its action; answer them with `act` first")
