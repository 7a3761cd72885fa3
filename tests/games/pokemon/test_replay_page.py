"""Our replay page: whole without a network, and nothing in a log runs as HTML."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparring.core import RandomPlayer
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.replay_page import replay_page
from sparring.games.pokemon.settings import PokemonSettings
from sparring.rollout import Collector, taking_turns

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"><!--<script>"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (package chromium)")

LOG = """|gametype|doubles
|player|p1|Ann||
|player|p2|Ben||
|teamsize|p1|2
|teamsize|p2|3
|tier|[Gen 9] Test
|start
|switch|p1a: Bob|Mew, L50|100/100
|switch|p1b: Muk|Muk, L50, M|100/100
|switch|p2a: Jynx|Jynx, L50, F|100/100
|switch|p2b: Onix|Onix, L50, M|100/100
|turn|1
|-terastallize|p1a: Bob|Ghost
|move|p1a: Bob|Surf|p2a: Jynx
|-damage|p2a: Jynx|40/100 par
|-boost|p1a: Bob|spa|2
|-unboost|p2b: Onix|spe|1
|-sidestart|p2: Ben|Spikes
|-sidestart|p2: Ben|Spikes
|-fieldstart|move: Misty Terrain
|-weather|RainDance
|-start|p2b: Onix|confusion
|turn|2
|detailschange|p1b: Muk|Muk-Alola, L50, M
|-damage|p2b: Onix|0 fnt
|faint|p2b: Onix
|-weather|none
|-sideend|p2: Ben|Spikes
|switch|p1a: Lax|Snorlax, L50|30/100
|win|Ann"""


def battle_of(page: str) -> dict[str, Any]:
    """What the page holds as JSON."""
    found = re.search(r'<script type="application/json" id="battle">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    battle: dict[str, Any] = json.loads(found.group(1))
    return battle


def shown(page: str, folder: Path, *, at: str, budget: int = 500) -> str:
    """The page's HTML as Chromium has drawn it, gone to `at`, after `budget` milliseconds of the page's own time."""
    path = folder / "page.html"
    path.write_text(page)
    assert CHROMIUM is not None
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    flags += f" --disable-component-update --disable-sync --virtual-time-budget={budget} --dump-dom"
    command = [CHROMIUM, *flags.split(), f"--user-data-dir={folder / 'profile'}", f"file://{path}#{at}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.parametrize("format_id", ["gen1randombattle", "gen9randombattle", "gen9randomdoublesbattle"])
def test_the_page_of_a_simulated_battle_has_names_pokemon_and_words(format_id: str, tmp_path: Path) -> None:
    arena = PokemonArena(PokemonSettings(format=format_id, replays=str(tmp_path)), matches=1, seed=4)
    try:
        players = {"runs/ann": RandomPlayer(0), HOSTILE: RandomPlayer(1)}
        _, outcome = Collector(arena, players, taking_turns([0, 1], 2)).play(2)
    finally:
        arena.close()
    pages = sorted(path for path in tmp_path.glob("*.html") if "showdown" not in path.name)
    assert len(pages) == 2
    for number, path in enumerate(pages):
        text = path.read_text()
        battle, log = battle_of(text), path.with_suffix(".log").read_text()
        names = ["runs/ann", HOSTILE] if number == 0 else [HOSTILE, "runs/ann"]
        assert battle["names"] == dict(zip(("p1", "p2"), names, strict=True))
        winner = names[int(np.argmax(outcome[number]))]
        assert battle["steps"][-1] == [f"|win|{winner}", f"{winner} won the battle."]
        words = "\n".join(told for _, told in battle["steps"])
        for name in re.findall(r"^\|switch\|p[12][ab]: ([^|]+)", log, re.MULTILINE):
            assert name in words
        assert "http" not in re.sub(r"http-equiv", "", text)
        assert "Seat 1" not in text


def test_nothing_in_a_log_ends_the_script_that_holds_it() -> None:
    page = replay_page(LOG.replace("Ann", HOSTILE.replace("|", "")) + f"\n|c|Ben|{HOSTILE}")
    assert page.count("<script") == page.count("</script>") == 2
    assert "<!--" not in page
    assert "<img" not in page
    assert battle_of(page)["steps"][-1][1] == f"Ben: {HOSTILE}"


def test_a_log_without_players_or_format_has_a_page() -> None:
    assert battle_of(replay_page("|start\n|turn|1")) == {
        "names": {"p1": "p1", "p2": "p2"},
        "tier": "Pokémon",
        "steps": [["|start", ""], ["|turn|1", "Turn 1"]],
    }


@in_browser
def test_a_browser_draws_the_state_at_a_turn_and_at_the_end(tmp_path: Path) -> None:
    second = shown(replay_page(LOG), tmp_path, at="turn=2")
    for text in ("Tera Ghost", "SpA +2", "Spe −1", "Spikes x2", "Misty Terrain", "Rain<", "confusion", "40%", "PAR"):
        assert text in second, text
    assert "turn 2 of 2" in second
    assert "never shown" in second  # Ben's third
    end = shown(replay_page(LOG), tmp_path, at="end")
    for text in ("Ann won", "Muk-Alola", "nobody here", "Snorlax L50", "30%", "2 of 3 left", "Misty Terrain"):
        assert text in end, text
    for text in ("Spikes x2", "SpA +2", "Rain<"):
        assert text not in end, text


@in_browser
def test_a_browser_shows_the_moves_abilities_and_items_that_have_been_seen(tmp_path: Path) -> None:
    told = """|-ability|p2a: Jynx|Dry Skin
