"""`check_arena` passes a sound arena and names the broken rule of an unsound one."""

from dataclasses import replace

import numpy as np
import pytest

from sparring.core import ArenaFault, Decisions, InputError, Results, check_arena, load_game
from sparring.core.settings import convert


class Broken:
    """A Hex arena whose batches pass through `spoil` first."""

    def __init__(self, spoil):
        game = load_game("hex")
        self._arena = game.arena(convert({"size": 3}, game.settings, where="hex"), matches=8, seed=0)
        self._spoil = spoil
        self.spec = self._arena.spec
        self.matches = 8
        self._waits = 0

    def wait(self):
        self._waits += 1
        decisions, results = self._arena.wait()
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


def mask_too_wide(n: int, d: Decisions, r: Results):
    return replace(d, legal=np.ones_like(d.legal)), r


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
        (mask_too_wide, "legal was refused"),
        (one_slot_idle, r"match slot \[5\] never had a row"),
    ],
)
def test_a_broken_rule_is_named(spoil, rule):
    with pytest.raises(ArenaFault, match=rule):
        check_arena(Broken(spoil), matches=50)


def test_an_unknown_game_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match=r"unknown game 'chess'; installed games: .*hex"):
        load_game("chess")
