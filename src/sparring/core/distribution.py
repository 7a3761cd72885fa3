"""The one place where a legal mask meets logits.

Collecting, training and search all call these functions, so that a probability means the same thing
everywhere. They take numpy arrays (`xp=np`) or torch tensors (`xp=torch`), and are differentiable in torch.
"""

from typing import Any

ILLEGAL = -1e9
"""Log-probability of an illegal action: finite, so that 0 * ILLEGAL is 0 and no gradient turns into NaN."""

_BELOW_ONE = 1.0 - 2.0**-22


def masked_log_softmax(logits: Any, legal: Any, *, xp: Any) -> Any:
    """Log-probabilities `float[..., actions]` over the legal actions; `ILLEGAL` for the others.

    `logits: float[..., actions]`, `legal: bool[..., actions]` with at least one true in each row.
    """
    masked = xp.where(legal, logits, ILLEGAL)
    shifted = masked - xp.amax(masked, axis=-1, keepdims=True)
    total = xp.where(legal, xp.exp(shifted), 0.0).sum(axis=-1, keepdims=True)
    return xp.where(legal, shifted - xp.log(total), ILLEGAL)


def sample(log_probs: Any, uniform: Any, *, xp: Any) -> Any:
    """Action numbers `int[...]` drawn from `log_probs: float[..., actions]` by `uniform: float[...]` in [0, 1).

    Inverse of the cumulative distribution: an action with probability 0 is never drawn.
    """
    return draw(xp.exp(log_probs), uniform, xp=xp)


def draw(probabilities: Any, uniform: Any, *, xp: Any) -> Any:
    """`sample` from `probabilities: float[..., actions]`."""
    cumulative = xp.cumsum(probabilities, axis=-1)
    threshold = uniform[..., None] * _BELOW_ONE * cumulative[..., -1:]
    return (cumulative <= threshold).sum(axis=-1)


def entropy(log_probs: Any, *, xp: Any) -> Any:
    """Entropy `float[...]` in nats of `log_probs: float[..., actions]`."""
    return -(xp.exp(log_probs) * log_probs).sum(axis=-1)


def drop_unlikely(log_probs: Any, threshold: float, *, xp: Any) -> Any:
    """`log_probs: float[..., actions]` without actions of probability below `threshold`; the likeliest always stays."""
    keep = (xp.exp(log_probs) >= threshold) | (log_probs >= xp.amax(log_probs, axis=-1, keepdims=True))
    return masked_log_softmax(log_probs, keep & (log_probs > ILLEGAL), xp=xp)
