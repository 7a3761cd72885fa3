"""The exported agent: what it makes of RLBot's packets is what the arena shows, and it plays what the policy plays.

Packets are made from RocketSim, tick by tick, beside an arena in which the same actions are played.
"""

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass, field
from math import atan2, hypot

import numpy as np
import pytest
import torch
from rlbot import flat

from sparring.core import RandomPlayer
from sparring.games.rocket import field as pitch
from sparring.games.rocket.actions import action_table
from sparring.games.rocket.arena import RocketArena, rocket_spec
from sparring.games.rocket.export import export_bundle
from sparring.games.rocket.net import rocket_policy
from sparring.games.rocket.network import RocketNetwork
from sparring.games.rocket.observation import column_divisor, input_columns
from sparring.games.rocket.players import RulePlayer
from sparring.games.rocket.settings import RocketSettings
from sparring.games.rocket.setup import start_rocketsim
from sparring.games.rocket.simulator import prebuilt_controls

PAD_ORDER = sorted(range(pitch.PADS), key=lambda pad: (pitch.PAD_POSITIONS[pad, 1], pitch.PAD_POSITIONS[pad, 0]))
"""RLBot orders boost pads by y and then x."""


def field_info():
    pads = [
        flat.BoostPad(flat.Vector3(*pitch.PAD_POSITIONS[pad].tolist()), bool(pitch.PAD_IS_BIG[pad]))
        for pad in PAD_ORDER
    ]
    return flat.FieldInfo(boost_pads=pads)


@dataclass
class Recorder:
    """Turns a RocketSim arena into packets, tick by tick, as RLBot would send them."""

    bare: object
    cars: list
    frame: int = 1000
    touched: dict = field(default_factory=dict)

    def packet(self, goals=(0, 0), length=300.0):
        seconds = self.frame / 120
        for number, car in enumerate(self.cars):
            hit = car.get_state().ball_hit_info
            if hit.is_valid and hit.tick_count_when_hit == self.bare.tick_count - 1:
                self.touched[number] = seconds
        players = [self.player(number, car) for number, car in enumerate(self.cars)]
        ball = self.bare.ball.get_state()
        pads = [pad.get_state() for pad in self.bare.get_boost_pads()]
        whole = np.where(pitch.PAD_IS_BIG, pitch.BIG_PAD_SECONDS, pitch.SMALL_PAD_SECONDS).tolist()
        return flat.GamePacket(
            players=players,
            boost_pads=[
                flat.BoostPadState(pads[pad].is_active, 0.0 if pads[pad].is_active else whole[pad] - pads[pad].cooldown)
                for pad in PAD_ORDER
            ],
            balls=[flat.BallInfo(physics(ball.pos, ball.vel, ball.ang_vel), flat.SphereShape(182.5))],
            match_info=flat.MatchInfo(
                seconds_elapsed=seconds,
                game_time_remaining=length - (self.frame - 1000) / 120,
                match_phase=flat.MatchPhase.Active if self.touched else flat.MatchPhase.Kickoff,
                frame_num=self.frame,
            ),
            teams=[flat.TeamInfo(0, goals[0]), flat.TeamInfo(1, goals[1])],
        )

    def player(self, number, car):
        state = car.get_state()
        last = state.last_controls
        jumping, flipping = state.is_jumping, state.has_flipped and state.flip_time < pitch.FLIP_SECONDS
        in_air = flat.AirState.Dodging if flipping else flat.AirState.Jumping if jumping else flat.AirState.InAir
        window = pitch.DODGE_WINDOW - state.air_time_since_jump
        can_time = state.has_jumped and not state.is_on_ground and window > 0
        return flat.PlayerInfo(
            physics=physics(state.pos, state.vel, state.ang_vel, state.rot_mat),
            latest_touch=flat.Touch(self.touched[number]) if number in self.touched else None,
            air_state=flat.AirState.OnGround if state.is_on_ground else in_air,
            dodge_timeout=window if can_time else -1.0,
            demolished_timeout=state.demo_respawn_timer if state.is_demoed else -1.0,
            is_supersonic=state.is_supersonic,
            team=0 if number < len(self.cars) // 2 else 1,
            boost=state.boost,
            last_input=flat.ControllerState(
                last.throttle, last.steer, last.pitch, last.yaw, last.roll, last.jump, last.boost, last.handbrake
            ),
            has_jumped=state.has_jumped,
            has_double_jumped=state.has_double_jumped,
            has_dodged=state.has_flipped,
            dodge_elapsed=state.flip_time,
        )


def physics(position, velocity, spin, rotation=None):
    angles = flat.Rotator()
    if rotation is not None:
        nose, right, roof = rotation.forward, rotation.right, rotation.up
        angles = flat.Rotator(atan2(nose.z, hypot(nose.x, nose.y)), atan2(nose.y, nose.x), atan2(-right.z, roof.z))
    return flat.Physics(
        *(
            flat.Vector3(*position.as_tuple()),
            angles,
            flat.Vector3(*velocity.as_tuple()),
            flat.Vector3(*spin.as_tuple()),
        )
    )


