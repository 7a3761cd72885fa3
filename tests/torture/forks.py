"""Work done in forked children: cheap because everything is imported once, safe because a child may die of it."""

import os
import signal
import sys
import traceback
from contextlib import suppress

SECONDS = 120
"""After which a child is killed by its alarm."""


def in_child(work, log):
    """Runs `work()` in a forked child that writes what it says to `log`; its exit code, or minus the signal."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 70
        with suppress(BaseException):
            handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, 1)
            os.dup2(handle, 2)
            signal.alarm(SECONDS)
            code = _exit_code(work)
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _exit_code(work):
    try:
        work()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def command(*words):
    """`sparring words...` in this process, as the command line would run it."""
    from sparring.cli import main

    sys.argv = ["sparring", *map(str, words)]
    main()
