"""Torch, and the device that networks run on."""

import os
import re
from pathlib import Path

from sparring.bench.doctor.children import ChildFailed, ask_child
from sparring.bench.doctor.torch_child import TorchFacts
from sparring.core.checkup import Check

TESTED_TORCH = "2.13.0"
"""The version that constraints.txt pins."""
OLDEST_TORCH = (2, 5)
"""Which has everything that is imported from torch (`OutOfMemoryError` came last)."""
_SECONDS = 60.0
_GPU = Path("/dev/nvidia0")
_INSTALL = f"pip install torch=={TESTED_TORCH}"


def ask_torch(*, comprehensive: bool) -> TorchFacts | ChildFailed:
    """Imports torch in another process, which takes a second or more, and says what it is."""
    arguments = ["comprehensive"] if comprehensive else []
    try:
        return ask_child("sparring.bench.doctor.torch_child", *arguments, found=TorchFacts, seconds=_SECONDS)
    except ChildFailed as failure:
        return failure


def check_torch(found: TorchFacts | ChildFailed) -> Check:
    """Whether torch can be imported and is new enough. Another version than the tested one may well do."""
    if isinstance(found, ChildFailed):
        return Check("torch", "fail", f"cannot be used: {found}", _INSTALL)
    text = f"{found.version}, built for {found.built_for}"
    version = _numbers(found.version)
    if version < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        return Check("torch", "fail", f"{text}: Sparring needs {oldest} or newer", _INSTALL)
    if version[:2] != _numbers(TESTED_TORCH)[:2]:
        return Check("torch", "warn", f"{text}: Sparring is tested with {TESTED_TORCH}", _INSTALL)
    return Check("torch", "ok", text)


def check_device(found: TorchFacts | ChildFailed) -> Check:
    """Whether networks run on the GPU, if there is one."""
    if isinstance(found, ChildFailed):
        return Check("device", "fail", "unknown: torch cannot be used", _INSTALL)
    text = f"{found.device} {found.device_name}".strip()
    if found.works is False:
        return Check("device", "fail", f"{text} calculates wrongly", "sparring train PRESET device=cpu")
    if found.device == "cpu" and _GPU.exists():
        if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
            return Check("device", "warn", "cpu: CUDA_VISIBLE_DEVICES hides the GPU", "unset CUDA_VISIBLE_DEVICES")
        if found.built_for == "cpu":
            mend = f"pip install --force-reinstall torch=={TESTED_TORCH}"
            return Check("device", "warn", "cpu: there is a GPU, but this torch is built without CUDA", mend)
        return Check("device", "warn", "cpu: torch does not find the GPU that is there", "nvidia-smi")
    return Check("device", "ok", text)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(word) for word in re.findall(r"\d+", version)[:3])
