"""Settings for people to read: each key with its value, what is allowed and what it means.

The meanings are the docstrings below the fields of the settings' structs, read from their source code.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec import inspect as kinds
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sparring.core.documented import meanings


@dataclass(frozen=True)
class Setting:
    """One key of a configuration."""

    key: str
    """With the keys above it: `learner.learning_rate`."""
    value: str
    """As YAML, one line per entry of a mapping; empty if it must be given."""
    default: str | None
    """None if there is none."""
    allowed: str
    meaning: str

    @property
    def group(self) -> str:
        """The keys above it: `learner`."""
        return self.key.rpartition(".")[0]


def settings_of(
    kind: type[Struct], values: Struct | None = None, *, prefix: str = "", parts: Mapping[str, Struct] | None = None
) -> Iterator[Setting]:
    """Every setting of a struct and of structs inside it, with its value in `values` or else its default.

    `parts` are structs for fields that hold plain data, such as a preset's `settings`.
    """
    tag = kind.__struct_config__
    if tag.tag_field is not None:
        yield Setting(f"{prefix}{tag.tag_field}", str(tag.tag), None, "", (kind.__doc__ or "").partition("\n")[0])
    for field in msgspec.structs.fields(kind):
        default = field.default_factory() if field.default_factory is not NODEFAULT else field.default
        value = default if values is None else getattr(values, field.name)
        value = (parts or {}).get(field.name, value)
        if isinstance(value, Struct):
            yield from settings_of(type(value), value, prefix=f"{prefix}{field.name}.")
            continue
        yield Setting(
            key=f"{prefix}{field.name}",
            value="" if value is NODEFAULT else _text(value),
            default=None if default is NODEFAULT else _text(default),
            allowed=_allowed(kinds.type_info(field.type)),
            meaning=meanings(kind).get(field.name, ""),
        )


def written_out(settings: Iterable[Setting], data: Mapping[str, Any]) -> list[Setting]:
    """Those of `settings` that a preset with the plain `data` writes out, even if it writes the default."""
    keys = set(_keys(data))
    return [one for one in settings if any(f"{key}.".startswith(f"{one.key}.") for key in keys)]


def _keys(data: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{prefix}{name}.")
        yield f"{prefix}{name}"


def settings_list(settings: Iterable[Setting]) -> Group:
    """Each setting with its value and its meaning below; gaps between groups; values other than the default in bold."""
    settings = list(settings)
    width = max(len(setting.key) for setting in settings)
    parts: list[RenderableType] = []
    group = settings[0].group
    for setting in settings:
        if setting.group != group:
            parts.append("")
        group = setting.group
        chosen = setting.value != setting.default
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_column(width=width, no_wrap=True)
        line.add_column(overflow="fold", style="bold" if chosen else "")
        line.add_row(Text(setting.key), Text(setting.value))
        usual = f"default {setting.default}".replace("\n", ", ") if chosen and setting.default is not None else ""
        notes = "; ".join(filter(None, (setting.allowed, usual)))
        meaning = " ".join(filter(None, (setting.meaning, f"[{notes}]" if notes else "")))
        parts += [line, Padding(Text(meaning, style="dim"), (0, 0, 0, 4))]
    return Group(*parts)


def rules_text(named: Mapping[str, Any], settings: Struct) -> str:
    """The rules of a match in a line, as in `size 5, swap true`: what its spec names, and what is not the default.

    Mappings are left out: they are too long for a line.
    """
    chosen, usual = msgspec.to_builtins(settings), msgspec.to_builtins(type(settings)())
    return in_a_line({**named, **{key: value for key, value in chosen.items() if value != usual[key]}})


def in_a_line(values: Mapping[str, Any]) -> str:
    """Settings as in `size 5, swap true`, without mappings."""
    return ", ".join(f"{key} {_flow(value)}" for key, value in values.items() if not isinstance(value, dict))


def _text(value: Any) -> str:
    """As YAML, one line per entry of a mapping."""
    plain = msgspec.to_builtins(value)
    if isinstance(plain, dict) and plain:
        return "\n".join(f"{key}: {_flow(part)}" for key, part in plain.items())
    return _flow(plain)


def _flow(plain: Any) -> str:
    """Plain data as YAML in one line."""
    if isinstance(plain, dict):
        return "{" + ", ".join(f"{key}: {_flow(part)}" for key, part in plain.items()) + "}"
    if isinstance(plain, list | tuple):
        return "[" + ", ".join(map(_flow, plain)) + "]"
    return plain if isinstance(plain, str) else json.dumps(plain)


def _allowed(kind: kinds.Type) -> str:
    """What a value may be, in a few words."""
    match kind:
        case kinds.UnionType():
            return " or ".join(_allowed(option) for option in kind.types)
        case kinds.LiteralType():
            return ", ".join(map(str, kind.values))
        case kinds.EnumType():
            return ", ".join(str(member.value) for member in kind.cls)
        case kinds.IntType() | kinds.FloatType():
            name = "int" if isinstance(kind, kinds.IntType) else "float"
            if kind.ge is not None and kind.le is not None:
                return f"{name} {kind.ge:g} to {kind.le:g}"
            bounds = {">=": kind.ge, ">": kind.gt, "<=": kind.le, "<": kind.lt}
            return " ".join([name, *(f"{sign} {bound:g}" for sign, bound in bounds.items() if bound is not None)])
        case kinds.BoolType():
            return "true, false"
        case kinds.NoneType():
            return "null"
        case kinds.StrType():
            return "text"
        case kinds.ListType() | kinds.VarTupleType():
            return f"list of {_allowed(kind.item_type)}"
        case kinds.TupleType():
            return f"list of {len(kind.item_types)}"
        case kinds.StructType():
            return "mapping" if kind.tag_field is None else f"mapping with {kind.tag_field}: {kind.tag}"
    return "mapping"
