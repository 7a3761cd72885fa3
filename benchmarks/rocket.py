"""Rocket League: agent-steps a second of the arena against RLGym and bare physics, and of PPO end to end.

    python benchmarks/rocket.py [--quick] [--only arena|ppo]

An agent-step is one car's decision: 8 ticks of physics, observation, reward, end of match. Arena figures are of one
core and by CPU second, so that a busy machine does not decide; sides take turns and the best of each counts.

PPO is timed by the clock on two cores, collecting and learning together, in 1v1 with RLGym's observation, its 90
actions and the same ends of matches, actor and critic of 256x3 each, in single precision: 20,000 rows an update, with
one pass over them (rlgym-learn's default) and with three. Passes are equal on both sides; a pass is one gradient step
for rlgym-learn and three for ours. With an LSTM ours is still compared with rlgym-learn without: it has none.

RLGym needs numpy < 2, so it gets its own venv under the cache folder, made on the first run.
"""

import argparse
import os
import pty
import signal
import subprocess
import tempfile
from collections import deque
from functools import partial
from time import perf_counter, process_time

import measure

MODES = ("1v1", "2v2", "3v3")
MATCHES = 48
STEPS = 150
"""Of a match in which nobody touches the ball (10 s), as in most at random. Physics costs half as much again at a
match's end as at its start, when cars lie on walls and roofs, so figures are of whole matches."""
PEER = ("rlgym-rocket-league[sim]==2.0.1", "rocketsim==2.2.1", "numpy<2", "pydantic>=2.13", "wandb")
LEARN = ("rlgym-learn==2.0.0", "rlgym-learn-algos==0.4.2")
LEARN_NAME = "rlgym-learn 2.0.0"
ROWS = 20_000
PASSES = (1, 3)
PATIENCE = 300.0
"""Seconds for a run of rlgym-learn: several times what its version 1.0.5 took for 100,000 agent-steps."""


def main() -> None:
    parser = measure.parser(__doc__, quick="under a minute, without PPO")
    parser.add_argument("--only", choices=["arena", "ppo"], default=None)
    parser.add_argument("--peer", nargs=2, help=argparse.SUPPRESS)
    options = measure.parse(parser)
    if options.peer and options.peer[0] == "ppo":
        rlgym_learn(*(int(part) for part in options.peer[1].split(",")))
        return
    if options.peer:
        print(rlgym_speed(options.peer[0], float(options.peer[1])))
        return
    set_up_rocket()
    python = measure.peer_python("rlgym-2.0.1-learn-2.0.0", PEER, without_dependencies=LEARN)
    steps, seconds, rounds = (STEPS, 0.7, 2) if options.quick else (2 * STEPS, 2.0, 5)
    for mode in MODES if options.only != "ppo" else ():
        sides = {
            "bare": partial(physics_player(mode), steps),
            "ours": partial(arena_player(mode), steps),
            "peer": partial(run_peer, python, mode, seconds),
        }
        bare, ours, peer = (max(speeds) for speeds in measure.in_turns(sides, rounds).values())
        for kind, other, reference in (("peer", "rlgym 2.0.1", peer), ("limit", "bare RocketSim", bare)):
            beside = {kind: other, "reference": reference, "ratio": ours / reference}
            measure.figure(f"arena {mode}", ours, "agent-steps/CPU-s", **beside)
    for passes in PASSES if options.only == "ppo" or not (options.quick or options.only) else ():
        compare_ppo(python, passes)


def set_up_rocket() -> None:
    from sparring.games.rocket.setup import setup_rocket

    setup_rocket(say=measure.say)


def compare_ppo(python: str, passes: int) -> None:
    """PPO end to end: the sides take turns, ours with and without a thread that steps; the best of each counts."""
    found: dict[str, list[float]] = {"peer": [], "none": [], "lstm": []}
    for stepping in (0, 1):
        found["peer"].append(rlgym_learn_speed(python, passes))
        for memory in ("none", "lstm"):
            found[memory].append(ppo_speed(memory, passes, stepping=stepping))
    peer, plain, recurrent = (max(speeds) for speeds in found.values())
    for speed, network in ((plain, "256x3"), (recurrent, "256x3 LSTM")):
        beside = {"peer": LEARN_NAME, "reference": peer, "ratio": speed / peer} if peer else {}
        measure.figure(f"PPO 1v1 {network}, passes: {passes}", speed, "agent-steps/s", **beside)


