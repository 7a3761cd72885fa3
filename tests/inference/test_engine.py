"""The inference engine: batching, memory, grouping and swapping never change an answer."""

import numpy as np
import pytest
import torch

from sparring.core import InputError, RandomPlayer
from sparring.inference import Device, InferenceEngine
from sparring.inference.device import padded_rows
from tests import hex

CPU = Device("cpu", "float32")


def make_engine(*, slots, size=4, device=CPU, compiled=False, said=None, **policies):
    engine = InferenceEngine(
        hex.spec(size),
        slots=slots,
        device=device,
        seed=0,
        compiled=compiled,
        say=print if said is None else said.append,
    )
    for name, policy in policies.items():
        engine.add(name, policy)
    return engine


def walk(arena, waits, seed=0):
    """Rows of random play, copied."""
    player = RandomPlayer(seed)
    for _ in range(waits):
        decisions, _ = arena.wait()
        kept = decisions.take(np.arange(len(decisions)))
        yield kept
        arena.act(decisions, player.act(decisions).action)


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_a_batch_is_answered_as_its_rows_would_be_one_by_one(memory):
    """Over whole episodes, across match ends, with the memory carried between rows."""
    batched = make_engine(slots=32, main=hex.policy(memory=memory))
    single = make_engine(slots=32, main=hex.policy(memory=memory))
    for decisions in walk(hex.arena(matches=16), waits=40):
        together = batched.answer(decisions, "main", keep_policy=True)
        for row in range(len(decisions)):
            alone = single.answer(decisions.take(np.array([row])), "main", keep_policy=True)
            np.testing.assert_allclose(alone.policy[0], together.policy[row], atol=1e-5)
            np.testing.assert_allclose(alone.value[0], together.value[row], atol=1e-5)


def test_memory_makes_answers_depend_on_the_past_and_first_erases_it():
    engine = make_engine(slots=2, main=hex.policy(memory="lstm"))
    decisions = next(walk(hex.arena(matches=1), waits=1))
    fresh = engine.answer(decisions, "main", keep_policy=True).policy
    seen = engine.answer(
        type(decisions)(**{f: getattr(decisions, f) for f in decisions.__slots__} | {"first": np.array([False])}),
        "main",
        keep_policy=True,
    ).policy
    again = engine.answer(decisions, "main", keep_policy=True).policy
    assert np.abs(fresh - seen).max() > 1e-4
    np.testing.assert_array_equal(fresh, again)


def test_rows_are_grouped_by_policy():
    one, other = hex.policy(seed=1, memory="lstm"), hex.policy(seed=2, memory="lstm")
    both = make_engine(slots=32, one=one, other=other)
    only = {"one": make_engine(slots=32, one=hex.policy(seed=1, memory="lstm"))}
    only["other"] = make_engine(slots=32, other=hex.policy(seed=2, memory="lstm"))
    for decisions in walk(hex.arena(matches=16), waits=12):
        which = decisions.match % 2
        answers = both.answer(decisions, which.astype(np.int32), keep_policy=True)
        for number, name in enumerate(("one", "other")):
            rows = np.flatnonzero(which == number)
            expected = only[name].answer(decisions.take(rows), name, keep_policy=True)
            np.testing.assert_allclose(answers.policy[rows], expected.policy, atol=1e-6)


def test_a_swap_takes_effect_between_two_answers_and_counts_the_version():
    engine = make_engine(slots=32, main=hex.policy(seed=1))
    other = make_engine(slots=32, main=hex.policy(seed=2))
    decisions = next(walk(hex.arena(matches=16), waits=1))
    engine.swap("main", hex.policy(seed=2).state_dict(), version=7)
    assert engine.policies == {"main": 7}
    np.testing.assert_array_equal(
        engine.answer(decisions, "main", keep_policy=True).policy,
        other.answer(decisions, "main", keep_policy=True).policy,
    )


def test_actions_are_drawn_from_the_policy_and_log_probs_are_its_own():
    engine = make_engine(slots=40_000, main=hex.policy(size=3), size=3)
    decisions = next(walk(hex.arena(size=3, matches=20_000), waits=1))
    answers = engine.answer(decisions, "main", keep_policy=True)
    share = np.bincount(answers.action, minlength=9) / len(decisions)
    np.testing.assert_allclose(share, answers.policy[0], atol=0.015)
    np.testing.assert_allclose(answers.log_prob, np.log(answers.policy[0][answers.action]), atol=1e-5)


def test_temperature_zero_takes_the_likeliest_action():
    engine = make_engine(slots=32, main=hex.policy())
    decisions = next(walk(hex.arena(matches=16), waits=1))
    greedy = engine.answer(decisions, "main", temperature=0.0)
    whole = engine.answer(decisions, "main", keep_policy=True).policy
    np.testing.assert_array_equal(greedy.action, whole.argmax(-1))


def test_bfloat16_answers_are_close():
    exact = make_engine(slots=32, main=hex.policy())
    rough = make_engine(slots=32, main=hex.policy(), device=Device("cpu", "bfloat16"))
    for decisions in walk(hex.arena(matches=16), waits=8):
        one = exact.answer(decisions, "main", keep_policy=True).policy
        other = rough.answer(decisions, "main", keep_policy=True).policy
        np.testing.assert_allclose(one, other, atol=0.05)


def test_padding_changes_no_answer():
    plain, padded = (make_engine(slots=64, main=hex.policy(memory="lstm")) for _ in range(2))
    padded._served["main"].pads = True
    for decisions in walk(hex.arena(matches=19), waits=10):
        np.testing.assert_allclose(
            plain.answer(decisions, "main", keep_policy=True).policy,
            padded.answer(decisions, "main", keep_policy=True).policy,
            atol=1e-6,
        )


def test_padding_uses_few_shapes_and_wastes_at_most_a_quarter():
    shapes = {padded_rows(k) for k in range(1, 4097)}
    assert len(shapes) <= 40
    assert all(k <= padded_rows(k) <= max(8, 1.25 * k) for k in range(1, 4097))


def test_a_failing_compiler_is_said_once_and_answers_go_on(monkeypatch):
    def refuse(function, **options):
        def call(*arguments):
            raise RuntimeError("no compiler here")

        return call

    monkeypatch.setattr(torch, "compile", refuse)
    said = []
    engine = make_engine(slots=32, compiled=True, said=said, main=hex.policy())
    reference = make_engine(slots=32, main=hex.policy())
    for decisions in walk(hex.arena(matches=16), waits=3):
        np.testing.assert_array_equal(
            engine.answer(decisions, "main").action, reference.answer(decisions, "main").action
        )
    assert said == ["torch.compile failed for policy main (RuntimeError); going on without it"]


def test_a_device_that_is_not_there_is_refused():
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(InputError, match="device = cuda: this machine has no cuda; available: cpu"):
        Device.pick("cuda")


def test_float16_is_refused_on_the_cpu():
    with pytest.raises(InputError, match="dtype = float16"):
        Device.pick("cpu", "float16")
