"""`sparring diagnose`: every test for every game, and the truth about parts that were slowed on purpose."""

import json
from contextlib import ExitStack, closing
from statistics import median

import pytest
from typer.testing import CliRunner

from sparring.bench.diagnose import run as run_module
from sparring.bench.diagnose.parts import PipelinePart
from sparring.bench.diagnose.run import TESTS, diagnose, make_model
from sparring.bench.diagnose.subject import default_preset, find_subject
from sparring.cli import app
from sparring.core import InputError, Installable, game_names, load_game
from sparring.inference.threads import set_threads
from tests.bench import slowed

OURS = {
    "hex": "hex-quick",
    "kuhn": "kuhn-ppo",
    "leduc": "leduc-ppo",
    "rps": "rps-rnad",
    "pokemon": "pokemon-gen1",
    "rocket": "rocket-1v1",
}
"""The preset that each game is diagnosed with."""
QUICK = [name if name in ("hex", "kuhn") else pytest.param(name, marks=pytest.mark.slow) for name in OURS]
FEW = {
    "pokemon": ["matches=8", "settings.observation=raw"],
    "hex": ["settings.size=4", "network.channels=8", "network.blocks=1"],
}


@pytest.fixture(scope="module", autouse=True)
def installed():
    for name in game_names():
        game = load_game(name)
        if isinstance(game, Installable):
            game.install(game.settings(), lambda text: None)


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch):
    """Rounds of a few milliseconds: what is measured matters here, not how exactly."""
    monkeypatch.setattr(run_module, "_PART_OF_ROUND", dict.fromkeys(run_module._PART_OF_ROUND, 0.02))


@pytest.fixture
def few_rounds(monkeypatch):
    """Too few to compare two measurements."""
    monkeypatch.setattr(run_module, "LEAST_ROUNDS", 3)


@pytest.fixture
def run():
    return lambda *words, **options: CliRunner().invoke(app, list(map(str, words)), **options)


def small(game):
    return find_subject(default_preset(load_game(game)), None, [*slowed.SMALL, *FEW.get(game, [])])


def test_the_default_preset_plays_nearly_the_default_settings():
    assert {name: default_preset(load_game(name)) for name in OURS} == OURS


@pytest.mark.parametrize("game", QUICK)
def test_everything_is_measured_and_the_stages_account_for_the_time(few_rounds, game):
    found = diagnose(small(game), seconds=0.1)
    assert found.learner_rows_per_second > 0
    assert found.bottleneck.startswith("The bottleneck is ")
    for total in found.accounted.values():
        assert 0.95 <= total <= 1.05
    assert found.microseconds
    assert found.decisions_per_second > 0
    assert (found.ticks_per_second is not None) == (game == "rocket")
    assert [one.batch for one in found.inference] == [1, 2, 4, 8, 16, 32, 64][: len(found.inference)]
    assert all(0 < one.p50_ms <= one.p95_ms <= one.p99_ms for one in found.inference)
    assert found.best_batch in {one.batch for one in found.inference}
    assert found.learning_rows_per_second >= found.learner_rows_per_second
    assert found.store_write_rows_per_second > 0
    assert found.store_read_rows_per_second > 0
    assert found.gpu_note or found.gpus
    assert all(len(one.seconds) == len(one.reference) == found.rounds for one in found.figures.values())


@pytest.mark.slow
@pytest.mark.parametrize("game", OURS)
@pytest.mark.parametrize("test", [name for name in TESTS if name != "all"])
def test_each_test_alone(game, test):
    if game in ("pokemon", "rocket", "leduc") and test in ("mask", "encode", "gpu", "store"):
        pytest.skip("all of them together are measured above")
    found = diagnose(small(game), [test], seconds=0.1)
    arena_alone = test in ("env", "encode", "mask")
    assert bool(found.microseconds) == arena_alone
    assert (found.learner_rows_per_second is not None) == (test in ("learner", "gpu"))
    assert bool(found.inference) == (test == "inference")
    assert (found.store_read_rows_per_second is not None) == (test == "store")


@pytest.mark.parametrize("stage", ["env", "encode", "inference", "learner"])
def test_the_sentence_names_the_stage_that_was_slowed(few_rounds, stage):
    found = diagnose(slowed.subject(**{stage: 0.1}), ["learner"], seconds=0.1)
    assert f"({stage})" in found.bottleneck
    spent = found.model.acting | found.model.learning
    assert spent[stage] / found.model.wall > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("stage", "other"), [("env", "learner"), ("learner", "env")])
