"""The action tables: flat action numbers to the eight controls of a car.

`full` is the table that most public bots use: 24 ground actions and 66 in the air, with the controls that do
nothing there left out, in RLGym's order, so that networks can be exchanged. `small` keeps what a
beginner needs and makes exploration faster.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

THROTTLE, STEER, PITCH, YAW, ROLL, JUMP, BOOST, HANDBRAKE = range(8)
CONTROLS: Final = ("throttle", "steer", "pitch", "yaw", "roll", "jump", "boost", "handbrake")
NEUTRAL: Final = np.zeros(8, np.float32)


def action_table(name: str) -> NDArray[np.float32]:
    """`float32[actions, 8]`, the controls of each action of the table `full` or `small`."""
    return full_table() if name == "full" else small_table()


def full_table() -> NDArray[np.float32]:
    """90 actions, numbered as RLGym's lookup table numbers them."""
    side = (-1, 0, 1)
    ground = [
        (throttle, steer, 0, steer, 0, 0, boost, handbrake)
        for throttle in side
        for steer in side
        for boost in (0, 1)
        for handbrake in (0, 1)
        if not boost or throttle == 1
    ]
    air = [
        (boost, yaw, pitch, yaw, roll, jump, boost, int(jump and (pitch != 0 or roll != 0)))
        for pitch in side
        for yaw in side
        for roll in side
        for jump in (0, 1)
        for boost in (0, 1)
        if not (jump and yaw) and (pitch or roll or jump)
    ]
    return np.array(ground + air, np.float32)


def small_table() -> NDArray[np.float32]:
    """23 actions: drive, boost, slide, jump, dodge, and turn in the air about one axis at a time."""
    rows = [(throttle, steer, 0, steer, 0, 0, 0, 0) for throttle in (-1, 1) for steer in (-1, 0, 1)]
    rows += [(1, steer, 0, steer, 0, 0, 1, 0) for steer in (-1, 0, 1)]
    rows += [(1, steer, 0, steer, 0, 0, 0, 1) for steer in (-1, 1)]
    rows += [(0, 0, 0, 0, 0, 0, 0, 0)]
    rows += [(boost, 0, 0, 0, 0, 1, boost, 0) for boost in (0, 1)]
    rows += [(1, 0, -1, 0, 0, 1, 0, 0), (0, 0, 0, 0, -1, 1, 0, 0), (0, 0, 0, 0, 1, 1, 0, 0)]
    rows += [(boost, 0, pitch, 0, 0, 0, boost, 0) for pitch in (-1, 1) for boost in (0, 1)]
    rows += [(0, 0, 0, 0, roll, 0, 0, 0) for roll in (-1, 1)]
    return np.array(rows, np.float32)


def nearest_actions(table: NDArray[np.float32], wanted: NDArray[np.float32]) -> NDArray[np.int32]:
    """`int32[k]`: of `table: float32[actions, 8]` the action nearest to each of `wanted: float32[k, 8]`.

    Jump counts most, then boost: they change what a car does more than a little steering does.
    """
    weight = np.array([1, 2, 1, 1, 1, 8, 3, 1], np.float32)
    cost = (wanted * wanted) @ weight
    cost = cost[:, None] - 2 * (wanted * weight) @ table.T + ((table * table) @ weight)[None, :]
    nearest: NDArray[np.int32] = cost.argmin(axis=1).astype(np.int32)
    return nearest
