"""Settings from the user: plain data turned into typed structs, or one line that says what is wrong where."""

import typing
from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import yaml
from msgspec import Meta

from sparring.core.admitted import admitted, choices, options, plain
from sparring.core.errors import InputError, did_you_mean

Positive = Annotated[float, Meta(gt=0)]
NonNegative = Annotated[float, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1)]
NonNegativeInt = Annotated[int, Meta(ge=0)]

S = TypeVar("S")


class GameSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of a game's rule options: those that a program writes itself are checked like those of a preset.

    A struct with a `__post_init__` of its own calls this one first.
    """

    def __post_init__(self) -> None:
        """Raises `InputError` at the first option whose value is not allowed."""
        for name, kind in _hints(type(self)).items():
            _fit(getattr(self, name), kind, path=name, where="settings", strict=True)


def convert(data: Mapping[str, Any], kind: type[S], *, where: str) -> S:
    """`data` as a `kind` (a msgspec struct); raises `InputError` naming key, value and what is allowed."""
    _check(dict(data), kind, path="", where=where)
    try:
        return msgspec.convert(dict(data), kind, strict=False)
    except msgspec.ValidationError as error:  # from a struct's own __post_init__
        raise InputError(f"{where}: {error}") from None


class _Loader(yaml.SafeLoader):
    """A `SafeLoader` that refuses a mapping with the same key twice, of which YAML would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} stands there twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_settings(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; raises `InputError` with the line if it is not one."""
    try:
        data = yaml.load(path.read_bytes(), _Loader)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = "" if mark is None else f", line {mark.line + 1}, column {mark.column + 1}"
        raise InputError(f"{path}{at}: not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a YAML text file: {str(error).splitlines()[0]}") from error
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise InputError(f"{path}: not a mapping of keys to values")
    return data


def apply_overrides(data: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """`data` with `key.sub=value` overrides laid over it; values are read as YAML."""
    result: dict[str, Any] = {key: dict(v) if isinstance(v, Mapping) else v for key, v in data.items()}
    for text in overrides:
        if not isinstance(text, str):
            raise InputError(f"override {text!r}: not text of the form key=value, such as 'decisions=8192'")
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


def _check(value: Any, kind: Any, *, path: str, where: str) -> None:
    """Raises `InputError` at the first part of `value` that does not fit the type `kind`; `path` says where it is."""
    structs = _structs(kind)
    origin, parts = typing.get_origin(plain(kind)), typing.get_args(plain(kind))
    if isinstance(value, Mapping) and structs:
        _check_struct(value, _chosen(value, structs, path=path, where=where), path=path, where=where)
    elif isinstance(value, Mapping) and origin is dict:
        for key, entry in value.items():
            below = f"{path}.{key}" if path else str(key)
            if choices(parts[0]) and key not in choices(parts[0]):
                raise _unknown(below, str(key), choices(parts[0]), where)
            _check(entry, parts[1], path=below, where=where)
    elif isinstance(value, list | tuple) and origin in (list, tuple) and parts[1:] in ((), (...,)):
        for number, entry in enumerate(value):
            _check(entry, parts[0], path=f"{path}[{number}]", where=where)
    _fit(value, kind, path=path, where=where, strict=False)


def _fit(value: Any, kind: Any, *, path: str, where: str, strict: bool) -> None:
    """Raises `InputError` if `value` as a whole does not fit `kind`; `strict` takes no text for a number."""
    try:
        msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        at = f"{path} = {value!r}: " if path else ""
        words = "" if isinstance(value, Mapping) and _structs(kind) else admitted(kind)
        problem = f"allowed: {words}" if words else str(error).partition(" - at ")[0]
        raise InputError(f"{where}: {at}{problem[:1].lower()}{problem[1:]}") from None


def _structs(kind: Any) -> list[type[msgspec.Struct]]:
    """The structs that `kind` admits."""
    return [kind for kind in map(plain, options(kind)) if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]


@cache
def _hints(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The types of a struct's fields, by name."""
    return typing.get_type_hints(struct, include_extras=True)


def _check_struct(value: Mapping[str, Any], struct: type[msgspec.Struct], *, path: str, where: str) -> None:
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    hints = _hints(struct)
    tag = struct.__struct_config__.tag_field
    for key, entry in value.items():
        below = f"{path}.{key}" if path else str(key)
        if key in fields:
            _check(entry, hints[key], path=below, where=where)
        elif key != tag and struct.__struct_config__.forbid_unknown_fields:
            raise _unknown(below, str(key), fields, where)
    for name, field in fields.items():
        if field.required and name not in value:
            raise InputError(f"{where}: {path + '.' if path else ''}{name}: missing; this key is needed")


def _chosen(
    value: Mapping[str, Any], structs: list[type[msgspec.Struct]], *, path: str, where: str
) -> type[msgspec.Struct]:
    """The one of `structs` that `value` is meant to be, by its tag if there are several."""
    tagged = {str(struct.__struct_config__.tag): struct for struct in structs}
    field = structs[0].__struct_config__.tag_field
    if len(structs) == 1 or field is None:
        return structs[0]
    tag = value.get(field)
    if tag not in tagged:
        given = f"{field} = {tag!r}:" if field in value else f"{field}: missing;"
        raise InputError(f"{where}: {path + '.' if path else ''}{given} allowed: {', '.join(tagged)}")
    return tagged[str(tag)]


def _unknown(path: str, key: str, known: Iterable[str], where: str) -> InputError:
    known = list(known)
    return InputError(f"{where}: {path}: unknown key{did_you_mean(key, known)}; allowed: {', '.join(known)}")
