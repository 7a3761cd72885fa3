"""The `sparring` command: one typer app, one file per command group, no logic.

Modules here import nothing slow at their top: `sparring --help` must answer at once.
"""

import errno
import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparring.cli.help import App, UsageError, wrong_usage
from sparring.cli.loading import tell_of_slow_loading
from sparring.cli.output import outlive_readers

if TYPE_CHECKING:
    from rich.console import RenderableType

app = App(
    name="sparring",
    help="Train game-playing agents by self-play, rate them, play against them.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_UNUSABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}
_UNUSABLE |= {errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}
"""Errors of a file or folder that the user can fix."""

NEXT_STEPS: dict[str, str] = {}
"""By game: the command to try on a trained agent, with `{run}` for its folder. Games' own commands add theirs."""


def print_version(wanted: bool = True) -> None:
    """Prints the version and ends the command, if `wanted`."""
    if wanted:
        from sparring import __version__

        print(f"sparring {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What every command has in common."""


def main() -> None:
    """Runs the command line: bad input is one line and exit code 2, a failed run one line and exit code 1."""
    outlive_readers()
    tell_of_slow_loading()
    try:
        code = app(prog_name="sparring", standalone_mode=False)
        sys.stdout.flush()  # a result that cannot be written is told
        sys.exit(code)
    except typer.Abort as abort:
        if isinstance(abort.__cause__, EOFError):
            print("sparring: standard input ended where an answer was expected", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        from sparring.core.arena import IllegalAction
        from sparring.core.errors import InputError, RunError
        from sparring.core.text import printable

        if isinstance(error, UsageError):
            error = InputError(wrong_usage(error))
        if isinstance(error, OSError) and error.errno in _UNUSABLE and error.filename is not None:
            error = InputError(f"cannot use {error.filename}: {error.strerror}")
        if isinstance(error, IllegalAction):
            error = RunError(str(error))
        if isinstance(error, MemoryError):
            error = RunError(f"out of memory: {error}; lower what is done at once: matches, simulations, batch sizes")
        if isinstance(error, InputError | RunError):
            print(_on_terminal(f"sparring: {printable(str(error))}"), file=sys.stderr)
            sys.exit(2 if isinstance(error, InputError) else 1)
        raise


def _on_terminal(text: str) -> str:
    """`text` as standard error shows it: broken between words on a terminal, as it is elsewhere."""
    from shutil import get_terminal_size

    from sparring.core.text import wrapped

    return wrapped(text, get_terminal_size().columns) if sys.stderr.isatty() else text


def say(text: str) -> None:
    """A message to the person at the terminal; standard output is left to results."""
    from sparring.core.text import printable_lines

    print(_on_terminal(printable_lines(text)), file=sys.stderr, flush=True)


def show_result(result: Mapping[str, Any], table: "Callable[[Any], RenderableType]", *, as_json: bool) -> None:
    """A result on standard output: as one JSON object, or as the `table` made of it."""
    if as_json:
        print(json.dumps(result))
    else:
        show(table(result))


def show(result: "RenderableType") -> None:
    """A result, as a table or a line, on standard output; files and pipes get no spaces at the ends of lines."""
    from rich.console import Console

    console = Console()
    if console.is_terminal:
        console.print(result, highlight=False)
        return
    with console.capture() as captured:
        console.print(result, highlight=False)
    print("\n".join(line.rstrip() for line in captured.get().split("\n")), end="", flush=True)
