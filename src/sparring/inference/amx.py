"""Machines that claim to have AMX but cannot run it.

Some virtual machines pass on the CPU's AMX flags without full support. Torch and OpenVINO believe the flags, and the
first product of bfloat16 matrices ends the process with an illegal instruction. So where the flags are set, a child
process tries one such product; if it dies, both libraries are told to do without AMX.
"""

import hashlib
import os
import platform
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from sparring.core import InputError
from sparring.core.cache import cache_folder
from sparring.core.files import write_file

_LIMIT = "ONEDNN_MAX_CPU_ISA"
_WITHOUT_AMX = "AVX512_CORE_BF16"
_TRY = "import torch; torch.nn.Linear(256, 256).bfloat16()(torch.ones(256, 256).bfloat16())"


def avoid_broken_amx(cpu: Path = Path("/proc/cpuinfo")) -> None:
    """Call before the first forward pass: keeps this process and its children off AMX if it is broken.

    The answer is kept in the cache folder, since trying takes a few seconds.
    """
    if _LIMIT in os.environ or not cpu.is_file():
        return
    flags = next((line for line in cpu.read_text().splitlines() if line.startswith("flags")), "")
    if "amx_bf16" in flags.split() and not _works(flags):
        os.environ[_LIMIT] = _WITHOUT_AMX


def _works(flags: str) -> bool:
    machine = f"{flags} {platform.release()} {version('torch')}"
    answer = cache_folder() / "amx" / hashlib.sha256(machine.encode()).hexdigest()[:16]
    with suppress(OSError, ValueError):
        if (known := answer.read_text()) in ("works", "broken"):  # otherwise it is damaged: try again
            return known == "works"
    tried = subprocess.run([sys.executable, "-c", _TRY], capture_output=True, check=False, timeout=300)
    works = tried.returncode == 0
    with suppress(InputError):  # a cache that cannot be written only costs the next start some seconds
        write_file(answer, b"works" if works else b"broken")
    return works
