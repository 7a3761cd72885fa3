"""The choices in other players' episodes, and how likely a policy finds them.

A record of a match does not always show the choice, only a set of actions one of which was chosen. A policy is then
measured by the probability of the whole set, so that nothing is guessed.
"""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Episodes
from sparring.core.episodes import SegmentMemory, unpack_mask
from sparring.core.settings import Count, Fraction, NonNegative
from sparring.inference import Device
from sparring.learn.batches import Batch, batches, packed_batches
from sparring.learn.optimiser import OptimiserSettings
from sparring.policy import Packing, Policy


class ChoiceSettings(OptimiserSettings, frozen=True, kw_only=True):
    """Settings of all learners from episodes on disk. Each comment says what raising the value does."""

    batch_size: Count = 16384
    """Decisions for each update: raising it makes metrics rarer and steadier."""
    minibatch_size: Count = 1024
    """Decisions for each gradient step: raising it makes steps less noisy and fewer."""
    segment_length: Count = 32
    """Decisions in a row that a network with memory is trained on: raising it teaches a longer memory."""
    value_coef: NonNegative = 0.5
    """Raising it makes the value loss count for more beside the policy loss."""
    hide_filled: Fraction = 0.0
    """The chance that an episode hides what was filled in of the own team: raising it makes the policy rely less on
    guesses, and see fewer whole teams."""


def chosen_actions(episodes: Episodes, rows: NDArray[np.intp] | slice) -> NDArray[np.bool_]:
    """`bool[..., actions]` the action of each of `rows: intp[...]`, or all it may have been."""
    steps, actions = episodes.steps, episodes.spec.actions
    if steps.consistent is not None:
        return unpack_mask(steps.consistent[rows], actions)
    action = steps.action[rows]
    chosen = np.zeros((*action.shape, actions), np.bool_)
    np.put_along_axis(chosen, action[..., None].astype(np.intp), True, axis=-1)
    return chosen


def set_log_prob(log_probs: Tensor, chosen: Tensor) -> Tensor:
    """`float[...]` the log of the total probability of the sets `chosen: bool[..., actions]`, none of them empty.

    `log_probs: float[..., actions]` are those of the legal actions, in which the sets lie.
    """
    return torch.logsumexp(torch.where(chosen, log_probs, -torch.inf), dim=-1)


def hits(log_probs: Tensor, chosen: Tensor, most: int = 3) -> Tensor:
    """`bool[..., most]` whether the likeliest action, the next, ... is in the set `chosen: bool[..., actions]`."""
    return chosen.gather(-1, log_probs.topk(min(most, log_probs.shape[-1]), dim=-1).indices)


def choice_batches(
    episodes: Episodes,
    policy: Policy,
    *,
    minibatch_size: int,
    length: int,
    device: Device,
    rng: np.random.Generator,
) -> list[Batch]:
    """All rows of `episodes`, which `policy` did not play, once in minibatches.

    A network with memory learns whole episodes, starting from empty memory: packed if it can be, and then in windows of
    `length` decisions.
    """
    fresh = policy.initial_memory(len(episodes))
    if fresh and isinstance(policy, Packing):
        return list(packed_batches(episodes, minibatch_size=minibatch_size, length=length, device=device, rng=rng))
    if fresh:
        memory = SegmentMemory({name: tensor.cpu().numpy() for name, tensor in fresh.items()})
        episodes = replace(episodes, segment=int(episodes.headers.lengths.max()), memory=memory)
    return list(batches(episodes, minibatch_size=minibatch_size, device=device, rng=rng))
