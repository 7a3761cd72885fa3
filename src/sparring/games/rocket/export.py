"""Export: a bundle that an RLBot v5 agent can play without Sparring: one TorchScript file and one of JSON.

    policy.pt      float32[k, inputs] (and memory) -> float32[k, actions] logits (and memory)
    bundle.json    the observation's layout, the action table, tick skip, delay, and the memory's shape

An agent builds its observation as bundle.json says, asks policy.pt every `tick_skip` ticks, takes the likeliest action
(or draws one), and holds its controls from `action_delay` ticks after.
"""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sparring.core import GameSpec
from sparring.core.files import write_folder
from sparring.games.rocket.actions import CONTROLS, action_table
from sparring.games.rocket.net import RocketPolicy

POLICY, BUNDLE = "policy.pt", "bundle.json"


class _Flat(nn.Module):
    """A policy over one flat array, without memory: what TorchScript and other languages find easy to call."""

    def __init__(self, policy: RocketPolicy, spec: GameSpec) -> None:
        super().__init__()
        self.policy = policy
        self.parts = [(name, list(spec.observation[name].shape)) for name in sorted(spec.observation)]

    def _observation(self, flat: Tensor) -> dict[str, Tensor]:
        observation, start = {}, 0
        for name, shape in self.parts:
            size = 1
            for length in shape:
                size *= length
            observation[name] = flat[:, start : start + size].view(-1, *shape)
            start += size
        return observation

    def forward(self, flat: Tensor) -> Tensor:
        """Logits `float32[k, actions]` of `flat: float32[k, inputs]`."""
        return self.policy.step(self._observation(flat), flat, {}).logits


class _Recurrent(_Flat):
    """The same with an LSTM: hidden and cell state go in and come out."""

    def forward(self, flat: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[override]
        """Logits and the states after, `float32[k, width]` each."""
        output = self.policy.step(self._observation(flat), flat, {"hidden": hidden, "cell": cell})
        return output.logits, output.memory["hidden"], output.memory["cell"]


def export_bundle(policy: RocketPolicy, spec: GameSpec, folder: Path) -> None:
    """Writes the bundle of `policy`, which plays `spec`, to `folder` in one step."""
    policy = policy.eval()
    memory = policy.initial_memory(1)
    flat = torch.zeros(1, sum(part.nbytes // 4 for part in spec.observation.values()))
    examples = (flat, memory["hidden"], memory["cell"]) if memory else (flat,)
    wrapped = _Recurrent(policy, spec) if memory else _Flat(policy, spec)
    with torch.no_grad():
        traced = torch.jit.trace(wrapped, examples, check_trace=False)  # type: ignore[no-untyped-call]
    script = BytesIO()
    torch.jit.save(traced, script)
    write_folder(
        folder, {POLICY: script.getvalue(), BUNDLE: (json.dumps(_bundle(spec, memory), indent=1) + "\n").encode()}
    )


def _bundle(spec: GameSpec, memory: dict[str, Tensor]) -> dict[str, Any]:
    settings = dict(spec.settings)
    return {
        "format": 1,
        "game": spec.game,
        "observation": {
            "kind": settings["observation"],
            "room": settings["room"],
            "fields": [
                {"name": name, "shape": list(spec.observation[name].shape)} for name in sorted(spec.observation)
            ],
        },
        "controls": list(CONTROLS),
        "actions": action_table(str(settings["actions"])).tolist(),
        "tick_skip": settings["tick_skip"],
        "action_delay": settings["action_delay"],
        "memory": {name: list(array.shape[1:]) for name, array in memory.items()},
    }
