"""Makes golden_rlgym.npz: what RLGym's own environment shows for 1,000 states. Run once, by hand.

    python -m venv peer && peer/bin/pip install "rlgym-rocket-league[sim]==2.0.1" "rocketsim==2.2.1" "numpy<2"
    peer/bin/python tests/games/rocket/make_golden.py

Fifty short matches in all modes start from drawn situations (thrown cars, taken pads) and are played with random
actions through RLGym's lookup table, action repeat and one tick of delay. Kept are the situations, the actions, and
after each step the DefaultObs of one seat. The test plays the same in Sparring's arena and compares.
"""

from pathlib import Path

import numpy as np
import RocketSim as rocketsim
from rlgym.rocket_league.action_parsers import LookupTableAction, RepeatAction
from rlgym.rocket_league.api import Car, PhysicsObject
from rlgym.rocket_league.obs_builders import DefaultObs
from rlgym.rocket_league.sim import RocketSimEngine

STEPS, MATCHES, SKIP, GRID = 20, 51, 8, 2**-20


def main() -> None:
    rng = np.random.default_rng(7)
    engine = RocketSimEngine()
    builder = DefaultObs(zero_padding=3)
    parser = RepeatAction(LookupTableAction(), SKIP)
    kept: dict[str, list] = {name: [] for name in ("ball", "position", "angles", "velocity", "spin", "boost", "pads")}
    actions, seats, seen = [], [], []
    for number in range(MATCHES):
        team = number % 3 + 1
        start = draw(rng, team)
        put(engine, start, team)
        for name, array in start.items():
            rows = array if array.shape == kept_shape(name) else np.resize(array, (6, *array.shape[1:]))
            kept[name].append(rows)
        for step in range(STEPS):
            chosen = rng.integers(90, size=2 * team)
            parsed = parser.parse_actions(
                {agent: np.array([chosen[agent]]) for agent in range(2 * team)}, engine.state, {}
            )
            state = engine.step(parsed, {})
            seat = (number + step) % (2 * team)
            observation = builder.build_obs([seat], state, {})[seat]
            actions.append(np.resize(chosen, 6))
            seats.append(seat)
            seen.append(np.round(np.asarray(observation, np.float64) / GRID))
    np.savez_compressed(
        Path(__file__).with_name("golden_rlgym.npz"),
        **{name: np.array(rows, np.float32) for name, rows in kept.items()},
        actions=np.array(actions, np.uint8).reshape(MATCHES, STEPS, 6),
        seat=np.array(seats, np.uint8).reshape(MATCHES, STEPS),
        observation=np.array(seen, np.int32).reshape(MATCHES, STEPS, -1),
        grid=np.array(GRID),
    )


def kept_shape(name: str) -> tuple[int, ...]:
    return {"ball": (9,), "pads": (34,)}.get(name, (-1,))


def draw(rng: np.random.Generator, team: int) -> dict[str, np.ndarray]:
    """Ball and cars anywhere, half of the cars in the air, a third of the pads taken."""
    n = 2 * team
    x = rng.permutation(np.linspace(-3300, 3300, n))
    flying = rng.random(n) < 0.5
    position = np.stack([x, rng.uniform(-4300, 4300, n), np.where(flying, rng.uniform(200, 1700, n), 17.0)], axis=1)
    angles = np.stack([rng.uniform(-3, 3, n), rng.uniform(-1, 1, n) * flying, rng.uniform(-3, 3, n) * flying], axis=1)
    ball = [*rng.uniform(-3000, 3000, 2), rng.uniform(100, 1700), *rng.uniform(-1500, 1500, 3), *rng.uniform(-4, 4, 3)]
    return {
        "ball": np.array(ball, np.float32),
        "position": position.astype(np.float32),
        "angles": angles.astype(np.float32),
        "velocity": (rng.uniform(-1200, 1200, (n, 3)) * flying[:, None]).astype(np.float32),
        "spin": (rng.uniform(-3, 3, (n, 3)) * flying[:, None]).astype(np.float32),
        "boost": rng.uniform(0, 100, n).astype(np.float32),
        "pads": (rng.uniform(0, 4, 34) * (rng.random(34) < 0.33)).astype(np.float32),
    }


def put(engine: RocketSimEngine, start: dict[str, np.ndarray], team: int) -> None:
    state = engine.create_base_state()
    state.config.boost_consumption = 100 / 3 / 33.3  # RLGym burns 33.3 a second, the game and RocketSim 33.33
    state.ball.position, state.ball.linear_velocity, state.ball.angular_velocity = np.split(start["ball"], 3)
    state.boost_pad_timers = start["pads"]
    for row in range(2 * team):
        car = Car()
        for name in ("supersonic_time", "demo_respawn_timer", "boost_active_time", "handbrake", "jump_time"):
            setattr(car, name, 0.0)
        for name in ("air_time_since_jump", "flip_time", "autoflip_timer", "autoflip_direction"):
            setattr(car, name, 0.0)
        for name in ("is_jumping", "has_jumped", "is_holding_jump", "has_flipped", "has_double_jumped"):
            setattr(car, name, False)
        car.is_autoflipping, car.bump_victim_id, car.ball_touches = False, None, 0
        car.team_num, car.hitbox_type = int(row >= team), 0
        car.flip_torque = np.zeros(3, np.float32)
        car.on_ground = bool(start["position"][row, 2] <= 18)
        car.boost_amount = float(start["boost"][row])
        car.physics = PhysicsObject()
        car.physics.position = start["position"][row]
        car.physics.linear_velocity = start["velocity"][row]
        car.physics.angular_velocity = start["spin"][row]
        matrix = rocketsim.Angle(*start["angles"][row].tolist()).as_rot_mat().as_numpy()
        car.physics.rotation_mtx = matrix.reshape(3, 3).transpose()
        state.cars[row] = car
    engine.set_state(state, {})


if __name__ == "__main__":
    main()
