"""The causal transformer and its cache; and packing, for every memory core: neither changes an answer."""

import numpy as np
import pytest
import torch

from sparring.learn.batches import packed
from sparring.policy import CausalMemory, LstmMemory, NoMemory, TurnMemory

WIDTH = 12
CORES = {
    "none": NoMemory,
    "lstm": lambda: LstmMemory(WIDTH),
    "turns": lambda: TurnMemory(WIDTH, window=5, layers=2, heads=2),
    "causal": lambda: CausalMemory(WIDTH, inner=16, window=5, layers=3, heads=2),
}


def core(kind):
    """A core in which every weight matters."""
    torch.manual_seed(0)
    made = CORES[kind]()
    for weight in made.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return made.requires_grad_(False)


def by_steps(core, features, memory):
    outputs = []
    for now in features:
        output, memory = core.step(now, memory)
        outputs.append(output)
    return torch.stack(outputs), memory


@pytest.mark.parametrize("cuts", [[17], [3, 1, 9, 4], [5, 5, 7], [1] * 17])
def test_steps_with_the_cache_equal_unrolls_in_any_pieces(cuts):
    causal, features = core("causal"), torch.randn(17, 4, WIDTH)
    whole, end = by_steps(causal, features, causal.initial(4))
    memory, outputs = causal.initial(4), []
    for part in features.split(cuts):
        output, memory = causal.unroll(part, memory)
        outputs.append(output)
    torch.testing.assert_close(torch.cat(outputs), whole, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(memory["cache"], end["cache"], atol=1e-5, rtol=1e-5)
    assert memory["count"].tolist() == end["count"].tolist() == [17] * 4


def test_seats_that_are_further_than_others_share_a_batch():
    causal, features = core("causal"), torch.randn(9, 2, WIDTH)
    _, ahead = by_steps(causal, features[:7, :1], causal.initial(1))
    joint = {name: torch.cat((state, causal.initial(1)[name])) for name, state in ahead.items()}
    together, _ = causal.unroll(features[7:], joint)
    torch.testing.assert_close(together[:, :1], by_steps(causal, features[7:, :1], ahead)[0], atol=1e-5, rtol=1e-5)
    alone = by_steps(causal, features[7:, 1:], causal.initial(1))[0]
    torch.testing.assert_close(together[:, 1:], alone, atol=1e-5, rtol=1e-5)


def test_a_decision_sees_what_the_window_and_the_layers_reach_and_nothing_later():
    causal = core("causal")
    features = torch.randn(20, 1, WIDTH, requires_grad=True)
    output, _ = causal.unroll(features, causal.initial(1))
    output[15].sum().backward()
    reached = features.grad.abs().sum(dim=(1, 2)) > 0
    assert reached.tolist() == [3 <= number <= 15 for number in range(20)]  # three layers, four back in each


@pytest.mark.parametrize("kind", CORES)
def test_packing_changes_no_answer(kind):
    made, rng = core(kind), np.random.default_rng(0)
    lengths = rng.integers(1, 13, 20)
    features = torch.randn(int(lengths.sum()), WIDTH)
    starts = np.cumsum(lengths) - lengths
    rows, valid, first = packed(starts, lengths, 16)
    together = made.unroll_packed(features[rows], torch.from_numpy(first))
    found = torch.empty_like(features)
    found[rows[valid]] = together[torch.from_numpy(valid)]
    for start, length in zip(starts, lengths, strict=True):
        one = features[start : start + length].unsqueeze(1)
        alone, _ = made.unroll(one, made.initial(1))
        torch.testing.assert_close(found[start : start + length], alone[:, 0], atol=1e-5, rtol=1e-5)


def test_checkpointing_changes_no_gradient():
    found = []
    for checkpointing in (False, True):
        causal = core("causal").requires_grad_(True)
        causal.checkpointing = checkpointing
        torch.manual_seed(1)
        features, first = torch.randn(8, 2, WIDTH), torch.zeros(8, 2, dtype=torch.bool)
        first[0] = True
        causal.unroll_packed(features, first).square().sum().backward()
        found.append([weight.grad for weight in causal.parameters()])
    for plain, again in zip(*found, strict=True):
        torch.testing.assert_close(again, plain)


def test_under_autocast_the_cache_has_its_precision_and_steps_still_equal_unrolls():
    causal, features = core("causal"), torch.randn(9, 3, WIDTH)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        memory = causal.initial(3)
        assert memory["cache"].dtype == torch.bfloat16
        stepped, _ = by_steps(causal, features, memory)
        whole, _ = causal.unroll(features, memory)
    torch.testing.assert_close(whole, stepped, atol=0.1, rtol=0.1)
