"""Optional packages: what is missing is one line that says how to install it."""

from collections.abc import Iterator
from contextlib import contextmanager

from sparring.core.errors import InputError


class MissingPackage(InputError, ImportError):
    """An optional package is not installed. An `InputError` to the command line, an `ImportError` to Python."""


def install_command(extra: str) -> str:
    """What to run to install the packages of one of our extras."""
    return f"pip install 'sparring[{extra}]'"


@contextmanager
def optional(what: str, *, extra: str = "", package: str = "") -> Iterator[None]:
    """Around imports of optional packages: a missing one raises `MissingPackage`, which says how to install it.

    `what` needs them; they come with our extra `extra`, or else by `pip install PACKAGE`.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name == "sparring":
            raise
        command = install_command(extra) if extra else f"pip install {package}"
        raise MissingPackage(f"{what} needs the package {name}, which is not installed; run: {command}") from error
