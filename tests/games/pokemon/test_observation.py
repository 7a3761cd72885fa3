"""The layout of the raw observation, and rows that are views of one memory."""

from enum import IntEnum
from math import prod

import numpy as np
import pytest

from sparring.core.spec import GameSpec
from sparring.games.pokemon import columns
from sparring.games.pokemon.number_columns import NUMBERED, NUMBERS_FILE, numbers_module
from sparring.games.pokemon.observation import FLOAT_COUNT, ID_COUNT, RAW_FIELDS, ObservationRows
from sparring.games.pokemon.tracker import Tracker


@pytest.mark.parametrize("enum", NUMBERED.values())
def test_columns_count_from_0_without_gaps(enum: type[IntEnum]) -> None:
    assert [int(column) for column in enum] == list(range(len(enum)))


def test_the_plain_integers_are_the_columns() -> None:
    assert NUMBERS_FILE.read_text(encoding="utf-8") == numbers_module(), "run number_columns"


def test_the_fields_fill_the_flat_rows_exactly() -> None:
    sizes = {"int16": 0, "float32": 0}
    for field in RAW_FIELDS.values():
        sizes[field.dtype] += prod(field.shape)
    assert sizes == {"int16": ID_COUNT, "float32": FLOAT_COUNT}


def test_fields_are_views_of_the_rows_with_the_shapes_of_the_spec() -> None:
    rows = ObservationRows(5)
    spec = GameSpec(game="pokemon", settings={}, seats=2, actions=1, observation=RAW_FIELDS)
    assert set(rows.fields) == set(spec.observation)
    for name, field in rows.fields.items():
        assert field.shape == (5, *RAW_FIELDS[name].shape)
        assert field.dtype == RAW_FIELDS[name].dtype
        assert np.shares_memory(field, rows.ids if field.dtype == np.int16 else rows.floats)
        assert rows.first(3)[name].shape[0] == 3


def test_writing_touches_one_row_and_copies_the_view_as_it_was() -> None:
    rows = ObservationRows(3)
    tracker = Tracker(9, "p1")
    tracker.line("|turn|40")
    tracker.write(rows, 1)
    tracker.line("|turn|50")
    turns = rows.fields["field"][:, columns.FieldColumn.TURN]
    assert turns.tolist() == pytest.approx([0.0, 0.4, 0.0])
    assert rows.fields["field"][1, columns.FieldColumn.GENERATION] == 1.0
