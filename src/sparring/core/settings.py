"""Settings from the user: plain data turned into typed structs, or one line that says what is wrong where."""

import typing
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import numpy as np
import yaml
from msgspec import Meta

from sparring.core.admitted import admitted, choices, options, plain
from sparring.core.documented import documented
from sparring.core.errors import InputError, instead

Positive = Annotated[float, Meta(gt=0)]
NonNegative = Annotated[float, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1)]
NonNegativeInt = Annotated[int, Meta(ge=0)]

S = TypeVar("S")
Override = str | Mapping[str, Any]
"""Settings laid over others: `key.sub=value`, or values by such keys."""


@dataclass(frozen=True)
class Place:
    """Where a value was found."""

    where: str
    """The preset, file or game; "" where the key alone says it."""
    path: str = ""
    """Its key, with the keys above it: `learner.learning_rate`."""
    see: str = ""
    """The command that lists the keys."""

    def below(self, key: object) -> "Place":
        """The place of the value at `key`."""
        return replace(self, path=f"{self.path}.{key}" if self.path else str(key))

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.where, self.path)))


class _ByName(msgspec.StructMeta):
    """What makes settings of the arguments of a call, and refuses those that are none in one line."""

    if not TYPE_CHECKING:  # type checkers know the fields, and complete their names

        def __call__(cls, *unnamed: Any, **named: Any) -> Any:
            place = Place("settings")
            if len(unnamed) > len(cls.__match_args__):
                names = ", ".join(cls.__struct_fields__)
                raise InputError(f"{place}: {unnamed[0]!r:.60}: allowed: values by name ({names})")
            for name in named:
                if name not in cls.__struct_fields__:
                    raise _unknown(place, name, cls.__struct_fields__)
            try:
                return super().__call__(*unnamed, **named)
            except InputError as error:
                raise InputError(f"{place}: {error}") from None


