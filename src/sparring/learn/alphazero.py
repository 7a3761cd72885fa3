"""AlphaZero: play with search, and teach the network what the search found and how the matches ended."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Array, Episodes, GameSpec, Rows, masked_log_softmax
from sparring.core.episodes import unpack_mask
from sparring.core.rows import flatten, nested
from sparring.core.settings import Count, Fraction, NonNegative, NonNegativeInt, Positive
from sparring.inference import Device
from sparring.learn import parallel
from sparring.learn.learner import mean_metrics
from sparring.learn.optimiser import Optimiser, OptimiserSettings
from sparring.learn.replay import ReplayWindow
from sparring.learn.ties import Tie, Tied, add_ties
from sparring.policy import Output, Policy, value_error
from sparring.search import GumbelSettings, PlaySettings, SearchSettings
from sparring.search.player import false_resigns

Symmetry = Callable[[Mapping[str, Array]], tuple[dict[str, Array], NDArray[np.int32]]]
"""A position's mirror image: observations to observations, and `int32[actions]` what each action becomes."""


class GateSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """New weights play against the best so far before they take over self-play."""

    every: NonNegativeInt = 0
    """Updates between two trials; 0: no gate, every update takes over at once."""
    matches: Count = 200
    """Matches of a trial: raising it makes fewer mistakes and takes longer."""
    threshold: Fraction = 0.55
    """Points per match that the new weights must score: raising it lets fewer of them through."""


class AlphaZeroSettings(OptimiserSettings, frozen=True, kw_only=True, tag_field="kind", tag="alphazero"):
    """AlphaZero: the policy learns what a tree search plays, the value how matches end.

    Each comment says what raising the value does.
    """

    search: SearchSettings = GumbelSettings(gumbel_scale=1.0, reuse_tree=False)
    """How self-play looks ahead."""
    play: PlaySettings = PlaySettings(temperature=1.0, temperature_moves=4)
    """How self-play picks its moves."""
    symmetry: bool = False
    """Whether self-play's search averages the network over mirror images: better targets, twice the work."""
    cache: NonNegativeInt = 1 << 16
    """Positions whose network outputs self-play's searches cache: raising it saves work and costs memory."""
    batch_size: Count = 8192
    """Decisions played for each update: raising it makes updates rarer and longer."""
    window_size: Count = 200_000
    """Newest decisions that minibatches are drawn from: raising it makes training steadier and its data older."""
    replay_ratio: Positive = 2.0
    """How often a decision is trained on, on average: raising it learns more from the same matches, and may overfit."""
    minibatch_size: Count = 512
    """Decisions for each gradient step: raising it makes steps less noisy and fewer."""
    value_coef: NonNegative = 1.0
    """Raising it makes the value loss count for more beside the policy loss."""
    q_ratio: Fraction = 0.25
    """The weight of the search's value in the value target; the rest is the outcome. Raising it makes targets less
    noisy and more biased."""
    augment_symmetry: bool = True
    """Whether half of the rows are trained on as their mirror image, where the game has one."""
    gate: GateSettings = GateSettings()


@dataclass(frozen=True, slots=True, eq=False)
class SearchedRows(Rows):
    """Decisions made with search, as the replay window keeps them."""

    observation: Mapping[str, Array]
    """Field name to `dtype[k, *shape]`."""
    legal: NDArray[np.uint8]
    """`uint8[k, ceil(actions / 8)]` the mask as packed bits."""
    policy: NDArray[np.float16]
    """`float16[k, actions]` the search's policy."""
    value: NDArray[np.float32]
    """`float32[k]` the value target."""


