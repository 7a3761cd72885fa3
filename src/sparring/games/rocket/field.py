"""The field: its measures, its boost pads, and the columns of the state arrays that every other module reads.

Lengths are in unreal units (1 uu = 1 cm), blue attacks towards +y, time is in seconds, 120 ticks each.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

TICKS: Final = 120
SIDE_WALL: Final = 4096.0
BACK_WALL: Final = 5120.0
CEILING: Final = 2044.0
GOAL_HALF_WIDTH: Final = 892.755
GOAL_HEIGHT: Final = 642.775
BALL_RADIUS: Final = 91.25
BALL_REST: Final = 93.15
BALL_TOP_SPEED: Final = 6000.0
CAR_TOP_SPEED: Final = 2300.0
CAR_TOP_SPIN: Final = 5.5
CAR_REST: Final = 17.0
DODGE_WINDOW: Final = 1.25
FLIP_SECONDS: Final = 0.65
BIG_PAD_SECONDS: Final = 10.0
SMALL_PAD_SECONDS: Final = 4.0

BLUE_GOAL: Final = np.array([0.0, -BACK_WALL, GOAL_HEIGHT / 2], np.float32)
ORANGE_GOAL: Final = -BLUE_GOAL * np.array([1, 1, -1], np.float32)


def _pads() -> NDArray[np.float32]:
    """The blue half and the half-way line, then the blue half turned by 180 degrees: RocketSim's own order."""
    half = [
        (0, -4240, 70),
        (-1792, -4184, 70),
        (1792, -4184, 70),
        (-3072, -4096, 73),
        (3072, -4096, 73),
        (-940, -3308, 70),
        (940, -3308, 70),
        (0, -2816, 70),
        (-3584, -2484, 70),
        (3584, -2484, 70),
        (-1788, -2300, 70),
        (1788, -2300, 70),
        (-2048, -1036, 70),
        (0, -1024, 70),
        (2048, -1036, 70),
        (-3584, 0, 73),
        (-1024, 0, 70),
    ]
    turned = [(-x, -y, z) for x, y, z in reversed(half)]
    return np.array(half + turned, np.float32)


PAD_POSITIONS: Final = _pads()
"""`float32[34, 3]`, in the order of RocketSim; read backwards it is the order that orange sees."""
PADS: Final = len(PAD_POSITIONS)
PAD_IS_BIG: Final = PAD_POSITIONS[:, 2] == 73.0

# Columns of a ball row, float32[9].
BALL_POSITION: Final = slice(0, 3)
BALL_VELOCITY: Final = slice(3, 6)
BALL_SPIN: Final = slice(6, 9)
BALL_COLUMNS: Final = 9

# Columns of a car row, float32[34].
POSITION: Final = slice(0, 3)
FORWARD: Final = slice(3, 6)
UP: Final = slice(6, 9)
VELOCITY: Final = slice(9, 12)
SPIN: Final = slice(12, 15)
BOOST: Final = 15
"""0 to 100."""
DEMO_SECONDS: Final = 16
"""Until a demolished car is back; 0 while it drives."""
ON_GROUND: Final = 17
BOOSTING: Final = 18
SUPERSONIC: Final = 19
HOLDING_JUMP: Final = 20
HANDBRAKE: Final = 21
HAS_JUMPED: Final = 22
IS_JUMPING: Final = 23
HAS_FLIPPED: Final = 24
IS_FLIPPING: Final = 25
HAS_DOUBLE_JUMPED: Final = 26
CAN_FLIP: Final = 27
AIR_SECONDS: Final = 28
"""Since the jump ended."""
TOUCHED: Final = 29
"""1 if the car touched the ball during the last step."""
SAVES: Final = 30
SHOTS: Final = 31
DEMOS: Final = 32
PICKUPS: Final = 33
"""Saves, shots, demolitions and boost pick-ups so far, as RocketSim counts them."""
CAR_COLUMNS: Final = 34
