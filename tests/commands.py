"""Running `sparring` as a user does, in a process of its own, and what a terminal shows."""

import subprocess
import sys
from io import StringIO

from rich.console import Console

SPARRING = [sys.executable, "-m", "sparring"]

_WATCHED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
sys.argv = ["sparring", *{arguments!r}]
try:
    {code}
finally:
    print("IMPORTED", *sorted({{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
"""


def sparring(*arguments, without=(), code="from sparring.cli import main; main()", timeout=100):
    """Runs a command (or `code`) as if the packages in `without` were not installed.

    Returns the finished process and the top-level packages that it imported.
    """
    script = _WATCHED.format(blocked=set(without), arguments=list(map(str, arguments)), code=code)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=timeout)
    lines = done.stderr.splitlines()
    imported = {name for line in lines if line.startswith("IMPORTED ") for name in line.split()[1:]}
    done.stderr = "\n".join(line for line in lines if not line.startswith("IMPORTED "))
    return done, imported


def one_line(errors, *words):
    """Standard error has exactly one line of `sparring:`, with all the words, and no traceback."""
    problem = [line for line in errors.splitlines() if line.startswith("sparring:")]
    assert len(problem) == 1, errors
    assert "Traceback" not in errors
    for word in words:
        assert word in problem[0]


def shown(renderable, width=80):
    """What a terminal of `width` columns shows."""
    console = Console(width=width, file=StringIO())
    console.print(renderable)
    return console.file.getvalue()
