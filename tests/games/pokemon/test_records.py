"""Replays: whole files that a browser can open, whatever the players are called."""

import os
import random
from pathlib import Path

import numpy as np
import pytest

from sparring.core import InputError, RandomPlayer, load_game
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.records import save_replay, save_text, team_left, with_names
from sparring.games.pokemon.settings import PokemonSettings
from sparring.rollout import Collector, taking_turns
from tests.torture.mutate import hostile_room

LOG = """|player|p1|Ash <b>|1|
|player|p2|Gary|2|
|tier|[Gen 1] OU
|start
|c|Ash|</script><script>alert(1)</script>
|win|Gary"""


def test_a_replay_is_two_pages_and_a_plain_log(tmp_path: Path) -> None:
    page = save_replay(tmp_path / "replays", "gen1ou-1", LOG)
    assert page == tmp_path / "replays" / "gen1ou-1.html"
    assert page.with_suffix(".log").read_text() == LOG + "\n"
    for text in (page.read_text(), page.with_suffix(".showdown.html").read_text()):
        assert "<title>[Gen 1] OU: Ash &lt;b&gt; vs. Gary</title>" in text
        assert "|win|Gary" in text


def test_nothing_a_player_says_ends_the_script_that_holds_the_log(tmp_path: Path) -> None:
    text = showdown_page(tmp_path, LOG)
    assert text.count("</script>") == 2
    assert "<script>alert" in text.split("battle-log-data")[1].split("</script>")[0]


def test_nothing_a_player_says_hides_the_end_of_that_script(tmp_path: Path) -> None:
    text = showdown_page(tmp_path, LOG + "\n|c|Ash|<!--<script>")
    assert "<!--" not in text
    assert "<\\!--<script>" in text
    assert text.endswith("</script>\n")


def test_no_room_id_leads_out_of_the_folder(tmp_path: Path) -> None:
    rng = random.Random(0)
    folder = tmp_path / "a" / "b" / "saved"
    rooms = {hostile_room(rng) for _ in range(300)}
    for room in rooms:
        save_replay(folder, room, LOG)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 3 * len(rooms)
    assert all(path.parent == folder for path in files)


def test_seats_get_the_players_names_wherever_the_log_has_a_player() -> None:
    log = """|player|p1|Seat 1||
|player|p2|Seat 2||
|switch|p1a: Seat 1|Mew|100/100
|-sidestart|p2: Seat 2|Spikes
|-message|Seat 2 forfeited.
|win|Seat 1"""
    assert with_names(log, ("Ann", "Ben")).split("\n") == [
        "|player|p1|Ann||",
        "|player|p2|Ben||",
        "|switch|p1a: Seat 1|Mew|100/100",
        "|-sidestart|p2: Ben|Spikes",
        "|-message|Ben forfeited.",
        "|win|Ann",
    ]


def test_a_name_cannot_break_the_log_and_equal_names_are_told_apart() -> None:
    log = "|player|p1|Seat 1||\n|player|p2|Seat 2||\n|win|Seat 2"
    assert with_names(log, ("a|b\n|win|x\\1", "\n")).split("\n") == [
        "|player|p1|a b win x\\1||",
        "|player|p2|Seat 2||",
        "|win|Seat 2",
    ]
    assert with_names(log, ("main", "main")).split("\n")[1:] == ["|player|p2|main (2)||", "|win|main (2)"]


def showdown_page(folder: Path, log: str) -> str:
    return save_replay(folder, "x", log).with_suffix(".showdown.html").read_text()


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    save_text(path, "long " * 100)
    save_text(path, "short")
    assert path.read_text() == "short"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_written_is_told_before_the_first_battle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file of somebody's")
    monkeypatch.setattr("sparring.games.pokemon.arena.Simulator", None)  # no battle can begin
    with pytest.raises(InputError, match=f"cannot write {taken}: File exists"):
        PokemonArena(PokemonSettings(replays=str(taken)), matches=1, seed=0)
    (tmp_path / "closed").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "closed")
    with pytest.raises(InputError, match=f"cannot write {tmp_path / 'closed'}: permission denied"):
        PokemonArena(PokemonSettings(replays=str(tmp_path / "closed")), matches=1, seed=0)


def test_what_is_left_of_a_team_is_read_off_the_log() -> None:
    log = """|teamsize|p1|6
|teamsize|p2|6
|teamsize|p1|4
|switch|p1a: Mew|Mew, L80|100/100
|switch|p2a: Mew|Mew, L80|100/100
|-damage|p1a: Mew|75/100 slp
|-heal|p1a: Mew|80/100|[silent]
|drag|p1a: Abra|Abra|100/100
|-damage|p1a: Abra|0 fnt
|faint|p1a: Abra
|-damage|p2a: Mew|50/100
|-damage|p1b"""
    assert team_left(log, 0) == 2 + 0.8
    assert team_left(log, 1) == 5 + 0.5
    assert team_left("|win|nobody", 0) == 0


def test_following_changes_no_battle_and_hands_over_its_page() -> None:
    settings = PokemonSettings(format="gen1randombattle")
    began = []
    for followed in (False, True):
        arena, kept = PokemonArena(settings, matches=2, seed=4), {}
        if followed:
            load_game("pokemon").follow(arena, kept.__setitem__)
        seen = {}
        while len(seen) < 4:
            decisions, _ = arena.wait()
            for row, at in enumerate(zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True)):
                seen[at] = {name: field[row].tolist() for name, field in decisions.observation.items()}
        began.append(seen)
        if followed:
            collector = Collector(arena, {"ann": RandomPlayer(0), "<ben>": RandomPlayer(1)}, taking_turns([0, 1], 2))
            arena.act(decisions, decisions.legal.argmax(axis=1).astype(np.int32))
            while not kept:
                _, results = collector.advance()
            (slot, record), outcome = next(iter(kept.items())), results.outcome[0]
            assert slot == results.match[0]
            page = record.render(("a", "b")).decode()
            assert "<title>[Gen 1] Random Battle: " in page
            assert "&lt;ben&gt;" in page
            assert (record.margin > 0) == (outcome[0] != 0)
            assert record.margin <= 6
        arena.close()
    assert began[0] == began[1]
