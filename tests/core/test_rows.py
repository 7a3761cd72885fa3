"""Structs of arrays: what every batch, log and file can do with its rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.testing import assert_array_equal

from sparring.core import Answers, Array, Rows
from sparring.core.rows import flatten, nested


@dataclass(frozen=True, slots=True, eq=False)
class Cards(Rows):
    number: Array
    shown: Mapping[str, Array]
    note: Array | None = None


def cards(*numbers: int, note: bool = False) -> Cards:
    number = np.array(numbers, np.int32)
    return Cards(
        number=number,
        shown={"pair": np.stack([number, -number], axis=1), "odd": number % 2 == 1},
        note=number.astype(np.float32) if note else None,
    )


def test_columns_have_flat_names_and_come_back():
    rows = cards(1, 2, 3, note=True)
    assert list(rows.columns()) == ["number", "shown/pair", "shown/odd", "note"]
    back = Cards.from_columns(rows.columns() | {"stranger": rows.number})
    assert all(back.columns()[name] is column for name, column in rows.columns().items())


def test_what_rows_do_not_have_is_no_column():
    assert "note" not in cards(1).columns()
    assert Cards.from_columns(cards(1).columns()).note is None


def test_a_slice_gives_views_and_an_index_array_copies():
    rows = cards(1, 2, 3)
    view, copy = rows.take(slice(1, 3)), rows.take(np.array([2, 1]))
    rows.shown["pair"][:] = 0
    assert_array_equal(view.number, [2, 3])
    assert_array_equal(view.shown["pair"], 0)
    assert_array_equal(copy.number, [3, 2])
    assert_array_equal(copy.shown["pair"][:, 0], [3, 2])


def test_writing_copies_into_the_arrays_that_are_there():
    rows = cards(1, 2, 3, note=True)
    number = rows.number
    rows.write(slice(1, 3), cards(8, 9))
    assert_array_equal(number, [1, 8, 9])
    assert_array_equal(rows.shown["pair"][1:], [[8, -8], [9, -9]])
    assert_array_equal(rows.note, [1, 0, 0])  # the written rows had none
    rows.write(np.array([2, 0]), cards(5, 6, note=True))
    assert_array_equal(number, [6, 8, 5])


def test_joining_lays_parts_end_to_end_also_into_room_that_is_given():
    room = cards(1).empty(5)
    assert_array_equal(Cards.join([cards(1), cards(2, 3)]).number, [1, 2, 3])
    joined = Cards.join([cards(1), cards(2, 3)], out=room)
    assert len(joined) == 3
    assert joined.number.base is room.number
    assert_array_equal(joined.shown["pair"][:, 1], [-1, -2, -3])


def test_empty_rows_keep_dtypes_and_shapes():
    room = cards(1, note=True).empty(4)
    assert {name: (column.dtype, column.shape) for name, column in room.columns().items()} == {
        "number": (np.int32, (4,)),
        "shown/pair": (np.int32, (4, 2)),
        "shown/odd": (np.bool_, (4,)),
        "note": (np.float32, (4,)),
    }


def test_groups_flatten_and_nest_again():
    flat = flatten({"log": {"a": 1, "b/c": 2}, "memory": {"a": 3}})
    assert flat == {"log/a": 1, "log/b/c": 2, "memory/a": 3}
    assert nested(flat | {"alone": 4}) == {"log": {"a": 1, "b/c": 2}, "memory": {"a": 3}}


def test_rows_print_their_shapes_instead_of_their_numbers():
    rows = Answers(action=np.zeros(3, np.int32), policy=np.zeros((3, 25), np.float32))
    assert repr(rows) == "<Answers: 3 rows of action int32[3], policy float32[3, 25]>"
