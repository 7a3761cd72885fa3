"""Writes that must last: whole or not at all."""

import os
import resource

import pytest

from sparring.core import InputError
from sparring.core.files import write_file, write_folder


@pytest.fixture
def full_disk():
    """No file of this process may grow beyond 1,000 bytes, as on a disk that has just filled up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_is_replaced_whole(tmp_path):
    write_file(tmp_path / "a", b"one")
    write_file(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a"]


def test_a_folder_appears_with_everything_in_it(tmp_path):
    write_folder(tmp_path / "f", {"x": b"1", "y": b"2"})
    write_folder(tmp_path / "f", {"x": b"3"})
    assert sorted(os.listdir(tmp_path / "f")) == ["x"]
    assert os.listdir(tmp_path) == ["f"]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, full_disk):
    write_file(tmp_path / "a", b"old")
    with pytest.raises(InputError, match=r"cannot write .*a: "):
        write_file(tmp_path / "a", b"x" * 5000)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_full_disk_leaves_no_half_folder(tmp_path, full_disk):
    with pytest.raises(InputError, match=r"cannot write .*f: "):
        write_folder(tmp_path / "f", {"x": b"1", "y": b"x" * 5000})
    assert os.listdir(tmp_path) == []
