"""The two kinds of failure a user meets, each printed as one line."""

from collections.abc import Iterable
from difflib import get_close_matches

_MANY = 12
"""More names than this are not all listed."""


class InputError(ValueError):
    """The user's input cannot be used: the message says what, where and what is allowed. Exit code 2."""


class RunError(Exception):
    """Work that had started cannot go on: the message says what happened and what to do. Exit code 1."""


def closest(word: str, known: Iterable[str]) -> str | None:
    """The one of the `known` names that is most like `word`; None if none is much like it.

    A name is also like the initials of its words, as `learning_rate` is like `lr`.
    """
    names = sorted(known)
    initials = (name for name in names if "_" in name and "".join(part[:1] for part in name.split("_")) == word)
    return next(iter(get_close_matches(word, names, n=1)), None) or next(initials, None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'path'?)` if one of the `known` names is much like `word`, else nothing."""
    close = closest(word, known)
    return "" if close is None else f" (did you mean {close!r}?)"


def instead(word: str, known: Iterable[str], *, label: str = "allowed", see: str = "") -> str:
    """What may stand in place of `word`: the name that was probably meant, and the `known` ones after a `label`.

    Where they are too many to read, it is the near ones, and the command that lists all: `; see: sparring presets`.
    """
    names = list(known)
    meant = did_you_mean(word, names)
    if len(names) <= _MANY or not see:
        return f"{meant}; {label}: {', '.join(names)}"
    near = [] if meant else get_close_matches(word, names, n=3, cutoff=0.45)
    return meant + (f"; near: {', '.join(near)}" if near else "") + f"; see: {see}"
