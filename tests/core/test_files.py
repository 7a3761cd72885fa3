"""Writes that must last: whole or not at all."""

import errno
import os
import random
import resource
import signal
import sys
from pathlib import Path

import pytest

from sparring.core import InputError, files
from sparring.core.files import (
    append_file,
    check_bundle,
    check_file,
    check_page,
    lock_folder,
    make_folder,
    remove_folder,
    safe_name,
    sweep,
    whole_lines,
    write_file,
    write_folder,
    write_page,
)
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


@pytest.fixture(params=["exchange", "rename aside"])
def system(request, monkeypatch):
    """Systems that can exchange two folders in one step, and those that cannot."""
    if request.param == "rename aside":
        monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    elif not sys.platform.startswith("linux"):
        pytest.skip("only Linux exchanges folders")
    return request.param


def kill_before_change(number):
    """Kills this process before its `number`-th rename, removal or new folder."""
    seen = 0

    def hook(event, arguments):
        nonlocal seen
        if event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir"):
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def test_a_folder_is_old_or_new_wherever_its_writer_is_killed(tmp_path, system):
    for number in range(1, 20):
        place = tmp_path / str(number)
        write_folder(place / "f", {"x": b"old", "y": b"old"})
        child = os.fork()
        if child == 0:
            kill_before_change(number)
            write_folder(place / "f", {"x": b"new", "y": b"new"})
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if system == "exchange":
            assert sorted(os.listdir(place / "f")) == ["x", "y"], "it is there whole, at any moment"
        sweep(place)
        assert os.listdir(place) == ["f"]
        found = {(place / "f" / name).read_bytes() for name in ("x", "y")}
        assert found in ({b"old"}, {b"new"})
        if status == 0:
            assert found == {b"new"}
            break
    assert number > 4


def test_what_is_swept_is_only_what_writers_leave(tmp_path):
    for name in (".a.12.new", "thesis.12.new", ".bashrc", ".a.new", ".b.7.old"):
        (tmp_path / name).write_text(name)
    (tmp_path / ".c.12.new").mkdir()
    (tmp_path / ".c.12.new" / "half").touch()
    sweep(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".a.new", ".bashrc", "b", "thesis.12.new"]
    sweep(tmp_path / "not there")


def test_a_folder_disappears_in_one_step(tmp_path):
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "x").touch()
    child = os.fork()
    if child == 0:
        kill_before_change(2)
        remove_folder(tmp_path / "f")
        os._exit(0)
    os.waitpid(child, 0)
    assert not (tmp_path / "f").exists()
    sweep(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_locked_folder_is_refused_until_it_is_free(tmp_path, monkeypatch):
    handle = lock_folder(tmp_path / "f", busy="busy")
    with pytest.raises(InputError, match="busy"):
        lock_folder(tmp_path / "f", busy="busy")
    os.close(handle)
    os.close(lock_folder(tmp_path / "f", busy="busy"))

    def no_locks(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", no_locks)
    with pytest.raises(InputError, match="cannot be locked .*No locks available"):
        lock_folder(tmp_path / "f", busy="busy")


def test_a_secret_is_never_readable_by_others(tmp_path):
    write_file(tmp_path / "key", b"secret", mode=0o600)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


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


def test_append_adds_all_or_nothing(tmp_path):
    path = tmp_path / "lines"
    append_file(path, b"one\n")
    append_file(path, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(InputError, match=f"cannot write {path}: File too large"):
            append_file(path, b"three\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b"one\ntwo\n"
    with pytest.raises(InputError, match="cannot write"):
        append_file(tmp_path / "nowhere/lines", b"")


@pytest.mark.parametrize(
    ("content", "size"), [(b"", 0), (b"a", 0), (b"a\n", 2), (b"a\nb", 2), (b"a\n" + b"x" * (3 << 20), 2)]
)
def test_whole_lines(content, size, tmp_path):
    (tmp_path / "lines").write_bytes(content)
    assert whole_lines(tmp_path / "lines") == size


def test_a_page_replaces_only_an_older_page(tmp_path):
    page = tmp_path / "page.html"
    for text in ("<!doctype html>1", "<!DOCTYPE html>2"):
        write_page(page, text)
        assert page.read_text() == text
    page.write_text("notes")
    with pytest.raises(InputError, match="exists and is not a page"):
        write_page(page, "<!DOCTYPE html>3")
    assert page.read_text() == "notes"


def test_a_place_that_cannot_be_written_is_told_before_there_is_anything_to_write(tmp_path, monkeypatch):
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "taken").touch()
    for folder in ("taken", "taken/below"):
        with pytest.raises(InputError, match=f"cannot write {tmp_path / folder}: "):
            make_folder(tmp_path / folder)
    with pytest.raises(InputError, match="a: it is a folder"):
        check_file(tmp_path / "a")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "b")
    for check, place in ((make_folder, "a/b"), (check_file, "a/b/x.gif"), (check_page, "a/b/x.html")):
        with pytest.raises(InputError, match=f"cannot write {tmp_path / place}: permission denied"):
            check(tmp_path / place)
    check_page(tmp_path / "a" / "x.html")


def test_a_place_in_no_folder_makes_no_folders(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        write_page(tmp_path / "typo" / "page.html", "<!DOCTYPE html>")
    for other in (tmp_path, Path("/dev/stdout")):
        with pytest.raises(InputError, match="exists and is not a page"):
            write_page(other, "<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_replaces_only_an_older_bundle(tmp_path, monkeypatch):
    mine, empty, older, file = (tmp_path / name for name in ("mine", "empty", "older", "file"))
    for folder, content in ((mine, "thesis.tex"), (empty, None), (older, "bundle.json")):
        folder.mkdir()
        if content:
            (folder / content).touch()
    file.touch()
    for fine in (empty, older, tmp_path / "new"):
        check_bundle(fine, made="bundle.json")
    for wrong, why in ((mine, "is not empty"), (file, "is a file"), (tmp_path / "no" / "x", "there is no folder")):
        with pytest.raises(InputError, match=why):
            check_bundle(wrong, made="bundle.json")
    monkeypatch.chdir(empty)
    for here in (".", "..", empty):
        with pytest.raises(InputError, match=r"not empty|the folder you are in"):
            check_bundle(Path(here), made="bundle.json")


def test_a_folder_never_takes_the_place_of_a_file(tmp_path):
    file = tmp_path / "notes"
    file.write_text("mine")
    with pytest.raises(InputError, match="Not a directory"):
        write_folder(file, {"a": b""})
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("notes", "mine")]
