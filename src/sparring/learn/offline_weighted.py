"""Advantage-weighted imitation, as in AWAC and CRR: a choice counts exponentially more the better it turned out."""

import torch
from torch import Tensor


def weighted_loss(
    log_prob: Tensor, advantage: Tensor, valid: Tensor, *, temperature: float, max_weight: float
) -> dict[str, Tensor]:
    """The mean negative log-probability of the choices, weighted by exp(advantage / temperature) up to `max_weight`.

    `log_prob: float[...]` of what was chosen, `advantage: float[...]`, `valid: bool[...]`. `effective_share` is the
    effective sample size, as a share of the choices.
    """
    bounded = (advantage / temperature).exp().clamp(max=max_weight)
    weight = torch.where(valid, bounded, 0.0)
    loss = (-log_prob * weight).sum() / weight.sum().clamp_min(1e-9)
    effective = weight.sum() ** 2 / (weight**2).sum().clamp_min(1e-9)
    return {"policy_loss": loss, "effective_share": effective / valid.sum()}
