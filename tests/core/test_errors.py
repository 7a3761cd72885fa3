"""What failures say of their likeliest cause."""

import sys
from types import ModuleType

import pytest

from sparring.core.errors import guard_hint


def running(file=None, spec=None):
    main = ModuleType("__main__")
    main.__spec__ = spec
    if file is not None:
        main.__file__ = file
    return main


def test_a_script_that_starts_processes_is_told_of_the_guard(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", running("mine/train.py"))
    assert "mine/train.py" in guard_hint()
    assert 'if __name__ == "__main__":' in guard_hint()


@pytest.mark.parametrize("main", [running("/usr/bin/sparring"), running(), running("x/__main__.py", spec=object())])
def test_commands_and_prompts_are_not(monkeypatch, main):
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert guard_hint() == ""
