"""`check_arena` passes a sound arena and names the broken rule of an unsound one."""

from dataclasses import replace

import numpy as np
import pytest

from sparring.core import (
    ArenaFault,
    ClosingArena,
    Decisions,
    IllegalAction,
    InputError,
    Results,
    check_arena,
    load_game,
)
from sparring.core.settings import convert


class Broken(ClosingArena):
    """A Hex arena whose batches pass through `spoil` first."""

    def __init__(self, spoil):
        game = load_game("hex")
        self._arena = game.arena(convert({"size": 3}, game.settings, where="hex"), matches=8, seed=0)
        self._spoil = spoil
        self.spec = self._arena.spec
        self.matches = 8
        self._waits = 0

    def wait(self):
        decisions, results = self._arena.wait()
        self._waits += 1
        copied = decisions.take(np.arange(len(decisions)))
        return self._spoil(self._waits, copied, results)

    def act(self, decisions, actions):
        self._arena.act(decisions, actions)

    def close(self):
        self._arena.close()


def test_a_sound_arena_passes():
    report = check_arena(Broken(lambda n, d, r: (d, r)), matches=50)
    assert report.matches >= 50
    assert report.failed == 0
    assert report.decisions > 50 * 5


def no_rows(n: int, d: Decisions, r: Results):
    return (d.take(np.arange(0)), Results.none(2)) if n == 3 else (d, r)


def nothing_legal(n: int, d: Decisions, r: Results):
    legal = d.legal.copy()
    legal[2] = False
    return (replace(d, legal=legal) if n == 2 else d), r


def wrong_dtype(n: int, d: Decisions, r: Results):
    return replace(d, seat=d.seat.astype(np.int64)), r


def missing_field(n: int, d: Decisions, r: Results):
    return replace(d, observation={}), r


def first_forgotten(n: int, d: Decisions, r: Results):
    return replace(d, first=np.zeros_like(d.first)), r


def reward_on_first_row(n: int, d: Decisions, r: Results):
    return replace(d, reward=np.ones_like(d.reward)), r


def twice(n: int, d: Decisions, r: Results):
    return d.take(np.array([0, 0, 1])), r


def nan_reward(n: int, d: Decisions, r: Results):
    return d, replace(r, reward=r.reward * np.float32("nan"))


def all_win(n: int, d: Decisions, r: Results):
    return d, replace(r, outcome=np.ones_like(r.outcome))


def unknown_ending(n: int, d: Decisions, r: Results):
    return d, replace(r, ending=np.zeros(len(r), np.int8))


def mask_too_wide(n: int, d: Decisions, r: Results):
    return replace(d, legal=np.ones_like(d.legal)), r


def narrow_mask(n: int, d: Decisions, r: Results):
    legal = d.legal.copy()
    legal[:, 8] = False
    return (replace(d, legal=legal) if n == 1 else d), r


def one_slot_idle(n: int, d: Decisions, r: Results):
    return d.take(np.flatnonzero(d.match != 5)), r


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (no_rows, "neither rows nor results"),
        (nothing_legal, r"no legal action \(row 2: match 2"),
        (wrong_dtype, r"seat must be int32\[8\], got int64"),
        (missing_field, "the spec says"),
        (first_forgotten, "first must be set"),
        (reward_on_first_row, "reward must be 0"),
        (twice, "two rows in one batch"),
        (nan_reward, "reward is not finite"),
        (all_win, "1 for a seat that won, -1 for one that lost, 0 for a draw; here all seats of a match won"),
        (unknown_ending, "results.ending must number the arena's `endings`"),
        (mask_too_wide, "legal was refused"),
        (one_slot_idle, r"match slot \[5\] never had a row"),
    ],
)
def test_a_broken_rule_is_named(spoil, rule):
    with pytest.raises(ArenaFault, match=rule):
        check_arena(Broken(spoil), matches=50)