def arena_player(mode: str):
    """Random play on our arena, as a learner would see it: every row observed, rewarded and answered."""
    import numpy as np

    from sparring.games.rocket.arena import RocketArena
    from sparring.games.rocket.settings import TEAM_SIZE, RocketSettings

    arena = RocketArena(RocketSettings(modes=[mode], room=TEAM_SIZE[mode]), matches=MATCHES, seed=0)
    rng = np.random.default_rng(0)

    def play(steps: int) -> float:
        rows, start = 0, process_time()
        for _ in range(steps):
            decisions, _ = arena.wait()
            arena.act(decisions, rng.integers(90, size=len(decisions), dtype=np.int32))
            rows += len(decisions)
        return rows / (process_time() - start)

    play(STEPS)
    return play


def physics_player(mode: str):
    """The limit: the same fields, stepped with random controls, kickoffs as often, and nothing read."""
    import numpy as np

    from sparring.games.rocket.actions import action_table
    from sparring.games.rocket.settings import TEAM_SIZE
    from sparring.games.rocket.simulator import Simulator, advance, prebuilt_controls

    simulators = [Simulator(TEAM_SIZE[mode]) for _ in range(MATCHES)]
    controls = prebuilt_controls(action_table("full"))
    cars = sum(len(simulator.cars) for simulator in simulators)
    rng = np.random.default_rng(0)

    def play(steps: int) -> float:
        start = process_time()
        for step in range(steps):
            if step % STEPS == 0:
                for number, simulator in enumerate(simulators):
                    simulator.kickoff(number)
            deque(advance(simulators, controls, rng.integers(90, size=cars).tolist(), ticks=8, delay=1), maxlen=0)
        return steps * cars / (process_time() - start)

    play(10)
    return play


def ppo_speed(memory: str, passes: int, *, stepping: int, updates: int = 6) -> float:
    """Agent-steps a second: the next rows are collected while the last are learned from.

    The arena steps in `stepping` threads of its own. The first update is not timed: it waits for the first rows.
    """
    from sparring.training.config import validate_config
    from sparring.training.self_play import SelfPlay

    learner = {
        "kind": "ppo",
        "batch_size": ROWS,
        "epochs": passes,
        "minibatch_size": 8192,
        "truncate_after": 64,
        "target_kl": 10.0,
    }
    config, game = validate_config(
        {
            "game": "rocket",
            "settings": {"observation": "rlgym", "threads": stepping},
            "network": {"width": 256, "layers": 3, "memory": memory},
            "learner": learner,
            "matches": 128,
            "overlap": True,
        },
        where="benchmark",
    )
    torch_threads(1)
    training = SelfPlay(config, game, {}, say=measure.say)
    training.advance()
    rows, start = training.decisions, perf_counter()
    for _ in range(updates):
        training.advance()
    speed = (training.decisions - rows) / (perf_counter() - start)
    training.close()
    measure.say(f"ours, {memory}, passes {passes}, stepping threads {stepping}: {speed:,.0f}")
    return speed


def torch_threads(count: int) -> None:
    import torch

    torch.set_num_threads(count)


def rlgym_learn_speed(python: str, passes: int) -> float:
    """Agent-steps a second, what starting up costs subtracted; 0 if it takes more than `PATIENCE`."""
    spent = []
    for steps in (ROWS, 5 * ROWS):
        with tempfile.TemporaryDirectory() as folder:
            command = [python, os.path.abspath(__file__), "--peer", "ppo", f"{steps},{passes}"]
            _, terminal = pty.openpty()  # it reads keys, and stops without a terminal
            start = perf_counter()
            environment = {**os.environ, "OMP_NUM_THREADS": str(os.cpu_count())}
            running = subprocess.Popen(
                command, cwd=folder, stdout=subprocess.DEVNULL, stdin=terminal, env=environment, start_new_session=True
            )
            try:
                code = running.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)  # its environments would go on
                running.wait()
                measure.say(f"{LEARN_NAME} is left out: {steps:,} agent-steps were not done in {PATIENCE:.0f} s")
                return 0.0
            finally:
                os.close(terminal)
            if code:
                raise SystemExit(f"{LEARN_NAME} ended with code {code}")
            spent.append(perf_counter() - start)
    speed = 4 * ROWS / (spent[1] - spent[0])
    measure.say(f"rlgym-learn, passes {passes}: {speed:,.0f}")
    return speed


