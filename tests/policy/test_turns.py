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
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(STEPS, ROWS, WIDTH, generator=generator)
    first = torch.rand(STEPS, ROWS, generator=generator) < 0.2
    return features, first


def by_steps(memory_core, features, first, memory):
    """What playing does: memory is zeroed where a match begins, then one step."""
    outputs = []
    for now, starts in zip(features, first, strict=True):
        memory = {name: state * ~starts.view(-1, *[1] * (state.dim() - 1)) for name, state in memory.items()}
        output, memory = memory_core.step(now, memory)
        outputs.append(output)
    return torch.stack(outputs), memory


@torch.no_grad()
@pytest.mark.parametrize("layers", [1, 3])
def test_unroll_equals_steps_with_resets_in_the_middle(layers):
    made, (features, first) = core(layers), sequence()
    assert first[1:].any(0).sum() >= 2
    stepped, after_steps = by_steps(made, features, first, made.initial(ROWS))
    unrolled, after = made.unroll(features, first, made.initial(ROWS))
    torch.testing.assert_close(unrolled, stepped, atol=1e-5, rtol=1e-5)
    for name, state in after.items():
        torch.testing.assert_close(state, after_steps[name], atol=1e-5, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("segment", [1, 2, 3, 7])
def test_segments_that_start_from_stored_memory_equal_one_unroll(segment):
    made, (features, first) = core(), sequence()
    whole, _ = made.unroll(features, first, made.initial(ROWS))
    memory, parts = made.initial(ROWS), []
    for start in range(0, STEPS, segment):
        part, memory = made.unroll(features[start : start + segment], first[start : start + segment], memory)
        parts.append(part)
    torch.testing.assert_close(torch.cat(parts), whole, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_batch_equals_its_rows_one_by_one():
    made, (features, first) = core(), sequence()
    whole, after = made.unroll(features, first, made.initial(ROWS))
    for row in range(ROWS):
        one = slice(row, row + 1)
        alone, alone_after = made.unroll(features[:, one], first[:, one], made.initial(1))
        torch.testing.assert_close(alone, whole[:, one], atol=1e-5, rtol=1e-5)
        for name, state in after.items():
            torch.testing.assert_close(alone_after[name], state[one], atol=1e-5, rtol=1e-5)


def test_a_decision_sees_the_window_of_one_layer_and_nothing_later_or_of_another_match():
    made, (features, _) = core(layers=1), sequence()
    first = torch.zeros(STEPS, ROWS, dtype=torch.bool)
    first[6, 0] = True
    features.requires_grad_()
    output, _ = made.unroll(features, first, made.initial(ROWS))
    output[8].sum().backward()
    reached = features.grad.abs().sum(-1) > 0
    assert reached[:, 1].nonzero()[:, 0].tolist() == list(range(8 - WINDOW, 9))
    assert reached[:, 0].nonzero()[:, 0].tolist() == [6, 7, 8]


def test_every_weight_gets_a_gradient():
    made, (features, first) = core(), sequence()
    made.unroll(features, first, made.initial(ROWS))[0].square().sum().backward()
    assert [name for name, weight in made.named_parameters() if weight.grad is None or not weight.grad.any()] == []


def test_a_fresh_core_passes_features_through():
    features, first = sequence()
    fresh = memory_core("transformer", WIDTH, window=WINDOW)
    torch.testing.assert_close(fresh.unroll(features, first, fresh.initial(ROWS))[0], features)
