"""Regularised Nash dynamics: self-play that converges to an equilibrium instead of cycling around it.

Four networks of one shape. The acting policy learns and plays; the target follows it slowly (Polyak), gives the values
and is the policy that is rated and saved; two regularisation snapshots are targets of earlier iterations. Every reward
is transformed: a seat pays `eta` times the log-ratio l of its policy to the regularisation policy and receives what its
opponent pays. The transformed game has one equilibrium, to which the dynamics converge; at an iteration's end the
snapshots move there and the next game is regularised around it. The fixed point is an equilibrium of the game itself.

One gradient step takes whole matches: l from the acting policy and both snapshots, one V-trace scan per seat with the
target's values (`vtrace`), action values Q(a) = v - eta l(a) + [a taken] * (TD error) / mu(a), and a NeuRD step: each
legal logit is pushed by the advantage of its action, not through the softmax, unless that would take it past `beta`.
The loss says nothing about strength: measure exploitability on a small game, win rates on a large one.

A match against another player (an opponent of the run, a member of its league) has the rows of one seat. That opponent
is part of the game: it has no importance weights and pays no regularisation, so that the targets are those of an answer
to it. What the dynamics are known to converge to holds for self-play; the more matches against others, the more the
policy becomes an answer to them.

The transformed rewards use the expectation of l under the acting policy instead of the sampled l: the same mean with
less noise. With memory, the acting policy learns on stored segments as in PPO; the other networks replay each episode.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from msgspec import Meta
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Episodes, InputError, entropy, masked_log_softmax
from sparring.core.rows import flatten, nested
from sparring.core.settings import Count, Fraction, NonNegative, Positive
from sparring.inference import Device
from sparring.inference.device import to_numpy
from sparring.learn import parallel
from sparring.learn.batches import one_batch
from sparring.learn.learner import explained_variance, mean_metrics
from sparring.learn.optimiser import LrSchedule, Optimiser, OptimiserSettings
from sparring.learn.outputs import move_towards, row_outputs
from sparring.learn.ties import Tie, Tied, add_ties
from sparring.learn.vtrace import VtraceRows, VtraceSettings, belief_weights, joint_order, two_seat_vtrace
from sparring.policy import Output, Policy, value_error


class RnadSettings(OptimiserSettings, frozen=True, kw_only=True, tag_field="kind", tag="rnad"):
    """R-NaD: towards an equilibrium through a sequence of games with regularised rewards.

    Each comment says what raising the value does. The defaults are DeepNash's; a small game needs larger steps and
    shorter iterations.
    """

    batch_size: Count = 16384
    """Decisions collected for each update: raising it makes updates rarer, and longer or less noisy."""
    minibatch_size: Count = 16384
    """Decisions for each gradient step, in whole matches: raising it makes steps less noisy and fewer."""
    learning_rate: Positive = 5e-5
    lr_schedule: LrSchedule = "constant"
    """`linear` and `cosine` lower the learning rate over the run to a hundredth, which averages out the noise in rarely
    seen states; `constant` keeps it."""
    eta: NonNegative = 0.2
    """Weight of the regularisation, relative to the size of rewards: raising it makes learning steadier, the policy
    more mixed, and each iteration's progress smaller."""
    target_network_avg: Annotated[float, Meta(gt=0, le=1)] = 1e-3
    """The part of the way that the target network moves towards the acting policy each step: raising it makes the
    target follow faster and average over less."""
    iterations: Annotated[tuple[tuple[Count, Count], ...], Meta(min_length=1)] = ((1000, 10), (10000, 1))
    """(steps, repeats) of the iterations, in order; the last size repeats for ever. Longer ones converge further before
    the snapshots move on; begin short."""
    beta: Positive = 2.0
    """Logits, centred over the legal actions, are pushed at most this far from 0: raising it allows purer policies."""
    advantage_clip: Positive = 10_000.0
    """Advantages are clipped to this size: raising it lets rare large ones count in full."""
    vtrace_lambda: Fraction = 1.0
    """Raising it relies less on the value function: less bias, more variance."""
    c_bar: Positive = 1.0
    """V-trace's bound on the importance weights of later rewards and values: raising it means less bias, more
    variance."""
    rho_bar: Positive | None = None
    """V-trace's bound on the importance weights of the next value: raising it means less bias, more variance; null sets
    no bound, and targets are unbiased."""
    value_coef: NonNegative = 1.0
    """Raising it makes the value loss count for more beside the policy loss."""
    max_grad_norm: Positive = 10_000.0
    policy_threshold: Annotated[float, Meta(ge=0, lt=1)] = 0.03
    """Actions less likely than this are not played where the policy is rated: raising it makes that policy purer."""
    temperature: Positive = 1.0
    """Of self-play: raising it above 1 plays unlikely actions more often, so that each gets a smaller weight.

    V-trace corrects for this in what follows a row, `belief_clip` in what came before.
    """
    belief_clip: Annotated[float, Meta(ge=1)] = 1.0
    """Rows are weighted by how much likelier the opponent's past actions are now than when they were played, at most by
    this factor: raising it means less bias, more variance; 1 weights all rows equally."""
    segment_length: Count = 16
    """Decisions that gradients flow back through if the network has memory: raising it learns longer dependencies."""


