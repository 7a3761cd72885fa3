"""Thread counts: by what is free on the machine, and never against the user's word."""

import os

import pytest
import torch

from sparring.core import machine as ours
from sparring.inference import threads


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Makes the machine one of four cores with a load average and so many idle cores; returns how to set both."""

    def become(*, load, idle):
        monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
        monkeypatch.setattr(threads, "_idle_now", lambda: idle)

    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3})
    monkeypatch.setattr(ours, "_CGROUP", tmp_path)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return become


@pytest.fixture
def counts(monkeypatch):
    """Torch with four threads, set by nobody; returns the counts it was set to."""
    monkeypatch.setattr(threads, "_usual", None)
    found = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    monkeypatch.setattr(torch, "set_num_threads", found.append)
    return found


@pytest.mark.parametrize(
    ("load", "idle", "expected"),
    [
        (0.3, 3.7, 4),  # nothing else runs
        (0.3, 1.0, 4),  # a short burst of something
        (3.0, 3.9, 4),  # something has just ended
        (2.1, 1.9, 2),
        (11.0, 0.1, 1),
    ],
)
def test_a_core_is_taken_if_both_the_last_minute_and_this_moment_say_so(machine, load, idle, expected):
    machine(load=load, idle=idle)
    assert threads.free_cores(4) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
        ({}, None),
    ],
)
def test_the_limit_of_a_container_counts(machine, tmp_path, files, expected):
    machine(load=0.0, idle=4.0)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert ours.quota() == expected
    assert threads.free_cores(4) == (4 if expected is None else 2 if expected > 1 else 1)


def test_a_busy_machine_is_said_and_an_idle_one_is_not(machine, counts):
    said = []
    machine(load=0.0, idle=4.0)
    threads.set_threads(0, said.append)
    assert (counts, said) == ([4], [])
    machine(load=8.0, idle=0.0)
    threads.set_threads(0, said.append)
    assert counts == [4, 1]
    assert said == ["torch uses 1 of 4 CPU threads, as others are taken (threads=N, --threads N)"]


def test_what_the_user_says_counts(machine, counts, monkeypatch):
    machine(load=8.0, idle=0.0)
    threads.set_threads(3)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    threads.set_threads(0)
    assert counts == [3, 4]


def test_a_small_batch_needs_few_threads(machine, counts):
    machine(load=0.0, idle=4.0)
    said = []
    for rows in (2, 16, 17, 512, None):
        threads.set_threads(0, said.append, rows=rows)
    assert counts == [1, 2, 3, 4, 4]
    assert not said
    threads.set_threads(3, rows=2)
    assert counts[-1] == 3, "what the user says counts"


def test_what_was_chosen_for_one_purpose_does_not_bind_the_next(machine, monkeypatch):
    machine(load=0.0, idle=4.0)
    now = [4]
    monkeypatch.setattr(torch, "get_num_threads", lambda: now[0])
    monkeypatch.setattr(torch, "set_num_threads", lambda count: now.__setitem__(0, count))
    threads.set_threads(0, rows=2)
    assert now == [1]
    threads.set_threads(0)
    assert now == [4]
    now[0] = 2  # a program's own choice
    threads.set_threads(0)
    assert now == [2]


def test_more_threads_than_cores_are_taken_and_said(machine, counts):
    machine(load=0.0, idle=4.0)
    said = []
    threads.set_threads(5, said.append)
    assert counts == [5]
    assert said == ["5 CPU threads on 4 cores will wait for each other (threads=N, --threads N)"]


def test_idle_cores_are_measured():
    assert 0.0 <= threads._idle_now() <= len(os.sched_getaffinity(0)) + 0.1