def rlgym_learn(steps: int, passes: int) -> None:
    """PPO as rlgym-learn runs it: two processes of environments, torch on two threads while they wait."""
    import numpy as np
    import torch
    from rlgym_learn import (
        BaseConfigModel,
        LearningCoordinator,
        LearningCoordinatorConfigModel,
        ProcessConfigModel,
        SerdeTypesModel,
    )
    from rlgym_learn.pyany_serde import NumpySerdeConfig, PyAnySerdeType
    from rlgym_learn_algos.ppo import (
        BasicCritic,
        DiscreteFF,
        ExperienceBufferConfigModel,
        GAETrajectoryProcessor,
        GAETrajectoryProcessorConfigModel,
        NumpyExperienceBuffer,
        PPOAgentController,
        PPOAgentControllerConfigModel,
        PPOLearnerConfigModel,
        SeparateActorCritic,
    )

    torch.set_num_threads(2)
    space = PyAnySerdeType.TUPLE((PyAnySerdeType.STRING(), PyAnySerdeType.INT()))
    serde = SerdeTypesModel(
        agent_id_serde_type=PyAnySerdeType.STRING(),
        action_serde_type=PyAnySerdeType.NUMPY(np.int64, config=NumpySerdeConfig.STATIC(shape=(1,))),
        obs_serde_type=PyAnySerdeType.NUMPY(np.float64),
        reward_serde_type=PyAnySerdeType.FLOAT(),
        obs_space_serde_type=space,
        action_space_serde_type=space,
    )
    controller = PPOAgentControllerConfigModel(
        timesteps_per_iteration=ROWS,
        save_every_ts=10**9,
        learner_config=PPOLearnerConfigModel(n_epochs=passes, batch_size=ROWS, n_minibatches=6, device="cpu"),
        experience_buffer_config=ExperienceBufferConfigModel(
            max_size=ROWS, device="cpu", trajectory_processor_config=GAETrajectoryProcessorConfigModel()
        ),
    )
    config = LearningCoordinatorConfigModel(
        base_config=BaseConfigModel(serde_types=serde, timestep_limit=steps),
        process_config=ProcessConfigModel(n_proc=2),
        agent_controller_config=controller,
    )
    sizes = (256, 256, 256)

    def networks(seen, acts, dtype, device, name):
        return SeparateActorCritic(
            DiscreteFF(seen[1], acts[1], sizes, dtype, device), BasicCritic(seen[1], sizes, dtype, device), name
        )

    def optimisers(both, options, name):
        return [
            torch.optim.Adam(part.parameters(), **options[of])
            for of, part in (("actor", both.actor), ("critic", both.critic))
        ]

    agent = PPOAgentController(networks, optimisers, NumpyExperienceBuffer(GAETrajectoryProcessor()))
    LearningCoordinator(rlgym_environment, agent, config=config).start()
    if agent.cur_iteration != steps // ROWS:  # it prints what goes wrong, and ends as if nothing had
        raise SystemExit(f"rlgym-learn: {agent.cur_iteration} updates instead of {steps // ROWS}")


def rlgym_environment():
    return make_rlgym("1v1")


def run_peer(python: str, mode: str, seconds: float) -> float:
    command = [python, __file__, "--peer", mode, str(seconds)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def make_rlgym(mode: str):
    """RLGym's environment with the parts its documentation starts from."""
    from rlgym.api import RLGym
    from rlgym.rocket_league.action_parsers import LookupTableAction, RepeatAction
    from rlgym.rocket_league.done_conditions import (
        AnyCondition,
        GoalCondition,
        NoTouchTimeoutCondition,
        TimeoutCondition,
    )
    from rlgym.rocket_league.obs_builders import DefaultObs
    from rlgym.rocket_league.reward_functions import CombinedReward, GoalReward, TouchReward
    from rlgym.rocket_league.sim import RocketSimEngine
    from rlgym.rocket_league.state_mutators import FixedTeamSizeMutator, KickoffMutator, MutatorSequence

    team = int(mode[0])
    return RLGym(
        state_mutator=MutatorSequence(FixedTeamSizeMutator(team, team), KickoffMutator()),
        obs_builder=DefaultObs(zero_padding=team),
        action_parser=RepeatAction(LookupTableAction(), repeats=8),
        reward_fn=CombinedReward((GoalReward(), 10.0), (TouchReward(), 0.5)),
        termination_cond=GoalCondition(),
        truncation_cond=AnyCondition(NoTouchTimeoutCondition(10.0), TimeoutCondition(45.0)),
        transition_engine=RocketSimEngine(),
    )


def rlgym_speed(mode: str, seconds: float) -> float:
    """Random play on RLGym's environment."""
    import numpy as np

    env = make_rlgym(mode)
    agents = list(env.reset())
    rng = np.random.default_rng(0)
    for timed in (0.3, seconds):
        steps, start = 0, process_time()
        while process_time() - start < timed:
            actions = {agent: rng.integers(90, size=1) for agent in agents}
            _, _, terminated, truncated = env.step(actions)
            steps += len(agents)
            if any(terminated.values()) or any(truncated.values()):
                agents = list(env.reset())
        speed = steps / (process_time() - start)
    return speed


if __name__ == "__main__":
    main()