|move|p2a: Jynx|Blizzard|p1a: Bob|[from]Copycat
|-heal|p1b: Muk|90/100|[from] item: Black Sludge
|-damage|p2a: Jynx|30/100|[from] ability: Rough Skin|[of] p1a: Bob
|-enditem|p2b: Onix|Sitrus Berry
|turn|2"""
    drawn = shown(replay_page(LOG.replace("|turn|2", told)), tmp_path, at="turn=2")
    seen = re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)</dd>", drawn)
    assert seen == [
        ("Ability", "Dry Skin"),
        ("Moves shown", "Surf"),
        ("Ability", "Rough Skin"),
        ("Item", "Black Sludge"),
    ]


@in_browser
@pytest.mark.parametrize(
    ("keys", "texts"),
    [
        ([], ["<b>Turn 1</b>", "turn 1 of 2", ">Play<"]),
        (["End"], ["<b>Ann won</b>", "turn 2 of 2"]),
        (["End", "Home"], ["<b>Before the first turn</b>", "turn 0 of 2"]),
        (["ArrowDown"], ["<b>Turn 2</b>", "confusion"]),
        (["ArrowDown", "ArrowUp"], ["<b>Turn 1</b>"]),
        (["ArrowRight"], [">Ann's Bob terastallized into the Ghost type.</div>", "Tera Ghost"]),
        (["ArrowRight", "ArrowRight", "ArrowLeft"], [">Ann's Bob terastallized into the Ghost type.</div>"]),
        ([" "], [">Pause<"]),
        ([" ", " "], [">Play<"]),
    ],
)
def test_keys_move_through_the_battle(keys: list[str], texts: list[str], tmp_path: Path) -> None:
    press = f"for (const key of {json.dumps(keys)}) document.dispatchEvent(new KeyboardEvent('keydown', {{ key }}));"
    page = replay_page(LOG).replace("</body>", f"<script>{press}</script></body>")
    drawn = shown(page, tmp_path, at="", budget=100)
    for text in texts:
        assert text in drawn, text


@in_browser
def test_played_on_it_comes_to_the_end_and_stops(tmp_path: Path) -> None:
    press = "document.getElementById('play').click();"
    drawn = shown(
        replay_page(LOG).replace("</body>", f"<script>{press}</script></body>"), tmp_path, at="", budget=40_000
    )
    assert "<b>Ann won</b>" in drawn
    assert ">Play<" in drawn


@in_browser
def test_a_hostile_name_stays_text_in_a_browser(tmp_path: Path) -> None:
    page = replay_page(LOG.replace("Ann", HOSTILE).replace("Bob", "<b>Bob</b>") + f"\n|c|Ben|{HOSTILE}")
    drawn = shown(page, tmp_path, at="turn=2")
    assert "<title>broken" not in drawn
    assert "&lt;img src=x" in drawn
    assert "<img" not in drawn
    assert "<b>Bob" not in drawn