def play(settings, choose, decisions, seed=5):
    """Packets of every tick, the arena's rows and the actions of every decision, `[decisions][seats]`.

    `choose(decisions)` gives the actions. Play stops early when somebody scores.
    """
    arena = RocketArena(settings, matches=1, seed=seed)
    rocketsim = start_rocketsim()
    bare = rocketsim.Arena(rocketsim.GameMode.SOCCAR)
    cars = [bare.add_car(team) for team in [0] * settings.room + [1] * settings.room]
    for car, placed in zip(cars, arena._groups[0]._simulators[0].cars, strict=True):
        car.set_state(placed.get_state())
    recorder, controls = Recorder(bare, cars), prebuilt_controls(action_table(settings.actions))
    packets, rows, played = [], [], []
    for _ in range(decisions):
        shown, results = arena.wait()
        if len(results) or (rows and arena.look(0).goals != (0, 0)):
            break
        parts = [shown.observation[name].reshape(len(shown), -1) for name in sorted(shown.observation)]
        rows.append(np.concatenate(parts, axis=1))
        actions = choose(shown)
        played.append(actions.tolist())
        for tick in range(settings.tick_skip):
            packets.append(recorder.packet(length=settings.seconds))
            if tick == settings.action_delay:
                for car, action in zip(cars, actions.tolist(), strict=True):
                    car.set_controls(controls[action])
            bare.step(1)
            recorder.frame += 1
        arena.act(shown, actions)
    return packets, np.array(rows), np.array(played)


def exported(tmp_path, settings, memory="none"):
    """A bundle of a fresh policy with decided opinions, and the policy."""
    torch.manual_seed(3)
    spec = rocket_spec(settings)
    policy = rocket_policy(spec, RocketNetwork(width=32, layers=2, memory=memory))
    policy.absorb({name: torch.randn(64, *part.shape) for name, part in spec.observation.items()})
    for parameter in policy.head.parameters():
        torch.nn.init.normal_(parameter, std=float(parameter.dim() > 1))
    export_bundle(policy, spec, tmp_path / "bundle")
    return tmp_path / "bundle", policy.eval()


