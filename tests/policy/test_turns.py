"""Transformer memory: steps, unrolls and segments are one function, and nothing is seen that should not be."""

import pytest
import torch

from sparring.policy import TurnMemory, memory_core

WIDTH, WINDOW, STEPS, ROWS = 8, 4, 13, 5


def core(layers=2):
    torch.manual_seed(0)
    made = TurnMemory(WIDTH, window=WINDOW, layers=layers, heads=2)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.4)
    return made


def sequence():
    return torch.randn(STEPS, ROWS, WIDTH, generator=torch.Generator().manual_seed(1))


def by_steps(memory_core, features, memory):
    """What playing does: one step after the other."""
    outputs = []
    for now in features:
        output, memory = memory_core.step(now, memory)
        outputs.append(output)
    return torch.stack(outputs), memory


@torch.no_grad()
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("seen", [0, 2, 9])
def test_unroll_equals_steps_from_an_empty_half_full_or_full_memory(layers, seen):
    made, features = core(layers), sequence()
    _, start = by_steps(made, -features[:seen], made.initial(ROWS)) if seen else (None, made.initial(ROWS))
    assert start["seen"].sum(1).tolist() == [min(seen, WINDOW)] * ROWS
    stepped, after_steps = by_steps(made, features, start)
    unrolled, after = made.unroll(features, start)
    torch.testing.assert_close(unrolled, stepped, atol=1e-5, rtol=1e-5)
    assert set(after) == set(after_steps)
    for name, state in after.items():
        torch.testing.assert_close(state, after_steps[name], atol=1e-5, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("segment", [1, 2, 3, 7])
def test_segments_that_start_from_stored_memory_equal_one_unroll(segment):
    made, features = core(), sequence()
    whole, _ = made.unroll(features, made.initial(ROWS))
    memory, parts = made.initial(ROWS), []
    for start in range(0, STEPS, segment):
        part, memory = made.unroll(features[start : start + segment], memory)
        parts.append(part)
    torch.testing.assert_close(torch.cat(parts), whole, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_batch_equals_its_rows_one_by_one():
    made, features = core(), sequence()
    whole, after = made.unroll(features, made.initial(ROWS))
    for row in range(ROWS):
        one = slice(row, row + 1)
        alone, alone_after = made.unroll(features[:, one], made.initial(1))
        torch.testing.assert_close(alone, whole[:, one], atol=1e-5, rtol=1e-5)
        for name, state in after.items():
            torch.testing.assert_close(alone_after[name], state[one], atol=1e-5, rtol=1e-5)


def test_a_decision_sees_the_window_of_one_layer_and_nothing_later_or_of_another_seat():
    made, features = core(layers=1), sequence()
    features.requires_grad_()
    output, _ = made.unroll(features, made.initial(ROWS))
    output[8, 1].sum().backward()
    reached = features.grad.abs().sum(-1) > 0
    assert reached.nonzero().tolist() == [[step, 1] for step in range(8 - WINDOW, 9)]


def test_every_weight_gets_a_gradient():
    made, features = core(), sequence()
    made.unroll(features, made.initial(ROWS))[0].square().sum().backward()
    assert [name for name, weight in made.named_parameters() if weight.grad is None or not weight.grad.any()] == []


def test_a_fresh_core_passes_features_through():
    features = sequence()
    fresh = memory_core("transformer", WIDTH, window=WINDOW)
    torch.testing.assert_close(fresh.unroll(features, fresh.initial(ROWS))[0], features)
