"""The cache folder: each part is built once, whole or not at all."""

import os
from multiprocessing import get_context

import pytest

from sparring.core import InputError
from sparring.core.cache import build_once


def test_a_part_is_built_once(tmp_path):
    built = []

    def make(folder):
        built.append(folder.name)
        (folder / "part").write_text("whole")

    for _ in range(2):
        assert (build_once(tmp_path / "cache" / "target", make) / "part").read_text() == "whole"
    assert len(built) == 1


def test_a_step_that_fails_leaves_nothing_behind(tmp_path):
    def breaks(folder):
        (folder / "half").write_text("done")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        build_once(tmp_path / "target", breaks)
    assert os.listdir(tmp_path) == ["setup.lock"]


def test_what_is_there_but_not_whole_is_replaced(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "half").touch()
    (tmp_path / ".target.123.new").mkdir()

    def make(folder):
        (folder / "whole").touch()

    build_once(tmp_path / "target", make, done=(tmp_path / "target" / "whole").exists)
    assert os.listdir(tmp_path / "target") == ["whole"]
    assert sorted(os.listdir(tmp_path)) == ["setup.lock", "target"]


def _slowly(folder):
    (folder / str(os.getpid())).touch()


def test_two_processes_build_it_once(tmp_path):
    workers = [get_context("fork").Process(target=build_once, args=(tmp_path / "t", _slowly)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert len(os.listdir(tmp_path / "t")) == 1


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        build_once(tmp_path / "file" / "target", lambda folder: None)
