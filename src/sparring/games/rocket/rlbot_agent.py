"""An RLBot v5 agent that plays an exported bundle: packets in, controls out. It needs rlbot, torch and numpy only.

`sparring export rocket` writes this file into the bundle as bot.py. `BundlePlayer` follows the packets of one car,
builds the inputs that bundle.json lists, and asks policy.pt2 every `tick_skip` ticks; `Agent` joins it to RLBot.
"""

import json
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rlbot import flat
from rlbot.managers import Bot

Floats = NDArray[np.float32]

TICK = 1 / 120
BOOST_LEAST_TICKS = 12
"""A car that starts to boost goes on for at least this long."""
DODGE_SECONDS = 0.65
DODGE_WINDOW = 1.25
BACK_WALL, GOAL_MIDDLE = 5120.0, 642.775 / 2
PLAYED = (flat.MatchPhase.Kickoff, flat.MatchPhase.Active)
"""Phases in which cars can be driven."""


class Car:
    """One car of a packet, turned so that the agent attacks +y, and what packets do not say of it."""

    def __init__(self) -> None:
        self.boosting = 0
        """Ticks that it has been boosting."""
        self.boost = 0.0
        """What is in its tank."""
        self.handbrake = 0.0
        """How far the handbrake is pulled, 0 to 1: it takes time to rise and fall."""
        self.air_seconds = 0.0
        """Since its jump ended."""

    def follow(self, info: Any, ticks: int, turn: Floats) -> None:
        """Takes in what a packet says of the car, so many `ticks` after the last one."""
        self.info = info
        seconds = ticks * TICK
        self.position, self.velocity, self.spin = (
            vector(part) * turn
            for part in (info.physics.location, info.physics.velocity, info.physics.angular_velocity)
        )
        nose, roof = axes(info.physics.rotation)
        self.nose, self.roof = nose * turn, roof * turn
        self.right = np.cross(self.roof, self.nose)
        self.on_ground = info.air_state == flat.AirState.OnGround
        leaving = self.on_ground and info.has_jumped  # a jump's first ticks, before the wheels have left the ground
        self.jumping = leaving or info.air_state == flat.AirState.Jumping
        self.demolished_seconds = max(info.demolished_timeout, 0.0)
        pulled = 5.0 if info.last_input.handbrake else -2.0
        self.handbrake = min(max(self.handbrake + pulled * seconds, 0.0), 1.0)
        wanted = info.last_input.boost or 0 < self.boosting < BOOST_LEAST_TICKS
        self.boosting = self.boosting + ticks if wanted and self.boost > 0 else 0
        self.boost = info.boost
        if not info.has_jumped or self.jumping or self.on_ground:
            self.air_seconds = 0.0
        elif info.dodge_timeout >= 0:
            self.air_seconds = max(DODGE_WINDOW - info.dodge_timeout, 0.0)
        else:
            self.air_seconds += seconds

    def state(self) -> Floats:
        """`float32[20]`: position, nose, roof, velocity, spin, boost, seconds away, on ground, boosting, supersonic."""
        flags = (self.on_ground, self.boosting > 0, self.info.is_supersonic)
        single = (self.info.boost / 100, self.demolished_seconds, *flags)
        parts = (self.position / 2300, self.nose, self.roof, self.velocity / 2300, self.spin / pi, single)
        return np.concatenate(parts).astype(np.float32)

    def jump_state(self) -> Floats:
        """`float32[9]`: jump held, handbrake, jumped, jumping, flipped, flipping, double jumped, can flip, air."""
        info, held = self.info, self.info.last_input.jump
        used = info.has_dodged or info.has_double_jumped
        can_flip = not (self.on_ground or held or used) and self.air_seconds < DODGE_WINDOW
        flipping = info.has_dodged and info.dodge_elapsed < DODGE_SECONDS
        flags = (info.has_jumped, self.jumping, info.has_dodged, flipping, info.has_double_jumped, can_flip)
        return np.array([held, self.handbrake, *flags, self.air_seconds], np.float32)

    def inside(self, seen: NDArray[Any]) -> Floats:
        """`float32[3]`: a vector along the car's nose, right and roof."""
        return np.array([seen @ self.nose, seen @ self.right, seen @ self.roof], np.float32)


