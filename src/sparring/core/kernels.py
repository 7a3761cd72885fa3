"""Where numba keeps compiled kernels: the one place where Sparring lets anything be read with pickle.

Numba's cache files are pickles, by default beside the sources. Here they lie in a folder that only the user may enter,
named after the versions and sources they were compiled from, and each ends with its SHA-256; a file without it is
never unpickled, and its kernel compiled again. Compiling keeps people waiting, so the first time is told, and Ctrl-C
ends it. All this is set up when numba is first imported, so other commands pay nothing.
"""

import atexit
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from importlib.util import find_spec
from io import BytesIO
from multiprocessing import parent_process
from pathlib import Path
from time import time
from types import ModuleType
from typing import Any

from sparring.core.cache import cache_folder
from sparring.core.errors import InputError
from sparring.core.interrupts import ctrl_c_after

TEMPORARY = "sparring-kernels-"
"""Prefix of a folder that holds kernels for one process only."""
_VARIABLE = "NUMBA_CACHE_DIR"
_CACHING = "numba.core.caching"
_COMPILE = "numba:compile"
_CALLING_BACK = ("finalize_object", "get_function_address", "get_global_value_address")
"""Of numba's engine: calls of LLVM that hand machine code over in a callback from C, where an exception is lost."""
_SEAL_BYTES = hashlib.sha256().digest_size
_UNUSED_SECONDS = 30 * 24 * 3600.0


def keep_kernels_safe() -> None:
    """Sets up numba's cache; `sparring` calls it just before numba is imported, or at once if it already is."""
    numba: Any = sys.modules.get("numba")
    if numba is None:
        if not os.environ.get(_VARIABLE):
            os.environ[_VARIABLE] = str(_kernel_folder())  # worker processes inherit it
        sys.meta_path.insert(0, _OnImport())
        return
    numba.config.CACHE_DIR = numba.config.CACHE_DIR or str(_kernel_folder())
    _prepare(sys.modules[_CACHING])


class _OnImport(MetaPathFinder):
    """Prepares numba when the module that writes its cache files is imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _CACHING:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            run = loader.exec_module

            def run_and_prepare(module: ModuleType) -> None:
                run(module)
                _prepare(module)

            loader.exec_module = run_and_prepare
        return spec


def _prepare(caching: ModuleType) -> None:
    """Everything that is changed in numba, once `caching` is there."""
    _seal_files(caching)
    _announce_compiling()
    _keep_code_from_ctrl_c()


def _kernel_folder() -> Path:
    """The user's own folder for kernels of these sources, or a temporary one if it cannot be made."""
    root = cache_folder() / "numba"
    folder = root / _key()
    try:
        for place in (root, folder):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_private(place)
        os.utime(folder)
        _drop_unused(root)
    except OSError:
        temporary = tempfile.mkdtemp(prefix=TEMPORARY)
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return Path(temporary)
    return folder


def _key() -> str:
    """Versions, and a hash of every module that uses numba: a kernel may call one of another module."""
    digest = hashlib.sha256()
    sources = Path(__file__).parents[1]
    for path in sorted(sources.rglob("*.py")):
        content = path.read_bytes()
        if b"numba" in content:
            digest.update(f"{path.relative_to(sources)} {len(content)}\n".encode() + content)
    return f"{version('sparring')}-numba{version('numba')}-py{platform.python_version()}-{digest.hexdigest()[:16]}"


def _check_private(folder: Path) -> None:
    """Raises `InputError` unless `folder` is the user's; closes it to others if it was open to them."""
    status = folder.lstat()
    if status.st_uid != os.geteuid() or folder.is_symlink():
        raise InputError(
            f"{folder} belongs to somebody else, who could have code run from it; remove it, or set SPARRING_CACHE"
        )
    if status.st_mode & 0o077:
        folder.chmod(0o700)


def _drop_unused(root: Path) -> None:
    """Removes kernels that have not been used for a month."""
    for folder in root.iterdir():
        with suppress(OSError):
            if time() - folder.stat().st_mtime > _UNUSED_SECONDS:
                shutil.rmtree(folder)


def _seal_files(caching: Any) -> None:
    """Makes numba's cache files end with their SHA-256, and ignores those that do not."""

    class Sealed(caching.IndexDataCacheFile):  # type: ignore[misc]
        @contextmanager
        def _open_for_write(self, filepath: str) -> Iterator[BytesIO]:
            content = BytesIO()
            yield content
            with super()._open_for_write(filepath) as file:
                file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())

        def save(self, key: Any, data: Any) -> None:
            """Keeps a kernel if it can; on a full disk it is compiled again the next time."""
            with suppress(OSError):
                super().save(key, data)

        def _load_index(self) -> Any:
            return super()._load_index() if _is_whole(self._index_path) else {}

        def _load_data(self, name: str) -> Any:
            if not _is_whole(self._data_path(name)):
                raise OSError(f"{name} is damaged")  # numba compiles the kernel again
            return super()._load_data(name)

    caching.IndexDataCacheFile = Sealed


def _announce_compiling() -> None:
    """Says so on standard error, once, when numba compiles a kernel of ours; of several processes only one does."""
    event: Any = import_module("numba.core.event")

    class Announce(event.Listener):  # type: ignore[misc]
        def on_start(self, compiling: Any) -> None:
            if compiling.data["dispatcher"].py_func.__module__.startswith("sparring."):
                event.unregister(_COMPILE, self)
                print("compiling kernels, kept for the next time: up to half a minute", file=sys.stderr, flush=True)

        def on_end(self, compiling: Any) -> None:
            """Nothing to say."""

    if parent_process() is None and os.environ.get("RANK", "0") == "0":
        event.register(_COMPILE, Announce())


def _keep_code_from_ctrl_c() -> None:
    """Lets Ctrl-C come after LLVM has handed machine code over, not during it."""
    engine = import_module("numba.core.codegen").JitEngine

    def whole(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            with ctrl_c_after():
                return call(*arguments)

        return called

    for name in _CALLING_BACK:
        setattr(engine, name, whole(getattr(engine, name)))


def _is_whole(path: str) -> bool:
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content[:-_SEAL_BYTES]).digest() == content[-_SEAL_BYTES:]
