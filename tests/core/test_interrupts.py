"""Signals as a polite request."""

import os
import signal

import pytest

from sparring.core import Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_asks(number):
    before = signal.getsignal(number)
    with Interrupts() as interrupts:
        assert not interrupts.asked
        os.kill(os.getpid(), number)
        assert interrupts.asked
    assert signal.getsignal(number) == before


def test_the_second_leaves_at_once_but_a_terminal_that_closes_twice_does_not():
    heard = []
    with Interrupts(lambda: heard.append("first")) as interrupts:
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)
        assert interrupts.asked
        assert heard == ["first"]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)


def test_under_nohup_a_closed_terminal_is_nothing():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interrupts.asked
    finally:
        signal.signal(signal.SIGHUP, before)
