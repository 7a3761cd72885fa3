"""Regularised Nash dynamics: self-play that converges to an equilibrium instead of circling around it.

Four networks of one shape. The acting policy learns and plays; the target follows it slowly (Polyak), gives the values
and is what a run ships; two regularisation snapshots are targets of earlier iterations. Every reward is transformed:
a seat pays `eta` times the log-ratio l of its policy to the regularisation policy and receives what its opponent pays.
The transformed game has one equilibrium, to which the dynamics converge; at an iteration's end the snapshots move there
and the next game is regularised around it. The fixed point of this is an equilibrium of the game itself.

One step takes whole matches: l from the acting policy and both snapshots, one V-trace scan a seat with the target's
values (`vtrace`), action values Q(a) = v - eta l(a) + [a taken] * surprise, and a NeuRD step: each legal logit is
pushed by the advantage of its action, not through the softmax, unless that would take it past `threshold`. Its loss
says nothing of strength: measure exploitability on a small game, win rates on a large one.

The expectation of l under the acting policy stands for the sampled l in the transformed rewards: the same mean with
less noise. With memory, the acting policy learns on stored segments as in PPO; the other networks replay each episode.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import torch
from msgspec import Meta
from numpy.typing import NDArray
from torch import Tensor, nn

from sparring.core import Episodes, InputError, entropy, masked_log_softmax
from sparring.inference import Device
from sparring.inference.device import to_numpy
from sparring.learn.batches import Batch, one_batch
from sparring.learn.optimiser import Optimiser
from sparring.learn.outputs import row_outputs
from sparring.learn.vtrace import belief_weights, joint_order, two_seat_vtrace
from sparring.policy import Absorbing, Output, value_error

Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Fraction = Annotated[float, Meta(gt=0, le=1)]
Count = Annotated[int, Meta(ge=1)]

_NETWORKS = ("policy", "target", "previous", "before")


class RnadSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="rnad"):
    """DeepNash's values are the defaults; a small game wants larger steps and shorter iterations."""

    rows: Count = 16384
    """Decisions collected for each update."""
    batch: Count = 16384
    """Rows a gradient step, in whole matches; smaller than `rows` makes several steps of an update."""
    learning_rate: Positive = 5e-5
    schedule: Literal["constant", "linear"] = "constant"
    """Whether the learning rate falls to 0 over the run: noise in rarely seen states is what stays at the end."""
    eta: NotNegative = 0.2
    """Weight of the regularisation: steadier and more mixed, slower to move on. Relative to the size of rewards."""
    follow: Fraction = 1e-3
    """How far the target moves towards the acting policy each step."""
    iterations: Annotated[tuple[tuple[Count, Count], ...], Meta(min_length=1)] = ((1000, 10), (10000, 1))
    """(steps, repeats) of the iterations, in order; the last goes on for ever. Begin short, lengthen."""
    threshold: Positive = 2.0
    """No force pushes a centred logit further than this from 0; larger allows purer policies."""
    advantage_clip: Positive = 10_000.0
    trace: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """V-trace's lambda: less bias from the value function, more variance."""
    trace_clip: Positive = 1.0
    """V-trace's c: bounds how much a later surprise counts."""
    value_clip: Positive | None = None
    """V-trace's rho: bounds how much the next value counts; without it targets are unbiased."""
    value_weight: NotNegative = 1.0
    clip_norm: Positive = 10_000.0
    """Gradients longer than this are shortened to it."""
    least: Annotated[float, Meta(ge=0, lt=1)] = 0.03
    """Actions less likely than this are not played where the policy is rated."""
    temperature: Positive = 1.0
    """Of play: above 1 seats explore, so that unlikely actions are seen more often and weigh less.

    V-trace corrects what follows a row for it, `belief_clip` what came before.
    """
    belief_clip: Annotated[float, Meta(ge=1)] = 1.0
    """Rows weigh by how much likelier the opponent's past actions are now than as played, at most by this; 1: not."""
    segment: Count = 16
    """Rows back-propagated through at a time when the network has memory."""


