"""What a log never shows of the own team: drawn from what is used, marked, the same every time, and hidden again."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sparring.core import Array, Episodes, load_game
from sparring.core.episodes import unpack_mask
from sparring.core.replays import Filters, Replay, Replayed
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.columns import MOVES, TEAM
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.replays.episodes import read_replays, reading_options
from sparring.rollout.store import read_shard, shard_bytes
from tests.games.pokemon.replays.truth import load_ids, played


@pytest.fixture(scope="module")
def battles() -> list[Replay]:
    return [Replay(battle["id"], battle["log"], battle["format"]) for battle in played("gen9ou", "random", 4, seed=3)]


def read(battles: list[Replay], how: str) -> Episodes:
    options = {} if how == "seen" else {"own_team": how}
    reading = read_replays(battles, Filters(), options)
    assert not reading.rejected
    return reading.episodes["gen9ou"]


def places_of_seen_moves(seen: Episodes, filled: Episodes) -> NDArray[np.intp]:
    """`intp[r, TEAM, MOVES]` where each place of a list as it is seen is when it is filled: guesses lie in between."""
    own, now = (one.steps.observation["move_ids"][:, :TEAM] for one in (seen, filled))
    marks = np.unpackbits(filled.steps.filled.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    guessed = marks.reshape(-1, 8, 8)[:, :TEAM, :MOVES] > 0
    places = np.empty(own.shape, np.intp)
    for at in np.ndindex(own.shape[:2]):
        shown = [now[at].tolist().index(move) for move in own[at].tolist() if move]
        assert not guessed[at][shown].any()
        hidden = [place for place in range(MOVES) if place not in shown]
        assert shown == sorted(shown)  # guesses do not change the order of the others
        places[at] = shown + hidden
    return places


def in_places(observation: Mapping[str, Array], places: NDArray[np.intp]) -> dict[str, Array]:
    """Rows whose own moves are in other places."""
    rows = {name: array.copy() for name, array in observation.items()}
    who = rows["active_ids"][:, :1, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
    itself = (who >= 0) & (rows["active"][:, :1, c.ACTIVE_TRANSFORMED] == 0)
    standing = np.where(itself[..., None], np.take_along_axis(places, who[..., None], axis=1), np.arange(MOVES))
    for lists, columns, at, count in (
        ("move_ids", "moves", places, TEAM),
        ("active_move_ids", "active_moves", standing, 1),
    ):
        rows[lists][:, :count] = np.take_along_axis(rows[lists][:, :count], at, axis=2)
        rows[columns][:, :count] = np.take_along_axis(rows[columns][:, :count], at[..., None], axis=2)
    return rows


def same_actions(seen: Episodes, filled: Episodes, places: NDArray[np.intp]) -> None:
    """Holds masks and sets of possible actions to be the same but for the places of moves."""
    space = action_space(find_format("gen9ou"))
    who = seen.steps.observation["active_ids"][:, 0, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
    order, of_move = places[np.arange(len(who)), who], space.orders.move >= 0
    now = np.tile(np.arange(space.actions), (len(who), 1))
    for action in np.flatnonzero(of_move).tolist():
        same_kind = (space.orders.gimmick == space.orders.gimmick[action]) & of_move
        of_place = np.array([np.flatnonzero(same_kind & (space.orders.move == move))[0] for move in range(MOVES)])
        now[:, action] = of_place[order[:, space.orders.move[action]]]
    for name in ("legal", "consistent"):
        ours, theirs = (unpack_mask(getattr(one.steps, name), space.actions) for one in (seen, filled))
        moved = np.take_along_axis(theirs, now, axis=1)
        same = (ours == moved).all(axis=1)
        outside = (ours == theirs).all(axis=1) & (ours[:, : len(of_move)][:, of_move].sum(axis=1) == 1)
        assert (same | outside).all(), name  # what is none of the list (Struggle, recharging) has the first place
        assert same.mean() > 0.9


@pytest.mark.parametrize("how", ["usage", "infer"])
def test_own_sets_are_completed_marked_and_hidden_again(how: str, battles: list[Replay]) -> None:
    seen, filled = read(battles, "seen"), read(battles, how)
    marks = filled.steps.filled
    assert seen.steps.filled is None
    assert marks is not None
    assert (marks > 0).all()
    places = places_of_seen_moves(seen, filled)
    same_actions(seen, filled, places)
    ids = filled.steps.observation["pokemon_ids"][:, :TEAM]
    unknown = (seen.steps.observation["pokemon_ids"][:, :TEAM, c.POKEMON_ID_ABILITY] == 0).mean()
    assert (ids[..., c.POKEMON_ID_ABILITY] == 0).mean() < 0.1 < unknown
    stats = filled.steps.observation["pokemon"][:, :TEAM, c.POKEMON_STAT_SPE]
    assert (stats > 0).mean() > 0.8
    own = seen.steps.observation["move_ids"][:, :TEAM]
    now = filled.steps.observation["move_ids"][:, :TEAM]
    np.testing.assert_array_equal(np.take_along_axis(now, places, axis=2)[own > 0], own[own > 0])
    assert (now > 0).sum() > (own > 0).sum()
    names = np.array(load_ids(find_format("gen9ou").tables))
    whole = (now > 0).all(axis=2)
    assert whole.mean() > 0.8
    assert (names[now][whole][:, :-1] < names[now][whole][:, 1:]).all()
    for name in ("pokemon_ids", "move_ids"):  # foes are as they were
        np.testing.assert_array_equal(
            filled.steps.observation[name][:, TEAM:], seen.steps.observation[name][:, TEAM:], err_msg=name
        )
    game = load_game("pokemon")
    assert isinstance(game, Replayed)
    hidden = game.hide_filled(filled.steps.observation, marks)
    for name, array in in_places(hidden, places).items():
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
