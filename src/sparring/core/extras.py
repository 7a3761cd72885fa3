"""Optional packages: a missing one is reported in one line that says how to install it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

from sparring.core.errors import InputError


class MissingPackage(InputError, ImportError):
    """An optional package is not installed. An `InputError` to the command line, an `ImportError` to Python."""


def install_command(extra: str) -> str:
    """What to run to install the packages of one of our extras."""
    return f"pip install 'sparring[{extra}]'"


def missing_packages(extra: str) -> list[str]:
    """The packages of one of our extras that are not installed; none if there is no such extra."""
    wanted = re.compile(rf"""([\w.-]+).*;\s*extra == ['"]{re.escape(extra)}['"]""")
    found = [wanted.match(text) for text in metadata.requires("sparring") or []]
    return [match[1] for match in found if match is not None and not _installed(match[1])]


@contextmanager
def optional(what: str, *, extra: str = "", package: str = "") -> Iterator[None]:
    """Around imports of optional packages: a missing one raises `MissingPackage`, which says how to install it.

    `what` needs them; they come with our extra `extra`, or with `pip install PACKAGE`.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name == "sparring":
            raise
        command = install_command(extra) if extra else f"pip install {package}"
        raise MissingPackage(f"{what} needs the package {name}, which is not installed; run: {command}") from error


def _installed(package: str) -> bool:
    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True
