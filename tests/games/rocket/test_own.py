"""Rewards, starts and observations of the user's own: by name in settings, or handed over from Python."""

import importlib
import json
import re
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from sparring.cli import app
from sparring.core import InputError
from sparring.core.code import code_names, own
from sparring.core.settings import convert
from sparring.games.rocket import GAME, field, rewards
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.export import export_bundle
from sparring.games.rocket.network import RocketNetwork
from sparring.games.rocket.rewards import Transition, components
from sparring.games.rocket.settings import RocketSettings
from sparring.games.rocket.states import Situation
from sparring.training.config import load_config
from sparring.training.loop import train
from sparring.training.opponents import find_opponents
from sparring.training.run import RunFolder
from sparring.training.self_play import SelfPlay

DOCS = Path(__file__).parents[3] / "docs" / "rocket.md"

CODE = '''
import numpy as np
from sparring.games.rocket.states import Situation, near_goal

def height(step, seconds):
    return np.broadcast_to(step.ball[:, None, 2], step.present.shape) / 2044 * seconds

class Steps:
    """Counts the steps of each match."""
    def __call__(self, step, seconds):
        before = np.zeros(len(step.ball)) if not hasattr(self, "count") else self.count
        self.count = np.where(step.first, 0, before) + 1
        return np.repeat(self.count[:, None], step.present.shape[1], axis=1)

def corner(rng, team):
    start = near_goal(rng, team)
    start.ball[:3] = (3000, 4000, 93.15)
    return start

def ball_only(cars, world):
    return world[:, :9]

def wide(step, seconds): return np.zeros(3)
def broken(step, seconds): return np.where(step.present, np.nan, 0)
def misspelt(step, seconds): return step.bal
def nothing_paid(step, seconds): pass
number = 3
def fails(first, second): return {}["x"]
def flat_start(rng, team): return 3
def line(cars, world): return world[:, 0]
def nan_view(cars, world): return world[:, :2] * np.nan
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of the user's in the present folder."""
    (tmp_path / "my_rocket.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "my_rocket"
    sys.modules.pop("my_rocket", None)


def arena(matches=3, **values):
    return RocketArena(convert(values, RocketSettings, where="rocket"), matches=matches, seed=0)


def steps(played, count):
    for _ in range(count):
        decisions, results = played.wait()
        yield decisions, results
        played.act(decisions, np.zeros(len(decisions), np.int32))


def test_several_of_one_name_are_numbered_as_a_script_that_runs_again_numbers_them():
    class Twin:
        def __call__(self, step: object, seconds: float) -> float:
            return 0.0

    first, second = Twin(), Twin()
    name = own(first)
    assert own(second) == f"{name}_2"
    assert own(Twin()) == f"{name}_3"
    assert (own(first), own(second)) == (name, f"{name}_2")


def test_a_reward_of_ones_own_is_paid_beside_the_built_in_ones(mine):
    components = {"face_ball": 1.0, "my_rocket:height": 3.0}
    played = arena(rewards={"components": components, "zero_sum": False}, starts={"air_ball": 1})
    decisions, _ = list(steps(played, 5))[-1]
    report = played.reward_report()
    assert set(report) == set(components)
    assert 0 < report["my_rocket:height"] < 3 * 8 / 120
    with_it = decisions.reward - 3 * played._groups[0]._ball[decisions.match, 2] / 2044 * 8 / 120
    assert (np.abs(with_it) <= 8 / 120 + 1e-6).all()


def test_a_class_keeps_what_it_needs_and_starts_anew_with_each_match(mine):
    played = arena(
        matches=2, rewards={"components": {"my_rocket:Steps": 1.0}, "zero_sum": False}, seconds=0.3, idle_seconds=0
    )
    paid = [(decisions.reward.tolist(), results.reward.tolist()) for decisions, results in steps(played, 12)]
    assert [row[0] for row, _ in paid[:6]] == [0, 1, 2, 3, 4, 0]
    assert paid[5][1] == [[5, 5], [5, 5]]
    assert [row[0] for row, _ in paid[5:10]] == [0, 1, 2, 3, 4]


def test_a_start_of_ones_own_is_where_matches_begin(mine):
    played = arena(starts={"my_rocket:corner": 1.0})
    played.wait()
    np.testing.assert_allclose(played._groups[0]._ball[:, :2], [[3000, 4000]] * 3, atol=1)


def test_an_observation_of_ones_own_is_all_that_the_network_sees(mine, tmp_path):
    settings = convert({"observation": "my_rocket:ball_only"}, RocketSettings, where="rocket")
    spec = GAME.spec(settings)
    assert spec.observation["own"].shape == (9,)
    assert spec.settings["observation"] == "own:my_rocket:ball_only"
    played = RocketArena(settings, matches=2, seed=0)
    decisions, _ = played.wait()
    np.testing.assert_array_equal(decisions.observation["own"], decisions.observation["world"][:, :9])
    policy = GAME.policy(spec, RocketNetwork(width=16, layers=1))
    seen = {name: torch.tensor(part) for name, part in decisions.observation.items()}
    legal = torch.tensor(decisions.legal)
    with torch.no_grad():
        before = policy.step(seen, legal, {}).logits
        seen["cars"] += 1
        torch.testing.assert_close(policy.step(seen, legal, {}).logits, before)
    GAME.players["rule"](settings, 0).act(decisions)  # built-in players go on seeing what they know
    export_bundle(policy, spec, tmp_path / "bundle")
    assert [column["name"] for column in json.loads((tmp_path / "bundle/bundle.json").read_text())["inputs"]] == [
        f"own.{n}" for n in range(9)
    ]
    assert not (tmp_path / "bundle/bot.py").exists()


def test_a_checkpoint_that_names_an_observation_is_no_reason_to_import_it(mine):
    stored = {"observation": "own:my_rocket:ball_only"}
    with pytest.raises(InputError, match="add --observation my_rocket:ball_only"):
        GAME.spec(convert(stored, RocketSettings, where="rocket"))
    assert "my_rocket" not in sys.modules


def test_a_run_folder_is_data_and_imports_nothing(mine, tmp_path):
    preset = "game: rocket\nsettings: {starts: {my_rocket:corner: 1}}\nlearner: {kind: ppo}\n"
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.yaml").write_text(preset)
    with pytest.raises(InputError, match="a run folder is data, and this names my_rocket:corner"):
        load_config(str(tmp_path / "run/config.yaml"), [])
    (tmp_path / "mine.yaml").write_text(preset)
    load_config(str(tmp_path / "mine.yaml"), [])
    assert "my_rocket" not in sys.modules


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"rewards": {"components": {"no_such:thing": 1.0}}}, "no_such:thing: cannot import it"),
        ({"starts": {"my_rocket:nothing": 1.0}}, "my_rocket:nothing: cannot import it"),
        (
            {"rewards": {"components": {"my_rocket:wide": 1.0}}},
            r"my_rocket:wide: its array has shape \(3,\), but an array of \(3, 2",
        ),
        ({"rewards": {"components": {"my_rocket:broken": 1.0}}}, "my_rocket:broken: nan for seat 0 of match 0"),
        (
            {"rewards": {"components": {"my_rocket:misspelt": 1.0}}},
            r"reward my_rocket:misspelt: AttributeError: .*'bal'.* \(.*my_rocket.py, line \d+\)",
        ),
        ({"rewards": {"components": {"my_rocket:nothing_paid": 1.0}}}, "my_rocket:nothing_paid: it returned None, but"),
        ({"rewards": {"components": {"my_rocket:number": 1.0}}}, "it is the int 3, and a reward is a function or a"),
        (
            {"observation": "my_rocket:fails"},
            r"observation my_rocket:fails: KeyError: 'x' \(.*my_rocket.py, line \d+\)",
        ),
        ({"starts": {"my_rocket:fails": 1.0}}, r"start my_rocket:fails: KeyError: 'x' \(.*my_rocket.py, line \d+\)"),
        ({"starts": {"my_rocket:flat_start": 1.0}}, "start my_rocket:flat_start: it gave int"),
        ({"observation": "my_rocket:line"}, r"observation my_rocket:line: for 3 rows its array has shape \(3,\)"),
        ({"observation": "my_rocket:nan_view"}, "observation my_rocket:nan_view: column 0 of row 0 is nan"),
        ({"observation": "defualt"}, r"observation: unknown name 'defualt' \(did you mean 'default'\?\)"),
        ({"starts": {"kickof": 1.0}}, r"starts: unknown name 'kickof' \(did you mean 'kickoff'\?\)"),
    ],
)
def test_what_is_wrong_with_it_is_said_in_one_line(mine, values, line):
    with pytest.raises(InputError, match=line) as caught:
        for _ in steps(arena(**values), 3):
            pass
    assert "\n" not in str(caught.value)


def test_python_hands_over_functions_that_have_no_name():
    def fast_ball(step, seconds):
        return np.linalg.norm(step.ball[:, field.BALL_VELOCITY], axis=1)[:, None] * np.ones(step.present.shape)

    def on_the_line(rng, team):
        cars = np.zeros((2 * team, 3), np.float32)
        cars[:, 0], cars[:, 2] = np.arange(2 * team) * 500 - 1000, field.CAR_REST
        zeros = np.zeros_like(cars)
        ball = np.array([0, 2000, 500, 0, 300, 0, 0, 0, 0], np.float32)
        return Situation(ball, cars, zeros, zeros, zeros, cars[:, 0] * 0 + 50, np.zeros(34, np.float32))

    played = arena(starts={own(on_the_line): 1.0}, rewards={"components": {own(fast_ball): 1.0}, "zero_sum": False})
    rows = [decisions.reward for decisions, _ in steps(played, 3)]
    assert rows[1].min() > 200
    other = [own(lambda step, seconds, k=k: k) for k in range(2)]
    assert other[0] != other[1]
    assert own(fast_ball) == own(fast_ball)


CLASSES = '''
import numpy as np
from sparring.games.rocket import field
from sparring.games.rocket.states import near_goal

