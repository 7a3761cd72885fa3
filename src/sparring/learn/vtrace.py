"""V-trace for two seats: one backward scan per seat over the joint course of every match.

An episode holds one seat's rows; a learner that accounts for the opponent's actions needs both seats' rows in the
order they happened. `Steps.turn` numbers the waits of a match, so rows sorted by (match, turn) are in that order. Rows
that share a turn were answered without knowledge of each other, so any order among them is valid: each seat's scan
puts its own row first. Then the opponent's part of a simultaneous move comes after the seat's own, for both seats
alike, and its importance weight applies to the seat's own row. Where an arena shows a simultaneous move in two waits,
the rows have two turns and form a sequence whose second mover did not see the first; nothing changes.

Rewards need a place too. `Steps.reward` is what a seat gained from one of its rows to its next: it is paid after the
last row, of either seat, in between, so that the opponent's importance weights apply to it.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.core import Episodes

Floats = NDArray[np.float32]


class JointOrder(NamedTuple):
    """The r rows of m matches in the order they were played: match after match, by turn, then by seat."""

    lengths: NDArray[np.int32]
    """`int32[m]` rows of each match, of both seats together."""
    row: NDArray[np.intp]
    """`intp[r]` the index of each in the arrays to be scanned."""
    turn: NDArray[np.int32]
    """`int32[r]`"""
    seat: NDArray[np.int32]
    """`int32[r]`"""


class VtraceRows(NamedTuple):
    """What V-trace needs to know about r rows, `float32[r]` each."""

    reward: Floats
    """As episodes have it: gained by the row's seat until its next row."""
    value: Floats
    """The expected gain of the row's seat."""
    ratio: Floats
    """pi / mu: the learned probability of the action over the one it was played with."""
    inv_mu: Floats
    """1 / mu."""
    penalty: Floats
    """What regularisation takes from the row's seat and gives to the other."""


class VtraceSettings(NamedTuple):
    """Lambda and the clips of the importance weights, as in the paper."""

    vtrace_lambda: float
    c_bar: float
    """Bounds the weights of later rewards and values."""
    rho_bar: float
    """Bounds the weights of the next value."""


class VtraceTargets(NamedTuple):
    """The results of V-trace, `float32[r]` each."""

    value_target: Floats
    """What the value should have said."""
    td_error: Floats
    """(reward + importance weight * next value target - value) / mu.

    Added to the value at the action taken it is an unbiased action value, without the row's own penalty.
    """


def joint_order(episodes: Episodes, rows: NDArray[np.intp]) -> JointOrder:
    """The order in which `rows: intp[r]` of `episodes` were played, for arrays whose entry i belongs to `rows[i]`."""
    headers = episodes.headers
    match = np.repeat(headers.serial, headers.lengths)[rows]
    seat = np.repeat(headers.seat, headers.lengths)[rows]
    turn = episodes.steps.turn[rows]
    row = np.lexsort((seat, turn, match))
    _, lengths = np.unique(match, return_counts=True)
    return JointOrder(lengths.astype(np.int32), row, turn[row], seat[row])


@njit(cache=True)
def two_seat_vtrace(order: JointOrder, rows: VtraceRows, settings: VtraceSettings) -> VtraceTargets:
    """Value targets and TD errors of every row, for its own seat. Nothing is discounted."""
    targets = VtraceTargets(np.empty_like(rows.value), np.empty_like(rows.value))
    longest = order.lengths.max() if len(order.lengths) else 0
    places = np.empty(longest, np.int64)
    paid = np.empty(longest, np.float64)
    start = 0
    for match in range(len(order.lengths)):
        length = order.lengths[match]
        for seat in range(2):
            _own_rows_first(order, start, seat, places[:length])
            _pay(order, rows, seat, places[:length], paid[:length])
            _scan(order, rows, settings, seat, places[:length], paid[:length], targets)
        start += length
    return targets


