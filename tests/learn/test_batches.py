"""Packing: sequences of any length one behind the other, every row once and in order."""

import numpy as np

from sparring.learn.batches import packed


def test_every_row_is_in_one_place_behind_the_row_before_it():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 33, 200)
    starts = np.cumsum(lengths) - lengths
    rows, valid, first = packed(starts, lengths, 32)
    assert np.array_equal(np.sort(rows[valid]), np.arange(lengths.sum()))
    assert np.array_equal(np.sort(rows[valid & first]), starts)
    inside = valid[1:] & ~first[1:]
    assert valid[:-1][inside].all()
    assert np.array_equal(rows[1:][inside], rows[:-1][inside] + 1)


def test_padding_stands_at_the_end_begins_anew_and_is_little():
    rng = np.random.default_rng(1)
    lengths = rng.integers(5, 60, 300)
    _, valid, first = packed(np.cumsum(lengths) - lengths, lengths, 64)
    assert (valid[:-1] >= valid[1:]).all()
    assert first[~valid].all()
    assert valid.mean() > 0.95


def test_a_sequence_as_long_as_the_room_has_a_column_of_its_own():
    rows, valid, first = packed(np.array([0, 4]), np.array([4, 2]), 4)
    assert rows.shape == (4, 2)
    assert rows[:, 0].tolist() == [0, 1, 2, 3]
    assert rows[:2, 1].tolist() == [4, 5]
    assert valid.sum() == 6
    assert first.tolist() == [[True, True], [False, False], [False, True], [False, True]]
