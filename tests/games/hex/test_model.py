import numpy as np
import pytest

from sparring.core import ForwardModel, IllegalAction, RandomPlayer
from sparring.games.hex import HexArena, HexModel, HexSettings
from sparring.games.hex.arena import hex_spec

VARIANTS = [HexSettings(size=3), HexSettings(size=4, swap=True), HexSettings(size=5, opening=3), HexSettings(size=9)]


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_follows_the_arena_move_by_move(settings: HexSettings) -> None:
    arena = HexArena(settings, matches=20, seed=0)
    model: ForwardModel = HexModel(arena.spec)
    player = RandomPlayer(1)
    decisions, _ = arena.wait()
    states = model.states(decisions.observation, decisions.legal)
    ended = 0
    for _ in range(150):
        assert np.array_equal(model.encode(states)["planes"], decisions.observation["planes"])
        assert np.array_equal(model.legal(states), decisions.legal)
        shown = model.states(decisions.observation, decisions.legal)
        assert np.array_equal(shown, states)
        assert np.array_equal(model.keys(shown), model.keys(states))
        actions = player.act(decisions).action
        kept = states.copy()
        after = model.apply(states, actions)
        assert np.array_equal(states, kept)
        arena.act(decisions, actions)
        decisions, results = arena.wait()
        over, value = model.outcome(after)
        assert np.flatnonzero(over).tolist() == sorted(results.match.tolist())
        assert np.array_equal(value, np.where(over, np.float32(-1), np.float32(0)))
        assert value.dtype == np.float32
        assert not model.legal(after)[over].any()
        ended += int(over.sum())
        fresh = model.states(decisions.observation, decisions.legal)
        states = np.where(over[:, None], fresh, after)
    assert ended > 20


def test_a_finished_position_is_read_as_finished() -> None:
    model = HexModel(hex_spec(HexSettings(size=3)))
    states = model.states({"planes": np.zeros((1, 2, 3, 3), np.uint8)}, np.ones((1, 9), np.bool_))
    for action in (0, 3, 3, 6, 6):
        states = model.apply(states, np.array([action], np.int32))
    assert model.outcome(states)[0].tolist() == [True]
    read = model.states(model.encode(states), model.legal(states))
    assert model.outcome(read)[0].tolist() == [True]
    assert model.keys(read) == model.keys(states)
    with pytest.raises(IllegalAction, match="state 0: action 5"):
        model.apply(states, np.array([5], np.int32))


def test_keys_depend_on_the_position_and_not_on_the_way_there() -> None:
    model = HexModel(hex_spec(HexSettings(size=5, swap=True)))
    empty = model.states(
        {"planes": np.zeros((1, 2, 5, 5), np.uint8)}, np.ones((1, 26), np.bool_) & (np.arange(26) < 25)
    )

    def after(*actions: int) -> np.ndarray:
        states = empty
        for action in actions:
            states = model.apply(states, np.array([action], np.int32))
        return states

    assert model.keys(after(0, 7, 12, 3)) == model.keys(after(12, 3, 0, 7))
    assert model.keys(after(0, 7, 12, 3)) != model.keys(after(0, 7, 3, 12))
    assert model.keys(after(6)) != model.keys(after(6, 25)), "the swap is open in one and not in the other"
    assert np.array_equal(after(6)[:, :-1], after(6, 25)[:, :-1])
    every = np.concatenate([after(a, b) for a in range(25) for b in range(26) if a % 5 * 5 + a // 5 != b])
    unique = np.unique(every & np.append(np.full(25, 3, np.uint8), np.uint8(255)), axis=0)
    assert len(np.unique(model.keys(every))) == len(unique)


@pytest.mark.parametrize("swap", [False, True])
def test_turning_the_board_changes_nothing_but_the_names_of_the_cells(swap: bool) -> None:
    settings = HexSettings(size=5, swap=swap)
    arena = HexArena(settings, matches=30, seed=0)
    model = HexModel(arena.spec)
    player = RandomPlayer(0)
    for _ in range(40):
        decisions, _ = arena.wait()
        actions = player.act(decisions).action
        turned, permutation = model.symmetry(decisions.observation)
        turned_legal = decisions.legal[:, permutation]
        states = model.states(decisions.observation, decisions.legal)
        turned_states = model.states(turned, turned_legal)
        assert np.array_equal(model.legal(turned_states), turned_legal)
        after, turned_after = model.apply(states, actions), model.apply(turned_states, permutation[actions])
        assert np.array_equal(model.outcome(after)[0], model.outcome(turned_after)[0])
        assert np.array_equal(model.symmetry(model.encode(after))[0]["planes"], model.encode(turned_after)["planes"])
        assert np.array_equal(permutation[permutation], np.arange(arena.spec.actions))
        arena.act(decisions, actions)
