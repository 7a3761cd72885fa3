"""Value heads: one number, or a distribution over bins of possible gains.

A categorical value is learned by cross-entropy against the target spread over its two nearest bins (two-hot). Its
gradient does not grow with the size of the error, which helps where gains are rare or of very different sizes.
"""

import torch
from torch import Tensor
from torch.nn import functional

from sparring.policy.interface import Output

BINS = 51


def value_support(low: float, high: float, bins: int = BINS) -> Tensor:
    """`float[bins]` the gains the bins stand for, evenly from `low` to `high`."""
    return torch.linspace(low, high, bins)


def expected_value(logits: Tensor, support: Tensor) -> Tensor:
    """`float[...]` the mean of the distribution that `logits: float[..., bins]` give over `support: float[bins]`."""
    return (logits.float().softmax(-1) * support).sum(-1)


def two_hot(target: Tensor, support: Tensor) -> Tensor:
    """`float[..., bins]` weights on the two bins nearest to `target: float[...]` whose mean is `target`.

    A target outside the support counts as its nearest end.
    """
    place = (target - support[0]) / (support[1] - support[0])
    place = place.clamp(0, len(support) - 1)
    lower = place.floor().clamp(max=len(support) - 2)
    share = place - lower
    low = functional.one_hot(lower.long(), len(support))
    high = functional.one_hot(lower.long() + 1, len(support))
    return (1 - share).unsqueeze(-1) * low + share.unsqueeze(-1) * high


def value_error(output: Output, target: Tensor) -> Tensor:
    """`float[...]` how wrong each value of `output` is about `target: float[...]`.

    The squared error of a scalar value; of a categorical one the cross-entropy beyond the target's own entropy, so
    that 0 is perfect for both.
    """
    if output.bins is None:
        return (output.value.float() - target) ** 2
    wanted = two_hot(target, output.bins.support)
    spread = -torch.xlogy(wanted, wanted).sum(-1)
    return -(wanted * output.bins.logits.float().log_softmax(-1)).sum(-1) - spread