class BundlePlayer:
    """Plays the car `index` with the policy of the bundle in `folder`, by its likeliest action."""

    def __init__(self, folder: Path, field_info: Any, *, index: int, team: int) -> None:
        self.bundle = json.loads((folder / "bundle.json").read_text())
        self.policy = torch.export.load(folder / self.bundle["policy"]["file"]).module()
        self.table = np.array(self.bundle["actions"]["table"], np.float32)
        self.memory = [torch.zeros(1, *part["shape"]) for part in self.bundle["memory"]]
        self.index = index
        self.turn = np.array([1, 1, 1] if team == 0 else [-1, -1, 1], np.float32)
        self.team = team
        places = np.array([[pad.location.x, pad.location.y] for pad in field_info.boost_pads])
        self.pads = [
            int(np.hypot(*(places - np.array(pad["position"][:2]) * self.turn[:2]).T).argmin())
            for pad in self.bundle["pads"]
        ]
        self.cars: dict[int, Car] = {}
        self.frame: int | None = None
        self.length = 0.0
        self.rest(0.0)

    def rest(self, now: float) -> None:
        """Nobody plays: before kickoff and after a goal."""
        self.decided: int | None = None
        self.decided_seconds = now
        self.action = self.controls = np.zeros(8, np.float32)
        self.idle = 0.0
        self.kickoff = True

    def play(self, packet: Any) -> Floats:
        """`float32[8]`: the controls for the next tick, in the order of `actions.controls`."""
        self.follow(packet)
        frame = packet.match_info.frame_num
        if packet.match_info.match_phase not in PLAYED or not packet.balls:
            self.rest(packet.match_info.seconds_elapsed)
            return self.controls
        if self.decided is None or frame - self.decided >= self.bundle["tick_skip"]:
            inputs = torch.from_numpy(self.observe(packet))[None]
            with torch.no_grad():
                logits, *self.memory = self.policy(inputs, *self.memory)
            self.action = self.table[int(logits.argmax())]
            self.decided = frame
        if frame - self.decided >= self.bundle["action_delay"]:
            self.controls = self.action
        return self.controls

    def follow(self, packet: Any) -> None:
        """Keeps up with every car; called for each packet."""
        frame = packet.match_info.frame_num
        ticks = 0 if self.frame is None else max(frame - self.frame, 0)
        self.frame = frame
        if not packet.match_info.is_overtime:
            self.length = max(self.length, packet.match_info.game_time_remaining)
        for number, info in enumerate(packet.players):
            self.cars.setdefault(number, Car()).follow(info, ticks, self.turn)

    def observe(self, packet: Any) -> Floats:
        """`float32[inputs]`: what the policy sees, column by column as `inputs` in bundle.json; once a decision."""
        match = self.clock(packet)
        place = packet.balls[0].physics
        units = ((place.location, 2300), (place.velocity, 2300), (place.angular_velocity, pi))
        ball = np.concatenate([vector(part) * self.turn / unit for part, unit in units])
        pads = np.array(
            [
                0.0 if packet.boost_pads[number].is_active else pad["seconds"] - packet.boost_pads[number].timer
                for number, pad in zip(self.pads, self.bundle["pads"], strict=True)
            ]
        )
        own = self.cars[self.index]
        world = [ball, pads / 10, own.jump_state()]
        room = self.bundle["room"]
        teams = [[car for car in self.cars.values() if (car.info.team == self.team) == mine] for mine in (True, False)]
        mates = [own, *(car for car in teams[0] if car is not own)]
        if self.bundle["observation"] == "rlgym":
            rows = [self.places([car.state() for car in team], room, 20) for team in (mates, teams[1])]
            return np.concatenate([*world, *rows], dtype=np.float32)
        rows = [self.places([self.car(car, ball, own) for car in team], room, 33) for team in (mates, teams[1])]
        world += [self.action, match, self.aims(ball, own)]
        flat_row = np.concatenate([*rows, *world], dtype=np.float32)
        if self.bundle["observation"] == "positions":
            hidden = [column["index"] for column in self.bundle["inputs"] if column["hidden"]]
            flat_row[hidden] = 0.0
        return flat_row

    def clock(self, packet: Any) -> Floats:
        """`float32[5]`: share of the match left, goals ahead / 5, overtime, kickoff, seconds / 10 without a touch."""
        info = packet.match_info
        now = info.seconds_elapsed
        touches = [player.latest_touch.game_seconds for player in packet.players if player.latest_touch is not None]
        touched = max(touches, default=-1.0) > self.decided_seconds
        self.kickoff = self.kickoff and not touched
        if self.decided is not None:
            self.idle = 0.0 if touched else self.idle + (info.frame_num - self.decided) * TICK
        self.decided_seconds = now
        left = 0.0 if info.is_overtime else 1.0 if info.is_unlimited_time else info.game_time_remaining / self.length
        goals = {team.team_index: team.score for team in packet.teams}
        ahead = min(max((goals[self.team] - goals[1 - self.team]) / 5, -1.0), 1.0)
        return np.array([left, ahead, info.is_overtime, self.kickoff, self.idle / 10], np.float32)

    def car(self, car: Car, ball: Floats, own: Car) -> Floats:
        """`float32[33]`: a row of `cars`."""
        return np.concatenate(
            [
                [1.0],
                car.state(),
                car.inside(ball[:3] - car.position / 2300),
                car.inside(ball[3:6] - car.velocity / 2300),
                own.inside(car.position - own.position) / 2300,
                own.inside(car.velocity - own.velocity) / 2300,
            ]
        )

    def aims(self, ball: Floats, own: Car) -> Floats:
        """`float32[23]`: own speeds, both goals, the way to the ball and from the ball to their goal."""
        place, speed = ball[:3] * 2300, ball[3:6] * 2300
        goal = np.array([0, BACK_WALL, GOAL_MIDDLE])
        to_ball, shot = place - own.position, goal - place
        gap, way = np.linalg.norm(to_ball), np.linalg.norm(shot)
        singles = (
            gap / 2300,
            way / 2300,
            to_ball @ shot / (gap * way),
            own.velocity @ to_ball / gap / 2300,
            speed @ shot / way / 2300,
        )
        return np.concatenate(
            [
                own.inside(own.velocity) / 2300,
                own.inside(own.spin) / pi,
                own.inside(goal - own.position) / 2300,
                own.inside(goal * [1, -1, 1] - own.position) / 2300,
                own.inside(to_ball) / gap,
                own.inside(shot) / way,
                singles,
            ]
        )

    @staticmethod
    def places(rows: list[Floats], room: int, width: int) -> Floats:
        """`float32[room * width]`: the first `room` of `rows`, then zeros."""
        out = np.zeros((room, width), np.float32)
        for place, row in enumerate(rows[:room]):
            out[place] = row
        return out.ravel()


