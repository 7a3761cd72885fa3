"""Names of a package that are imported when they are first used, so that importing the package stays quick."""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A module-level `__getattr__` for `package`: `modules` has the module of each lazy name."""

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return get


def lazy_dir(package: str, names: Iterable[str]) -> Callable[[], list[str]]:
    """A module-level `__dir__` for `package`, which completes its lazy `names` too."""
    return lambda: sorted({*vars(sys.modules[package]), *names})


def lazy_call(module: str, name: str) -> Callable[..., Any]:
    """A function that imports `name` from `module` when it is called, and passes its arguments on."""

    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **options)

    return call