class Rnad:
    """The R-NaD learner, for two seats."""

    def __init__(self, policy: nn.Module, settings: RnadSettings, *, device: Device) -> None:
        self.policy = policy.to(device.torch_device)
        self.target, self.previous, self.before = (copy.deepcopy(self.policy).requires_grad_(False) for _ in range(3))
        self.steps = 0
        self._settings = settings
        self._device = device
        self._optimiser = Optimiser(
            policy, learning_rate=settings.learning_rate, clip_norm=settings.clip_norm, device=device, momentum=0.0
        )

    def update(self, episodes: Episodes, *, progress: float) -> dict[str, float]:
        """One pass over the matches of `episodes`, a step for every `batch` rows."""
        if episodes.spec.seats != 2:
            raise InputError(f"learner.kind = rnad: needs a game of two seats, {episodes.spec.game} has another number")
        if not episodes.headers.complete.all():
            raise ValueError("R-NaD learns from whole matches: collect without cutting episodes")
        rate = self._settings.learning_rate * (1 - progress if self._settings.schedule == "linear" else 1)
        self._optimiser.set_learning_rate(max(rate, self._settings.learning_rate * 0.01))
        seen = [self._step(part) for part in whole_matches(episodes, self._settings.batch)]
        if isinstance(self.policy, Absorbing):
            self.policy.absorb({name: self._device.tensor(rows) for name, rows in episodes.steps.observation.items()})
        metrics = {name: float(np.mean([entry[name] for entry in seen])) for name in seen[0]}
        start, size = iteration_at(self.steps, self._settings.iterations)
        return metrics | {
            "steps": float(self.steps),
            "iteration_share": (self.steps - start) / size,
            "learning_rate": rate,
        }

    def _step(self, episodes: Episodes) -> dict[str, float]:
        settings, device = self._settings, self._device
        start, size = iteration_at(self.steps, settings.iterations)
        blend = min(1.0, 2 * (self.steps - start) / size)

        batch = one_batch(episodes, device=device)
        with device.autocast():
            output: Output = self.policy.unroll(batch.observation, batch.legal, batch.first, batch.memory)  # type: ignore[operator]
        rows = device.tensor(batch.rows[batch.valid.cpu().numpy()])
        logits, legal = output.logits.float()[batch.valid], batch.legal[batch.valid]
        log_probs = masked_log_softmax(logits, legal, xp=torch)
        action = batch.action[batch.valid].unsqueeze(-1)

        previous, _ = row_outputs(self.previous, episodes, device=device)
        before, _ = row_outputs(self.before, episodes, device=device)
        _, value = row_outputs(self.target, episodes, device=device)
        behaviour = _kept_policy(episodes, device)[rows]
        value = value[rows]
        log_ratio = log_policy_ratio(log_probs.detach(), previous[rows], before[rows], legal, blend)
        probs = log_probs.detach().exp()
        penalty = settings.eta * (probs * log_ratio).sum(-1)
        played = behaviour.gather(-1, action).squeeze(-1)
        target, surprise, belief = self._traces(
            episodes, rows, value, probs.gather(-1, action).squeeze(-1) / played, 1 / played, penalty
        )
        q = value.unsqueeze(-1) - settings.eta * log_ratio
        q = q.scatter_add(-1, action, surprise.unsqueeze(-1))

        forces = neurd_loss(logits, q, probs, legal, clip=settings.advantage_clip, threshold=settings.threshold)
        errors = value_error(_valid(output, batch.valid), target)
        policy_loss, value_loss = (forces * belief).mean(), (errors * belief).mean()
        culprits = _culprits(batch, output) | {"value target": target, "action value": q, "behaviour": behaviour}
        norm = self._optimiser.step(policy_loss + settings.value_weight * value_loss, culprits)
        self._follow()
        self.steps += 1
        if self.steps == start + size:
            self.before.load_state_dict(self.previous.state_dict())
            self.previous.load_state_dict(self.target.state_dict())
        moved = torch.where(behaviour > 0, behaviour * (behaviour.clamp_min(1e-30).log() - log_probs.detach()), 0.0)
        spread = float(target.var())
        return {
            "policy_loss": float(policy_loss.detach()),
            "value_loss": float(value_loss.detach()),
            "entropy": float(entropy(log_probs.detach(), xp=torch).mean()),
            "kl": float(moved.sum(-1).mean()),
            "regularisation": float((probs * log_ratio).sum(-1).mean()),
            "explained_variance": 1 - float((target - value).var()) / spread if spread > 0 else 0.0,
            "gradient_norm": norm,
        }

    def _traces(
        self, episodes: Episodes, rows: Tensor, value: Tensor, ratio: Tensor, inverse: Tensor, penalty: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Value targets, surprises and weights of `rows: int[r]`, an ordering of all rows; all in that order."""
        settings = self._settings
        order, lengths = joint_order(episodes)
        place = np.empty(len(order), np.intp)  # where each row stands among `rows`
        place[to_numpy(rows)] = np.arange(len(order))
        joint = place[order]
        turn, seat = episodes.steps.turn[order], np.repeat(episodes.headers.seat, episodes.headers.lengths)[order]
        ratios = to_numpy(ratio)[joint]
        belief = belief_weights(lengths, turn, seat, ratios).clip(1 / settings.belief_clip, settings.belief_clip)
        belief /= belief.mean()
        target, surprise = two_seat_vtrace(
            lengths,
            turn,
            seat,
            episodes.steps.reward[order],
            to_numpy(value)[joint],
            ratios,
            to_numpy(inverse)[joint],
            to_numpy(penalty)[joint],
            settings.trace,
            settings.trace_clip,
            np.inf if settings.value_clip is None else settings.value_clip,
        )
        back = np.empty_like(joint)
        back[joint] = np.arange(len(joint))
        tensor = self._device.tensor
        return tensor(target[back]), tensor(surprise[back]), tensor(belief[back])

    @torch.no_grad()
    def _follow(self) -> None:
        """Moves the target a little towards the acting policy."""
        for mine, theirs in zip(self.target.parameters(), self.policy.parameters(), strict=True):
            mine.lerp_(theirs, self._settings.follow)
        for fixed, theirs_fixed in zip(self.target.buffers(), self.policy.buffers(), strict=True):
            fixed.copy_(theirs_fixed)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All four networks, the optimiser and the step count."""
        moments, values = self._optimiser.state()
        tensors = {
            f"{network}/{name}": tensor
            for network in _NETWORKS
            for name, tensor in getattr(self, network).state_dict().items()
        }
        tensors |= {f"optimiser/{name}": tensor for name, tensor in moments.items()}
        return tensors, {"optimiser": values, "steps": self.steps}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        parts: dict[str, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            part, name = key.split("/", 1)
            parts.setdefault(part, {})[name] = tensor
        for network in _NETWORKS:
            getattr(self, network).load_state_dict(parts[network])
        self._optimiser.load(parts["optimiser"], values["optimiser"])
        self.steps = int(values["steps"])


def iteration_at(step: int, iterations: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """`(start, size)` of the iteration that `step` belongs to; the last of `iterations` repeats for ever."""
    start = 0
    for size, repeats in iterations:
        if step < start + size * repeats:
            return start + (step - start) // size * size, size
        start += size * repeats
    return start + (step - start) // size * size, size


def log_policy_ratio(log_probs: Tensor, previous: Tensor, before: Tensor, legal: Tensor, blend: float) -> Tensor:
    """`float[r, actions]` log pi - (blend log previous + (1 - blend) log before); 0 where not legal."""
    return torch.where(legal, log_probs - (blend * previous + (1 - blend) * before), 0.0)


def neurd_loss(logits: Tensor, q: Tensor, probs: Tensor, legal: Tensor, *, clip: float, threshold: float) -> Tensor:
    """`float[r]` minus the sum over legal actions of logit times force; all arguments `[r, actions]`.

    The force is the action value `q` less its mean under `probs`, clipped, and has no gradient. Logits are centred over
    the legal actions; a force that would push one past `threshold` is left out.
    """
    advantage = q - (probs * q).sum(-1, keepdim=True)
    force = advantage.clamp(-clip, clip).detach()
    centred = logits - (logits * legal).sum(-1, keepdim=True) / legal.sum(-1, keepdim=True)
    fixed = centred.detach()
    allowed = torch.where(force > 0, fixed < threshold, fixed > -threshold)
    return -torch.where(legal & allowed, centred * force, 0.0).sum(-1)


def whole_matches(episodes: Episodes, rows: int) -> list[Episodes]:
    """`episodes` in parts of about `rows` rows, both seats of a match in the same part."""
    if episodes.rows <= rows:
        return [episodes]
    order = np.argsort(episodes.headers.serial, kind="stable")
    ahead = np.cumsum(episodes.headers.lengths[order]) - episodes.headers.lengths[order]
    match = episodes.headers.serial[order]
    first: NDArray[np.intp] = np.searchsorted(match, match)  # each episode's match begins here
    parts = max(1, round(episodes.rows / rows))
    part = ahead[first] * parts // episodes.rows
    return [episodes.take(order[part == number]) for number in np.unique(part)]


def _kept_policy(episodes: Episodes, device: Device) -> Tensor:
    if episodes.steps.policy is None:
        raise ValueError("R-NaD needs the whole behaviour policy of every row: collect with keep_policy")
    return device.tensor(episodes.steps.policy)


def _valid(output: Output, valid: Tensor) -> Output:
    """`output` of `[T, B]` rows at the rows that are no padding, `[r]`."""
    bins = None if output.bins is None else output.bins._replace(logits=output.bins.logits[valid])
    return Output(output.logits[valid], output.value[valid], {}, bins)


def _culprits(batch: Batch, output: Output) -> dict[str, Tensor]:
    """What may have gone wrong, inputs first."""
    culprits = {f"observation.{name}": field for name, field in batch.observation.items()}
    culprits |= {f"memory.{name}": field for name, field in batch.memory.items()}
    return culprits | {"logits": output.logits, "value": output.value}
