"""The two kinds of failure a user meets, each printed as one line."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(Exception):
    """The user's input cannot be used: the message says what, where and what is allowed. Exit code 2."""


class RunError(Exception):
    """Work that had started cannot go on: the message says what happened and what to do. Exit code 1."""


def closest(word: str, known: Iterable[str]) -> str | None:
    """The one of the `known` names that is most like `word`; None if none is much like it."""
    return next(iter(get_close_matches(word, sorted(known), n=1)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'path'?)` if one of the `known` names is much like `word`, else nothing."""
    close = closest(word, known)
    return "" if close is None else f" (did you mean {close!r}?)"
