"""Filtered imitation: only choices that turned out better than expected are imitated, with equal weight."""

import torch
from torch import Tensor


def filtered_loss(log_prob: Tensor, advantage: Tensor, valid: Tensor, *, threshold: float) -> dict[str, Tensor]:
    """The mean negative log-probability of the choices whose advantage is above `threshold`, and their share.

    `log_prob: float[...]` of what was chosen, `advantage: float[...]`, `valid: bool[...]`. What the filter drops is
    neither in the loss nor in its gradient.
    """
    kept = valid & (advantage > threshold)
    loss = torch.where(kept, -log_prob, 0.0).sum() / kept.sum().clamp_min(1)
    return {"policy_loss": loss, "kept": kept.sum() / valid.sum()}
