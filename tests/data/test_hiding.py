"""Which episodes hide guesses: a part of them, another in every epoch, by their own numbers alone."""

import numpy as np

from sparring.data.hiding import drawn
from tests.data.stores import played


def test_the_chance_is_that_of_an_episode_in_an_epoch():
    headers = played(6000).headers
    epochs = np.array([drawn(headers, 0.3, seed=4, epoch=epoch) for epoch in range(8)])
    assert abs(epochs.mean() - 0.3) < 0.03
    both = (epochs[0] & epochs[1]).mean()
    assert abs(both - 0.09) < 0.03
    first, second = (epochs[:, headers.seat == seat].mean() for seat in (0, 1))
    assert abs(first - second) < 0.05
    assert not drawn(headers, 0.0, seed=4, epoch=0).any()
    assert drawn(headers, 1.0, seed=4, epoch=0).all()


def test_it_depends_on_nothing_but_the_episode_the_epoch_and_the_seed():
    headers = played(300).headers
    whole = drawn(headers, 0.5, seed=4, epoch=1)
    backwards = np.arange(len(headers))[::-1]
    np.testing.assert_array_equal(drawn(headers.take(backwards), 0.5, seed=4, epoch=1), whole[backwards])
    assert (drawn(headers, 0.5, seed=5, epoch=1) != whole).any()