@pytest.mark.parametrize(
    ("act", "rule"),
    [
        (
            lambda arena, decisions, actions: None,
            "act took action 9, which is not legal in row 0: it must raise Illegal",
        ),
        (IndexError("9"), "act must raise IllegalAction for action 9, .* it raised IndexError: 9"),
        (lambda arena, decisions, actions: arena.act(decisions, np.minimum(actions, 8)), "act took action 9"),
        (lambda arena, decisions, actions: arena.act(decisions, np.maximum(actions, 0)), "act took action -1"),
    ],
)
def test_an_arena_that_takes_illegal_actions_is_found_out(act, rule):
    class Lenient(Broken):
        def act(self, decisions, actions):
            if isinstance(act, Exception):
                raise act
            act(self._arena, decisions, actions)

    with pytest.raises(ArenaFault, match=rule):
        check_arena(Lenient(lambda n, d, r: (d, r)), matches=50)


def test_a_mask_that_the_arena_does_not_enforce_is_found_out():
    """Its own mask is narrower than what it accepts."""
    with pytest.raises(ArenaFault, match="act took action 8, which is not legal in row 7"):
        check_arena(Broken(narrow_mask), matches=50)


class Repeating(Broken):
    """Shows rows again as long as they have no action."""

    def __init__(self):
        super().__init__(lambda n, d, r: (d, r))
        self._last = None

    def wait(self):
        self._last = self._last or super().wait()
        return self._last

    def act(self, decisions, actions):
        super().act(decisions, actions)
        self._last = None


class Deaf(Broken):
    """Takes actions for rows that were answered before, and drops them."""

    def __init__(self, error=None):
        super().__init__(lambda n, d, r: (d, r))
        self._error = error

    def act(self, decisions, actions):
        try:
            super().act(decisions, actions)
        except InputError:
            if self._error is not None:
                raise self._error from None


class Impatient(Broken):
    """Has another error for a wait that nothing can end."""

    def wait(self):
        try:
            return super().wait()
        except InputError:
            raise TimeoutError("nobody answers") from None


@pytest.mark.parametrize(
    ("arena", "rule"),
    [
        (Repeating(), r"another row before its last was answered; a wait that nothing can end .*\(row 0: match 0"),
        (Deaf(), "act took rows that were answered before: it must raise InputError"),
        (Deaf(KeyError(3)), "act must raise InputError for rows that were answered before; it raised KeyError: 3"),
        (
            Impatient(lambda n, d, r: (d, r)),
            "a wait that nothing can end must raise InputError; it raised TimeoutError",
        ),
    ],
)
def test_mistakes_of_a_caller_must_be_refused(arena, rule):
    with pytest.raises(ArenaFault, match=rule):
        check_arena(arena, matches=50)


def test_an_arena_is_closed_by_with():
    class Open:
        spec = load_game("hex").spec(load_game("hex").settings())
        matches = 1
        wait = act = close = lambda self: None

    with pytest.raises(ArenaFault, match="Open has no `__enter__`, `__exit__`"):
        check_arena(Open())


def test_an_arena_that_plays_a_part_of_what_it_refuses_is_found_out():
    class Hasty(Broken):
        def act(self, decisions, actions):
            legal = np.flatnonzero((actions >= 0) & (actions < 9))
            self._arena.act(decisions.take(legal), actions[legal])
            if len(legal) < len(actions):
                raise IllegalAction("some")

    with pytest.raises(ArenaFault, match="nothing may be played|it raised InputError"):
        check_arena(Hasty(lambda n, d, r: (d, r)), matches=50)


def test_a_wait_that_returns_something_else_is_named():
    with pytest.raises(ArenaFault, match=r"wait must return \(Decisions, Results\), got Decisions"):
        check_arena(Broken(lambda n, d, r: d), matches=50)


def test_an_unknown_game_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match=r"unknown game 'chess'; installed games: .*hex"):
        load_game("chess")
