"""`sparring plan`: the simulation against arithmetic, and forecasts against what was measured."""

import json
from dataclasses import replace
from time import perf_counter

import msgspec
import pytest
from typer.testing import CliRunner

pytest.importorskip("simpy", reason="sparring plan needs simpy: pip install 'sparring[plan]'")

from sparring.bench.diagnose.baseline import save_baseline
from sparring.bench.diagnose.run import diagnose
from sparring.bench.diagnose.subject import find_subject
from sparring.bench.plan.forecast import forecast, row_bytes
from sparring.bench.plan.simulation import Layout, Work, simulate
from sparring.cli import app
from sparring.training.self_play import SelfPlay
from tests import hex as small
from tests.bench import slowed

WORK = Work(
    rows=1000,
    collect=3e-3,
    learn=1e-3,
    lost=0.0,
    overlap=False,
    steps=10,
    gradient=0,
    row=100,
    cores=1.0,
    playing_cores=1.0,
)
ONE = Layout(nodes=1, processes=1, cores=16, link=1e12)


def rate(work=WORK, layout=ONE, **changes):
    return simulate(work, replace(layout, **changes)).rate


def test_a_process_alone_collects_then_learns():
    assert rate() == pytest.approx(1 / 4e-3)
    assert rate(replace(WORK, lost=1e-3)) == pytest.approx(1 / 5e-3)
    assert simulate(WORK, ONE).shares == {"collecting": pytest.approx(0.75), "learning": pytest.approx(0.25)}


def test_with_overlap_the_slower_side_counts():
    assert rate(replace(WORK, overlap=True)) == pytest.approx(1 / 3e-3)
    assert rate(replace(WORK, overlap=True, learn=5e-3)) == pytest.approx(1 / 5e-3)


@pytest.mark.parametrize(("cores", "gain"), [(2, 2.0), (1, 1.0)])
def test_processes_of_a_node_share_its_cores(cores, gain):
    assert rate(processes=2, cores=cores) == pytest.approx(gain * rate())


def test_processes_that_learn_together_wait_for_the_slowest():
    uneven = replace(WORK, variation=(0.5, 1.5))
    several = rate(uneven, nodes=8)
    assert rate(nodes=8) == pytest.approx(8 * rate())
    assert 0.5 * 8 * rate() < several < 0.95 * 8 * rate(uneven)
    assert simulate(uneven, replace(ONE, nodes=8)).shares["waiting for others"] > 0.05


def test_gradients_cross_the_link_at_every_step():
    wide = replace(WORK, gradient=10**6)
    seconds = simulate(wide, replace(ONE, nodes=2, link=1e7)).seconds
    assert seconds == pytest.approx(4.0 + 10 * 2 * (1 / 2) * 0.1)


@pytest.mark.parametrize(("collectors", "cost"), [(1, 3e-3), (2, 1.5e-3), (3, 1e-3), (8, 1e-3)])
def test_collectors_feed_the_learner_until_it_is_busy(collectors, cost):
    assert rate(collectors=collectors) == pytest.approx(1 / cost, rel=0.05)


def test_what_is_played_elsewhere_comes_over_one_link():
    assert rate(nodes=2, collectors=8, link=1e4) < 0.8 / WORK.learn
    assert rate(nodes=2, collectors=8, link=1e9) == pytest.approx(1 / WORK.learn, rel=0.05)


