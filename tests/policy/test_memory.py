"""`step` and `unroll` are one function: taken step by step or all at once, the answers are the same."""

import pytest
import torch

from tests import hex


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_unroll_equals_steps(memory):
    policy = hex.policy(memory=memory)
    steps, rows = 12, 5
    generator = torch.Generator().manual_seed(0)
    planes = (torch.rand(steps, rows, 2, 4, 4, generator=generator) > 0.6).to(torch.uint8)
    legal = torch.ones(steps, rows, 16, dtype=torch.bool)
    start = {k: torch.randn(v.shape, generator=generator) for k, v in policy.initial_memory(rows).items()}
    whole = policy.unroll({"planes": planes}, legal, start)
    carried = dict(start)
    for t in range(steps):
        output = policy.step({"planes": planes[t]}, legal[t], carried)
        carried = output.memory
        torch.testing.assert_close(output.logits, whole.logits[t], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(output.value, whole.value[t], atol=1e-5, rtol=1e-5)
    assert set(carried) == set(whole.memory)
    for name, state in carried.items():
        torch.testing.assert_close(state, whole.memory[name], atol=1e-5, rtol=1e-5)
