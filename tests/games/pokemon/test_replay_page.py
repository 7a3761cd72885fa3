"""Our replay page: whole without a network, and nothing in a log runs as HTML."""

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparring.core import InputError, RandomPlayer
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.records import team_left
from sparring.games.pokemon.replay_page import replay_page
from sparring.games.pokemon.settings import PokemonSettings
from sparring.games.pokemon.setup import find_node
from sparring.rollout import Collector, taking_turns

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"><!--<script>"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (package chromium)")

LOG = """|gametype|doubles
|player|p1|Ann||
|player|p2|Ben||
|teamsize|p1|2
|teamsize|p2|3
|gen|9
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
    found = re.search(r'<script type="application/json" id="match">(.*?)</script>', page, re.DOTALL)
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
        "types": {"species": {}, "moves": {}},
        "steps": [["|start", ""], ["|turn|1", "Turn 1"]],
    }


def test_the_page_knows_the_types_of_its_generation() -> None:
    log = LOG + "\n|poke|p1|Arceus-*|\n|move|p1a: Bob|Bite|\n|switch|p1a: Pip|Clefairy, L50|100/100"
    types = battle_of(replay_page(log))["types"]
    assert types["species"]["Muk-Alola"] == ["Poison", "Dark"]
    assert types["species"]["Arceus-*"] == ["Normal"]
    assert types["species"]["Clefairy"] == ["Fairy"]
    assert types["moves"] == {"Surf": "Water", "Bite": "Dark"}
    first = battle_of(replay_page(log.replace("|gen|9", "|gen|1")))["types"]
    assert first["species"]["Clefairy"] == ["Normal"]
    assert first["moves"]["Bite"] == "Normal"


def test_what_the_dex_does_not_know_has_no_types(monkeypatch: pytest.MonkeyPatch) -> None:
    log = LOG.replace("|Mew, L50", "|__proto__, L50").replace("|Surf|", "|constructor|")
    types = battle_of(replay_page(log))["types"]
    assert set(types["species"]) == {"Muk", "Muk-Alola", "Jynx", "Onix", "Snorlax"}
    assert types["moves"] == {}

    def missing(tables: int) -> None:
        raise InputError("the Pokémon simulator is not installed")

    nothing = {"species": {}, "moves": {}}
    assert battle_of(replay_page(LOG.replace("|gen|9", "|gen|12")))["types"] == nothing
    monkeypatch.setattr("sparring.games.pokemon.replay_page.load_dex", missing)
    assert battle_of(replay_page(LOG))["types"] == nothing


def follow(log: str, ask: str) -> Any:
    """What `ask` is once Node has followed `log` with the page's own script."""
    script = (files("sparring.games.pokemon") / "pages" / "battle.js").read_text("utf-8")
    script += f"const story = follow({json.dumps(log.splitlines())}); console.log(JSON.stringify({ask}));"
    done = subprocess.run([find_node(), "-"], input=script, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_the_chart_tells_what_each_team_has_left_as_the_log_does() -> None:
    course = follow(LOG, "story.course")
    lines = LOG.splitlines()
    assert len(course) == len(lines) + 1
    assert course[0] == {"p1": 1, "p2": 1, "faints": []}
    after = dict(zip(lines, course[1:], strict=True))
    hit = after["|-damage|p2a: Jynx|40/100 par"]
    assert hit["p1"] == 1
    assert hit["p2"] == pytest.approx((0.4 + 1 + 1) / 3)
    assert after["|-damage|p2b: Onix|0 fnt"] == {"p1": 1, "p2": pytest.approx(1.4 / 3), "faints": []}
    assert after["|faint|p2b: Onix"] == {"p1": 1, "p2": pytest.approx(1.4 / 3), "faints": ["p2"]}
    assert course[-1]["p2"] == pytest.approx(team_left(LOG, 1) / 3)


def test_of_a_previewed_team_those_count_that_are_brought() -> None:
    preview = "".join(f"|poke|p1|{name}|\n" for name in ("Mew", "Muk", "Jynx", "Onix")) + "|teampreview|2\n"
    log = f"|teamsize|p1|4\n{preview}|switch|p1a: Mew|Mew|100/100\n|-damage|p1a: Mew|50/100"
    assert [step["p1"] for step in follow(log, "story.course")][-2:] == [1, 0.75]


def test_lines_that_make_no_sense_change_nothing() -> None:
    senseless = """|-damage|p1a: Bob|NaN/100
|-damage|p1a: Bob|
|-damage|p1a: Bob
|-heal|p2a: Jynx|-3/0
|-damage|p2a: Nobody
|teamsize|__proto__|9
|teamsize|p1|1e9
|poke|constructor|Mew
|constructor|p1a: Bob
|-boost|p1a: Bob|__proto__|1
|faint
|move
|switch
|-weather|constructor"""
    first, turns = LOG.split("|turn|1\n")
    log = f"{first}{senseless}\n|turn|1\n{turns}"
    course = follow(log.replace("|teamsize|p1|1e9\n", ""), "story.course")
    assert course[-len(turns.splitlines()) :] == follow(LOG, "story.course")[-len(turns.splitlines()) :]
    weather = follow(f"{first}{senseless}", "[story.after(99, 0).weather, ({}).size, story.after(99, 0).sides.p1.size]")
    assert weather == ["constructor", None, 24]


@in_browser
def test_a_browser_colours_discs_and_moves_by_type(tmp_path: Path) -> None:
    log = LOG.replace("|Jynx, L50, F|", "|Jinks, L50, F|").replace("|turn|2", "|move|p2b: Onix|Frobnicate|\n|turn|2")
    drawn = shown(replay_page(log), tmp_path, at="turn=2")
    water, poison, rock, ground, psychic, ghost, neutral = (
        "#2980ef", "#9141cb", "#aaa37a", "#915121", "#ef4179", "#704170", "#8791a3"
    )  # fmt: skip
    for text, first, second in (("Me", psychic, psychic), ("Mu", poison, poison), ("On", rock, ground)):
        assert re.search(rf'<div class="disc" style="--first: {first}; --second: {second};[^>]*>{text}', drawn), text
    assert re.search(rf"--first: {neutral}; --second: {neutral};[^>]*>Ji", drawn)
    assert f'<span class="move" style="--type: {water};">Surf</span>' in drawn
    assert f'<span class="move" style="--type: {neutral};">Frobnicate</span>' in drawn
    assert f'<span class="type tera" style="--type: {ghost};"><i class="crown"></i>Tera Ghost</span>' in drawn
    assert '<span class="type" ' in drawn


@in_browser
@pytest.mark.parametrize(
    ("line", "spot", "float_"),
    [
        ("|-damage|p2a: Jynx|40/100 par", "spot hit", '<span class="float hurt">−60%</span>'),
        ("|-heal|p2a: Jynx|52/100", "spot mends", '<span class="float healed">+12%</span>'),
        ("|move|p1a: Bob|Surf|p2a: Jynx", "spot acts moves", 'class="float used" style="--type: #2980ef;">Surf</span>'),
        ("|faint|p2b: Onix", "spot falls", '<div class="floats"></div>'),
    ],
)
def test_a_browser_shows_what_a_line_did(line: str, spot: str, float_: str, tmp_path: Path) -> None:
    log = LOG.replace("|-boost|", "|-heal|p2a: Jynx|52/100\n|-boost|")
    press = f"go(1 + steps.findIndex(([line]) => line === {json.dumps(line)}));"
    drawn = shown(replay_page(log).replace("</body>", f"<script>{press}</script></body>"), tmp_path, at="")
    assert drawn.count(f'<div class="{spot}">') == 1
    assert float_ in drawn


@in_browser
def test_the_slider_is_the_chart_and_goes_to_any_part_of_a_turn(tmp_path: Path) -> None:
    press = """const slider = byId('slider'), seen = [];
for (const asked of [0, 1, 1.99, 2, 3]) {
  slider.value = asked; slider.dispatchEvent(new Event('input')); seen.push([steps[at - 1]?.[0], Number(slider.value)]);
}
document.title = JSON.stringify([slider.max, seen, byId('faints-p2').getAttribute('d')]);"""
    drawn = shown(replay_page(LOG).replace("</body>", f"<script>{press}</script></body>"), tmp_path, at="")
    found = re.search(r"<title>(.*)</title>", drawn)
    assert found is not None
    most, seen, faints = json.loads(found.group(1))
    assert most == "3"  # before the first turn, and two turns
    assert [line for line, _ in seen] == [None, "|turn|1", "|-start|p2b: Onix|confusion", "|turn|2", "|win|Ann"]
    assert [value for _, value in seen] == pytest.approx([0, 1, 1 + 10 / 11, 2, 3])
    assert re.fullmatch(r"M2\.\d+ \d+\.\d+h\.0001", faints)


@in_browser
def test_a_browser_draws_the_state_at_a_turn_and_at_the_end(tmp_path: Path) -> None:
    second = shown(replay_page(LOG), tmp_path, at="turn=2")
    for text in ("Tera Ghost", "SpA +2", "Spe −1", "Spikes x2", ">Misty Terrain<", ">Rain<", "confusion", "40%", "PAR"):
        assert text in second, text
    assert "turn 2 of 2" in second
    assert "never shown" in second  # Ben's third
    end = shown(replay_page(LOG), tmp_path, at="end")
    for text in ("Ann won", "Muk-Alola", "nobody here", "Snorlax L50", "30%", "2 of 3 left", ">Misty Terrain<"):
        assert text in end, text
    assert ">in 2 turns, with 2 of 2 Pokémon left; Ben still had 2 of 3<" in end
    for text in ("Spikes x2", "SpA +2", ">Rain<"):
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
    seen = re.findall(r"<dt>([^<]+)</dt><dd[^>]*>(?:<span[^>]*>)?([^<]+)<", drawn)
    assert sorted(seen) == [
        ("Ability", "Dry Skin"),
        ("Ability", "Rough Skin"),
        ("Item", "Black Sludge"),
        ("Moves shown", "Surf"),
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
