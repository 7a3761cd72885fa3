"""Code of the user's own, named as `package.module:name`: a reward, an observation, a network, a player.

It is imported only where the user names it, in a preset or on the command line. What a checkpoint or a run folder says
is data, and never a reason to import anything.
"""

import importlib
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sparring.core.errors import InputError

_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_IMPORTING = ("<frozen ", str(Path(importlib.__file__).parent), str(Path(__file__).parent))
"""Where the files are that import code for others: a fault is not theirs."""
_given: dict[str, Callable[..., Any]] = {}


def is_code(text: object) -> bool:
    """Whether `text` is of the form `package.module:name`."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def own(code: Callable[..., Any]) -> str:
    """A name by which settings can refer to a function or class of the running program.

    Several of one name are numbered in the order in which they were named first: a script that makes the same ones in
    the same order continues its run.
    """
    if not callable(code):
        raise InputError(f"own({code!r}): allowed: a function or class")
    inner = re.sub(r"\W+", "_", getattr(code, "__qualname__", type(code).__qualname__))
    name = first = f"{getattr(code, '__module__', type(code).__module__)}:{inner}"
    number = 1
    while _given.setdefault(name, code) is not code:
        number += 1
        name = f"{first}_{number}"
    return name


def import_code(text: str, *, what: str) -> Any:
    """Whatever `package.module:name` names, installed or in the current folder.

    `what` says what it is for, as in "a function that builds a policy".
    """
    if text in _given:
        return _given[text]
    if not is_code(text):
        raise InputError(f"{text}: {what} is named as package.module:name, and this is not")
    module, _, attribute = text.partition(":")
    if "" not in sys.path:
        sys.path.append("")  # last: files of the current folder hide no installed module
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{text}: cannot import it: {error}") from error
    except Exception as error:
        raise failure(f"{text}: cannot import it", error) from error


def load_code(text: str, *, what: str) -> Callable[..., Any]:
    """The callable that `text` names; see `import_code`."""
    code: Callable[..., Any] = import_code(text, what=what)
    if not callable(code):
        raise InputError(f"{text}: it is the {type(code).__name__} {code!r:.40}, and {what} is a function or a class")
    return code


def make_of_code(text: str, *, what: str) -> Any:
    """The function that `text` names (see `load_code`), or an object of the class, made without arguments."""
    code = load_code(text, what=what)
    if not isinstance(code, type):
        return code
    with blamed(f"{text}, made without arguments"):
        return code()


@contextmanager
def blamed(name: str) -> Iterator[None]:
    """Turns what code of the user's own, known by `name`, raises in the block into an `InputError` with its line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise failure(name, error) from error


def failure(name: str, error: BaseException) -> InputError:
    """What code of the user's own, known by `name`, raised, and the line that raised it."""
    if isinstance(error, SyntaxError):
        return InputError(f"{name}: {type(error).__name__}: {error.msg} ({error.filename}, line {error.lineno})")
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [at for at in frames if not at.filename.startswith(_IMPORTING)]
    place = f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else ""
    return InputError(f"{name}: {type(error).__name__}: {error}{place}")


def returned(value: object) -> str:
    """What a function of the user's own gave where an array of another shape is needed, in words."""
    shape = np.shape(value) if isinstance(value, np.ndarray | list | tuple) else ()
    return f"its array has shape {shape}" if shape else f"it returned {value!r:.40}"


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
