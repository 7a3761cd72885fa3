"""Export: a bundle that plays without Sparring: an exported program of torch, a description of it, an RLBot v5 agent.

    policy.pt2     (float32[k, inputs], memory...) -> (float32[k, actions] logits, memory...), for any k
    bundle.json    every input by name, the action table, tick skip, delay, memory, boost pads
    bot.py         an RLBot v5 agent that plays it (`rlbot_agent`), bot.toml for RLBot, README.md for people

`torch.export.load("policy.pt2").module()` is the policy; it needs torch and nothing else.
"""

import json
from importlib.resources import files
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from sparring.core import GameSpec
from sparring.core.files import write_folder
from sparring.games.rocket import field
from sparring.games.rocket.actions import CONTROLS, action_table
from sparring.games.rocket.net import CLIP, Encoder, RocketPolicy
from sparring.games.rocket.observation import column_divisor, input_columns, is_motion

POLICY, BUNDLE = "policy.pt2", "bundle.json"
_AGENT_FILES = {"bot.py": "rlbot_agent.py", "bot.toml": "rlbot_bot.toml", "README.md": "rlbot_readme.md"}


class _Flat(nn.Module):
    """A policy over one flat array, with its memory as plain arguments: easy to call from anywhere."""

    def __init__(self, policy: RocketPolicy, spec: GameSpec, memory: tuple[str, ...]) -> None:
        super().__init__()
        self.policy = policy
        names = cast("Encoder", policy.encoder).names
        self.parts = [(name, list(spec.observation[name].shape)) for name in names]
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
    """Writes the bundle of `policy`, which plays `spec`, to `folder` in one step.

    An observation of the user's own comes without an agent: only the user's code can make its inputs.
    """
    memory = policy.initial_memory(2)
    inputs = len(_columns(policy, spec))
    wrapped = _Flat(policy.eval(), spec, tuple(memory)).eval()
    examples = (torch.zeros(2, inputs), *memory.values())
    any_rows = {0: torch.export.Dim("rows", min=1)}
    shapes = (any_rows, (any_rows,) * len(memory)) if memory else (any_rows,)
    with torch.no_grad():
        exported = torch.export.export(wrapped, examples, dynamic_shapes=shapes, strict=False)
    program = BytesIO()
    torch.export.save(exported, program)
    package = files("sparring.games.rocket")
    write_folder(
        folder,
        {
            POLICY: program.getvalue(),
            BUNDLE: describe_bundle(policy, spec).encode(),
            **{
                name: package.joinpath(source).read_bytes()
                for name, source in _AGENT_FILES.items()
                if "own" not in spec.observation
            },
        },
    )


def describe_bundle(policy: RocketPolicy, spec: GameSpec) -> str:
    """The text of bundle.json."""
    settings = dict(spec.settings)
    kind, room = str(settings["observation"]), int(settings["room"])
    memory = policy.initial_memory(1)
    about = {
        "format": 2,
        "game": spec.game,
        "policy": {"file": POLICY, "arguments": ["inputs", *memory], "results": ["logits", *memory]},
        "observation": kind,
        "room": room,
        "normalisation": {
            "formula": "clip((input - mean) * scale); the policy does it itself",
            "clip": CLIP,
        },
        "inputs": _inputs(policy, _columns(policy, spec), hide=kind == "positions"),
        "actions": {"controls": list(CONTROLS), "table": action_table(str(settings["actions"])).tolist()},
        "tick_skip": settings["tick_skip"],
        "action_delay": settings["action_delay"],
        "memory": [{"name": name, "shape": list(array.shape[1:]), "start": 0.0} for name, array in memory.items()],
        "pads": [
            {"position": place, "seconds": field.BIG_PAD_SECONDS if big else field.SMALL_PAD_SECONDS}
            for place, big in zip(field.PAD_POSITIONS.tolist(), field.PAD_IS_BIG.tolist(), strict=True)
        ],
    }
    lines = [f" {json.dumps(key)}: {_lines(value)}" for key, value in about.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _columns(policy: RocketPolicy, spec: GameSpec) -> list[str]:
    """The name of every input of the policy, in order."""
    if "own" in spec.observation:
        return [f"own.{column}" for column in range(spec.observation["own"].shape[0])]
    return input_columns(str(spec.settings["observation"]), int(spec.settings["room"]))


def _lines(value: Any) -> str:
    """JSON with one line an entry of a list: a column, an action, a pad."""
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(json.dumps(entry) for entry in value) + "\n ]"
    return json.dumps(value)


def _inputs(policy: RocketPolicy, columns: list[str], *, hide: bool) -> list[dict[str, Any]]:
    """Every input: its place and name, what its quantity is divided by, its normalisation, whether it is always 0."""
    normalise = cast("Encoder", policy.encoder).normalise
    mean, scale = normalise.mean.tolist(), normalise.scale.tolist()
    return [
        {
            "index": index,
            "name": name,
            "divided_by": column_divisor(name),
            "mean": mean[index],
            "scale": scale[index],
            "hidden": hide and is_motion(name),
        }
        for index, name in enumerate(columns)
    ]
