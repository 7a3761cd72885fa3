"""What runs a policy's forward pass: torch, in int8 if asked to, or OpenVINO where it is installed and faster here."""

from collections.abc import Callable
from time import perf_counter

import torch
from torch import nn

from sparring.core import GameSpec, InputError, install_command
from sparring.core.devices import BackendName
from sparring.inference.device import Device
from sparring.inference.openvino import OpenVinoStep, installed
from sparring.inference.quantised import Int8Step
from sparring.inference.step import Step, TorchStep
from sparring.policy import Memory

_BATCH = 256
_ROUNDS = 4


def pick_step(
    name: BackendName, module: nn.Module, *, spec: GameSpec, device: Device, say: Callable[[str], None]
) -> Step:
    """The step of `module`: int8 where the device says so, otherwise torch or OpenVINO.

    "auto" takes OpenVINO for policies without memory on a CPU if a short measurement says it is faster, and
    says so in one line.
    """
    if device.dtype == "int8":
        if name == "openvino":
            raise InputError("backend = openvino: it does not run in int8; use backend = torch")
        return Int8Step(module)
    step = TorchStep(module, device)
    if name == "torch":
        return step
    initial: Callable[[int], Memory] = module.initial_memory  # type: ignore[assignment]
    reason = None
    if device.kind != "cpu":
        reason = f"it runs on the CPU only, not on {device.kind}"
    elif initial(1):
        reason = "it serves policies without memory only"
    elif not installed():
        reason = f"it is not installed; run: {install_command('fast')}"
    if reason is not None:
        if name == "openvino":
            raise InputError(f"backend = openvino: {reason}")
        return step
    try:
        other = OpenVinoStep(module, spec)
    except Exception as error:  # whatever its converter raises for operations it does not know
        problem = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        if name == "openvino":
            raise InputError(f"backend = openvino: it cannot run this network: {problem[0]}") from error
        say(f"inference by torch: openvino cannot run this network ({problem[0]})")
        return step
    if name == "openvino":
        return other
    torch_rate, openvino_rate = rows_per_second([step, other], spec=spec, device=device)
    faster = "openvino" if openvino_rate > torch_rate else "torch"
    say(
        f"inference by {faster}: openvino {other.precision} {openvino_rate:,.0f} rows/s, torch {torch_rate:,.0f} "
        f"(batch {_BATCH}, measured at start-up)"
    )
    return other if faster == "openvino" else step


def rows_per_second(steps: list[Step], *, spec: GameSpec, device: Device) -> list[float]:
    """The best rate of each step, taken in turns so that a busy moment hits them all."""
    observation = {name: torch.from_numpy(field.zeros(_BATCH)) for name, field in spec.observation.items()}
    legal = torch.ones(_BATCH, spec.actions, dtype=torch.bool)
    best = [0.0] * len(steps)
    with torch.inference_mode(), device.autocast():
        for _ in range(_ROUNDS):
            for number, step in enumerate(steps):
                start = perf_counter()
                step(observation, legal, {})
                best[number] = max(best[number], _BATCH / (perf_counter() - start))
    return best