def test_bytes_of_a_decision():
    spec = small.spec(4)
    seen = sum(field.nbytes for field in spec.observation.values())
    assert row_bytes(spec, policy=False) == seen + -(-spec.actions // 8) + 5 * 4
    assert row_bytes(spec, policy=True) == row_bytes(spec, policy=False) + 4 * spec.actions


@pytest.fixture(scope="module")
def measured():
    subject = slowed.subject(learner=0.02, encode=0.01)
    return subject, diagnose(subject, ["learner"], seconds=0.1)


def planned(measured, layout=ONE, **options):
    subject, rates = measured
    return forecast(subject.name, subject.config, subject.game, rates, layout, hours=2.0, **options)


def test_the_measured_machine_is_foretold(measured):
    found = planned(measured)
    assert found.decisions_per_second == pytest.approx(measured[1].learner_rows_per_second, rel=0.15)
    assert found.updates == pytest.approx(7200 / found.update_seconds, abs=1)
    assert found.decisions == found.updates * measured[0].batch_size
    assert 1.5 < found.decisions / found.matches < 4  # Kuhn poker: two or three decisions
    assert found.memory_mib > 50
    assert found.storage_mib > 0
    assert "The bottleneck is " in found.bottleneck


def test_a_faster_stage_is_worth_what_diagnose_says(measured):
    found = planned(measured, speeds={"learner": 4.0})
    assert found.decisions_per_second == pytest.approx(1 / measured[1].model.predict({"learner": 4.0}), rel=0.15)


def test_updates_that_end_early_are_that_much_shorter(measured):
    subject, rates = measured
    config = msgspec.structs.replace(subject.config, learner=msgspec.structs.replace(subject.config.learner, epochs=4))
    found = forecast(subject.name, config, subject.game, rates, ONE, hours=1.0, epochs=2.0)
    assert found.decisions_per_second == pytest.approx(1 / rates.model.predict({"learner": 2.0}), rel=0.15)


def test_notes_say_what_was_assumed(measured):
    notes = " ".join(planned(measured, replace(ONE, nodes=2), gpus=1).notes)
    assert "measured without a GPU" in notes
    assert "Gbit/s; nothing of it was measured" in notes
    subject, rates = measured
    other = msgspec.structs.replace(subject.config, matches=64)
    found = forecast(subject.name, other, subject.game, rates, ONE, hours=1.0)
    assert any("matches is 64, was 32" in note for note in found.notes)


@pytest.fixture
def run():
    return lambda *words: CliRunner().invoke(app, list(map(str, words)))


def test_the_command_takes_kept_rates(measured, run, tmp_path):
    save_baseline(tmp_path / "rates.json", measured[1])
    words = ["plan", "kuhn-ppo", *slowed.SMALL, slowed.ONE_PASS, "--rates", tmp_path / "rates.json"]
    shown = run(*words, "--nodes", 2, "--hours", 3)
    assert shown.exit_code == 0, shown.output
    assert "kuhn-ppo on 2 nodes, 2 processes" in shown.output
    assert max(map(len, shown.output.splitlines())) <= 80
    found = json.loads(run(*words, "--collectors", 3, "--json").output)
    assert (found["collectors"], found["processes"]) == (3, 1)
    assert sum(found["shares"].values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hex-quick"], "measured with kuhn, not with hex"),
        (["kuhn-ppo", "--whatif", "bogus=2x"], "there is no such stage"),
        (["kuhn-ppo", "--gpus", "2", "--collectors", "2"], "--collectors play for one process"),
        (["kuhn-ppo", "--nodes", "4096", "--gpus", "8"], "allowed: 4,096 at most"),
    ],
)
def test_bad_input_is_one_line(measured, run, tmp_path, words, message):
    save_baseline(tmp_path / "rates.json", measured[1])
    done = run("plan", *words, "--rates", tmp_path / "rates.json")
    assert message in str(done.exception)


def test_rates_that_are_none_are_refused(run, tmp_path):
    (tmp_path / "rates.json").write_text('{"format": 7}')
    assert "not a measurement of this version" in str(
        run("plan", "kuhn-ppo", "--rates", tmp_path / "rates.json").exception
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("preset", ["hex-quick", "pokemon-gen1", "rocket-1v1"])
def test_decisions_a_second_of_this_machine_are_foretold_within_a_fifth(preset):
    """Before and after the run: a shared machine is not equally busy all the time."""
    subject = find_subject(preset, None, ["threads=1"])
    quiet = msgspec.structs.replace(subject.config.evaluation, every=0)
    config = msgspec.structs.replace(subject.config, evaluation=quiet)
    before = diagnose(subject, ["learner"], seconds=10.0)
    training = SelfPlay(config, subject.game, {}, say=lambda text: None)
    try:
        training.start()
        training.advance()
        done, start = training.decisions, perf_counter()
        made = [training.advance()["loss/epochs"] for _ in range(6)]
        real = (training.decisions - done) / (perf_counter() - start)
    finally:
        training.close()
    after = diagnose(subject, ["learner"], seconds=10.0)
    foretold = [
        forecast(subject.name, config, subject.game, rates, ONE, hours=1.0, epochs=sum(made) / len(made))
        for rates in (before, after)
    ]
    assert sum(found.decisions_per_second for found in foretold) / 2 == pytest.approx(real, rel=0.2)