@njit(cache=True)
def _own_rows_first(order: Any, start: int, seat: int, places: Any) -> None:
    """Fills `places: int64[n]` with the n places in joint order from `start`, those of `seat` first in each turn."""
    end = start + len(places)
    filled = 0
    turn_start = start
    while turn_start < end:
        turn_end = turn_start
        while turn_end < end and order.turn[turn_end] == order.turn[turn_start]:
            if order.seat[turn_end] == seat:
                places[filled] = turn_end
                filled += 1
            turn_end += 1
        for place in range(turn_start, turn_end):
            if order.seat[place] != seat:
                places[filled] = place
                filled += 1
        turn_start = turn_end


@njit(cache=True)
def _pay(order: Any, rows: Any, seat: int, places: Any, paid: Any) -> None:
    """Fills `paid: float64[n]` with what `seat` gains after each of `places`: rewards fall just before its next row."""
    paid[:] = 0.0
    earner = -1
    for i in range(len(places)):
        if order.seat[places[i]] == seat:
            if earner >= 0:
                paid[i - 1] += rows.reward[earner]
            earner = order.row[places[i]]
    if earner >= 0:
        paid[len(places) - 1] += rows.reward[earner]


@njit(cache=True)
def _scan(order: Any, rows: Any, settings: Any, seat: int, places: Any, paid: Any, targets: Any) -> None:
    """Fills `targets` at the rows of `seat`, backwards over `places`.

    Between two of the seat's rows three things are carried: its reward weighted by the opponent's ratios, the same
    without weights (`reward_uncorrected`), and the product of those ratios.
    """
    reward, reward_uncorrected, importance = 0.0, 0.0, 1.0
    next_value, next_target = 0.0, 0.0
    for i in range(len(places) - 1, -1, -1):
        row = order.row[places[i]]
        reward += paid[i]
        reward_uncorrected += paid[i]
        if order.seat[places[i]] == seat:
            value = np.float64(rows.value[row])
            weight = rows.ratio[row] * importance
            target = (
                value
                + min(settings.rho_bar, weight) * (reward_uncorrected - rows.penalty[row] + next_value - value)
                + settings.vtrace_lambda * min(settings.c_bar, weight) * (next_target - next_value)
            )
            targets.value_target[row] = target
            targets.td_error[row] = rows.inv_mu[row] * (reward + importance * next_target - value)
            reward, reward_uncorrected, importance = 0.0, 0.0, 1.0
            next_value, next_target = value, target
        else:
            reward = rows.penalty[row] + rows.ratio[row] * reward
            reward_uncorrected += rows.penalty[row]
            importance *= rows.ratio[row]


def belief_weights(order: JointOrder, ratio: Floats, clip: float) -> Floats:
    """`float32[r]` how much likelier each row's past is under the learned policy than under the one that played it.

    The product of the opponent's `ratio: float32[r]` over its earlier turns, clipped to [1 / clip, clip] and scaled to
    a mean of 1. What a seat should believe about hidden state depends on how the opponent got there, and rows sample
    it as the opponent played: where that differs from the learned policy, rows need this weight. The seat's own past
    does not matter, since the seat knows everything it depended on.
    """
    weight: Floats = _past_ratios(order, ratio).clip(1 / clip, clip)
    weight /= weight.mean()
    weights = np.empty_like(weight)
    weights[order.row] = weight
    return weights


@njit(cache=True)
def _past_ratios(order: Any, ratio: Any) -> Any:
    """`float32[r]`, in joint order: the product of the opponent's ratios over the turns before each row."""
    product = np.empty_like(ratio)
    start = 0
    for match in range(len(order.lengths)):
        end = start + order.lengths[match]
        past = np.ones(2)  # of each seat, before the present turn
        turn_start = start
        while turn_start < end:
            turn_end = turn_start
            while turn_end < end and order.turn[turn_end] == order.turn[turn_start]:
                product[turn_end] = past[1 - order.seat[turn_end]]
                turn_end += 1
            for place in range(turn_start, turn_end):
                past[order.seat[place]] *= ratio[order.row[place]]
            turn_start = turn_end
        start = end
    return product