def test_with_overlap_only_the_longer_side_is_the_bottleneck(stage, other):
    found = diagnose(slowed.subject("overlap=true", **{stage: 0.2, other: 0.01}), ["learner"], seconds=0.1)
    assert f"({stage})" in found.bottleneck
    assert found.model.predict({other: 2.0}) == pytest.approx(found.model.wall, rel=0.01)
    assert set(found.shares) == {"collecting", "learning"}


@pytest.mark.slow
def test_workers_that_are_slow_are_the_bottleneck():
    found = diagnose(slowed.subject("workers=1", env=0.1), ["learner"], seconds=0.1)
    assert "(env)" in found.bottleneck
    assert (found.model.helper_count, found.model.waits) == (1, "env/workers")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "stage", "seconds"),
    [
        pytest.param([], "encode", 0.1, id="serial"),
        pytest.param([], "learner", 0.4, id="learner", marks=pytest.mark.slow),
        pytest.param(["overlap=true"], "env", 0.1, id="overlap", marks=pytest.mark.slow),
        pytest.param(["workers=1"], "env", 0.1, id="workers", marks=pytest.mark.slow),
    ],
)
def test_whatif_foretells_a_slow_down_within_ten_percent(overrides, stage, seconds):
    """Half as fast is what twice the sleep makes of it. Both runs play the same matches, and take turns at updates."""
    set_threads(1)
    with ExitStack() as held:
        runs = [
            held.enter_context(closing(PipelinePart(slowed.subject(*overrides, **{stage: slow}), say=print)))
            for slow in (seconds, 2 * seconds)
        ]
        pairs = [[model_of(run, run.round(0.0)) for run in runs] for _ in range(9)]
    right = [usual.predict({stage: 0.5}) / slow.wall for usual, slow in pairs]
    assert median(right) == pytest.approx(1.0, abs=0.1)
    assert median(usual.predict({stage: 0.5}) / usual.wall for usual, _ in pairs) > 1.5


def model_of(run, trained):
    return make_model([trained], waits=run.waits, helpers=run.helper_count, overlap=run.overlap)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--game", "hexx"], "unknown game 'hexx'"),
        ([], "nothing to diagnose: give a preset, or --game GAME"),
        (["kuhn-ppo", "--game", "hex"], "kuhn-ppo trains kuhn, not hex"),
        (["kuhn-ppo", "--test", "speed"], "no such test"),
        (["kuhn-ppo", "--whatif", "learner"], "not of the form STAGE=2x"),
        (["kuhn-ppo", "--whatif", "learner=-2x"], "not of the form STAGE=2x"),
        (["kuhn-ppo", "--whatif", "learner=nan"], "not of the form STAGE=2x"),
        (
            ["kuhn-ppo", *slowed.SMALL, "--seconds", "0.1", "--whatif", "bogus=2x"],
            "there is no such stage here; stages",
        ),
        (
            ["kuhn-ppo", *slowed.SMALL, "--seconds", "0.1", "--test", "env", "--whatif", "env=2x"],
            "needs the whole pipel",
        ),
    ],
)
def test_bad_input_is_one_line(run, few_rounds, words, message):
    done = run("diagnose", *words)
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)


@pytest.mark.slow
def test_the_command_saves_and_compares(run, tmp_path):
    base = tmp_path / "base.json"
    quick = ["kuhn-ppo", *slowed.SMALL, "--seconds", "0.2", "--test", "learner"]
    done = run("diagnose", *quick, "--save", base, "--whatif", "learner=2x", env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert "learner rows a second end to end" in done.stdout
    assert "With learner 2 times as fast" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    before = json.loads(base.read_text())
    base.write_text(json.dumps({**before, "threads": 3}))
    other = [word for word in quick if not word.startswith(("matches", "threads"))]
    done = run("diagnose", *other, "threads=0", "matches=16", "--compare", base, "--json")
    found = json.loads(done.stdout)
    assert found["diagnosis"]["threads"] == 3
    assert "matches was 32, now 16" in found["notes"]
    assert {"end to end", "learner"} <= {one["name"] for one in found["changes"]}
    done = run("diagnose", *quick, "--compare", base, env={"COLUMNS": "80"})
    assert "99.9%" in done.stdout
