"""Settings from the user: plain data turned into typed structs, or one line that says what is wrong where."""

import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
import yaml

from sparring.core.errors import InputError, did_you_mean

S = TypeVar("S")

_AT = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")


def convert(data: Mapping[str, Any], kind: type[S], *, where: str) -> S:
    """`data` as a `kind` (a msgspec struct); raises `InputError` naming key, value and what is allowed."""
    try:
        return msgspec.convert(dict(data), kind, strict=False)
    except msgspec.ValidationError as error:
        message = str(error)
        found = _AT.search(message)
        path = found.group(1) if found else ""
        problem = _AT.sub("", message)
        if "unknown field" in problem:
            key = problem.split("`")[1]
            path = f"{path}.{key}" if path else key
            allowed = _fields_at(kind, data, path.split(".")[:-1])
            hint = did_you_mean(key, allowed)
            raise InputError(f"{where}: {path}: unknown key{hint}; allowed: {', '.join(allowed)}") from None
        value = _value_at(data, path)
        shown = f"{path} = {value!r}" if value is not _MISSING else path or "value"
        if problem.startswith("Invalid"):
            choices = _allowed_at(kind, data, [part.partition("[")[0] for part in path.split(".")])
            problem += f"; allowed: {', '.join(choices)}" if choices else ""
        raise InputError(f"{where}: {shown}: {problem[:1].lower()}{problem[1:]}") from None


def apply_overrides(data: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """`data` with `key.sub=value` overrides laid over it; values are read as YAML."""
    result: dict[str, Any] = {key: dict(v) if isinstance(v, Mapping) else v for key, v in data.items()}
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(f"override {text!r}: not of the form key=value")
        *parents, last = key.split(".")
        place = result
        for parent in parents:
            below = place.setdefault(parent, {})
            if not isinstance(below, dict):
                raise InputError(f"override {text!r}: {parent} has no keys of its own")
            place = below
        place[last] = parse_value(value, where=f"override {text!r}")
    return result


def parse_value(text: str, *, where: str) -> Any:
    """A YAML scalar or list; `1e-3` is a number here, as people expect."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise InputError(f"{where}: the value is not valid YAML") from None
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


_MISSING = object()


def _value_at(data: Any, path: str) -> Any:
    for part in path.split("."):
        name, _, index = part.partition("[")
        if not isinstance(data, Mapping) or name not in data:
            return _MISSING
        data = data[name]
        if index:
            return data
    return data


def _fields_at(kind: Any, data: Any, path: list[str]) -> list[str]:
    """Field names of the struct that `path` leads to inside `kind`."""
    kind, data = _kind_at(kind, data, path)
    return [field.name for struct in _structs(kind, data) for field in msgspec.structs.fields(struct)]


def _kind_at(kind: Any, data: Any, path: list[str]) -> tuple[Any, Any]:
    """The type, and the data, that `path` leads to."""
    for part in path:
        hints = {name: hint for struct in _structs(kind, data) for name, hint in typing.get_type_hints(struct).items()}
        kind = hints.get(part, kind)
        data = data.get(part, {}) if isinstance(data, Mapping) else {}
    return kind, data


def _allowed_at(kind: Any, data: Any, path: list[str]) -> list[str]:
    """What may stand where `path` leads: a Literal's values, or the tags of the structs that it chooses from."""
    union, _ = _kind_at(kind, data, path[:-1])
    options = [struct.__struct_config__ for struct in _structs(union, None)]
    tags = [str(option.tag) for option in options if option.tag_field == path[-1]]
    return tags or _choices(_kind_at(kind, data, path)[0])


def _choices(kind: Any) -> list[str]:
    """The values of every Literal in `kind`."""
    parts = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Literal:
        return [str(part) for part in parts]
    return [choice for part in parts for choice in _choices(part)]


def _structs(kind: Any, data: Any) -> list[type[msgspec.Struct]]:
    """The structs `kind` may be; of a tagged union only the one whose tag `data` has."""
    options = typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)
    structs = [option for option in options if isinstance(option, type) and issubclass(option, msgspec.Struct)]
    return [
        struct
        for struct in structs
        if struct.__struct_config__.tag is None
        or not isinstance(data, Mapping)
        or data.get(struct.__struct_config__.tag_field) == struct.__struct_config__.tag
    ]
