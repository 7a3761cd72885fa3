"""When a batch runs: at once if it is full or nobody else can send, soon if requests stop coming."""

import numpy as np
import pytest

from sparring.serving.batching import Batcher, Request
from sparring.serving.protocol import Ask
from sparring.serving.sessions import NONE, Session, SlotPool


def session(slots=8, in_flight=1):
    return Session(client=b"x", number=1, slots=slots, in_flight=in_flight, heard=0.0)


def request(rows, arrived=0.0, who=None):
    return Request(who or session(), Ask(session=1, sequence=0, rows=rows), None, None, arrived)


@pytest.fixture
def batcher():
    batcher = Batcher(batch_size=32, timeout=0.05)
    batcher.ran(0.010)
    return batcher


def test_nobody_waits_when_no_live_client_can_send_more(batcher):
    batcher.add(request(1))
    assert batcher.patience(0.0, can_send=0) == 0


def test_a_full_batch_runs_at_once(batcher):
    batcher.add(request(32))
    assert batcher.patience(0.0, can_send=5) == 0


def test_waits_half_a_forward_for_the_next_request(batcher):
    batcher.add(request(1, arrived=1.0))
    assert batcher.patience(1.0, can_send=1) == pytest.approx(0.005)
    assert batcher.patience(1.006, can_send=1) == 0
    batcher.add(request(1, arrived=1.004))
    assert batcher.patience(1.006, can_send=1) == pytest.approx(0.003)


def test_the_timeout_bounds_every_wait(batcher):
    batcher.ran(10.0)
    batcher.add(request(1, arrived=1.0))
    batcher.add(request(1, arrived=1.04))
    assert batcher.patience(1.04, can_send=1) == pytest.approx(0.01)


def test_requests_are_taken_whole_and_in_order(batcher):
    for rows in (10, 20, 5, 100):
        batcher.add(request(rows))
    assert [r.ask.rows for r in batcher.take()] == [10, 20]
    assert [r.ask.rows for r in batcher.take()] == [5]
    assert [r.ask.rows for r in batcher.take()] == [100]
    assert batcher.rows == 0


def test_requests_of_a_client_that_left_are_dropped(batcher):
    gone = session()
    batcher.add(request(3, who=gone))
    batcher.add(request(4))
    batcher.drop(gone)
    assert batcher.rows == 4


def test_slots_are_given_at_first_sight_and_taken_back():
    pool, client = SlotPool(4), session()
    placed, new = client.place(np.array([5, 7], np.int32), pool)
    assert new.all()
    assert pool.used == 2
    again, new = client.place(np.array([7, 5], np.int32), pool)
    assert not new.any()
    np.testing.assert_array_equal(again, placed[::-1])
    client.free(np.array([5, 5, 0], np.int32), pool)
    assert pool.used == 1
    assert client.table[5] == NONE
    client.free_all(pool)
    assert pool.used == 0


def test_a_pool_that_is_too_small_gives_nothing():
    pool, client = SlotPool(1), session()
    assert client.place(np.array([0, 1], np.int32), pool) is None
    assert pool.used == 0


def test_two_clients_never_share_a_slot():
    pool, one, two = SlotPool(8), session(4), session(4)
    mine, _ = one.place(np.arange(4, dtype=np.int32), pool)
    theirs, _ = two.place(np.arange(4, dtype=np.int32), pool)
    assert not set(mine) & set(theirs)