class Rnad:
    """The R-NaD learner, for two seats."""

    def __init__(self, policy: Policy, settings: RnadSettings, *, device: Device) -> None:
        self.steps = 0
        """Gradient steps so far."""
        self._settings = settings
        self._device = device
        self._optimiser = Optimiser(policy, settings, device=device, beta1=0.0)
        self.target, self.previous, self.before = (copy.deepcopy(policy).requires_grad_(False) for _ in range(3))

    @property
    def policy(self) -> Policy:
        """The policy that learns and plays."""
        return self._optimiser.policy

    def update(self, episodes: Episodes, *, progress: float, ties: Sequence[Tie] = ()) -> dict[str, float]:
        """One pass over the matches of `episodes`, a gradient step for every `minibatch_size` rows."""
        settings = self._settings
        if episodes.spec.seats != 2:
            raise InputError(f"learner.kind = rnad: needs a game of two seats, {episodes.spec.game} has another number")
        if not episodes.headers.complete.all():
            raise ValueError("R-NaD learns from whole matches: collect without truncating episodes")
        learning_rate = self._optimiser.schedule(progress)
        metrics = mean_metrics([self._step(part, ties) for part in whole_matches(episodes, settings.minibatch_size)])
        self._optimiser.absorb(episodes)
        start, size = iteration_at(self.steps, settings.iterations)
        return metrics | {
            "learner_steps": float(self.steps),
            "iteration_share": (self.steps - start) / size,
            "learning_rate": learning_rate,
        }

    def _step(self, episodes: Episodes, ties: Sequence[Tie]) -> dict[str, float]:
        """One gradient step on whole matches. Returns its metrics."""
        settings, device = self._settings, self._device
        batch = one_batch(episodes, device=device)
        if batch.policy is None:
            raise ValueError("R-NaD needs the whole behaviour policy of every row: collect with keep_policy")
        output = _at(self._optimiser.unroll(batch), batch.valid)
        legal, action = batch.legal[batch.valid], batch.action[batch.valid].unsqueeze(-1)
        logits = output.logits.float()
        log_probs = masked_log_softmax(logits, legal, xp=torch)
        log_pi = log_probs.detach()
        pi, mu = log_pi.exp(), batch.policy[batch.valid]

        rows = batch.rows[to_numpy(batch.valid)]
        value, log_ratio = self._references(episodes, rows, log_pi, legal)
        regularisation = (pi * log_ratio).sum(-1)
        played = mu.gather(-1, action).squeeze(-1)
        value_target, td_error, belief = self._vtrace(
            episodes,
            rows,
            value=value,
            ratio=pi.gather(-1, action).squeeze(-1) / played,
            inv_mu=1 / played,
            penalty=settings.eta * regularisation,
        )
        q = action_values(value, log_ratio, action, td_error, eta=settings.eta)
        neurd = neurd_loss(logits, q, pi, legal, advantage_clip=settings.advantage_clip, beta=settings.beta)
        policy_loss = (neurd * belief).mean()
        value_loss = (value_error(output, value_target) * belief).mean()
        suspects = batch.inputs | {
            "logits": output.logits,
            "value": output.value,
            "value target": value_target,
            "action value": q,
            "behaviour policy": mu,
        }
        losses = {"policy_loss": policy_loss, "value_loss": value_loss}
        loss = policy_loss + settings.value_coef * value_loss
        tied = Tied(batch.spec, {}, legal, log_probs, torch.ones_like(value_target, dtype=torch.bool), episodes, rows)
        loss = add_ties(loss, losses, ties, tied) * parallel.share(batch.valid.sum())
        grad_norm = self._optimiser.step(loss, suspects)
        self._move_references()
        behaviour_kl = torch.where(mu > 0, mu * (mu.clamp_min(1e-30).log() - log_pi), 0.0).sum(-1)
        return {name: float(part.detach()) for name, part in losses.items()} | {
            "entropy": float(entropy(log_pi, xp=torch).mean()),
            "behaviour_kl": float(behaviour_kl.mean()),
            "regularisation_kl": float(regularisation.mean()),
            "explained_variance": explained_variance(float((value_target - value).var()), float(value_target.var())),
            "grad_norm": grad_norm,
        }

    def _references(
        self, episodes: Episodes, rows: NDArray[np.intp], log_pi: Tensor, legal: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The target network's value `float[r]` of each of `rows`, and l of each action `float[r, actions]`."""
        start, size = iteration_at(self.steps, self._settings.iterations)
        alpha = min(1.0, 2 * (self.steps - start) / size)
        at = self._device.tensor(rows)
        previous, _ = row_outputs(self.previous, episodes, device=self._device)
        before, _ = row_outputs(self.before, episodes, device=self._device)
        _, value = row_outputs(self.target, episodes, device=self._device)
        return value[at], log_policy_ratio(log_pi, previous[at], before[at], legal, alpha)

    def _vtrace(
        self,
        episodes: Episodes,
        rows: NDArray[np.intp],
        *,
        value: Tensor,
        ratio: Tensor,
        inv_mu: Tensor,
        penalty: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Value targets, TD errors (divided by mu) and belief weights of `rows: intp[r]`, `float[r]` each."""
        settings = self._settings
        order = joint_order(episodes, rows)
        targets = two_seat_vtrace(
            order,
            VtraceRows(
                reward=episodes.steps.reward[rows],
                value=to_numpy(value),
                ratio=to_numpy(ratio),
                inv_mu=to_numpy(inv_mu),
                penalty=to_numpy(penalty),
            ),
            VtraceSettings(
                vtrace_lambda=settings.vtrace_lambda,
                c_bar=settings.c_bar,
                rho_bar=np.inf if settings.rho_bar is None else settings.rho_bar,
            ),
        )
        belief = belief_weights(order, to_numpy(ratio), settings.belief_clip)
        tensor = self._device.tensor
        return tensor(targets.value_target), tensor(targets.td_error), tensor(belief)

    def _move_references(self) -> None:
        """Moves the target towards the acting policy, and at an iteration's end the snapshots to the target."""
        start, size = iteration_at(self.steps, self._settings.iterations)
        move_towards(self.target, self.policy, self._settings.target_network_avg)
        self.steps += 1
        if self.steps == start + size:
            self.before.load_state_dict(self.previous.state_dict())
            self.previous.load_state_dict(self.target.state_dict())

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All four networks, the optimiser and the step count."""
        tensors, values = self._optimiser.state()
        references = {name: network.state_dict() for name, network in self._networks().items()}
        return tensors | flatten(references), {"optimiser": values, "steps": self.steps}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self._optimiser.load(tensors, values["optimiser"])
        parts = nested(tensors)
        for name, network in self._networks().items():
            network.load_state_dict(parts[name])
        self.steps = int(values["steps"])

    def _networks(self) -> dict[str, Policy]:
        """The networks besides the acting policy."""
        return {"target": self.target, "previous": self.previous, "before": self.before}


def iteration_at(step: int, iterations: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """`(start, size)` of the iteration that `step` belongs to; the last of `iterations` repeats for ever."""
    start = 0
    for size, repeats in iterations:
        if step < start + size * repeats:
            return start + (step - start) // size * size, size
        start += size * repeats
    return start + (step - start) // size * size, size


def log_policy_ratio(log_pi: Tensor, previous: Tensor, before: Tensor, legal: Tensor, alpha: float) -> Tensor:
    """`float[r, actions]` log pi - (alpha log previous + (1 - alpha) log before); 0 where not legal."""
    return torch.where(legal, log_pi - (alpha * previous + (1 - alpha) * before), 0.0)


def action_values(value: Tensor, log_ratio: Tensor, action: Tensor, td_error: Tensor, *, eta: float) -> Tensor:
    """`float[r, actions]` Q(a) = v - eta l(a), plus at the action taken its TD error (divided by mu).

    `value, td_error: float[r]`, `log_ratio: float[r, actions]`, `action: int[r, 1]`.
    """
    q = value.unsqueeze(-1) - eta * log_ratio
    return q.scatter_add(-1, action, td_error.unsqueeze(-1))


def neurd_loss(logits: Tensor, q: Tensor, pi: Tensor, legal: Tensor, *, advantage_clip: float, beta: float) -> Tensor:
    """`float[r]` minus the sum over legal actions of logit times advantage; all arguments `[r, actions]`.

    The advantage is the action value `q` minus its mean under `pi`, clipped, without gradient. Logits are centred
    over the legal actions; an advantage that would push one further than `beta` from 0 is left out.
    """
    advantage = q - (pi * q).sum(-1, keepdim=True)
    force = advantage.clamp(-advantage_clip, advantage_clip).detach()
    centred = logits - (logits * legal).sum(-1, keepdim=True) / legal.sum(-1, keepdim=True)
    fixed = centred.detach()
    allowed = torch.where(force > 0, fixed < beta, fixed > -beta)
    return -torch.where(legal & allowed, centred * force, 0.0).sum(-1)


def whole_matches(episodes: Episodes, rows: int) -> list[Episodes]:
    """`episodes` in parts of about `rows` rows, whole matches in each; all processes have the same number of parts."""
    parts = int(parallel.most(max(1, round(episodes.rows / rows))))
    if parts == 1:
        return [episodes]
    order = np.argsort(episodes.headers.serial, kind="stable")
    ahead = np.cumsum(episodes.headers.lengths[order]) - episodes.headers.lengths[order]
    match = episodes.headers.serial[order]
    first: NDArray[np.intp] = np.searchsorted(match, match)  # each episode's match begins here
    _, part = np.unique(ahead[first] * parts // episodes.rows, return_inverse=True)
    last = int(parallel.fewest(part[-1]))
    return [episodes.take(order[np.minimum(part, last) == number]) for number in range(last + 1)]


def _at(output: Output, rows: Tensor) -> Output:
    """`output` of `[T, B]` rows at those that `rows: bool[T, B]` marks."""
    bins = None if output.bins is None else output.bins._replace(logits=output.bins.logits[rows])
    return Output(output.logits[rows], output.value[rows], {}, bins)
