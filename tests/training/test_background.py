"""The background thread: one call at a time, its result taken or waited for, its failure raised, closed at a pulse."""

from threading import Event
from time import monotonic, sleep

import pytest

from sparring.training.background import Background


def test_a_result_is_there_once_it_is_done_or_waited_for():
    background, go = Background("test"), Event()
    assert background.take(wait=True) is None, "nothing was begun"
    background.begin(lambda: go.wait() and 7)
    assert background.take(wait=False) is None
    go.set()
    assert background.take(wait=True) == 7
    assert background.take(wait=True) is None, "it was taken"
    background.close()


def test_a_second_call_is_refused_until_the_first_was_taken():
    background = Background("test")
    background.begin(lambda: 1)
    background.pause()
    with pytest.raises(RuntimeError, match="still to be taken"):
        background.begin(lambda: 2)
    assert background.take(wait=False) == 1, "pausing leaves the result"
    background.close()


def test_what_a_call_raises_is_raised_where_it_is_waited_for():
    background = Background("test")
    background.begin(lambda: 1 / 0)
    for wait in (background.pause, lambda: background.take(wait=True)):
        with pytest.raises(ZeroDivisionError):
            wait()
    background.close()


def test_closing_breaks_off_a_call_at_its_next_pulse():
    background = Background("test")

    def endless():
        while True:
            background.pulse()
            sleep(0.01)

    background.begin(endless)
    began = monotonic()
    background.close()
    assert monotonic() - began < 5
