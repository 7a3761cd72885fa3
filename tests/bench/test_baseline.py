"""Measurements that are kept and compared: what has changed is found, what has not raises no alarm."""

import json

import msgspec
import numpy as np
import pytest

from sparring.bench.diagnose.baseline import (
    NOISE,
    can_decide,
    check_comparable,
    compare,
    differences,
    load_baseline,
    rank_test,
    save_baseline,
    shift,
)
from sparring.bench.diagnose.result import Diagnosis, Figure, Machine
from sparring.bench.diagnose.run import LEAST_ROUNDS
from sparring.core import InputError

MACHINE = Machine(processor="x", cores=2, versions={"torch": "1"})


def measured(rng, *, rounds=20, slow=1.0, busy=1.0, drift=0.06, game="hex"):
    """A run of a program whose encoder is `slow`, on a machine that is `busy`, as noisy as a shared one.

    Its speed hits the rounds of every figure alike; what other programs take, only those in wall time.
    """
    speed = np.exp(rng.normal(0, 0.2, rounds))
    shared = busy * np.exp(rng.exponential(0.3 * (busy > 1), rounds))
    costs = {"end to end": 100.0 + 30 * (slow - 1), "encode": 30.0 * slow, "learner": 50.0}

    def figure(name):
        machine = speed * (shared if name == "end to end" else 1.0)
        took = 1e-6 * costs[name] * machine * np.exp(rng.normal(0, 0.1, rounds) + rng.normal(0, drift))
        beside = 0.01 * machine * np.exp(rng.normal(0, 0.05, rounds))
        clock = "wall" if name == "end to end" else "cpu"
        return Figure(clock=clock, seconds=took.tolist(), reference=beside.tolist())

    return Diagnosis(
        game=game,
        preset="p",
        settings={"matches": 8},
        machine=MACHINE,
        threads=1,
        rounds=rounds,
        figures={name: figure(name) for name in costs},
    )


def verdicts(before, now):
    return {one.name: one.verdict for one in compare(before, now)}


def test_runs_without_a_change_raise_no_alarm_even_on_a_slower_machine():
    rng = np.random.default_rng(0)
    for _ in range(100):
        found = verdicts(measured(rng), measured(rng, busy=rng.choice([1.0, 2.0, 0.5])))
        assert not {"slower", "faster"} & set(found.values())


def test_an_encoder_that_takes_twice_as_long_is_found_and_nothing_else():
    rng = np.random.default_rng(1)
    caught = 0
    for _ in range(50):
        found = verdicts(measured(rng), measured(rng, slow=2.0))
        caught += found["encode"] == "slower"
        assert found["learner"] not in ("slower", "faster")
    assert caught >= 48
    assert verdicts(measured(rng, slow=2.0), measured(rng))["encode"] == "faster"


def test_rounds_that_no_change_could_decide_are_said_to_be_too_few():
    rng = np.random.default_rng(2)
    found = verdicts(measured(rng, rounds=7), measured(rng, rounds=7, slow=100.0))
    assert set(found.values()) == {"too few rounds"}
    assert not can_decide(7, 7)
    assert can_decide(8, 8)
    assert verdicts(measured(rng, rounds=8), measured(rng, rounds=8, slow=100.0))["encode"] == "slower"


@pytest.mark.parametrize("busy", [1.0, 5.0])
def test_the_least_rounds_of_a_measurement_find_a_doubled_encoder(busy):
    rng = np.random.default_rng(8)
    caught = [
        verdicts(measured(rng, rounds=LEAST_ROUNDS), measured(rng, rounds=LEAST_ROUNDS, slow=2.0, busy=busy))["encode"]
        for _ in range(50)
    ]
    assert caught.count("slower") >= 45


def test_a_figure_by_another_clock_is_not_compared():
    rng = np.random.default_rng(9)
    now = measured(rng)
    figures = {**now.figures, "encode": msgspec.structs.replace(now.figures["encode"], clock="wall")}
    assert "encode" not in verdicts(measured(rng), msgspec.structs.replace(now, figures=figures))


def test_a_change_as_small_as_the_noise_is_neither_found_nor_denied():
    rng = np.random.default_rng(3)
    found = verdicts(measured(rng, drift=0), measured(rng, drift=0, slow=1 + NOISE))
    assert found["encode"] == "not enough evidence"
    assert found["learner"] == "the same"


def test_the_rank_test_and_its_interval_by_hand():
    low, high = np.arange(8.0), np.arange(8.0) + 100
    assert rank_test(low, high) == pytest.approx(0.00093, abs=1e-4)  # 64 of 64 pairs: z = 31.5 / 9.52
    assert rank_test(low, low) == 1.0
    change, least, most = shift(np.log(np.full(8, 2.0)), np.log(np.full(8, 3.0)))
    assert (change, least, most) == pytest.approx((0.5, 0.5, 0.5))


def test_what_else_differs_is_said():
    rng = np.random.default_rng(4)
    before = measured(rng)
    other = Machine(processor="y", cores=4, versions={"torch": "2"})
    now = msgspec.structs.replace(measured(rng, busy=3.0), machine=other, threads=2, settings={"matches": 16})
    lines = differences(before, now)
    assert lines[:2] == ["another machine: 2 cores, x", "torch was 1, now 2"]
    assert lines[2:4] == ["torch's threads were 1, now 2", "matches was 8, now 16"]
    assert lines[4].startswith("by wall time the machine is ")
    assert lines[4].endswith(" times slower now; changes are corrected for it")


def test_a_file_comes_back_as_it_was(tmp_path):
    found = measured(np.random.default_rng(5))
    save_baseline(tmp_path / "base.json", found)
    assert load_baseline(tmp_path / "base.json") == found


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a measurement of this version: format None, allowed: 2"),
        (b'{"format": 1}', "not a measurement of this version: format 1, allowed: 2"),
        (b'{"format": 2}', "missing required field"),
    ],
)
def test_a_file_that_is_no_measurement_is_one_line(tmp_path, content, message):
    (tmp_path / "base.json").write_bytes(content)
    with pytest.raises(InputError, match=message) as refused:
        load_baseline(tmp_path / "base.json")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"figures": {"encode": {"clock": "cpu", "seconds": [-1.0], "reference": [1.0]}}}, "negative or not finite"),
        ({"figures": {"encode": "x"}}, r"Expected `object`, got `str`"),
        ({"figures": {"encode": {"clock": "cpu", "seconds": [1.0], "reference": []}}}, "no reference"),
        ({"figures": {"encode": {"clock": "cpu", "seconds": [1.0], "reference": [0.0]}}}, "no reference"),
        ({"more": 1}, "unknown field"),
    ],
)
def test_a_measurement_that_was_changed_is_refused(tmp_path, change, message):
    path = tmp_path / "base.json"
    save_baseline(path, measured(np.random.default_rng(6)))
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message):
        load_baseline(path)


def test_other_games_and_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="measured with hex, not with kuhn"):
        check_comparable(tmp_path, measured(np.random.default_rng(7)), "kuhn")
    with pytest.raises(InputError, match="cannot read"):
        load_baseline(tmp_path / "no.json")
