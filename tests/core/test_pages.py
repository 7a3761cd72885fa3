"""Pages: whatever a title or the data of a match holds is text, and a page loads nothing."""

import json
import re

import pytest

from sparring.core.pages import match_page, page

HOSTILE = "</title></script><script>alert(1)</script><!--<script>&amp;\ud800\x1b[2J $data"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "game.html").write_text("<main>$buttons</main>")
    (tmp_path / "game.css").write_text("main { color: red; }\n")
    (tmp_path / "game.js").write_text("play(`${match} $title`);\n")
    (tmp_path / "rules.js").write_text("const play = console.log;\n")
    return tmp_path


def test_nothing_in_a_title_or_in_data_is_html(folder):
    made = match_page(folder, "game", title=HOSTILE, data={HOSTILE: [HOSTILE, 1.5]})
    made.encode()
    assert made.count("<script") == made.count("</script>") == 2
    assert made.count("</title>") == 1
    assert "<!--" not in made
    data = re.search(r'<script type="application/json" id="match">(.*)</script>', made)
    assert data is not None
    assert json.loads(data[1]) == {HOSTILE: [HOSTILE, 1.5]}


def test_no_name_turns_the_text_after_it_around(folder):
    names = ["\u202eann\u2066", "\\u202e", "\\\u202e\u202e\u202dben", "\u05e9\u05dc\u05d5\u05dd"]
    made = match_page(folder, "game", title=names[0], data=names)
    data = re.search(r'id="match">(.*)</script>', made)
    assert data is not None
    assert json.loads(data[1]) == ["ann", "\\u202e", "\\ben", names[3]]
    assert "\u202e" not in made


def test_a_match_has_its_look_the_buttons_and_its_scripts_in_order(folder):
    made = match_page(folder, "game", title="ann - ben", data=[], scripts=["rules"])
    assert "<title>ann - ben</title>" in made
    assert "main { color: red; }" in made
    for button in ("first", "back", "play", "on", "last"):
        assert f'<button id="{button}">' in made
    assert made.index("const match =") < made.index("const play =") < made.index("play(`${match} $title`);")


@pytest.mark.parametrize(("script", "allowed"), [("", False), ("draw();", True)])
def test_a_page_may_load_nothing_and_run_only_what_it_was_given(script, allowed):
    made = page("cup", "<p>body</p>", style="", script=script)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', made)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'")
    assert ("script-src" in policy[1]) == allowed == ("<script>" in made)
    assert not re.findall(r"\b(?:src|href)=\"(?!data:)", made)
