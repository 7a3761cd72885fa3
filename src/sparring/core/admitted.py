"""What the type of a setting admits, in the words of an error message: `a whole number, 3 to 19`."""

import re
import types
import typing
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Meta

_SIMPLE = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    type(None): "null",
}
_SAMPLES = {int: ("1", "2"), float: ("0.2", "0.5"), str: ("a", "b")}
"""Two values, by their type."""


def admitted(kind: Any, name: str = "") -> str:
    """The values that `kind` admits; empty if any will do. Samples of lists and keys have `name` in them, if given."""
    name = name if re.fullmatch(r"[\w./-]+", name) else ""
    every = options(kind)
    tagged = [tag for tag in (_tag(option) for option in every) if tag is not None]
    rest = [option for option in every if _tag(option) is None]
    either = [f"keys and values with {tagged[0][0]}: {', '.join(tag for _, tag in tagged)}"] if tagged else []
    return _either([*either, *(_words(option, name) for option in rest)])


def plain(kind: Any) -> Any:
    """`kind` without its annotations."""
    return typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind


def options(kind: Any) -> tuple[Any, ...]:
    """The types of a union, each with its annotations; a type that is no union is its only option."""
    inner = plain(kind)
    return typing.get_args(inner) if typing.get_origin(inner) in (typing.Union, types.UnionType) else (kind,)


def choices(kind: Any) -> list[str]:
    """The values of every Literal in `kind`."""
    literals = (plain(option) for option in options(kind))
    return [
        str(value) for kind in literals if typing.get_origin(kind) is typing.Literal for value in typing.get_args(kind)
    ]


def _tag(kind: Any) -> tuple[str, str] | None:
    """The key by which a struct is chosen among others, and its value there; None if `kind` is no such struct."""
    config = getattr(plain(kind), "__struct_config__", None)
    return None if config is None or config.tag is None else (config.tag_field, str(config.tag))


def _words(kind: Any, name: str) -> str:
    """What one type, which is no union, admits."""
    inner, meta = plain(kind), next((part for part in typing.get_args(kind)[1:] if isinstance(part, Meta)), Meta())
    if typing.get_origin(inner) is typing.Literal:
        return ", ".join(choices(inner))
    if typing.get_origin(inner) in (list, tuple):
        return _list(typing.get_args(inner), meta, name)
    if typing.get_origin(inner) is dict or inner is dict:
        return f"keys and values, such as {{{name or 'a'}: {_sample(*typing.get_args(inner)[1:])[0]}}}"
    if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
        return f"keys and values ({', '.join(inner.__struct_fields__)})"
    if meta.pattern is not None:
        return f"text that matches {meta.pattern}"
    base = _SIMPLE.get(typing.get_origin(inner) or inner, "")
    return ", ".join(filter(None, [base, _limits(meta)]))


def _sample(kind: Any = Any) -> tuple[str, ...]:
    """Two values of a type, or dots."""
    return _SAMPLES.get(plain(kind), ("...",))


def _list(entries: tuple[Any, ...], meta: Meta, name: str) -> str:
    sample = f"[{name if name and plain(entries[0]) is str else ', '.join(_sample(entries[0]))}]"
    length = f" with {meta.min_length} or more entries" if meta.min_length else ""
    each = admitted(entries[0])
    return f"a list such as {sample}{length}" + (f", each {each}" if each and plain(entries[0]) is not str else "")


def _limits(meta: Meta) -> str:
    """The numbers that are allowed, such as `3 to 19`; empty if all are."""
    if meta.ge is not None and meta.le is not None:
        return f"{_number(meta.ge)} to {_number(meta.le)}"
    if meta.ge is not None and meta.lt is None:
        return f"{_number(meta.ge)} or more"
    bounds = {"at least": meta.ge, "more than": meta.gt, "at most": meta.le, "less than": meta.lt}
    return " and ".join(f"{word} {_number(bound)}" for word, bound in bounds.items() if bound is not None)


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value:,}"


def _either(words: Iterable[str]) -> str:
    """`a`, `a or b`; what has commas of its own is set apart: `a, b; or c`."""
    said = list(dict.fromkeys(filter(None, words)))
    return ("; or " if any("," in word for word in said) else " or ").join(said)
