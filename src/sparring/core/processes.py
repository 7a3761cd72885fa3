"""Processes that a program starts: each begins by importing the program's script again.

A script that starts processes at its top level, outside `if __name__ == "__main__":`, would start more in each of them.
Such a process ends at once and without a word, by an exit code from which its parent knows what to say.
"""

import os
import sys
from multiprocessing import current_process
from multiprocessing.process import BaseProcess

from sparring.core.errors import RunError
from sparring.core.text import printable

_ENDING_SECONDS = 5.0
"""What a process may take to end on a busy machine, once its end of a line is closed."""
UNGUARDED = 79
"""The exit code of a process that ended because its script has no guard."""


def end_if_unguarded() -> None:
    """Ends this process if it is still importing the script of the program that started it."""
    if getattr(current_process(), "_inheriting", False):
        os._exit(UNGUARDED)


def check_guarded(child: BaseProcess) -> None:
    """Raises `RunError` if `child`, which has ended or is about to, did so because the script needs the guard."""
    child.join(_ENDING_SECONDS)
    if child.exitcode == UNGUARDED:
        script = printable(str(getattr(sys.modules["__main__"], "__file__", "the script")))
        raise RunError(
            f"{script} starts processes, each of which imports it again: "
            'put what it does under `if __name__ == "__main__":`'
        )
