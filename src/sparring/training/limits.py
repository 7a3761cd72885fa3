"""Running out of memory, said in words that help: what was being done, and which setting to lower."""

from collections.abc import Iterator
from contextlib import contextmanager

from sparring.core import RunError
from sparring.inference.device import is_out_of_memory


@contextmanager
def lower_if_too_large(doing: str, *settings: str) -> Iterator[None]:
    """Turns running out of memory inside the block into a `RunError` that names `settings`, the likeliest first."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise RunError(f"out of memory while {doing}: lower {' or '.join(settings)}") from error
