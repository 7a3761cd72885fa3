"""docs/smallest-game.md: the game of the page is whole, and learns to play perfectly."""

import re
from pathlib import Path

import pytest

import sparring
from sparring.core.arena import Arena

PAGE = Path(__file__).parents[2] / "docs" / "smallest-game.md"
BLOCKS = re.findall(r"^```(python|yaml)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files of the page."""
    (_, game), (_, preset), _ = BLOCKS
    (tmp_path / "my_nim.py").write_text(game)
    (tmp_path / "my_nim.yaml").write_text(preset)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "my_nim", raising=False)
    return tmp_path


def test_the_page_trains_an_agent_that_wins_what_there_is_to_win(here, capsys):
    names: dict[str, object] = {}
    exec(compile(BLOCKS[-1][1], "smallest-game.md", "exec"), names)
    said = capsys.readouterr().out
    assert "against random:" in said
    against_perfect = float(re.search(r"against perfect: ([\d.]+)%", said)[1])
    assert 45 <= against_perfect <= 50


def test_its_arena_follows_the_rules_on_any_heap(here):
    from my_nim import Nim

    game = Nim()
    for heap in (1, 2, 5, 40):
        arena: Arena = game.arena(game.settings(heap=heap), matches=16, seed=0)
        assert sparring.check_arena(arena, matches=50).matches >= 50
