"""The page of a match: whole without a network, with the winning chain, and nothing in a name runs as HTML."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sparring.games.hex.page import game_page
from sparring.games.hex.text import Record, parse_move, read_sgf
from tests.games.hex.support import game_in, sgf_in

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"><!--<script>"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (package chromium)")

BLACK_WON = "b1 a3 b2 c3 a2 c1 b3"
"""Down the b column of a 3x3 board; a2 belongs to black's group, but not to its shortest chain."""
WHITE_WON = "a1 b2 c1 a2 a3 c2"
SWAPPED = "a2 swap a1 a2 c3 c1"
"""After the swap white has b1; a2 is free again."""


def record(moves: str, size: int = 3, **about: object) -> Record:
    return Record(size, tuple(parse_move(size, move) for move in moves.split()), **about)  # type: ignore[arg-type]


def cells(game: dict) -> list[str]:
    return [f"{'abc'[cell % 3]}{cell // 3 + 1}" for cell in game["chain"]]


def test_the_record_can_be_taken_out_as_sgf():
    played = record(SWAPPED, black="ann [x]", white=r"ben \ ü", winner=1)
    assert read_sgf(sgf_in(game_page(played))) == played


@pytest.mark.parametrize(
    ("moves", "winner", "chain"),
    [
        (BLACK_WON, 0, ["b1", "b2", "b3"]),
        (WHITE_WON, 1, ["a2", "b2", "c2"]),
        (SWAPPED, 1, ["a2", "b1", "c1"]),
        ("b1 a3", None, []),
    ],
)
def test_the_winner_and_the_chain_are_read_off_the_board(moves, winner, chain):
    game = game_in(game_page(record(moves)))
    assert (game["winner"], cells(game)) == (winner, chain)


def test_a_match_that_was_given_up_has_a_winner_and_no_chain():
    game = game_in(game_page(record("b1 a3", winner=0)))
    assert (game["winner"], game["chain"]) == (0, [])


SET_UP = "(;SZ[3]AB[b1]AW[c1][c2];B[b2];B[b3])"
"""Black connects in two moves on end."""


def test_set_up_stones_and_moves_out_of_turn_are_in_the_page():
    played = read_sgf(SET_UP)
    game = game_in(page := game_page(played))
    assert (game["setup"], game["seats"], game["winner"]) == ([[1, 0], [2, 1], [5, 1]], [0, 0, 1], 0)
    assert cells(game) == ["b1", "b2", "b3"]
    assert read_sgf(sgf_in(page)) == played


def test_a_side_without_a_name_goes_by_its_colour():
    assert game_in(game_page(record("b1", white="ben")))["names"] == ["black", "ben"]


def test_values_become_chances_of_black_and_of_who_moves():
    def candidate(move, **looked_at):
        return {"move": move, "policy": 0.1, "visits": len(looked_at), **looked_at}

    analyses = [
        {"ply": 0, "to_move": "black", "value": 0.5, "candidates": [candidate("b2", value=0.5, line=["b2", "a3"])]},
        {
            "ply": 1,
            "to_move": "white",
            "value": 0.5,
            "candidates": [candidate("a1"), candidate("a2", value=1, line=["a2"])],
        },
    ]
    black, white, unseen = game_in(game_page(record("b1 a3"), analyses=analyses))["looks"]
    assert (black["black"], white["black"], unseen) == (0.75, 0.25, None)
    assert black["moves"] == [{"cell": 4, "share": 0.1, "chance": 0.75, "line": [4, 6]}]
    assert [one["cell"] for one in white["moves"]] == [3], "a move that the search did not look at has no chance"
    assert game_in(game_page(record("b1 a3")))["looks"] == []


def test_nothing_is_loaded_and_names_stay_data():
    page = game_page(record(BLACK_WON, black=HOSTILE, white=HOSTILE))
    assert page.count("<script") == 2
    assert "<img" not in page
    assert "default-src 'none'" in page
    assert re.findall(r"https?://[^'\"]+", page) == ["http://www.w3.org/2000/svg"]


def drawn(page: str, tmp_path: Path, fragment: str = "") -> str:
    """The page as a browser shows it."""
    path = tmp_path / "game.html"
    path.write_text(page)
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    flags += " --disable-component-update --disable-sync --virtual-time-budget=500 --dump-dom"
    command = [CHROMIUM, *flags.split(), f"--user-data-dir={tmp_path / 'profile'}", f"file://{path}{fragment}"]
    shown: str = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    return shown


@in_browser
def test_a_browser_draws_board_moves_and_chain(tmp_path):
    shown = drawn(game_page(record(BLACK_WON, black=HOSTILE, white="ben")), tmp_path)
    board = shown[shown.index('id="board"') : shown.index('id="chances"')]
    assert "<title>Hex: " in shown
    assert "<img" not in shown
    assert board.count("<polygon") == 9
    assert board.count('class="way"') == 1
    assert board.count('class="last"') == 1
    assert "Move 7 of 7" in shown
    assert "(black) won" in shown
    assert re.search(r'id="chances" hidden', shown), "without an analysis there is no curve"


@in_browser
def test_a_browser_draws_what_was_set_up_and_whose_stones_were_played(tmp_path):
    looked_at = {"move": "a3", "policy": 0.9, "visits": 5, "value": 0.0, "line": ["a3"]}
    analyses = [{"ply": ply, "to_move": "black", "value": 0.2, "candidates": [looked_at]} for ply in range(2)]
    shown = drawn(game_page(read_sgf(SET_UP), analyses=analyses), tmp_path, "#1")
    board = shown[shown.index('id="board"') : shown.index('id="chances"')]
    assert (board.count('class="stone black"'), board.count('class="stone white"')) == (2, 2)
    assert "plays a move for black" in shown
    assert shown.count("<small>black</small>") == 2
    assert "after 3 stones set up" in shown


@in_browser
def test_a_browser_shows_any_move_and_its_analysis(tmp_path):
    looked_at = {"move": "c3", "policy": 0.9, "visits": 5, "value": 0.0, "line": ["c3"]}
    analyses = [{"ply": ply, "to_move": "black", "value": 0.2 * ply, "candidates": [looked_at]} for ply in range(3)]
    shown = drawn(game_page(record(SWAPPED), analyses=analyses), tmp_path, "#2")
    board = shown[shown.index('id="board"') : shown.index('id="chances"')]
    assert "Move 2 of 6" in shown
    assert board.count('class="stone') == 1, "the swapped stone, and not the first one too"
    assert board.count('class="idea"') == 1
    assert shown.count('class="curve"') == 1
    assert '<b id="chance">70%</b>' in shown
