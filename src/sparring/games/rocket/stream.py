"""Live streams of a match to the viewers that people of this game have: RocketSimVis and RLViser.

RocketSimVis takes JSON over UDP, and that is sent from here. RLViser's packets change with its versions; its own Python
package (rlviser-py) knows them, and is used where it is installed.
"""

import json
import socket
from collections.abc import Callable
from time import perf_counter, sleep
from typing import Any

from sparring.core import InputError, optional
from sparring.games.rocket import field
from sparring.games.rocket.group import FieldView
from sparring.games.rocket.setup import start_rocketsim

Stream = Callable[[FieldView], None]


def open_stream(target: str, *, seconds_a_frame: float, speed: float = 1.0) -> Stream:
    """A stream to `rocketsimvis`, `rocketsimvis:HOST:PORT` or `rlviser`, paced to `speed` times real time."""
    kind, _, address = target.partition(":")
    if kind == "rocketsimvis":
        host, _, port = (address or "127.0.0.1:9273").rpartition(":")
        if not host or not port.isdigit():
            raise InputError(f"stream: {target!r} is not rocketsimvis:HOST:PORT")
        return _paced(_to_rocketsimvis(host, int(port)), seconds_a_frame / speed)
    if target == "rlviser":
        return _paced(_to_rlviser(seconds_a_frame), seconds_a_frame / speed)
    raise InputError(f"stream: unknown viewer {target!r}; there are: rocketsimvis, rocketsimvis:HOST:PORT, rlviser")


def rocketsimvis_packet(frame: FieldView) -> bytes:
    """The JSON text that RocketSimVis reads."""
    cars = []
    for car, orange in zip(frame.cars, frame.orange.tolist(), strict=True):
        cars.append(
            {
                "team_num": int(orange),
                "phys": {
                    "pos": car[field.POSITION].tolist(),
                    "forward": car[field.FORWARD].tolist(),
                    "up": car[field.UP].tolist(),
                    "vel": car[field.VELOCITY].tolist(),
                    "ang_vel": car[field.SPIN].tolist(),
                },
                "boost_amount": float(car[field.BOOST]) / 100,
                "on_ground": bool(car[field.ON_GROUND]),
                "has_flipped_or_double_jumped": bool(car[field.HAS_FLIPPED] or car[field.HAS_DOUBLE_JUMPED]),
                "is_demoed": bool(car[field.DEMO_SECONDS] > 0),
            }
        )
    ball = {
        "pos": frame.ball[field.BALL_POSITION].tolist(),
        "vel": frame.ball[field.BALL_VELOCITY].tolist(),
        "ang_vel": frame.ball[field.BALL_SPIN].tolist(),
    }
    return json.dumps({"ball_phys": ball, "cars": cars, "boost_pad_states": (frame.pads == 0).tolist()}).encode()


def _to_rocketsimvis(host: str, port: int) -> Stream:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    return lambda frame: void(sender.sendto(rocketsimvis_packet(frame), (host, port)))


def _to_rlviser(seconds_a_frame: float) -> Stream:
    with optional("streaming to RLViser", package="rlviser-py"):
        import rlviser_py
    rocketsim = start_rocketsim()
    rlviser_py.set_boost_pad_locations([tuple(pad) for pad in field.PAD_POSITIONS.tolist()])
    count = 0

    def send(frame: FieldView) -> None:
        nonlocal count
        count += 1
        ball = rocketsim.BallState()
        ball.pos, ball.vel, ball.ang_vel = (
            rocketsim.Vec(*frame.ball[part].tolist())
            for part in (field.BALL_POSITION, field.BALL_VELOCITY, field.BALL_SPIN)
        )
        cars = []
        for number, (car, orange) in enumerate(zip(frame.cars, frame.orange.tolist(), strict=True)):
            octane = rocketsim.CarConfig(rocketsim.CarConfig.OCTANE)
            cars.append((number + 1, int(orange), octane, _car_state(rocketsim, car)))
        rlviser_py.render(
            tick_count=count,
            tick_rate=1 / seconds_a_frame,
            game_mode=rocketsim.GameMode.SOCCAR,
            boost_pad_states=(frame.pads == 0).tolist(),
            ball=ball,
            cars=cars,
        )

    return send


def _car_state(rocketsim: Any, car: Any) -> Any:
    state = rocketsim.CarState()
    state.pos = rocketsim.Vec(*car[field.POSITION].tolist())
    state.vel = rocketsim.Vec(*car[field.VELOCITY].tolist())
    state.ang_vel = rocketsim.Vec(*car[field.SPIN].tolist())
    nose, roof = car[field.FORWARD].tolist(), car[field.UP].tolist()
    right = [
        roof[1] * nose[2] - roof[2] * nose[1],
        roof[2] * nose[0] - roof[0] * nose[2],
        roof[0] * nose[1] - roof[1] * nose[0],
    ]
    state.rot_mat = rocketsim.RotMat(*nose, *right, *roof)
    state.boost = float(car[field.BOOST])
    state.is_demoed = bool(car[field.DEMO_SECONDS] > 0)
    return state


def _paced(stream: Stream, seconds: float) -> Stream:
    """Sends no frame before its time."""
    due = perf_counter()

    def send(frame: FieldView) -> None:
        nonlocal due
        sleep(max(0.0, due - perf_counter()))
        due = max(due, perf_counter() - seconds) + seconds
        stream(frame)

    return send


def void(_: object) -> None:
    """Drops a value that nobody needs."""