class FastBall:
    """A reward that depends on a number."""
    def __init__(self, top=6000.0):
        self.top = top
    def __call__(self, step, seconds):
        speed = np.linalg.norm(step.ball[:, field.BALL_VELOCITY], axis=1) / self.top
        return np.repeat(speed[:, None], step.present.shape[1], axis=1)

class Corner:
    """A state mutator."""
    def __init__(self, metres=6):
        self.height = 100 * metres
    def __call__(self, rng, team):
        start = near_goal(rng, team)
        start.ball[:] = (3000, 4000, self.height, 0, -1200, 0, 0, 0, 0)
        return start

class BallOnly:
    """An observation builder."""
    def __init__(self, columns=9):
        self.columns = columns
    def __call__(self, cars, world):
        return world[:, : self.columns]
'''


@pytest.fixture
def classes(tmp_path, monkeypatch):
    """A module whose reward, start and observation are classes, as in RLGym."""
    (tmp_path / "my_classes.py").write_text(CLASSES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("my_classes")
    sys.modules.pop("my_classes", None)


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize(
    ("named", "top", "height", "columns"),
    [
        (lambda module, name: f"my_classes:{name}", 6000, 600, 9),
        (lambda module, name: own(getattr(module, name)), 6000, 600, 9),
        (lambda module, name: own(getattr(module, name)(3)), 3, 300, 3),
    ],
    ids=["name", "class", "object"],
)
def test_rewards_starts_and_observations_can_be_classes(classes, named, top, height, columns, threads):
    reward, start, seen = (named(classes, name) for name in ("FastBall", "Corner", "BallOnly"))
    rewards = {"components": {reward: 2.0}, "zero_sum": False}
    played = arena(4, rewards=rewards, starts={start: 1.0}, observation=seen, threads=threads)
    assert played.spec.observation["own"].shape == (columns,)
    begun = played.look(0).ball
    np.testing.assert_allclose(begun[:3], [3000, 4000, height], atol=1)
    decisions, _ = next(islice(steps(played, 4), 3, None))
    np.testing.assert_array_equal(decisions.observation["own"], decisions.observation["world"][:, :columns])
    speed = [np.linalg.norm(played.look(match).ball[field.BALL_VELOCITY]) for match in decisions.match.tolist()]
    np.testing.assert_allclose(decisions.reward, 2 * np.float32(speed) / top, rtol=1e-5)
    played.close()


def test_a_preset_that_names_classes_trains(classes, tmp_path):
    changes = {"observation: my_rocket:ball_only": "observation: my_classes:BallOnly, starts: {my_classes:Corner: 1}"}
    changes |= {"my_rocket:height": "my_classes:FastBall"}
    preset = PRESET
    for before, after in changes.items():
        preset = preset.replace(before, after)
    (tmp_path / "classes.yaml").write_text(preset)
    train(*load_config("classes.yaml", ["evaluation.opponents=[]"]), RunFolder(tmp_path / "run"), say=lambda text: None)
    metrics = json.loads((tmp_path / "run/metrics.jsonl").read_text().splitlines()[0])
    assert metrics["play/reward/my_classes:FastBall"] > 0


PRESET = """
game: rocket
settings: {observation: my_rocket:ball_only, seconds: 2, rewards: {components: {my_rocket:height: 1.0}}}
network: {width: 16, layers: 1}
learner: {kind: ppo, batch_size: 128, epochs: 1, minibatch_size: 64, truncate_after: 16}
decisions: 200
matches: 4
evaluation: {matches: 2, opponents: [rule]}
"""


def test_a_run_with_code_of_ones_own_is_evaluated_once_its_code_is_named(mine, tmp_path):
    (tmp_path / "mine.yaml").write_text(PRESET)
    train(*load_config("mine.yaml", []), RunFolder(tmp_path / "run"), say=lambda text: None)
    words = ["evaluate", "run", "rule", "--matches", "2", "--seconds", "2", "--overtime-seconds", "0", "--json"]
    refused = CliRunner().invoke(app, words)
    assert "add --observation my_rocket:ball_only" in str(refused.exception)
    done = CliRunner().invoke(app, [*words, "--observation", "my_rocket:ball_only"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["matches"] == 2
    words = ["export", "rocket", "run", "bundle"]
    assert "add --observation my_rocket:ball_only" in str(CliRunner().invoke(app, words).exception)
    done = CliRunner().invoke(app, [*words, "--observation", "my_rocket:ball_only"])
    assert done.exit_code == 0, done.output
    assert len(json.loads((tmp_path / "bundle/bundle.json").read_text())["inputs"]) == 9


def test_names_of_code_are_found_in_settings():
    data = {"starts": {"a.b:c": 1.0}, "curriculum": [{"rewards": {"components": {"x:y": 2}}}], "observation": "q:r"}
    assert sorted(code_names(data)) == ["a.b:c", "q:r", "x:y"]
    assert not list(code_names({"rocket": "own:x:y", "path": "C:/x", "ratio": "1:2"}))


def test_a_built_in_component_is_written_in_one_place():
    """Everything that knows a component learns of it from the decorator of its function."""
    source = Path(rewards.__file__).read_text()
    for name in (*rewards.EVENTS, *rewards.CONTINUOUS):
        assert len(re.findall(rf'"{name}"', source)) == 0, name
        assert len(re.findall(rf"^def {name}\(", source, re.M)) == 1


def test_the_example_of_the_docs_trains(tmp_path, monkeypatch):
    python, preset = re.search(
        r"```python\n# my_rewards\.py\n(.*?)```.*?```yaml\n# mine\.yaml\n(.*?)```", DOCS.read_text(), re.S
    ).groups()
    (tmp_path / "my_rewards.py").write_text(python)
    (tmp_path / "mine.yaml").write_text(preset)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    small = [
        "matches=4",
        "learner.batch_size=128",
        "learner.minibatch_size=64",
        "network.width=16",
        "learner.truncate_after=16",
    ]
    config, game = load_config("mine.yaml", small)
    training = SelfPlay(config, game, find_opponents(config, game, Path("run")), say=lambda text: None)
    values = training.advance()
    training.close()
    assert np.isfinite(values["loss/policy_loss"])
    functions = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(), re.MULTILINE | re.DOTALL)[1]
    words = ", ".join(map(repr, [*small, "decisions=128", "threads=1", "evaluation.opponents=[]"]))
    exec(compile(functions.replace('run="runs', f'{words}, run="runs'), str(DOCS), "exec"), {})
    sys.modules.pop("my_rewards", None)
    metrics = json.loads((tmp_path / "runs/high-ball/metrics.jsonl").read_text().splitlines()[0])
    assert metrics["play/reward/my_rewards:high_ball"] > 0


def test_the_documented_tables_have_every_field_and_column():
    page = DOCS.read_text()
    given, columns = re.search(r"### What a reward is given\n(.*?)Columns of a car(.*?)\n\n[^|]", page, re.S).groups()
    told = [name for row in re.findall(r"^\| (`.*?) \| `", given, re.M) for name in re.findall(r"`(\w+)`", row)]
    assert sorted(told) == sorted(Transition._fields)
    assert all(f" {name} " in Transition.__doc__ for name in Transition._fields)
    numbers = []
    for row, spans in re.findall(r"^\| (`[A-Z].*?) \| ([\d, -]+) \|", columns, re.M):
        for name in re.findall(r"`(\w+)`", row):
            column = getattr(field, name)
            numbers += range(column.start, column.stop) if isinstance(column, slice) else [column]
        stated = [int(number) for number in re.findall(r"\d+", spans)]
        assert (stated[0], stated[-1]) == (numbers[-1] - (stated[-1] - stated[0]), numbers[-1]), row
    assert numbers == list(range(field.CAR_COLUMNS))


def test_the_documented_frame_is_that_of_rewards():
    """Blue's goals are those at +y, and what a reward gives to seats without a car is dropped."""
    cars, ball = np.zeros((1, 4, field.CAR_COLUMNS), np.float32), np.zeros((1, field.BALL_COLUMNS), np.float32)
    ball[0, field.BALL_VELOCITY] = 0, 1000, 0
    still, no = np.zeros(1, np.int32), np.zeros(1, np.bool_)
    step = Transition(cars, cars, ball, ball, np.array([[True, False, True, False]]), still, still, no, no)
    weights = {"ball_to_goal": 1.0, "mine": 2.0}
    mine = {"mine": lambda step, seconds: np.where(step.present, 3.0, np.nan)}
    paid = components(step, weights, seconds=0.5, own=mine)
    assert paid[0, 0, 0] > 0 > paid[0, 0, 2]
    np.testing.assert_array_equal(paid[1], [[6, 0, 6, 0]])
