"""What is tried out in a process of its own, since it may take long to import, hang or crash."""

import subprocess
import sys
from typing import TypeVar

import msgspec

_Found = TypeVar("_Found", bound=msgspec.Struct)


class ChildFailed(Exception):
    """A process did not come to its end; the message is the last thing it said."""


def ask_child(module: str, *arguments: str, found: type[_Found], seconds: float) -> _Found:
    """Runs a module of ours and returns the JSON object that it prints as its last line."""
    command = [sys.executable, "-P", "-m", module, *arguments]  # -P: a file of the present folder hides no module
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise ChildFailed(f"no answer within {seconds:.0f} seconds") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise ChildFailed(said[-1] if said else f"it ended with exit code {done.returncode}")
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=found)
