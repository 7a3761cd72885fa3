"""The Ray cluster that this process is part of: joining it, leaving it, and how many CPUs it has."""

import os
import sys
from threading import current_thread
from typing import Any

from sparring.core import InputError, optional

with optional("--cluster", extra="ray"):
    import ray
    from ray.exceptions import RayError


def connect(address: str) -> None:
    """Joins the Ray cluster at `address` (`ray://HOST:PORT`, `HOST:PORT`), or with "auto" the one of this machine."""
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # reasons are told once, by the fleet
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error", configure_logging=False)
    except (ConnectionError, ValueError, RuntimeError, OSError, RayError) as error:
        line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"--cluster {address}: {line}; start one with: ray start --head") from error
    sys.stdout = _WithoutRay(sys.stdout)


def disconnect() -> None:
    """Leaves the cluster."""
    ray.shutdown()
    if isinstance(sys.stdout, _WithoutRay):
        sys.stdout = sys.stdout.stream


class _WithoutRay:
    """Standard output without what Ray's threads print there, whatever it is told: it may be read by a program."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Writes `text`, unless one of those threads does."""
        return len(text) if current_thread().name.startswith("ray_") else int(self.stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def cluster_cpus() -> int:
    """CPUs of the cluster."""
    return int(ray.cluster_resources().get("CPU", 0))
