"""What a log never shows of the own team: drawn from what is used, marked, the same every time, and hidden again."""

from pathlib import Path

import numpy as np
import pytest

from sparring.core import Episodes, load_game
from sparring.core.replays import Filters, Replay, Replayed
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import TEAM
from sparring.games.pokemon.replays.episodes import read_replays, reading_options
from sparring.rollout.store import read_shard, shard_bytes
from tests.games.pokemon.replays.truth import played


@pytest.fixture(scope="module")
def battles() -> list[Replay]:
    return [Replay(battle["id"], battle["log"], battle["format"]) for battle in played("gen9ou", "random", 4, seed=3)]


def read(battles: list[Replay], how: str) -> Episodes:
    options = {} if how == "seen" else {"own_team": how}
    reading = read_replays(battles, Filters(), options)
    assert not reading.rejected
    return reading.episodes["gen9ou"]


@pytest.mark.parametrize("how", ["usage", "infer"])
def test_own_sets_are_completed_marked_and_hidden_again(how: str, battles: list[Replay]) -> None:
    seen, filled = read(battles, "seen"), read(battles, how)
    marks = filled.steps.filled
    assert seen.steps.filled is None
    assert marks is not None
    assert (marks > 0).all()
    np.testing.assert_array_equal(filled.steps.legal, seen.steps.legal)
    np.testing.assert_array_equal(filled.steps.consistent, seen.steps.consistent)
    ids = filled.steps.observation["pokemon_ids"][:, :TEAM]
    unknown = (seen.steps.observation["pokemon_ids"][:, :TEAM, c.POKEMON_ID_ABILITY] == 0).mean()
    assert (ids[..., c.POKEMON_ID_ABILITY] == 0).mean() < 0.1 < unknown
    stats = filled.steps.observation["pokemon"][:, :TEAM, c.POKEMON_STAT_SPE]
    assert (stats > 0).mean() > 0.8
    own = seen.steps.observation["move_ids"][:, :TEAM]
    now = filled.steps.observation["move_ids"][:, :TEAM]
    np.testing.assert_array_equal(now[own > 0], own[own > 0])
    assert (now > 0).sum() > (own > 0).sum()
    for name in ("pokemon_ids", "move_ids"):  # foes are as they were
        np.testing.assert_array_equal(
            filled.steps.observation[name][:, TEAM:], seen.steps.observation[name][:, TEAM:], err_msg=name
        )
    game = load_game("pokemon")
    assert isinstance(game, Replayed)
    hidden = game.hide_filled(filled.steps.observation, marks)
    for name, array in hidden.items():
        np.testing.assert_array_equal(array, seen.steps.observation[name], err_msg=name)
    shown = game.hide_filled(filled.steps.observation, np.zeros_like(marks))
    for name, array in shown.items():
        np.testing.assert_array_equal(array, filled.steps.observation[name], err_msg=name)


def test_the_same_battle_is_completed_in_the_same_way_whatever_else_is_read(battles: list[Replay]) -> None:
    whole, alone = read(battles, "usage"), read(battles[2:3], "usage")
    at = whole.take(np.array([4, 5]))
    for name, array in alone.steps.observation.items():
        np.testing.assert_array_equal(at.steps.observation[name], array, err_msg=name)


def test_marks_are_kept_in_a_store(battles: list[Replay], tmp_path: Path) -> None:
    episodes = read(battles[:1], "usage")
    (tmp_path / "shard").write_bytes(shard_bytes(episodes, about={}))
    kept = read_shard(tmp_path / "shard").steps.filled
    assert kept is not None
    np.testing.assert_array_equal(kept, episodes.steps.filled)


def test_usage_is_counted_from_a_corpus(battles: list[Replay], tmp_path: Path) -> None:
    (tmp_path / "one.log").write_text(battles[0].log)
    options = reading_options("", "usage", [tmp_path])
    assert options == {"own_team": "usage", "corpus": str(tmp_path)}
    assert reading_options("gen9ou", "seen", [tmp_path]) == {"format": "gen9ou"}
    episodes = read_replays(battles[:1], Filters(), options).episodes["gen9ou"]
    assert episodes.steps.filled is not None