def vector(part: Any) -> Floats:
    """`float32[3]` of a packet's vector."""
    return np.array([part.x, part.y, part.z], np.float32)


def axes(rotation: Any) -> tuple[Floats, Floats]:
    """The unit vectors of a car's nose and roof, `float32[3]` each, of a packet's rotation."""
    p, y, r = rotation.pitch, rotation.yaw, rotation.roll
    nose = [cos(p) * cos(y), cos(p) * sin(y), sin(p)]
    roof = [-cos(r) * cos(y) * sin(p) - sin(r) * sin(y), -cos(r) * sin(y) * sin(p) + sin(r) * cos(y), cos(p) * cos(r)]
    return np.array(nose, np.float32), np.array(roof, np.float32)


class Agent(Bot):
    """The bundle beside this file, as a bot of RLBot."""

    def initialize(self) -> None:
        """RLBot has said which car this is."""
        self.player = BundlePlayer(Path(__file__).parent, self.field_info, index=self.index, team=self.team)

    def get_output(self, packet: flat.GamePacket) -> flat.ControllerState:
        """The controls for the next tick."""
        throttle, steer, pitch, yaw, roll, jump, boost, handbrake = self.player.play(packet).tolist()
        buttons = bool(jump), bool(boost), bool(handbrake)
        return flat.ControllerState(throttle, steer, pitch, yaw, roll, *buttons)


if __name__ == "__main__":
    Agent("sparring/rocket").run(wants_match_communications=False, wants_ball_predictions=False)
