"""The cache folder: what set-up fetched and what was compiled, built once and kept between commands."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$SPARRING_CACHE`, or `~/.cache/sparring`."""
    chosen = os.environ.get("SPARRING_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "sparring"
