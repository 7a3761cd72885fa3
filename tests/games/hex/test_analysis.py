"""Positions that were set up are the positions that are played, and are searched node for node as those are."""

import numpy as np
import pytest

from sparring.core import InputError, RandomPlayer
from sparring.games.hex import HexArena, HexModel, HexSettings
from sparring.games.hex.analysis import Position, analyse_record, position
from sparring.games.hex.arena import hex_spec
from sparring.games.hex.gtp import GtpSession
from sparring.games.hex.text import Record, cell_name, mirrored, read_sgf
from sparring.search import Evaluator, GumbelSettings, PlaySettings
from sparring.search.player import SearchPlayer
from tests.search.reference import NoiseNetwork


def searcher(settings: HexSettings, simulations: int = 40) -> SearchPlayer:
    spec = hex_spec(settings)
    evaluator = Evaluator(HexModel(spec), NoiseNetwork(spec.actions), actions=spec.actions)
    return SearchPlayer(evaluator, GumbelSettings(simulations=simulations), play=PlaySettings(), matches=1, seed=0)


def session(settings: HexSettings) -> GtpSession:
    return GtpSession(settings, searcher, simulations=40, name="", version="")


def trees_equal(one: SearchPlayer, other: SearchPlayer) -> bool:
    """Whether the last searches of both left the same nodes."""
    first, second = one._search.forest, other._search.forest
    used = int(first.used[0])
    assert used > 30
    return used == second.used[0] and all(
        np.array_equal(a[:, :used] if a.ndim > 1 else a, b[:, :used] if b.ndim > 1 else b)
        for a, b in zip(first, second, strict=True)
    )


@pytest.mark.parametrize("settings", [HexSettings(size=4), HexSettings(size=4, swap=True)], ids=str)
def test_a_position_is_shown_as_the_arena_shows_it(settings):
    arena, player = HexArena(settings, matches=10, seed=0), RandomPlayer(0)
    swaps = 0
    for _ in range(60):
        rows, _ = arena.wait()
        actions = player.act(rows).action
        for row in range(10):
            moves = arena.history(row)
            for here in (
                position(settings, moves),
                Position(settings, record := Record(4, tuple(moves)), record.seat),
            ):
                shown = here.decisions()
                assert shown.seat[0] == rows.seat[row]
                assert shown.first[0] == rows.first[row]
                assert np.array_equal(shown.legal[0], rows.legal[row])
                assert np.array_equal(shown.observation["planes"][0], rows.observation["planes"][row])
            swaps += settings.size**2 in moves
        arena.act(rows, actions)
    assert (swaps > 0) == settings.swap


@pytest.mark.parametrize("moves", ["c3 b2 d4 a1", "c3 b2 d4 a1 e2", "c3"])
def test_stones_laid_in_any_order_are_searched_node_for_node_as_played_in_turns(moves):
    settings, names = HexSettings(size=5), moves.split()
    played, laid = session(settings), session(settings)
    for number, name in enumerate(names):
        assert played.answer(f"play {'bw'[number % 2]} {name}") == "="
    for number in sorted(range(len(names)), key=lambda number: (-(number % 2), -number)):
        assert laid.answer(f"play {'bw'[number % 2]} {names[number]}") == "="
    assert laid.answer("showboard") == played.answer("showboard")
    for command in (f"reg_genmove {'bw'[len(names) % 2]}", f"reg_genmove {'wb'[len(names) % 2]}"):
        assert laid.answer(command) == played.answer(command)
        assert trees_equal(laid._analysts[settings, 40], played._analysts[settings, 40])


def test_unequal_numbers_of_stones_are_searched_alike_for_either_colour():
    """The board mirrored, with the colours exchanged, is the same task for the other side."""
    settings = HexSettings(size=5)
    here, there = session(settings), session(settings)
    for name in ["b2", "c2", "d4", "e5"]:
        cell = ("abcde".index(name[0])) + 5 * (int(name[1]) - 1)
        assert here.answer(f"play black {name}") == "="
        assert there.answer(f"play white {cell_name(5, mirrored(5, cell))}") == "="
    for one, other in (("black", "white"), ("white", "black")):
        found, image = here.answer(f"genmove {one}"), there.answer(f"genmove {other}")
        assert image == f"= {'abcde'[int(found[3]) - 1]}{'abcde'.index(found[2]) + 1}"
        assert trees_equal(here._analysts[settings, 40], there._analysts[settings, 40])


def test_a_state_that_was_set_up_has_the_bytes_of_one_that_was_played():
    settings = HexSettings(size=4)
    model = HexModel(hex_spec(settings))
    record = read_sgf("(;SZ[4]AB[b1][b2][d4]AW[c1][a3][c3]PL[B])")
    here = Position(settings, record, record.seat).decisions()
    states = model.states(position(settings, []).decisions().observation, np.ones((1, 16), np.bool_))
    for seat, name in enumerate(["b1", "c1", "d4", "a3", "b2", "c3"]):
        cell = "abcd".index(name[0]) + 4 * (int(name[1]) - 1)
        action = cell if seat % 2 == 0 else mirrored(4, cell)
        states = model.apply(states, np.array([action], np.int32))
    assert np.array_equal(model.states(here.observation, here.legal), states)


@pytest.mark.parametrize(
    ("text", "seat", "may_swap"),
    [
        ("(;SZ[4];B[b2])", 1, True),
        ("(;SZ[4];B[b2])", 0, False),
        ("(;SZ[4];W[b2])", 0, True),
        ("(;SZ[4]AB[b2])", 1, False),
        ("(;SZ[4]AW[a1];B[b2])", 1, False),
        ("(;SZ[4];B[b2];B[b3])", 1, False),
        ("(;SZ[4])", 0, False),
    ],
)
def test_only_the_first_stone_can_be_swapped_and_only_if_it_was_played(text, seat, may_swap):
    here = Position(HexSettings(size=4, swap=True), read_sgf(text), seat)
    assert here.decisions().legal[0, 16] == may_swap
    if may_swap:
        assert here.after(16).record.stones().count(1 + seat) == 1
    else:
        with pytest.raises(InputError, match="cannot play swap here"):
            here.after(16)


def test_a_problem_is_analysed_for_the_side_that_moves_at_each_position():
    record = read_sgf("(;SZ[5]AB[c2][c3]AW[b4];W[d3];W[a1];PL[W])")
    told = []
    found = list(analyse_record(record, searcher, simulations=24, seed=0, tell=lambda *given: told.append(given)))
    assert [(one["ply"], one["to_move"]) for one in found] == [(0, "white"), (1, "white"), (2, "white")]
    assert found[2]["setup"] == {"black": ["c2", "c3"], "white": ["b4"]}
    assert found[2]["moves"] == ["d3", "a1"]
    assert told == [(done, 72) for done in range(1, 73)]
    for one in found:
        taken = {"c2", "c3", "b4", *one["moves"]}
        assert sum(each["visits"] for each in one["candidates"]) >= 24
        for each in one["candidates"]:
            assert not taken & set(each.get("line", []))


def test_nothing_is_analysed_after_the_end():
    record = read_sgf("(;SZ[3]AB[a1][a2];B[a3];W[b1])")
    assert [one["ply"] for one in analyse_record(record, searcher, simulations=8, seed=0)] == [0]
