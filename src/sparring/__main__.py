"""The `sparring` command, as the installed script and `python -m sparring` run it.

Ctrl-C ends it with exit code 130 whenever it comes, also while modules are imported or kernels compiled.
"""

import signal
import sys
from contextlib import suppress
from threading import Event, Timer, main_thread
from types import FrameType
from typing import Any

_AGAIN_SECONDS = 0.05
_ended = Event()


def main() -> None:
    """Runs the command line."""
    try:
        if signal.getsignal(signal.SIGINT) == signal.default_int_handler:  # a script's background process ignores it
            _hear_every_ctrl_c()
        from sparring.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        _ended.set()


def _hear_every_ctrl_c() -> None:
    """Raises a `KeyboardInterrupt` again that Python had to drop, as in `__del__`, and ends without other remarks.

    Objects that were just being made when it came may not be able to clean up, about which Python would complain.
    """
    leaving, usual = False, sys.unraisablehook

    def leave(number: int, frame: FrameType | None) -> None:
        nonlocal leaving
        leaving = True
        raise KeyboardInterrupt

    def again() -> None:
        if not _ended.is_set():
            signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)

    def dropped(what: Any) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            timer = Timer(_AGAIN_SECONDS, again)
            timer.daemon = True
            with suppress(RuntimeError):  # the interpreter is ending already
                timer.start()
        elif not leaving:
            usual(what)

    signal.signal(signal.SIGINT, leave)
    sys.unraisablehook = dropped


if __name__ == "__main__":
    main()
