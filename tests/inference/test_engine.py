"""The inference engine: batching, memory and swapping never change an answer, and NaN stays where it came from."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sparring.core import InputError, RandomPlayer, RunError
from sparring.inference import Device, InferenceEngine
from sparring.inference.device import padded_rows
from sparring.policy import Output
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


class Echo(torch.nn.Module):
    """Memory and logits take on whatever number the first plane holds, NaN included."""

    def __init__(self, actions=16):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(actions))

    def initial_memory(self, rows):
        return {"sum": torch.zeros(rows, 1)}

    def step(self, observation, legal, memory):
        total = memory["sum"] + observation["planes"].flatten(1)[:, :1]
        return Output(self.weight + total, total[:, 0], {"sum": total})


def numbers(values, first=True):
    """One row a value, of matches 0, 1, ..., whose first plane holds it."""
    rows = next(walk(hex.arena(matches=len(values)), waits=1))
    planes = np.zeros(rows.observation["planes"].shape, np.float32)
    planes[:, 0, 0, 0] = values
    return replace(rows, observation={"planes": planes}, first=np.full(len(values), first))


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
    padded._held["main"].step.few_shapes = True
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


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_not_finite_fail_with_a_reason_and_change_no_memory(bad):
    engine = make_engine(slots=8, main=Echo())
    engine.answer(numbers([1, 2, 3]), "main")
    before = engine.snapshot()
    with pytest.raises(RunError, match=r"policy main: .* not finite in 1 of 3 rows \(1\)"):
        engine.answer(numbers([1, bad, 3], first=False), "main")
    with pytest.raises(RunError, match="not finite in 1 of 2 rows"):
        engine.answer(numbers([bad, 1], first=False), "main", temperature=0.0)
    for name, slab in engine.snapshot().items():
        np.testing.assert_array_equal(slab, before[name])
    np.testing.assert_array_equal(engine.answer(numbers([1, 2, 3], first=False), "main").value, [2, 4, 6])


def test_memory_that_is_not_finite_ends_with_its_match():
    engine = make_engine(slots=8, main=Echo())
    engine.restore({"main/sum": np.full((8, 1), np.nan, np.float32)})
    np.testing.assert_array_equal(engine.memory("main", numbers([1, 2]))["sum"], [[0], [0]])
    np.testing.assert_array_equal(engine.answer(numbers([1, 2]), "main").value, [1, 2])


def test_positions_that_are_searched_never_see_memory_and_must_be_finite():
    engine = make_engine(slots=8, main=Echo())
    engine.restore({"main/sum": np.full((8, 1), np.nan, np.float32)})
    rows = numbers([1, 2])
    np.testing.assert_array_equal(engine.evaluate("main", rows.observation, rows.legal)[1], [1, 2])
    rows = numbers([1, np.nan])
    with pytest.raises(RunError, match=r"1 of 2 rows \(1\)"):
        engine.evaluate("main", rows.observation, rows.legal)


def test_weights_that_are_not_finite_are_refused_and_the_old_ones_stay():
    broken = hex.policy()
    name = next(name for name, weight in broken.named_parameters())
    with torch.no_grad():
        next(broken.parameters()).flatten()[0] = float("nan")
    engine = make_engine(slots=32, main=hex.policy())
    with pytest.raises(InputError, match=f"policy main: weights {name} are not finite"):
        engine.swap("main", broken.state_dict(), version=1)
    assert engine.policies == {"main": 0}
    engine.answer(next(walk(hex.arena(matches=4), waits=1)), "main")
    with pytest.raises(InputError, match=f"policy other: weights {name} are not finite"):
        engine.add("other", broken)


def test_a_device_that_is_not_there_is_refused():
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(InputError, match="device = cuda: this machine has no cuda; available: cpu"):
        Device.pick("cuda")


def test_float16_is_refused_on_the_cpu():
    with pytest.raises(InputError, match="dtype = float16"):
        Device.pick("cpu", "float16")
