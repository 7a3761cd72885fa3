"""Tasks of a fleet: each is done once, whoever dies, and what kills everybody is named."""

import os
import signal
from pathlib import Path

import pytest

from tests.clusters import simulated

from sparring.core import InputError, RunError  # isort: skip
from sparring.rollout.cluster_pool import ClusterPool  # isort: skip
from sparring.rollout.fleet import Stream  # isort: skip
from sparring.rollout.handout import Handout  # isort: skip

A, B = Stream(0, 0), Stream(0, 1)


def given(*tasks):
    handout = Handout(lambda task: f"task {task}")
    for task in tasks:
        handout.add(task)
    return handout


def test_a_process_has_no_more_than_its_part_and_ends_tasks_in_their_order():
    handout = given(1, 2, 3)
    assert [handout.give(A, most=2) for _ in range(3)] == [1, 2, None]
    assert handout.give(B, most=2) == 3
    assert handout.current(A) == 1
    assert [handout.end(A), handout.end(A), handout.end(B)] == [1, 2, 3]
    assert handout.give(A, most=2) is None


def test_tasks_of_who_dies_come_before_all_others_in_their_order():
    handout = given(1, 2, 3)
    handout.give(A, most=2)
    handout.give(A, most=2)
    handout.take_back(A)
    assert [handout.give(B, most=9) for _ in range(4)] == [1, 2, 3, None]


def test_of_a_process_that_had_nothing_nothing_is_lost():
    handout = given(1)
    handout.take_back(A)
    assert handout.give(B, most=1) == 1


def test_a_task_at_which_three_have_died_is_named():
    handout = given("x", "y")
    for number in (1, 2):
        stream = Stream(0, number)
        assert [handout.give(stream, most=2) for _ in range(2)] == ["x", "y"]
        handout.take_back(stream)
    handout.give(A, most=2)
    with pytest.raises(RunError, match="3 processes of the cluster died, one after the other, at task x"):
        handout.take_back(A)


def square(number, folder):
    """Notes that it was called; the first that is called with 5 dies."""
    mark = Path(folder) / f"died-at-{number}"
    if number == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number == -1:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == -2:
        raise InputError("this number is not allowed")
    return number**2


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_calls_on_a_cluster_come_back_once_though_a_process_dies(tmp_path):
    said = []
    with simulated(2, 1) as cluster:
        with ClusterPool(cluster.address, name=lambda call: f"number {call[0]}", say=said.append) as pool:
            assert pool.size == 2
            results = [pool.submit(square, number, str(tmp_path)) for number in range(20)]
            assert [result.result() for result in results] == [number**2 for number in range(20)]
            assert [text.partition(" died")[1] for text in said[1:]] == [" died"]
            with pytest.raises(InputError, match="this number is not allowed"):
                pool.submit(square, -2, str(tmp_path)).result()
        with ClusterPool(cluster.address, name=lambda call: f"number {call[0]}", say=said.append) as pool:
            assert pool.submit(square, 3, str(tmp_path)).result() == 9
            with pytest.raises(RunError, match=r"3 processes .* died, one after the other, at number -1"):
                pool.submit(square, -1, str(tmp_path)).result()
