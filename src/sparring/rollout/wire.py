"""Arrays on their way from one host to another: an Arrow stream for each group of columns, compressed.

What seats see is mostly zeros and repeats, so that it crosses in a fraction of its size. A column is an array whose
rows are numbers, or lists of as many as a row has; shape and dtype stand in its field's metadata. A checksum comes
last: Arrow reads bytes that have changed on the way as other numbers, or past their end.
"""

from collections.abc import Mapping
from math import prod
from zlib import crc32

import numpy as np
import pyarrow as pa

from sparring.core import Array, RunError

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
"""LZ4 takes a few milliseconds for the decisions of half a second; zstd halves the bytes for twice the time."""
_READ = pa.ipc.IpcReadOptions(use_threads=False)
_SUM_BYTES = 4


def to_arrow(columns: Mapping[str, Array]) -> bytes:
    """`columns` by name; those whose names begin alike, as in `steps/action`, have rows in common."""
    groups: dict[str, dict[str, Array]] = {}
    for name, array in columns.items():
        groups.setdefault(name.partition("/")[0], {})[name] = array
    sink = pa.BufferOutputStream()
    for group in groups.values():
        made = {name: _column(array) for name, array in group.items()}
        fields = [pa.field(name, column.type, metadata=_about(group[name])) for name, column in made.items()]
        schema = pa.schema(fields)
        with pa.ipc.new_stream(sink, schema, options=_OPTIONS) as stream:
            stream.write_batch(pa.record_batch(list(made.values()), schema=schema))
    content: bytes = sink.getvalue().to_pybytes()
    return content + _sum(content)


def from_arrow(content: bytes) -> dict[str, Array]:
    """What `to_arrow` made of columns, read-only. Raises `RunError` if it has changed since."""
    arrow = memoryview(content)[:-_SUM_BYTES]
    if content[-_SUM_BYTES:] != _sum(arrow):
        raise RunError(f"{len(content):,} bytes from another host are damaged")
    source, columns = pa.BufferReader(arrow), {}
    while source.tell() < len(arrow):
        (batch,) = pa.ipc.open_stream(source, options=_READ)
        for field, column in zip(batch.schema, batch.columns, strict=True):
            shape = [int(size) for size in field.metadata[b"shape"].split()]
            flat = column.flatten() if shape else column
            dtype = np.dtype(field.metadata[b"dtype"].decode())
            columns[field.name] = flat.to_numpy(zero_copy_only=True).view(dtype).reshape(batch.num_rows, *shape)
    return columns


def _sum(content: bytes | memoryview) -> bytes:
    return crc32(content).to_bytes(_SUM_BYTES, "little")


def _column(array: Array) -> pa.Array:
    """`array` without a copy, its truths as bytes."""
    flat = np.ascontiguousarray(array).reshape(-1)
    numbers = pa.array(flat.view(np.uint8) if flat.dtype == np.bool_ else flat)
    return numbers if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(numbers, prod(array.shape[1:]))


def _about(array: Array) -> dict[str, str]:
    return {"shape": " ".join(map(str, array.shape[1:])), "dtype": array.dtype.str}
