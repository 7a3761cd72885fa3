"""Memory that workers share."""

import os

import pytest

from sparring.core import InputError
from sparring.rollout import slabs as slabs_module
from sparring.rollout.slabs import Block, Slabs
from tests import hex as small


def test_a_block_has_no_name_and_can_be_closed_twice():
    before = set(os.listdir("/dev/shm"))
    slabs = Slabs(small.spec(3), 4)
    assert set(os.listdir("/dev/shm")) <= before
    slabs.action[:] = 7
    again = Slabs(small.spec(3), 4, block=slabs.block)
    assert (again.action == 7).all()
    for _ in range(2):
        slabs.close()


def test_too_little_memory_is_one_clear_line(monkeypatch):
    assert slabs_module.free_memory() > 2**20
    monkeypatch.setattr(slabs_module, "free_memory", lambda: 3 * 2**20)
    with pytest.raises(InputError, match=r"would share 4 MiB of memory, of which 3 MiB are free; lower the number"):
        Block(4 * 2**20)
