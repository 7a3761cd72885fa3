"""`--profile`: a trace however the command ends, or one line that says what is wrong."""

import json

import pytest

from sparring.bench.profiling import profiled
from sparring.core import InputError
from tests.commands import one_line, sparring
from tests.warm import run


def busy():
    return sum(number % 7 for number in range(300_000))


@pytest.mark.parametrize("name", ["trace.html", "trace.json"])
def test_a_profile_names_what_took_the_time_also_when_it_is_broken_off(tmp_path, name):
    said = []

    def stopped():
        with profiled(tmp_path / name, said.append):
            busy()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    text = (tmp_path / name).read_text()
    assert "busy" in text
    if name.endswith(".json"):
        assert json.loads(text)["profiles"]
    where = "in a browser" if name.endswith(".html") else "speedscope"
    assert len(said) == 1
    assert where in said[0]


def test_no_profile_is_no_work(tmp_path):
    with profiled(None, pytest.fail):
        busy()


@pytest.mark.parametrize("name", ["trace", "trace.txt", "no-folder\0.html"])
def test_a_file_of_another_kind_is_refused_before_anything_starts(tmp_path, name):
    with pytest.raises((InputError, ValueError)), profiled(tmp_path / name, pytest.fail):
        pytest.fail("started")


def test_without_pyinstrument_the_command_says_what_to_install(tmp_path):
    words = ["train", "kuhn-ppo", "--run", tmp_path / "run", "--profile", tmp_path / "a.html"]
    done, _ = sparring(*words, without=["pyinstrument"])
    assert done.returncode == 2
    one_line(done.stderr, "pyinstrument", "pip install 'sparring[profile]'")
    assert not (tmp_path / "a.html").exists()


def test_training_writes_a_profile(tmp_path):
    small = ["decisions=256", "matches=16", "learner.batch_size=128", "learner.minibatch_size=128", "threads=1"]
    quick = [*small, "evaluation.matches=4", "--run", tmp_path / "run", "--profile", tmp_path / "train.html"]
    done = run("train", "kuhn-ppo", *quick)
    assert done.returncode == 0, done.stderr
    assert "train.html: open it in a browser" in done.stderr
    assert "self_play.py" in (tmp_path / "train.html").read_text()
