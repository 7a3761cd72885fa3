"""An episode in words: a battle and a Hex match by the game's own, poker by its arrays."""

import re

import numpy as np
import pytest

from sparring.core import InputError
from sparring.data.showing import show_episode
from sparring.games.hex.records import records
from sparring.games.hex.text import cell_name
from sparring.rollout.store import EpisodeStore, read_episodes
from tests import poker
from tests.data.stores import hex_store, people_store


def shown(*arguments, **options):
    return "\n".join(show_episode(*arguments, **options))


def test_a_battle_is_shown_decision_by_decision(tmp_path):
    text = shown(people_store(tmp_path), 0)
    first, *decisions = text.split("\n\n")
    first = first.replace("\n    ", " ")
    assert first.startswith("episode 0 of 2: pokemon gen9customgame, Ann in seat 0, won, 4 decisions, rating 1500, ")
    assert "played on 2023-11-14" in first
    assert len(decisions) == 4
    assert "Turn 1" in decisions[0]
    assert "Mew L100 (Psychic) 100%" in decisions[0]
    assert "Onix L100 (Rock/Ground) 100%" in decisions[0]
    assert "chose: Psychic" in decisions[0]
    assert "may (10 of 14): Psychic; move 2; " in decisions[0].replace("\n    ", " ")
    assert "switch to Gyarados" in decisions[0]
    assert "has shown Rock Slide" not in decisions[0]
    assert "unknown; one of: Psychic; move 2; " in decisions[2].replace("\n    ", " ")
    assert "a replacement is asked for" in decisions[3]
    assert "chose: switch to Gyarados" in decisions[3]
    assert "reward 1" in decisions[3]
    assert "int16" not in text


def test_one_step_and_its_arrays(tmp_path):
    store = people_store(tmp_path)
    text = shown(store, 1, step=1, arrays=True)
    assert "decision 1" in text
    assert "decision 0" not in text
    assert "chose: switch to Jynx" in text
    assert "observation/pokemon_ids int16[12, 8]" in text
    assert "consistent uint8[2]" in text


@pytest.mark.parametrize(("seat", "sign", "rival", "sides"), [(0, "X", "O", "top and bottom"), (1, "O", "X", "left")])
def test_a_hex_match_is_shown_as_boards_with_the_last_stone_marked(tmp_path, seat, sign, rival, sides):
    store = hex_store(tmp_path, shards=1)
    (episodes,) = read_episodes(store)
    number = int(np.flatnonzero(episodes.headers.seat == seat)[0])
    _, *decisions = shown(store, number).split("\n\n")
    assert len(decisions) == episodes.headers.lengths[number]
    for count, decision in enumerate(decisions):
        _, turn, letters, *rows = decision.split("\n")
        board = "".join(rows[:3])
        assert f"{sign} to move, connects {sides}" in turn
        assert letters.split() == ["a", "b", "c"]
        assert board.count(sign) == count
        assert board.count(rival) == count + seat
        assert board.count("[") == board.count(f"[{rival}]") == (1 if count + seat else 0)


def test_hex_cells_are_named_as_the_board_names_them(tmp_path):
    """Seat 1 sees the board mirrored; its moves are told as both seats and game records name them."""
    store = hex_store(tmp_path, shards=1)
    (episodes,) = read_episodes(store)
    record = next(records(episodes))
    moves = [cell_name(3, move) for move in record.moves]
    for seat in (0, 1):
        both = (episodes.headers.serial == episodes.headers.serial.min()) & (episodes.headers.seat == seat)
        text = shown(store, int(np.flatnonzero(both)[0]))
        assert re.findall(r"chose: (\w+)", text) == moves[seat::2]


@pytest.mark.parametrize("columns", [60, 80])
def test_what_is_shown_keeps_to_the_terminal(tmp_path, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = shown(people_store(tmp_path), 0, arrays=True)
    assert max(map(len, text.split("\n"))) <= columns


def test_a_game_without_words_shows_its_arrays(tmp_path):
    episodes = poker.collect(40)
    with EpisodeStore(tmp_path, episodes.spec) as store:
        store.append(episodes)
    text = shown(tmp_path, 1)
    assert text.count("decision ") == episodes.headers.lengths[1]
    assert f"chose: {episodes.take([1]).steps.action[0]}\n" in text
    assert "observation/" in text


def test_bad_input(tmp_path):
    store = hex_store(tmp_path / "a", shards=1)
    hex_store(tmp_path / "b", shards=1)
    for arguments, options, words in (
        ((store, 10_000), {}, r"episode 10000: .*a has the episodes 0\.\."),
        ((store, 0), {"step": 90}, r"step 90: episode 0 has the decisions 0\.\."),
        ((tmp_path, 0), {}, r"several stores \(a, b\)"),
    ):
        with pytest.raises(InputError, match=words):
            shown(*arguments, **options)