class GameSettings(msgspec.Struct, metaclass=_ByName, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of a game's rule options: those that a program writes itself are checked like those of a preset.

    A struct with a `__post_init__` of its own calls this one first. It refuses values by an `InputError` whose line
    begins with their key, as in `opening = 9: allowed: at most 8`; where they were found is put in front of it.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        documented(cls)

    def __post_init__(self) -> None:
        """Raises `InputError` at the first option whose value is not allowed; mappings become the structs they mean."""
        for name, kind in _hints(type(self)).items():
            value = getattr(self, name)
            fitted = _check(value, kind, Place("", name), strict=True)
            if fitted is not value:
                msgspec.structs.force_setattr(self, name, fitted)


def convert(data: Mapping[str, Any], kind: type[S], *, where: str, under: str = "", see: str = "") -> S:
    """`data` as a `kind` (a msgspec struct); raises `InputError` naming key, value and what is allowed.

    It was found in `where`, `under` the key of that name if it is part of something larger; `see` is the command that
    lists its keys, where they are too many for a line.
    """
    made: S = _check(dict(data), kind, Place(where, under, see), strict=False)
    return made


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


def apply_overrides(data: dict[str, Any], overrides: Iterable[Override]) -> dict[str, Any]:
    """`data` with `key.sub=value` texts, whose values are read as YAML, or `{"key.sub": value}` laid over it."""
    result: dict[str, Any] = {key: dict(v) if isinstance(v, Mapping) else v for key, v in data.items()}
    for key, value, where in chain.from_iterable(map(_entries, overrides)):
        *parents, last = key.split(".")
        place = result
        for parent in parents:
            below = place.setdefault(parent, {})
            if not isinstance(below, dict):
                raise InputError(f"{where}: {parent} has no keys of its own")
            place = below
        place[last] = value
    return result


def override_keys(overrides: Iterable[Override]) -> set[str]:
    """The keys that overrides set."""
    return {key for key, _, _ in chain.from_iterable(map(_entries, overrides))}


def _entries(override: Override) -> list[tuple[str, Any, str]]:
    """What an override sets: key, value, and how a message names it."""
    where = f"override {override!r}"
    if isinstance(override, Mapping) and all(isinstance(key, str) and key for key in override):
        return [(key, value, where) for key, value in override.items()]
    if not isinstance(override, str):
        raise InputError(f"{where}: allowed: text such as 'decisions=8192', or a mapping such as {{'decisions': 8192}}")
    key, _, value = override.partition("=")
    if not key or not value:
        raise InputError(f"{where}: not of the form key=value, without spaces around =")
    return [(key, parse_value(value, where=where), where)]


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


def fit(value: Any, kind: Any, place: Place, *, strict: bool) -> Any:
    """`value` as a `kind`; raises `InputError` if, as a whole, it is none. Numbers may be numpy's, but are finite.

    `strict` takes no text for a number.
    """
    plainer = value.item() if isinstance(value, np.generic) else value
    try:
        fitted = msgspec.convert(plainer, kind, strict=strict)
    except msgspec.ValidationError as error:
        if isinstance(value, Mapping) and _structs(kind):  # refused by the struct's own __post_init__
            raise _refused(place, error) from None
        words = admitted(kind, name=value if isinstance(value, str) else "")
        problem = f"allowed: {words}" if words else str(error).partition(" - at ")[0]
    else:
        if not isinstance(fitted, float) or isfinite(fitted):
            return fitted
        problem = f"allowed: {admitted(kind).replace('a number', 'a finite number')}"
    at = f" = {value!r}" if place.path else ""
    raise InputError(f"{place}{at}: {problem[:1].lower()}{problem[1:]}{_choice(value, kind, place)}") from None


def _refused(place: Place, error: msgspec.ValidationError) -> InputError:
    """What a struct at `place` said of itself: if in an `InputError`, its line begins with the key."""
    said = str(error.__cause__ or error)
    if isinstance(error.__cause__, InputError):
        return InputError(f"{place.below(said)}")
    return InputError(f"{place}: {said[:1].lower()}{said[1:]}")


def _check(value: Any, kind: Any, place: Place, *, strict: bool) -> Any:
    """`value` as a `kind`; raises `InputError` at the first part of it that does not fit."""
    structs = _structs(kind)
    origin, parts = typing.get_origin(plain(kind)), typing.get_args(plain(kind))
    if isinstance(value, msgspec.Struct) and type(value) in structs:
        tag = value.__struct_config__
        value = ({} if tag.tag_field is None else {tag.tag_field: tag.tag}) | msgspec.structs.asdict(value)
    if isinstance(value, Mapping) and structs:
        value = _check_struct(value, _chosen(value, structs, place), place, strict=strict)
    elif isinstance(value, Mapping) and origin is dict:
        for key in value:
            if choices(parts[0]) and key not in choices(parts[0]):
                raise _unknown(place, str(key), choices(parts[0]))
        value = {key: _check(entry, parts[1], place.below(key), strict=strict) for key, entry in value.items()}
    elif isinstance(value, list | tuple) and origin in (list, tuple) and parts[1:] in ((), (...,)):
        places = (replace(place, path=f"{place.path}[{number}]") for number in range(len(value)))
        value = [_check(entry, parts[0], at, strict=strict) for entry, at in zip(value, places, strict=True)]
    return fit(value, kind, place, strict=strict)


def _choice(value: Any, kind: Any, place: Place) -> str:
    """How to choose the struct whose tag is `value`, if `kind` has one: `; write learner.kind=ppo`."""
    tags = {struct.__struct_config__.tag: struct.__struct_config__.tag_field for struct in _structs(kind)}
    field = tags.get(value) if isinstance(value, str) else None
    return "" if field is None else f"; write {place.below(field).path}={value}"


def _structs(kind: Any) -> list[type[msgspec.Struct]]:
    """The structs that `kind` admits."""
    return [kind for kind in map(plain, options(kind)) if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]


@cache
def _hints(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The types of a struct's fields, by name."""
    return typing.get_type_hints(struct, include_extras=True)


def _check_struct(
    value: Mapping[str, Any], struct: type[msgspec.Struct], place: Place, *, strict: bool
) -> dict[str, Any]:
    """`value` with each of its parts as the field of `struct` wants it."""
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    hints = _hints(struct)
    tag = struct.__struct_config__.tag_field
    fitted: dict[str, Any] = {}
    for key, entry in value.items():
        if key in fields:
            fitted[key] = _check(entry, hints[key], place.below(key), strict=strict)
        elif key == tag:
            fitted[key] = entry
        elif struct.__struct_config__.forbid_unknown_fields:
            raise _unknown(place, str(key), fields)
    for name, field in fields.items():
        if field.required and name not in value:
            raise InputError(f"{place.below(name)}: missing; this key is needed")
    return fitted


def _chosen(value: Mapping[str, Any], structs: list[type[msgspec.Struct]], place: Place) -> type[msgspec.Struct]:
    """The one of `structs` that `value` is meant to be, by its tag if there are several."""
    tagged = {str(struct.__struct_config__.tag): struct for struct in structs}
    field = structs[0].__struct_config__.tag_field
    if len(structs) == 1 or field is None:
        return structs[0]
    tag = value.get(field)
    if tag not in tagged:
        given = f" = {tag!r}:" if field in value else ": missing;"
        raise InputError(f"{place.below(field)}{given} allowed: {', '.join(tagged)}")
    return tagged[str(tag)]


def _unknown(place: Place, key: str, known: Iterable[str]) -> InputError:
    return InputError(f"{place.below(key)}: unknown key{instead(key, known, see=place.see)}")
