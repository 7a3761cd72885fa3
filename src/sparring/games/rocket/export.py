"""Export: a bundle that an RLBot v5 agent can play without Sparring: an exported program of torch and a file of JSON.

    policy.pt2     (float32[k, inputs], memory...) -> (float32[k, actions] logits, memory...), for any k
    bundle.json    the observation's layout, the action table, tick skip, delay, and the memory's shape

`torch.export.load("policy.pt2").module()` is the policy; it needs torch and nothing else. An agent builds its
observation as bundle.json says, asks the policy every `tick_skip` ticks, takes the likeliest action (or draws one), and
holds its controls from `action_delay` ticks after.
"""

import json
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sparring.core import GameSpec
from sparring.core.files import write_folder
from sparring.games.rocket.actions import CONTROLS, action_table
from sparring.games.rocket.net import RocketPolicy

POLICY, BUNDLE = "policy.pt2", "bundle.json"


class _Flat(nn.Module):
    """A policy over one flat array, with its memory as plain arguments: easy to call from anywhere."""

    def __init__(self, policy: RocketPolicy, spec: GameSpec, memory: tuple[str, ...]) -> None:
        super().__init__()
        self.policy = policy
        self.parts = [(name, list(spec.observation[name].shape)) for name in sorted(spec.observation)]
        self.memory = memory

    def forward(self, flat: Tensor, *memory: Tensor) -> tuple[Tensor, ...]:
        """Logits `float32[k, actions]` of `flat: float32[k, inputs]`, and the memory after, in the order it came."""
        observation, start = {}, 0
        for name, shape in self.parts:
            size = prod(shape)
            observation[name] = flat[:, start : start + size].reshape(-1, *shape)
            start += size
        output = self.policy.step(observation, flat, dict(zip(self.memory, memory, strict=True)))
        return output.logits, *(output.memory[name] for name in self.memory)


def export_bundle(policy: RocketPolicy, spec: GameSpec, folder: Path) -> None:
    """Writes the bundle of `policy`, which plays `spec`, to `folder` in one step."""
    memory = policy.initial_memory(2)
    inputs = sum(prod(part.shape) for part in spec.observation.values())
    wrapped = _Flat(policy.eval(), spec, tuple(memory)).eval()
    examples = (torch.zeros(2, inputs), *memory.values())
    any_rows = {0: torch.export.Dim("rows", min=1)}
    shapes = (any_rows, (any_rows,) * len(memory)) if memory else (any_rows,)
    with torch.no_grad():
        exported = torch.export.export(wrapped, examples, dynamic_shapes=shapes, strict=False)
    program = BytesIO()
    torch.export.save(exported, program)
    write_folder(
        folder, {POLICY: program.getvalue(), BUNDLE: (json.dumps(_bundle(spec, memory), indent=1) + "\n").encode()}
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
