"""PPO with a magnet: a penalty on the KL divergence from the policy to copies of its own past.

This is the cheap relative of R-NaD, not R-NaD: PPO's loss and advantages, plus `weight` times the mean KL divergence
to a portfolio of references. Every `period` updates the policy is copied to the portfolio, which keeps the newest
`references` copies. The mean over them equals, but for a constant, the divergence to their geometric mean. The
penalty damps the circling of plain self-play; nothing here corrects for the opponent, so it need not end in an
equilibrium.
"""

import copy
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import torch
from msgspec import Meta
from torch import Tensor, nn

from sparring.core import Episodes
from sparring.inference import Device
from sparring.learn.batches import Batch
from sparring.learn.outputs import row_outputs
from sparring.learn.ppo import Ppo, PpoSettings

Count = Annotated[int, Meta(ge=1)]


class MagnetSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="magnet"
):
    """How strongly, and to what, the policy is drawn; `ppo` holds the rest."""

    weight: Annotated[float, Meta(ge=0)] = 0.1
    """Of the divergence in the loss: slower, steadier, more mixed."""
    period: Count = 50
    """Updates between two copies of the policy."""
    references: Annotated[int, Meta(ge=1, le=16)] = 2
    """Copies kept; each costs one forward pass over the rows of an update."""
    ppo: PpoSettings = PpoSettings()


class Magnet:
    """The learner of PPO with a magnet."""

    def __init__(self, policy: nn.Module, settings: MagnetSettings, *, device: Device, seed: int) -> None:
        self._ppo = Ppo(policy, settings.ppo, device=device, seed=seed)
        self._settings = settings
        self._device = device
        self._updates = 0
        self.references: list[nn.Module] = [self._copy()]
        """The portfolio, oldest first."""

    @property
    def policy(self) -> nn.Module:
        """The policy being trained."""
        return self._ppo.policy

    def update(self, episodes: Episodes, *, progress: float) -> dict[str, float]:
        """PPO's update with the penalty, and a new reference when it is time."""
        anchors = [row_outputs(reference, episodes, device=self._device)[0] for reference in self.references]
        anchor = torch.stack(anchors).mean(dim=0)

        def penalty(batch: Batch, log_probs: Tensor) -> Tensor:
            rows = torch.from_numpy(batch.rows).to(anchor.device)
            return self._settings.weight * mean_divergence(log_probs, anchor[rows], batch.legal)

        metrics = self._ppo.update(episodes, progress=progress, penalty=penalty)
        self._updates += 1
        if self._updates % self._settings.period == 0:
            self.references = [*self.references, self._copy()][-self._settings.references :]
        return metrics | {"references": float(len(self.references))}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """PPO's state and the portfolio."""
        tensors, values = self._ppo.state()
        for number, reference in enumerate(self.references):
            tensors |= {f"reference/{number}/{name}": tensor for name, tensor in reference.state_dict().items()}
        return tensors, {"ppo": values, "updates": self._updates, "references": len(self.references)}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self._ppo.load(tensors, values["ppo"])
        self._updates = int(values["updates"])
        self.references = []
        for number in range(int(values["references"])):
            prefix = f"reference/{number}/"
            reference = self._copy()
            reference.load_state_dict({n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)})
            self.references.append(reference)

    def _copy(self) -> nn.Module:
        return copy.deepcopy(self._ppo.policy).requires_grad_(False)


def mean_divergence(log_probs: Tensor, anchor: Tensor, legal: Tensor) -> Tensor:
    """`float[...]` KL divergence of `log_probs: float[..., actions]` to `anchor`, the references' mean."""
    return torch.where(legal, log_probs.exp() * (log_probs - anchor), 0.0).sum(-1)
