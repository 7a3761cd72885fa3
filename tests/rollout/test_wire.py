"""Columns that cross to another host come out as they went in, smaller on the way."""

import numpy as np
import pytest

from sparring.core import RandomPlayer, RunError
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.rollout import Collector, everyone
from sparring.rollout.wire import from_arrow, to_arrow
from tests import hex


def assert_crosses(columns):
    found = from_arrow(to_arrow(columns))
    assert list(found) == list(columns)
    for name, array in columns.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_episodes_with_policies_and_memory():
    engine = InferenceEngine(hex.spec(), slots=16, device=Device("cpu", "float32"), seed=0)
    engine.add("main", hex.policy(memory="lstm"))
    player = NetworkPlayer(engine, "main", keep_policy=True)
    collector = Collector(
        hex.arena(matches=8), {"main": player}, everyone(0, 2), record=["main"], segment=4, keep_policy=True
    )
    episodes = collector.collect(200)
    assert episodes.memory is not None
    assert_crosses(episodes.columns())


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "uint64", "float16", "float32", "float64"])
def test_every_dtype_and_shape(dtype):
    numbers = np.random.default_rng(0).integers(0, 2, (6, 2, 3)).astype(dtype)
    assert_crosses({"a/flat": numbers[:, 0, 0], "a/deep": numbers, "b": numbers[:2, :, 1], "c/none": numbers[:0]})


def test_numbers_that_are_none():
    assert_crosses({"a/value": np.array([np.nan, np.inf, -0.0], np.float32)})


def test_no_columns():
    assert from_arrow(to_arrow({})) == {}


def test_what_repeats_crosses_in_a_fraction_of_its_size():
    collector = Collector(hex.arena(matches=16, size=7), {"a": RandomPlayer(0)}, everyone(0, 2), record=["a"])
    columns = collector.collect(2000).columns()
    assert len(to_arrow(columns)) < 0.6 * sum(array.nbytes for array in columns.values())


def test_bytes_that_are_not_as_they_were_are_refused():
    content = to_arrow({"a/board": np.arange(600).reshape(100, 6), "b": np.zeros(3, bool)})
    draw = np.random.default_rng(0)
    flipped = [bytearray(content) for _ in range(200)]
    for one in flipped:
        one[draw.integers(len(one))] ^= 1 << draw.integers(8)
    cut = [content[:end] for end in draw.integers(len(content), size=50)]
    for damaged in [*map(bytes, flipped), *cut, b"", b"\0" * 3, content + b"\0", content * 2, draw.bytes(1000)]:
        with pytest.raises(RunError, match="damaged"):
            from_arrow(damaged)