def load_agent(bundle):
    found = importlib.util.spec_from_file_location("bundle_bot", bundle / "bot.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["default", "positions", "rlgym"])
def test_the_agent_sees_in_packets_what_the_arena_shows(tmp_path, kind):
    settings = RocketSettings(
        observation=kind, modes=["2v2"], room=2, end="clock", seconds=300, action_delay=7 if kind == "default" else 1
    )
    rule, random = RulePlayer(settings, 0), RandomPlayer(0)

    def choose(decisions):
        return np.where(decisions.seat % 2 == 0, rule.act(decisions).action, random.act(decisions).action)

    packets, rows, played = play(settings, choose, 150)
    bundle, _ = exported(tmp_path, settings)
    names = [column["name"] for column in json.loads((bundle / "bundle.json").read_text())["inputs"]]
    assert names == input_columns(kind, 2)
    assert len(rows) > 60
    agent = load_agent(bundle)
    for seat in range(4):
        player = agent.BundlePlayer(bundle, field_info(), index=seat, team=seat // 2)
        seen = []
        for tick, packet in enumerate(packets):
            player.follow(packet)
            if tick % 8 == 0:
                seen.append(player.observe(packet))
                player.decided = packet.match_info.frame_num
                player.action = player.table[played[tick // 8, seat]]
        wrong = ~np.isclose(np.array(seen), rows[:, seat], rtol=1e-4, atol=2e-5)
        assert not wrong.any(), {names[c]: int(wrong[:, c].sum()) for c in np.flatnonzero(wrong.any(axis=0))}


def test_columns_times_their_divisor_are_what_their_names_say():
    settings = RocketSettings(modes=["2v2"], room=2, starts={"random": 1.0})
    arena = RocketArena(settings, matches=1, seed=1)
    shown, _ = arena.wait()
    row = np.concatenate([shown.observation[name].reshape(4, -1) for name in ("cars", "world")], axis=1)[1]
    seen = {name: row[n] * column_divisor(name) for n, name in enumerate(input_columns("default", 2))}
    now = arena.look(0)
    own, mate, first, second = now.cars[1], now.cars[0], now.cars[2], now.cars[3]
    for car, name in ((own, "own"), (mate, "mate_1"), (first, "opponent_1"), (second, "opponent_2")):
        for columns, part in (
            (pitch.POSITION, "position"),
            (pitch.FORWARD, "nose"),
            (pitch.VELOCITY, "velocity"),
            (pitch.SPIN, "spin"),
        ):
            np.testing.assert_allclose([seen[f"{name}.{part}_{axis}"] for axis in "xyz"], car[columns], rtol=1e-4)
        assert seen[f"{name}.boost"] == pytest.approx(car[pitch.BOOST], rel=1e-4)
        to_car, to_ball = car[:3] - own[:3], now.ball[:3] - car[:3]
        assert seen[f"{name}.from_own_nose"] == pytest.approx(to_car @ own[pitch.FORWARD], rel=1e-3, abs=0.1)
        assert seen[f"{name}.ball_roof"] == pytest.approx(to_ball @ car[pitch.UP], rel=1e-3, abs=0.1)
    np.testing.assert_allclose([seen[f"pad.{pad}_seconds"] for pad in range(34)], now.pads, rtol=1e-4)
    np.testing.assert_allclose([seen[f"ball.velocity_{axis}"] for axis in "xyz"], now.ball[3:6], rtol=1e-4)
    assert seen["aim.ball_distance"] == pytest.approx(np.linalg.norm(now.ball[:3] - own[:3]), rel=1e-4)
    assert np.linalg.norm([seen[f"aim.to_ball_{axis}"] for axis in ("nose", "right", "roof")]) == pytest.approx(1)


_REPLAY = """
import json, sys
from pathlib import Path
bundle, recorded = map(Path, sys.argv[1:3])
sys.path.insert(0, str(bundle))
import bot
from rlbot import flat
data, packets = recorded.read_bytes(), []
while data:
    size = int.from_bytes(data[:4], "little")
    packets.append(data[4 : 4 + size])
    data = data[4 + size :]
agent = bot.Agent("sparring/test")
agent.index, agent.team = int(sys.argv[3]), int(sys.argv[4])
agent.field_info = flat.FieldInfo.unpack(packets[0])
agent.initialize()
names = json.loads((bundle / "bundle.json").read_text())["actions"]["controls"]
outputs = [agent.get_output(flat.GamePacket.unpack(packet)) for packet in packets[1:]]
assert "sparring" not in sys.modules
print(json.dumps([[float(getattr(output, name)) for name in names] for output in outputs]))
"""


@pytest.mark.parametrize(("seat", "memory"), [(0, "none"), (1, "lstm")])
def test_the_agent_plays_recorded_packets_as_the_policy_plays_the_arena(tmp_path, seat, memory):
    settings = RocketSettings(actions="small", end="clock", seconds=300, action_delay=3)
    bundle, policy = exported(tmp_path, settings, memory)
    rule, held = RulePlayer(settings, 0), policy.initial_memory(1)

    def choose(decisions):
        nonlocal held
        actions = rule.act(decisions).action.copy()
        seen = {name: torch.tensor(part[seat : seat + 1]) for name, part in decisions.observation.items()}
        with torch.no_grad():
            output = policy.step(seen, torch.ones(1, 23, dtype=torch.bool), held)
        held = output.memory
        actions[seat] = int(output.logits.argmax())
        return actions

    packets, _, played = play(settings, choose, 60)
    assert len(np.unique(played[:, seat])) > 2
    recorded = [field_info().pack(), *(packet.pack() for packet in packets)]
    (tmp_path / "packets").write_bytes(b"".join(len(part).to_bytes(4, "little") + part for part in recorded))
    done = subprocess.run(
        [sys.executable, "-c", _REPLAY, str(bundle), str(tmp_path / "packets"), str(seat), str(seat)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    controls = np.array(json.loads(done.stdout), np.float32)
    chosen = action_table("small")[played[:, seat]]
    expected = np.repeat(chosen, 8, axis=0)
    expected = np.concatenate([np.zeros((3, 8), np.float32), expected])[: len(controls)]  # three ticks late
    np.testing.assert_array_equal(controls, expected)


def test_the_agent_keeps_still_while_nobody_plays_and_starts_anew_at_kickoff(tmp_path):
    settings = RocketSettings(actions="small", end="clock", seconds=300)
    bundle, _ = exported(tmp_path, settings)
    packets, _, _ = play(settings, lambda decisions: RulePlayer(settings, 0).act(decisions).action, 45)
    agent = load_agent(bundle)
    player = agent.BundlePlayer(bundle, field_info(), index=0, team=0)
    for packet in packets:
        player.play(packet)
    assert not player.kickoff
    last = packets[-1]

    def later(phase, frames):
        now = last.match_info
        clock = flat.MatchInfo(
            seconds_elapsed=now.seconds_elapsed + frames / 120,
            game_time_remaining=now.game_time_remaining,
            match_phase=phase,
            frame_num=now.frame_num + frames,
        )
        return flat.GamePacket(last.players, last.boost_pads, last.balls, clock, last.teams)

    assert (player.play(later(flat.MatchPhase.Replay, 1)) == 0).all()
    player.play(later(flat.MatchPhase.Kickoff, 100))
    assert player.kickoff
    assert player.idle == 0
