"""The one module that knows about CUDA, MPS, CPU, dtypes and pinned memory.

Everything else asks a `Device` to bring arrays over, to open the right autocast, and to bring answers back.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor

from sparring.core import Array, InputError
from sparring.core.devices import DeviceName, DtypeName
from sparring.core.machine import free_memory, trim_memory
from sparring.inference.amx import avoid_broken_amx

avoid_broken_amx()

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")


@dataclass(frozen=True)
class Device:
    """Where networks run and in which precision."""

    kind: str
    dtype: DtypeName

    @classmethod
    def pick(cls, name: DeviceName = "auto", dtype: DtypeName = "float32") -> "Device":
        """The named device, or the best one there is; raises `InputError` if it cannot do what is asked."""
        available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
        kind = next(k for k in ("cuda", "mps", "cpu") if available[k]) if name == "auto" else name
        if not available[kind]:
            present = ", ".join(k for k, there in available.items() if there)
            raise InputError(f"device = {name}: this machine has no {name}; available: {present}")
        if dtype == "float16" and kind == "cpu":
            raise InputError("dtype = float16: the CPU has no fast float16; use float32 or bfloat16")
        if dtype == "int8" and kind != "cpu":
            raise InputError(f"dtype = int8: it runs on the CPU only, not on {kind}")
        return cls(kind, dtype)

    def acting_in(self, dtype: DtypeName | None) -> "Device":
        """This device for actors that run in `dtype`; None means the learner's."""
        return self if dtype is None else Device.pick(cast(DeviceName, self.kind), dtype)

    @property
    def torch_device(self) -> torch.device:
        """The torch handle."""
        return torch.device(self.kind)

    @property
    def prefers_few_shapes(self) -> bool:
        """Whether each new batch shape costs kernel selection, so that padding pays."""
        return self.kind != "cpu"

    def autocast(self) -> AbstractContextManager[object]:
        """The precision context for forwards and losses; does nothing in float32 and int8."""
        if self.dtype in ("float32", "int8"):
            return nullcontext()
        return torch.autocast(self.kind, dtype=_DTYPES[self.dtype])

    def tensor(self, array: Array) -> Tensor:
        """`array` on the device. On the CPU it shares memory; on CUDA it goes over pinned and without waiting."""
        host = torch.from_numpy(array)
        if self.kind == "cpu":
            return host
        if self.kind == "cuda":
            return host.pin_memory().to(self.torch_device, non_blocking=True)
        return host.to(self.torch_device)

    def tensors(self, arrays: Mapping[str, Array]) -> dict[str, Tensor]:
        """Every array of a dict on the device."""
        return {name: self.tensor(array) for name, array in arrays.items()}

    def usage(self) -> dict[str, float]:
        """Memory (MiB) and load of a GPU, for the metrics; nothing on a CPU."""
        if self.kind == "mps":
            return {"gpu/memory": torch.mps.current_allocated_memory() / 2**20}
        if self.kind != "cuda":
            return {}
        figures = {
            "gpu/memory": torch.cuda.memory_allocated() / 2**20,
            "gpu/peak_memory": torch.cuda.max_memory_allocated() / 2**20,
        }
        with suppress(ModuleNotFoundError):  # torch needs an optional package to ask the driver
            figures["gpu/utilisation"] = torch.cuda.utilization() / 100
        return figures

    def synchronise(self) -> None:
        """Waits until the device has finished its queued work."""
        if self.kind == "cuda":
            torch.cuda.synchronize()
        elif self.kind == "mps":
            torch.mps.synchronize()

    def give_back(self) -> None:
        """Returns freed memory to the system, so that fragmentation does not add up."""
        if self.kind == "cuda":
            torch.cuda.empty_cache()
        else:
            trim_memory()

    def free_memory(self) -> int | None:
        """Bytes that can still be allocated; None if unknown."""
        if self.kind == "cuda":
            return int(torch.cuda.mem_get_info()[0])
        return free_memory() if self.kind == "cpu" else None

    def scaler(self) -> "torch.amp.GradScaler":
        """The gradient scaler that float16 training needs; does nothing for other dtypes."""
        return torch.amp.GradScaler(self.kind, enabled=self.dtype == "float16")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error` says that a device, or the host, has no memory left."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)


def to_numpy(tensor: Tensor) -> Array:
    """A host array of `tensor`, float32 for any floating dtype."""
    if tensor.is_floating_point():
        tensor = tensor.float()
    array: Array = tensor.cpu().numpy()
    return array


def padded_rows(rows: int) -> int:
    """The next batch size of a short ladder (8, 10, 12, 14, 16, 20, ...): at most a quarter is padding."""
    if rows <= 8:
        return 8
    step = 1 << (int(np.ceil(np.log2(rows))) - 3)
    return -(-rows // step) * step
