"""Signals as a polite request."""

import os
import signal
import subprocess
import sys

import pytest

from sparring.core import Interrupts
from sparring.core.interrupts import ctrl_c_after, leave_signals_to_parent


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


def test_a_worker_leaves_the_signals_of_terminals_and_schedulers_to_its_parent():
    first, told = os.pipe()
    child = os.fork()
    if child == 0:
        leave_signals_to_parent()
        os.write(told, b".")
        while True:
            signal.pause()
    os.read(first, 1)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        os.kill(child, number)
    assert os.waitpid(child, os.WNOHANG) == (0, 0)
    os.kill(child, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM, "by which a parent may end it"
    os.close(first)
    os.close(told)


@pytest.mark.parametrize("raised", [None, ValueError])
def test_a_ctrl_c_comes_after_what_cannot_break_off(raised):
    whole = []

    def work():
        with ctrl_c_after():
            os.kill(os.getpid(), signal.SIGINT)
            whole.append(1)
            if raised is not None:
                raise raised

    with pytest.raises(KeyboardInterrupt):
        work()
    assert whole
    with ctrl_c_after():
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_may_be_broken_off_is_at_the_first_signal(number):
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interrupts.at_once():
            os.kill(os.getpid(), number)
        assert interrupts.asked
        with pytest.raises(KeyboardInterrupt), interrupts.at_once():
            pass  # asked before


def test_the_first_process_that_is_started_is_kept_from_ctrl_c_too():
    code = (
        "import os, signal\n"
        "from multiprocessing import get_context\n"
        "from sparring.core.interrupts import ctrl_c_held_back\n"
        "with ctrl_c_held_back():\n"
        "    process = get_context('spawn').Process(target=print)\n"
        "    process.start()\n"
        "    print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []), flush=True)\n"
        "    process.kill()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout == "True\n", done.stderr
