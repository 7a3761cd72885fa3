"""It learns: to touch the ball from nothing, and what only a memory can know. Minutes of CPU, so mostly slow."""

import json
from pathlib import Path
from time import process_time

import numpy as np
import pytest
import torch

from sparring.core import Decisions, GameSpec, RandomPlayer, Results, RunError
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.net import rocket_policy
from sparring.games.rocket.network import RocketNetwork
from sparring.games.rocket.settings import RocketSettings
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.learn.ppo import Ppo, PpoSettings
from sparring.rollout import Collector, everyone
from sparring.training.config import validate_config
from sparring.training.loop import train
from sparring.training.opponents import find_opponents
from sparring.training.run import RunFolder
from sparring.training.self_play import SelfPlay

QUICK = {
    "game": "rocket",
    "settings": {
        "actions": "small",
        "starts": {"kickoff": 1, "random": 1},
        "seconds": 15,
        "idle_seconds": 0,
        "rewards": {
            "zero_sum": False,
            "components": {"touch": 1.0, "speed_to_ball": 1.0, "face_ball": 0.2, "goal": 1.0, "concede": 1.0},
        },
    },
    "network": {"width": 128, "layers": 2},
    "learner": {
        "kind": "ppo",
        "batch_size": 12288,
        "epochs": 4,
        "minibatch_size": 1536,
        "learning_rate": 1e-3,
        "lr_schedule": "constant",
        "entropy_coef": 0.005,
        "gamma": 0.98,
        "gae_lambda": 0.9,
        "truncate_after": 64,
    },
    "matches": 96,
    "decisions": 700_000,
}


def test_a_nan_in_an_observation_stops_training_and_is_named():
    data = {**QUICK, "network": {"width": 16, "layers": 1}, "matches": 4}
    data["learner"] = {"kind": "ppo", "batch_size": 256, "minibatch_size": 32, "truncate_after": 16}
    config, game = validate_config(data, where="test")
    training = SelfPlay(config, game, find_opponents(config, game, Path("run")), say=lambda text: None)
    training.advance()
    training.playing.table.arena._groups[0]._observation["world"][3, 7] = np.nan
    with pytest.raises(RunError, match="observation.world is not finite"):
        training.advance()
    training.close()


STAGED = {
    **QUICK,
    "settings": {
        "room": 2,
        "actions": "small",
        "seconds": 2,
        "curriculum": [
            {
                "name": "drive",
                "modes": ["1v1"],
                "advance": {"measure": "touches_per_minute", "at_least": 0.0, "times": 2},
            },
            {"name": "score", "starts": {"attack": 1}, "advance": {"measure": "goals_per_minute", "at_least": 100.0}},
            {"name": "team", "modes": ["2v2"]},
        ],
    },
    "network": {"kind": "attention", "width": 16, "layers": 1, "memory": "lstm"},
    "learner": {"kind": "ppo", "batch_size": 256, "minibatch_size": 64, "truncate_after": 16, "segment_length": 8},
    "matches": 4,
    "decisions": 1024,
    "evaluation": {"matches": 2},
    "overlap": True,
}


def test_a_run_goes_to_the_next_stage_by_its_measure_and_a_resumed_one_stands_where_it_stood(tmp_path):
    said: list[str] = []
    config, game = validate_config(STAGED, where="test")
    train(config, game, RunFolder(tmp_path / "run"), say=said.append)
    assert "stage 2 of 3: score" in said
    assert not any("stage 3" in line for line in said)
    said.clear()
    longer, _ = validate_config({**STAGED, "decisions": 2048}, where="test")
    outcome = train(longer, game, RunFolder(tmp_path / "run"), say=said.append)
    assert outcome.decisions >= 2048
    assert any(line.startswith("resuming") for line in said)
    assert not any(line.startswith("stage") for line in said)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    stages = [line["play/stage"] for line in lines if "play/stage" in line]
    assert stages[:3] == [0, 0, 1]
    assert stages[-1] == 1
    assert {"play/goals_per_minute", "play/decided_share", "play/touches_per_minute"} <= set(lines[-2])


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_small_run_touches_the_ball_five_times_as_often_as_random_within_five_minutes_of_two_cores():
    config, game = validate_config(QUICK, where="test")
    random_rate = touch_rate(RocketSettings(**settings_of(config)), RandomPlayer(0), steps=1500)
    training = SelfPlay(config, game, find_opponents(config, game, Path("run")), say=lambda text: None)
    start = process_time()
    while training.decisions < config.decisions:
        training.advance()
    spent = process_time() - start
    player = NetworkPlayer(training.engine, "main")
    trained_rate = touch_rate(RocketSettings(**settings_of(config)), player, steps=300)
    training.close()
    assert spent < 2 * 300
    assert trained_rate > 5 * random_rate
    assert trained_rate > 2.0


