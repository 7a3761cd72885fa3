"""Says what a command waits for while torch is loaded, which takes seconds on a busy machine."""

import sys
from threading import Timer

_PATIENCE = 2.0
"""Seconds until it is said."""


class _BeforeTorch:
    """Starts to wait when torch is about to be imported, and costs nothing before."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "torch":
            sys.meta_path.remove(self)
            timer = Timer(_PATIENCE, _tell_if_loading)
            timer.daemon = True
            timer.start()


def tell_of_slow_loading() -> None:
    """On a terminal, says so if torch takes long to load."""
    if "torch" not in sys.modules and sys.stderr.isatty():
        sys.meta_path.insert(0, _BeforeTorch())


def _tell_if_loading() -> None:
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    if getattr(spec, "_initializing", False):  # set by Python until a module's own code has run
        print("loading torch", file=sys.stderr, flush=True)
