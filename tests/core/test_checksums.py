"""Checksums beside files: what differs from them is refused, what has none is read."""

import os
import subprocess
import threading
import time

import pytest

from sparring.core import InputError
from sparring.core.checksums import read_checked, with_checksums
from sparring.core.files import write_folder


def test_files_come_back_if_they_are_what_was_written(tmp_path):
    write_folder(tmp_path / "f", with_checksums({"a": b"1", "b": b"2"}))
    assert read_checked(tmp_path / "f", ["a", "b"]) == {"a": b"1", "b": b"2"}
    done = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path / "f")
    assert done.returncode == 0
    (tmp_path / "f" / "b").write_bytes(b"3")
    assert read_checked(tmp_path / "f", ["a"]) == {"a": b"1"}
    with pytest.raises(InputError, match=r"f: damaged: b differs from its checksum .*delete SHA256SUMS"):
        read_checked(tmp_path / "f", ["a", "b"])


def test_a_file_that_is_not_listed_is_refused(tmp_path):
    write_folder(tmp_path / "f", {**with_checksums({"a": b"1"}), "b": b"2"})
    with pytest.raises(InputError, match="b differs"):
        read_checked(tmp_path / "f", ["b"])


def test_folders_of_earlier_versions_are_read_without(tmp_path):
    write_folder(tmp_path / "f", {"a": b"1"})
    assert read_checked(tmp_path / "f", ["a"]) == {"a": b"1"}


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*f: No such file"):
        read_checked(tmp_path / "f", ["a"])
    write_folder(tmp_path / "f", with_checksums({"a": b"1"}))
    with pytest.raises(InputError, match=r"cannot read .*f/b: No such file"):
        read_checked(tmp_path / "f", ["b"])


def test_a_folder_that_is_replaced_while_it_is_read_is_read_of_one_moment(tmp_path):
    """What `sparring serve --watch` does while training saves."""
    names = [str(number) for number in range(8)]
    stop = threading.Event()

    def replace():
        number = 0
        while not stop.is_set():
            number += 1
            write_folder(tmp_path / "f", with_checksums({name: str(number).encode() for name in names}))

    write_folder(tmp_path / "f", with_checksums(dict.fromkeys(names, b"0")))
    writer = threading.Thread(target=replace)
    writer.start()
    try:
        seen = set()
        deadline = time.monotonic() + 60
        while len(seen) < 5 and time.monotonic() < deadline:
            found = set(read_checked(tmp_path / "f", names).values())
            assert len(found) == 1
            seen |= found
    finally:
        stop.set()
        writer.join()
    assert len(seen) >= 5
    assert os.listdir(tmp_path) == ["f"]