def settings_of(config):
    from sparring.core.settings import convert

    settings = convert(config.settings, RocketSettings, where="test")
    return {name: getattr(settings, name) for name in settings.__struct_fields__}


def touch_rate(settings, player, *, steps):
    """Touches a car makes in a minute."""
    arena = RocketArena(settings, matches=96, seed=77)
    for _ in range(steps):
        decisions, _ = arena.wait()
        arena.act(decisions, player.act(decisions).action)
    return arena.play_report()["touches_per_minute"]


class BallDirection:
    """A probe over the real game: cars coast, and each seat says whether the ball moves left or right.

    The observation hides velocities, so one look is not enough; two are. Rows of a ball that hardly moves sideways, and
    the first of a match, count for nothing.
    """

    def __init__(self, matches, seed):
        settings = RocketSettings(
            observation="positions", starts={"random": 1.0}, seconds=4.0, tick_skip=40, actions="small"
        )
        self._arena = RocketArena(settings, matches=matches, seed=seed)
        spec = self._arena.spec
        self.spec = GameSpec(game="rocket", settings=spec.settings, seats=2, actions=2, observation=spec.observation)
        self.matches = matches
        self._legal = np.ones((2 * matches, 2), np.bool_)
        self._right = self._clear = np.zeros(2 * matches, np.bool_)
        self._reward = np.zeros(2 * matches, np.float32)
        self.correct = self.asked = 0

    def wait(self):
        decisions, results = self._arena.wait()
        self._rows = decisions
        paid = self._reward.reshape(-1, 2)[results.match]
        results = Results(match=results.match, outcome=results.outcome, reward=paid, failed=results.failed)
        speed = np.array([self._arena.look(match).ball[3] for match in range(self.matches)])
        self._right = np.stack([speed > 0, speed < 0], axis=1).reshape(-1)
        self._clear = np.repeat(np.abs(speed) > 300, 2) & ~decisions.first
        shown = Decisions(
            match=decisions.match,
            seat=decisions.seat,
            observation=decisions.observation,
            legal=self._legal,
            reward=np.where(decisions.first, 0, self._reward).astype(np.float32),
            first=decisions.first,
        )
        return shown, results

    def act(self, decisions, actions):
        right = actions == self._right
        self.correct += int((right & self._clear).sum())
        self.asked += int(self._clear.sum())
        self._reward = (np.where(right, 1.0, -1.0) * self._clear).astype(np.float32)
        coast = np.full(len(actions), 11, np.int32)
        self._arena.act(self._rows, coast)

    def close(self):
        self._arena.close()


def probe_accuracy(memory, updates=60):
    """Share of right answers in the last update, when what was learned before is played."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # sums in one order: the same run on every machine of a kind
    arena = BallDirection(48, seed=3)
    network = RocketNetwork(width=64, layers=1, memory=memory)
    device = Device.pick("cpu")
    learner = Ppo(
        rocket_policy(arena.spec, network),
        PpoSettings(
            batch_size=2304,
            epochs=6,
            minibatch_size=384,
            learning_rate=3e-3,
            gamma=0.0,
            segment_length=12,
            target_kl=10.0,
        ),
        device=device,
        seed=0,
    )
    engine = InferenceEngine(arena.spec, slots=96, device=device, seed=0)
    engine.add("main", rocket_policy(arena.spec, network))
    engine.swap("main", learner.policy.state_dict(), version=0)
    segment = 12 if memory == "lstm" else 0
    player = NetworkPlayer(engine, "main")
    collector = Collector(arena, {"main": player}, everyone(0, 2), record=["main"], segment=segment)
    for update in range(updates):
        arena.correct = arena.asked = 0
        episodes = collector.collect(2304)
        learner.update(episodes, progress=update / updates)
        engine.swap("main", learner.policy.state_dict(), version=update + 1)
    arena.close()
    return arena.correct / arena.asked


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_an_lstm_knows_the_velocity_that_the_observation_hides_and_a_feed_forward_net_does_not():
    without, with_memory = probe_accuracy("none"), probe_accuracy("lstm")
    assert with_memory > 0.85
    assert without < 0.65
