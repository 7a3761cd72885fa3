"""The `sparring` command: one typer app, one file a command group, no logic."""

import sys

import typer
from rich.console import Console

from sparring.core import InputError, RunError
from sparring.core.text import printable

app = typer.Typer(
    name="sparring",
    help="Train game-playing agents by self-play, rate them, play against them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

console = Console()


def main() -> None:
    """Runs the command line: bad input is one line and exit code 2, a failed run one line and exit code 1."""
    try:
        app()
    except InputError as error:
        _fail(str(error), 2)
    except RunError as error:
        _fail(str(error), 1)
    except BrokenPipeError:
        sys.exit(1)


def say(text: str) -> None:
    """A message to the person at the terminal; standard output is left to results."""
    print(printable(text), file=sys.stderr, flush=True)


def _fail(message: str, code: int) -> None:
    print(f"sparring: {printable(message)}", file=sys.stderr)
    sys.exit(code)
