"""Use and memory of the GPUs, as their driver says."""

from importlib import import_module
from typing import Any

import torch

from sparring.bench.diagnose.result import Gpu
from sparring.core import install_command


class GpuPart:
    """The NVIDIA GPUs of this machine, asked after each round of updates."""

    def __init__(self, device: str) -> None:
        self.note = ""
        self._driver: Any = None
        self._samples: dict[int, list[tuple[float, float]]] = {}
        if device == "cpu" or not torch.cuda.is_available():
            self.note = "no GPU is used: networks run on the CPU" if device == "cpu" else "torch finds no CUDA GPU here"
            return
        try:
            self._driver = import_module("pynvml")
        except ModuleNotFoundError:
            self.note = f"how busy the GPU is needs nvidia-ml-py; run: {install_command('diagnose')}"
            return
        self._driver.nvmlInit()

    def sample(self) -> None:
        """How busy each is now, and its memory."""
        for number in range(self._driver.nvmlDeviceGetCount() if self._driver is not None else 0):
            handle = self._driver.nvmlDeviceGetHandleByIndex(number)
            use = self._driver.nvmlDeviceGetUtilizationRates(handle).gpu / 100
            used = self._driver.nvmlDeviceGetMemoryInfo(handle).used / 2**20
            self._samples.setdefault(number, []).append((use, used))

    def found(self) -> list[Gpu]:
        """Mean use and largest memory of each."""
        gpus = []
        for number, samples in self._samples.items():
            handle = self._driver.nvmlDeviceGetHandleByIndex(number)
            uses, used = zip(*samples, strict=True)
            gpus.append(
                Gpu(
                    name=str(self._driver.nvmlDeviceGetName(handle)),
                    use=sum(uses) / len(uses),
                    memory_mib=max(used),
                    total_mib=self._driver.nvmlDeviceGetMemoryInfo(handle).total / 2**20,
                )
            )
        return gpus
