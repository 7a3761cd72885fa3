"""PPO with a magnet: a penalty on the KL divergence from the policy to copies of its own past.

This is a cheap relative of R-NaD: PPO's loss and advantages, plus `kl_coef` times the mean KL divergence to a portfolio
of references. Every `period` updates the policy is copied to the portfolio, which keeps the newest `references` copies.
Up to a constant, the mean over them equals the divergence to their geometric mean. The penalty damps the cycling of
plain self-play, but nothing here corrects for the opponent, so it need not converge to an equilibrium.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import torch
from msgspec import Meta
from torch import Tensor

from sparring.core import Episodes
from sparring.core.rows import flatten, nested
from sparring.core.settings import Count, NonNegative
from sparring.inference import Device
from sparring.learn.outputs import row_outputs
from sparring.learn.ppo import Ppo, PpoSettings
from sparring.learn.ties import Tie, Tied, kl_divergence
from sparring.policy import Policy


class MagnetSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="magnet"
):
    """PPO with a KL penalty towards older copies of the policy; `ppo` holds PPO's own settings.

    Each comment says what raising the value does.
    """

    kl_coef: NonNegative = 0.1
    """The coefficient of the KL divergence in the loss: raising it makes learning slower and steadier, the policy more
    mixed."""
    period: Count = 50
    """Updates between two copies of the policy: raising it makes the references older."""
    references: Annotated[int, Meta(ge=1, le=16)] = 2
    """Copies kept: raising it keeps older ones too; each costs one forward pass over the rows of an update."""
    ppo: PpoSettings = PpoSettings()


class Magnet:
    """The learner of PPO with a magnet."""

    def __init__(self, policy: Policy, settings: MagnetSettings, *, device: Device, seed: int) -> None:
        self._ppo = Ppo(policy, settings.ppo, device=device, seed=seed)
        self._settings = settings
        self._device = device
        self._updates = 0
        self.references: list[Policy] = [self._copy()]
        """The portfolio, oldest first."""

    @property
    def policy(self) -> Policy:
        """The policy being trained."""
        return self._ppo.policy

    def update(self, episodes: Episodes, *, progress: float, ties: Sequence[Tie] = ()) -> dict[str, float]:
        """PPO's update with the penalty, and a new reference when it is time."""
        each = [row_outputs(reference, episodes, device=self._device)[0] for reference in self.references]
        portfolio = _Portfolio(torch.stack(each).mean(dim=0), self._settings.kl_coef)
        metrics = self._ppo.update(episodes, progress=progress, ties=[portfolio, *ties])
        self._updates += 1
        if self._updates % self._settings.period == 0:
            self.references = [*self.references, self._copy()][-self._settings.references :]
        return metrics | {"references": float(len(self.references))}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """PPO's state and the portfolio."""
        tensors, values = self._ppo.state()
        references = {str(number): reference.state_dict() for number, reference in enumerate(self.references)}
        tensors = flatten({"ppo": tensors, "references": flatten(references)})
        return tensors, {"ppo": values, "updates": self._updates}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        parts = nested(tensors)
        self._ppo.load(parts["ppo"], values["ppo"])
        self._updates = int(values["updates"])
        saved = nested(parts["references"])
        self.references = [self._copy() for _ in saved]
        for number, weights in saved.items():
            self.references[int(number)].load_state_dict(weights)

    def _copy(self) -> Policy:
        return copy.deepcopy(self._ppo.policy).requires_grad_(False)


@dataclass(frozen=True)
class _Portfolio:
    """The tie to the references; `log_probs: float[r, actions]` is the mean of theirs for all rows."""

    log_probs: Tensor
    kl_coef: float

    def loss(self, tied: Tied) -> tuple[Tensor, dict[str, Tensor]]:
        """The mean divergence times its coefficient."""
        assert tied.rows is not None
        rows = torch.from_numpy(tied.rows).to(self.log_probs.device)
        penalty = self.kl_coef * tied.mean(kl_divergence(tied.log_probs, self.log_probs[rows], tied.legal))
        return penalty, {"penalty": penalty}