class AlphaZero:
    """The AlphaZero learner. `symmetry` is the game's mirror image, None if it has none."""

    def __init__(
        self, policy: Policy, settings: AlphaZeroSettings, *, device: Device, seed: int, symmetry: Symmetry | None
    ) -> None:
        self._settings = settings
        self._device = device
        self._symmetry = symmetry if settings.augment_symmetry else None
        self._rng = np.random.default_rng(seed)
        self._window: ReplayWindow[SearchedRows] = ReplayWindow(settings.window_size)
        self._optimiser = Optimiser(policy, settings, device=device)

    @property
    def policy(self) -> Policy:
        """The policy being trained."""
        return self._optimiser.policy

    def update(self, episodes: Episodes, *, progress: float, ties: Sequence[Tie] = ()) -> dict[str, float]:
        """Adds `episodes` to the window and takes as many gradient steps as `replay_ratio` asks for."""
        settings = self._settings
        learning_rate = self._optimiser.schedule(progress)
        self._window.add(searched_rows(episodes, settings.q_ratio))
        steps = max(1, round(parallel.average(episodes.rows) * settings.replay_ratio / settings.minibatch_size))
        metrics = mean_metrics(
            [
                self._step(self._window.draw(settings.minibatch_size, self._rng), episodes.spec, ties)
                for _ in range(steps)
            ]
        )
        self._optimiser.absorb(episodes)
        metrics |= {
            "learning_rate": learning_rate,
            "window_rows": float(len(self._window)),
            "gradient_steps": float(steps),
        }
        if settings.play.resign:
            resigned, wrong = false_resigns(episodes, settings.play.resign)
            metrics |= {"resigned": resigned / len(episodes), "false_resigns": wrong / max(1, resigned)}
        return metrics

    def _step(self, rows: SearchedRows, spec: GameSpec, ties: Sequence[Tie]) -> dict[str, float]:
        """One gradient step on drawn rows. Returns its metrics."""
        device = self._device
        legal, target_policy = unpack_mask(rows.legal, spec.actions), rows.policy.astype(np.float32)
        if self._symmetry is not None:
            mirror(self._symmetry, slice(0, len(rows) // 2), rows.observation, legal, target_policy)
        observation, mask = device.tensors(rows.observation), device.tensor(legal)
        target_policies, value_targets = device.tensor(target_policy), device.tensor(rows.value)
        output = self._answers(spec, observation, mask)
        log_probs = masked_log_softmax(output.logits.float(), mask, xp=torch)
        losses = alphazero_losses(log_probs, mask, target_policies, value_error(output, value_targets))
        suspects = flatten({"observation": observation}) | {
            "policy target": target_policies,
            "value target": value_targets,
            "logits": output.logits,
            "value": output.value,
        }
        loss = losses["policy_loss"] + self._settings.value_coef * losses["value_loss"]
        tied = Tied(spec, observation, mask, log_probs, valid=torch.ones_like(value_targets, dtype=torch.bool))
        loss = add_ties(loss, losses, ties, tied)
        grad_norm = self._optimiser.step(loss, suspects)
        return {name: float(part.detach()) for name, part in losses.items()} | {"grad_norm": grad_norm}

    def _answers(self, spec: GameSpec, observation: Mapping[str, Tensor], legal: Tensor) -> Output:
        """The policy's output for k rows, each as the first of its match."""
        seen = {name: field.unsqueeze(0) for name, field in observation.items()}
        output = self._optimiser.answers(spec, seen, legal.unsqueeze(0), self.policy.initial_memory(len(legal)))
        bins = None if output.bins is None else output.bins._replace(logits=output.bins.logits[0])
        return Output(output.logits[0], output.value[0], output.memory, bins)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Weights, optimiser, the window and the order of draws."""
        tensors, values = self._optimiser.state()
        rows = self._window.snapshot()
        columns = {} if rows is None else {name: torch.from_numpy(array) for name, array in rows.columns().items()}
        return tensors | flatten({"window": columns}), {"optimiser": values, "rng": self._rng.bit_generator.state}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self._optimiser.load(tensors, values["optimiser"])
        columns = {name: tensor.numpy() for name, tensor in nested(tensors).get("window", {}).items()}
        self._window.restore(SearchedRows.from_columns(columns) if columns else None)
        self._rng.bit_generator.state = values["rng"]


def searched_rows(episodes: Episodes, q_ratio: float) -> SearchedRows:
    """What the window keeps of `episodes`. Value targets are `q_ratio` search value, the rest outcome."""
    steps = episodes.steps
    if steps.policy is None:
        raise ValueError("AlphaZero learns from search policies, and these episodes have none")
    outcome = np.repeat(episodes.headers.outcome, episodes.headers.lengths)
    return SearchedRows(
        observation=steps.observation,
        legal=steps.legal,
        policy=steps.policy.astype(np.float16),
        value=((1 - q_ratio) * outcome + q_ratio * steps.value).astype(np.float32),
    )


def mirror(
    symmetry: Symmetry,
    rows: slice,
    observation: Mapping[str, Array],
    legal: NDArray[np.bool_],
    policy: NDArray[np.float32],
) -> None:
    """Replaces `rows` by their mirror images, in place: fields `[k, *shape]`, `legal` and `policy` `[k, actions]`."""
    image, permutation = symmetry({name: array[rows] for name, array in observation.items()})
    for name, array in observation.items():
        array[rows] = image[name].copy()
    legal[rows] = legal[rows][:, permutation]
    policy[rows] = policy[rows][:, permutation]


def alphazero_losses(log_probs: Tensor, legal: Tensor, policy: Tensor, value_error: Tensor) -> dict[str, Tensor]:
    """Cross-entropy against the search's policy and the value error, means over k rows.

    `log_probs, policy: float[k, actions]`, `legal: bool[k, actions]`, `value_error: float[k]`. `policy_kl` is the KL
    divergence from the search's policy to the network's: the cross-entropy without the part that no network can avoid.
    """
    cross_entropy = -torch.where(legal, policy * log_probs, 0.0).sum(-1).mean()
    negative_entropy = torch.where(policy > 0, policy * policy.clamp_min(1e-9).log(), 0.0).sum(-1).mean()
    return {
        "policy_loss": cross_entropy,
        "value_loss": value_error.mean(),
        "policy_kl": (cross_entropy + negative_entropy).detach(),
    }
