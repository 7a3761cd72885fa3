"""AlphaZero: play with search, and teach the network what the search found and how the matches ended."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import torch
from msgspec import Meta
from numpy.typing import NDArray
from torch import Tensor, nn

from sparring.core import Array, Episodes, masked_log_softmax
from sparring.core.episodes import unpack_mask
from sparring.inference import Device
from sparring.learn.optimiser import Optimiser
from sparring.learn.replay import ReplayWindow
from sparring.policy import Output
from sparring.search import GumbelSettings, PlaySettings, SearchSettings
from sparring.search.player import false_resigns

Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1)]

Image = Callable[[Mapping[str, Array]], tuple[dict[str, Array], NDArray[np.int32]]]
"""A position's mirror image: observations to observations, and `int32[actions]` what each action becomes."""


class GateSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """New weights play against the best so far before they take over self-play."""

    every: Annotated[int, Meta(ge=0)] = 0
    """Updates between two trials; 0: no gate, every update takes over at once."""
    matches: Count = 200
    threshold: Fraction = 0.55
    """Points a match the new weights must score."""


class AlphaZeroSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="alphazero"
):
    """Raising a weight makes its term count for more; the other comments say what raising the rest does."""

    search: SearchSettings = GumbelSettings(gumbel_scale=1.0, reuse_tree=False)
    """How self-play looks ahead."""
    play: PlaySettings = PlaySettings(temperature=1.0, temperature_moves=4)
    """How self-play takes its moves."""
    symmetry: bool = False
    """Whether self-play's search averages the network over mirror images: better targets, twice the work."""
    cache: Annotated[int, Meta(ge=0)] = 1 << 16
    """Positions that self-play's searches remember."""
    rows: Count = 8192
    """Decisions played for each update."""
    window: Count = 200_000
    """Newest decisions that batches are drawn from: steadier, staler."""
    ratio: Positive = 2.0
    """How often a decision is trained on, on average, before it leaves the window."""
    batch: Count = 512
    """Rows a gradient step."""
    learning_rate: Positive = 1e-3
    schedule: Literal["constant", "linear"] = "linear"
    """Whether the learning rate falls to 0 over the run."""
    value_weight: NotNegative = 1.0
    root_value: Fraction = 0.25
    """The part of the value target that is the search's own value, the rest is the outcome: less noise, more bias."""
    images: bool = True
    """Whether half of the rows are trained on as their mirror image, where the game has one."""
    clip_norm: Positive = 1.0
    """Gradients longer than this are shortened to it."""
    gate: GateSettings = GateSettings()


