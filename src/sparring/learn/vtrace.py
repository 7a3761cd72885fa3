"""V-trace for two seats: one backward scan a seat over the joint course of every match.

An episode holds one seat's rows; a learner that accounts for the opponent's actions needs both seats' rows in the
order they happened. `Episodes.turn` numbers the waits of a match, so rows sorted by (match, turn) are that order. Rows
that share a turn were answered without knowledge of each other, so any order among them is a true one: each seat's scan
puts its own row first. Then the opponent's part of a simultaneous move counts as coming after one's own, for both seats
alike, and its importance weight reaches one's own row. Where an arena shows a simultaneous move in two waits, the rows
have two turns and are a sequence whose second mover was not told; nothing changes.

Rewards need a place too. `Episodes.reward` is what a seat gained from one of its rows to its next: it is paid after the
last row, of either seat, in between, so that the opponent's importance weights apply to it.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from sparring.core import Episodes

Floats = NDArray[np.float32]


def joint_order(episodes: Episodes) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """`(order: intp[r], lengths: int32[m])`: all rows by match, turn and seat, and how many rows each match has."""
    match = np.repeat(episodes.headers.serial, episodes.headers.lengths)
    seat = np.repeat(episodes.headers.seat, episodes.headers.lengths)
    order = np.lexsort((seat, episodes.steps.turn, match))
    _, lengths = np.unique(match, return_counts=True)
    return order, lengths.astype(np.int32)


@numba.njit(
    "Tuple((float32[:], float32[:]))(int32[:], int32[:], int32[:], float32[:], float32[:], float32[:], float32[:],"
    " float32[:], float64, float64, float64)",
    cache=True,
)
def two_seat_vtrace(
    lengths: NDArray[np.int32],
    turn: NDArray[np.int32],
    seat: NDArray[np.int32],
    reward: Floats,
    value: Floats,
    ratio: Floats,
    inverse: Floats,
    penalty: Floats,
    trace: float,
    clip: float,
    value_clip: float,
) -> tuple[Floats, Floats]:
    """Value targets and the sampled part of the action values, for m matches laid end to end in r rows.

    Rows are in joint order (see above): `lengths: int32[m]`, `turn, seat: int32[r]`; `reward: float32[r]` as episodes
    have it, `value: float32[r]` the expected gain of the row's own seat, `ratio: float32[r]` the learned probability of
    the action over the one it was played with, `inverse: float32[r]` one over the latter, `penalty: float32[r]` what
    regularisation takes from the row's seat there and gives to the other. Nothing is discounted. `trace` is lambda,
    `clip` bounds the weights of what lies further ahead (c), `value_clip` those of the next value (rho).

    Returns `(target, surprise): float32[r]`. `target` is what the value should have said. `surprise` is
    (gain + weight * next target - value) / (probability of the action): added to the value at the action taken it is
    an unbiased action value, without the row's own penalty.
    """
    target = np.empty_like(value)
    surprise = np.empty_like(value)
    longest = lengths.max() if len(lengths) else 0
    order = np.empty(longest, np.int64)
    paid = np.empty(longest, np.float64)
    start = 0
    for match in range(len(lengths)):
        rows = lengths[match]
        end = start + rows
        for mover in range(2):
            place = 0
            row = start
            while row < end:  # own row first within each turn
                after = row
                while after < end and turn[after] == turn[row]:
                    if seat[after] == mover:
                        order[place] = after
                        place += 1
                    after += 1
                for other in range(row, after):
                    if seat[other] != mover:
                        order[place] = other
                        place += 1
                row = after
            paid[:rows] = 0.0
            earner = -1
            for place in range(rows):
                if seat[order[place]] == mover:
                    if earner >= 0:
                        paid[place - 1] += reward[earner]
                    earner = order[place]
            if earner >= 0:
                paid[rows - 1] += reward[earner]
            gain = 0.0  # since the seat's row before, weighted by the opponent's ratios
            plain_gain = 0.0  # the same, not weighted
            weight = 1.0  # product of the opponent's ratios
            next_value = 0.0
            next_target = 0.0
            for place in range(rows - 1, -1, -1):
                row = order[place]
                gain += paid[place]
                plain_gain += paid[place]
                if seat[row] == mover:
                    whole = ratio[row] * weight
                    here = np.float64(value[row])
                    goal = (
                        here
                        + min(value_clip, whole) * (plain_gain - penalty[row] + next_value - here)
                        + trace * min(clip, whole) * (next_target - next_value)
                    )
                    target[row] = goal
                    surprise[row] = inverse[row] * (gain + weight * next_target - here)
                    gain, plain_gain, weight = 0.0, 0.0, 1.0
                    next_value, next_target = here, goal
                else:
                    gain = penalty[row] + ratio[row] * gain
                    plain_gain += penalty[row]
                    weight *= ratio[row]
        start = end
    return target, surprise


@numba.njit("float32[:](int32[:], int32[:], int32[:], float32[:])", cache=True)
def belief_weights(
    lengths: NDArray[np.int32], turn: NDArray[np.int32], seat: NDArray[np.int32], ratio: Floats
) -> Floats:
    """`float32[r]` by how much each row's past is likelier under the learned policy than as it was played.

    The product of the opponent's `ratio` over its earlier turns; rows in joint order, arguments as in
    `two_seat_vtrace`. What a seat should believe of what is hidden depends on how the opponent came here, and rows show
    it as the opponent played: where that differs from the learned policy, rows must be weighed by this. One's own past
    does not matter, since the seat knows all that it depended on.
    """
    weight = np.empty_like(ratio)
    start = 0
    for match in range(len(lengths)):
        end = start + lengths[match]
        past = np.ones(2)  # of each seat, before the present turn
        row = start
        while row < end:
            after = row
            while after < end and turn[after] == turn[row]:
                weight[after] = past[1 - seat[after]]
                after += 1
            for other in range(row, after):
                past[seat[other]] *= ratio[other]
            row = after
        start = end
    return weight
