"""Where checkpoints are, and which game they play; `policy.checkpoint` reads them whole."""

import json
from contextlib import suppress
from pathlib import Path

from sparring.core.errors import InputError

WEIGHTS = "policy.safetensors"
ABOUT = "policy.json"


def locate_checkpoint(path: Path) -> Path:
    """The checkpoint folder that `path` means: itself, or a run folder's best, or else its newest."""
    if (path / ABOUT).is_file():
        return path
    candidates = [path / "best", *sorted(path.glob("checkpoints/[0-9]*"), reverse=True)]
    for folder in candidates:
        if (folder / ABOUT).is_file():
            return folder
    below = [folder for folder in sorted(path.glob("[0-9]*"), reverse=True) if (folder / ABOUT).is_file()]
    newest = f"; the newest below it: {below[0]}" if below else ""
    raise InputError(f"{path}: no checkpoint here (a checkpoint folder holds {ABOUT} and {WEIGHTS}){newest}")


def trained_game(path: Path) -> str | None:
    """The game of the checkpoint that `path` means, unchecked; None if that cannot be told."""
    with suppress(InputError, OSError, ValueError, KeyError, TypeError, RecursionError):
        return str(json.loads((locate_checkpoint(path) / ABOUT).read_bytes())["spec"]["game"])
    return None
