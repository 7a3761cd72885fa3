"""What the fields of a class mean: the docstrings below them, read from its source code, also for `help`."""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

C = TypeVar("C", bound=type)


def documented(kind: C) -> C:
    """A class decorator: `help` lists the fields of `kind`, their types and what they mean, below its docstring."""
    described = kind.__dict__.get("__doc__")
    if not isinstance(described, _WithFields):
        kind.__doc__ = _WithFields(described or "")  # type: ignore[assignment]  # text when it is asked for
    return kind


@cache
def meanings(kind: type) -> Mapping[str, str]:
    """The docstrings of a class's fields, by name; those it inherits included. Nothing if its source is not there."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base is not object and base.__module__ and not base.__module__.startswith(("msgspec", "typing")):
            found |= {name: text for name, _, text in _fields(base) if text or name not in found}
    return found


class _WithFields:
    """A class's docstring, with its fields; they are read only when somebody asks."""

    def __init__(self, described: str) -> None:
        self._described = inspect.cleandoc(described)

    def __get__(self, instance: object, owner: type) -> str:
        lines = [self._described, "", "Attributes:"]
        told = meanings(owner)
        kinds = {name: kind for base in reversed(owner.__mro__) for name, kind, _ in _fields(base)}
        for name, kind in kinds.items():
            text = f"{name} ({kind}): {told.get(name, '')}".rstrip(" :")
            lines += textwrap.wrap(text, 110, initial_indent="    ", subsequent_indent="        ")
        return "\n".join(lines) if kinds else self._described


@cache
def _fields(kind: type) -> list[tuple[str, str, str]]:
    """Name, type and docstring of each public field that `kind` itself declares."""
    try:
        body: list[Any] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    except (OSError, TypeError):  # made in a shell, or no class of Python
        return []
    found = []
    for field, after in zip(body, [*body[1:], None], strict=True):
        match field:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if not name.startswith("_"):
                below = after.value if isinstance(after, ast.Expr) else None
                text = below.value if isinstance(below, ast.Constant) and isinstance(below.value, str) else ""
                found.append((name, ast.unparse(_Bare().visit(annotation)).strip("'\""), " ".join(text.split())))
    return found


class _Bare(ast.NodeTransformer):
    """Types without their limits."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[inner, *_])):
                return inner
        return self.generic_visit(node)
