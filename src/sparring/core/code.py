"""Code of the user's own, named as `package.module:name` in settings: a reward, an observation, a network.

It is imported only where the user names it, in a preset or on the command line. What a checkpoint or a run folder says
is data, and never a reason to import anything.
"""

import importlib
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sparring.core.errors import InputError

_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_given: dict[str, Callable[..., Any]] = {}


def is_code(text: object) -> bool:
    """Whether `text` is of the form `package.module:name`."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def own(code: Callable[..., Any]) -> str:
    """A name by which settings can refer to a function or class of the running program."""
    inner = re.sub(r"\W+", "_", getattr(code, "__qualname__", type(code).__qualname__))
    name = f"{getattr(code, '__module__', type(code).__module__)}:{inner}"
    known = _given.setdefault(name, code)
    if known is not code:
        name = f"{name}_{id(code)}"
        _given[name] = code
    return name


def load_code(text: str, *, what: str) -> Callable[..., Any]:
    """The callable that `package.module:name` names, installed or in the current folder.

    `what` says what it is for, as in "a function that builds a policy".
    """
    if text in _given:
        return _given[text]
    module, _, attribute = text.partition(":")
    if "" not in sys.path:
        sys.path.append("")  # last: files of the current folder hide no installed module
    try:
        code: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{text}: cannot import it: {error}") from error
    except SyntaxError as error:
        at = f"{error.filename}, line {error.lineno}"
        raise InputError(f"{text}: cannot import it: SyntaxError: {error.msg} ({at})") from error
    except Exception as error:
        raise failure(f"{text}: cannot import it", error) from error
    if not callable(code):
        raise InputError(f"{text}: not {what}")
    return code


def failure(name: str, error: Exception) -> InputError:
    """What a function of the user's own, known by `name`, raised, and the line that raised it."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    return InputError(f"{name}: {type(error).__name__}: {error} ({at.filename}, line {at.lineno})")


def code_names(data: object) -> Iterator[str]:
    """Every name of code in plain data, keys and values, however deep."""
    if is_code(data):
        yield str(data)
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from code_names(key)
            yield from code_names(value)
    elif isinstance(data, Sequence) and not isinstance(data, str):
        for value in data:
            yield from code_names(value)
