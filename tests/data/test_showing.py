"""An episode in words: a battle by the game's own, Hex by its arrays."""

import pytest

from sparring.core import InputError
from sparring.data.showing import show_episode
from sparring.rollout.store import read_episodes
from tests.data.stores import hex_store, people_store


def shown(*arguments, **options):
    return "\n".join(show_episode(*arguments, **options))


def test_a_battle_is_shown_decision_by_decision(tmp_path):
    text = shown(people_store(tmp_path), 0)
    first, *decisions = text.split("\n\n")
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


def test_a_game_without_words_shows_its_arrays(tmp_path):
    store = hex_store(tmp_path, shards=2)
    parts = list(read_episodes(store))
    number = len(parts[0]) + 1  # of the second file
    text = shown(store, number)
    episode = parts[1].take([1])
    assert f"{episode.players[episode.headers.player[0]]} in seat {episode.headers.seat[0]}" in text
    assert text.count("decision ") == episode.headers.lengths[0]
    assert f"chose: {episode.steps.action[0]}\n" in text
    assert "observation/planes" in text


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
