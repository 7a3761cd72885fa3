"""Arguments of calls from Python: one line that says what is wrong with one, as for settings from a file."""

from collections.abc import Mapping
from typing import Any

from sparring.core.errors import InputError
from sparring.core.settings import Place, fit


def check_argument(what: str, value: Any, kind: Any) -> None:
    """Raises `InputError` unless `value` fits the type `kind`, limits included: `check_argument("matches", 0, Count)`.

    Numbers may be numpy's.
    """
    fit(value, kind, Place("", what), strict=True)


def check_settings(settings: Any, kind: type) -> None:
    """Raises `InputError` unless `settings` are those of the game whose settings type is `kind`."""
    if not isinstance(settings, kind):
        options = settings if isinstance(settings, Mapping) else {}
        sample = ", ".join(f"{name}={value!r}" for name, value in options.items())
        raise InputError(f"settings = {settings!r}: allowed: a {kind.__name__}, such as game.settings({sample})")