class AlphaZero:
    """The AlphaZero learner. `image` is the game's mirror image, None if it has none."""

    def __init__(
        self, policy: nn.Module, settings: AlphaZeroSettings, *, device: Device, seed: int, image: Image | None
    ) -> None:
        self.policy = policy.to(device.torch_device)
        self._settings = settings
        self._device = device
        self._image = image if settings.images else None
        self._rng = np.random.default_rng(seed)
        self._window = ReplayWindow(settings.window)
        self._optimiser = Optimiser(
            policy, learning_rate=settings.learning_rate, clip_norm=settings.clip_norm, device=device
        )

    def update(self, episodes: Episodes, *, progress: float) -> dict[str, float]:
        """Adds `episodes` to the window and takes as many steps as the training ratio asks for."""
        settings = self._settings
        rate = settings.learning_rate * (1 - progress if settings.schedule == "linear" else 1)
        self._optimiser.set_learning_rate(max(rate, settings.learning_rate * 0.01))
        self._window.add(training_rows(episodes, settings.root_value))
        steps = max(1, round(episodes.rows * settings.ratio / settings.batch))
        seen = [self._learn(self._window.draw(settings.batch, self._rng), episodes.spec.actions) for _ in range(steps)]
        metrics = {name: float(np.mean([entry[name] for entry in seen])) for name in seen[0]}
        metrics |= {"learning_rate": rate, "window": float(self._window.rows), "steps": float(steps)}
        if settings.play.resign:
            resigned, wrong = false_resigns(episodes, settings.play.resign)
            metrics |= {"resigned": resigned / len(episodes), "false_resigns": wrong / max(1, resigned)}
        return metrics

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Weights, optimiser, the window and the order of draws."""
        moments, values = self._optimiser.state()
        tensors = {f"policy/{name}": tensor for name, tensor in self.policy.state_dict().items()}
        tensors |= {f"optimiser/{name}": tensor for name, tensor in moments.items()}
        tensors |= {f"window/{name}": torch.from_numpy(column) for name, column in self._window.snapshot().items()}
        return tensors, {"optimiser": values, "rng": self._rng.bit_generator.state}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self.policy.load_state_dict({n[7:]: t for n, t in tensors.items() if n.startswith("policy/")})
        self._optimiser.load({n[10:]: t for n, t in tensors.items() if n.startswith("optimiser/")}, values["optimiser"])
        self._window.restore({n[7:]: t.numpy() for n, t in tensors.items() if n.startswith("window/")})
        self._rng.bit_generator.state = values["rng"]

    def _learn(self, rows: dict[str, Array], actions: int) -> dict[str, float]:
        """One gradient step on drawn rows."""
        device = self._device
        observation = {name[12:]: array for name, array in rows.items() if name.startswith("observation/")}
        legal = unpack_mask(rows["legal"], actions)
        target = rows["policy"].astype(np.float32)
        if self._image is not None:
            half = slice(0, len(legal) // 2)
            image, permutation = self._image({name: array[half] for name, array in observation.items()})
            for name, array in observation.items():
                array[half] = image[name].copy()
            legal[half] = legal[half][:, permutation]
            target[half] = target[half][:, permutation]
        inputs, mask = device.tensors(observation), device.tensor(legal)
        memory = self.policy.initial_memory(len(legal))  # type: ignore[operator]
        with device.autocast():
            output: Output = self.policy.step(inputs, mask, memory)  # type: ignore[operator]
        targets, outcomes = device.tensor(target), device.tensor(rows["outcome"])
        parts = alphazero_losses(output.logits.float(), output.value.float(), mask, targets, outcomes)
        loss = parts["policy_loss"] + self._settings.value_weight * parts["value_loss"]
        culprits = {f"observation.{name}": field for name, field in inputs.items()}
        culprits |= {"policy target": targets, "value target": outcomes, "logits": output.logits, "value": output.value}
        norm = self._optimiser.step(loss, culprits)
        return {name: float(part.detach()) for name, part in parts.items()} | {"gradient_norm": norm}


def training_rows(episodes: Episodes, root_value: float) -> dict[str, Array]:
    """What the window keeps of each row; the outcome is mixed with `root_value` parts of the search's own value."""
    if episodes.steps.policy is None:
        raise ValueError("AlphaZero learns from search policies, and these episodes have none")
    outcome = np.repeat(episodes.headers.outcome, episodes.headers.lengths)
    return {
        "legal": episodes.steps.legal,
        "policy": episodes.steps.policy.astype(np.float16),
        "outcome": ((1 - root_value) * outcome + root_value * episodes.steps.value).astype(np.float32),
        **{f"observation/{name}": array for name, array in episodes.steps.observation.items()},
    }


def alphazero_losses(
    logits: Tensor, value: Tensor, legal: Tensor, policy: Tensor, outcome: Tensor
) -> dict[str, Tensor]:
    """Cross-entropy against the search's policy and squared error against the outcome, means over k rows.

    `logits, policy: float[k, actions]`, `legal: bool[k, actions]`, `value, outcome: float[k]`. The divergence is the
    cross-entropy less what no network could avoid.
    """
    log_probs = masked_log_softmax(logits, legal, xp=torch)
    cross = -torch.where(legal, policy * log_probs, 0.0).sum(-1).mean()
    own = torch.where(policy > 0, policy * policy.clamp_min(1e-9).log(), 0.0).sum(-1).mean()
    return {
        "policy_loss": cross,
        "value_loss": ((value - outcome) ** 2).mean(),
        "divergence": (cross + own).detach(),
    }
