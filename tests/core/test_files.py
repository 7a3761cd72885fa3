"""Writes that must last: whole or not at all."""

import os
import random
import resource
from pathlib import Path

import pytest

from sparring.core import InputError
from sparring.core.files import safe_name, write_file, write_folder
from tests.torture.mutate import hostile_room


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


def test_a_safe_name_stays_as_it_is():
    for name in ("battle-gen1ou-12", "00000012-1.html", "a", "A.b_c-d"):
        assert safe_name(name) == name


@pytest.mark.parametrize(
    "word", ["", ".", "..", "...", ".bashrc", "/", "-rf", "a/b", "\0", "é", "x" * 300, "\ud800", "a\n"]
)
def test_a_word_from_outside_becomes_the_name_of_a_file_here(tmp_path, word):
    name = safe_name(word)
    path = tmp_path / f"{name}.html"
    path.write_text("x")
    assert path.resolve().parent == tmp_path.resolve()
    assert name[0] not in ".-"
    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def test_different_words_get_different_names():
    rng = random.Random(0)
    words = {hostile_room(rng) for _ in range(10_000)}
    names = {safe_name(word) for word in words}
    assert len(names) == len(words)
    assert all(Path(name).name == name and len(name) <= 117 for name in names)


def test_a_file_below_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write .*file/page.html: File exists"):
        write_file(tmp_path / "file" / "page.html", b"page")
