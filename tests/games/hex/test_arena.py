import msgspec
import numpy as np
import pytest

from sparring.core import Decisions, IllegalAction, InputError, RandomPlayer, Resumable, check_arena
from sparring.games.hex import HexArena, HexSettings
from sparring.games.hex.text import stones_after

from .reference import ReferenceHex
from .support import RecordingArena

VARIANTS = [
    HexSettings(size=3),
    HexSettings(size=4, swap=True),
    HexSettings(size=5, opening=3),
    HexSettings(size=6, swap=True, opening=1),
    HexSettings(size=11),
]


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_keeps_the_arena_protocol(settings: HexSettings) -> None:
    report = check_arena(HexArena(settings, matches=32, seed=1), matches=300)
    assert report.matches >= 300
    assert report.failed == 0


@pytest.mark.parametrize(
    ("settings", "matches"),
    [
        (HexSettings(size=3), 1500),
        (HexSettings(size=3, swap=True), 800),
        (HexSettings(size=4), 600),
        (HexSettings(size=5, swap=True), 400),
        (HexSettings(size=7), 150),
        (HexSettings(size=11), 25),
    ],
    ids=str,
)
def test_agrees_with_brute_force_over_random_matches(settings: HexSettings, matches: int) -> None:
    arena = HexArena(settings, matches=25, seed=0)
    player = RandomPlayer(3)
    games = [ReferenceHex(settings.size, swap=settings.swap) for _ in range(25)]
    ended = swaps = 0
    while ended < matches:
        decisions, results = arena.wait()
        for match, outcome in zip(results.match, results.outcome, strict=True):
            game = games[match]
            winners = [seat for seat in (0, 1) if game.connected(seat)]
            assert winners == [1 - game.seat]
            assert outcome.tolist() == [1.0 if seat in winners else -1.0 for seat in (0, 1)]
            games[match] = ReferenceHex(settings.size, swap=settings.swap)
            ended += 1
        actions = player.act(decisions).action
        for row, match in enumerate(decisions.match):
            game = games[match]
            assert not game.connected(0)
            assert not game.connected(1)
            assert decisions.seat[row] == game.seat
            assert decisions.first[row] == (game.moves < 2)
            assert decisions.legal[row].tolist() == game.legal()
            assert decisions.observation["planes"][row].tolist() == game.planes()
            swaps += actions[row] == settings.size**2
            game.play(int(actions[row]))
        arena.act(decisions, actions)
    assert bool(swaps) == settings.swap


def test_every_match_has_exactly_one_winner() -> None:
    arena = RecordingArena(HexSettings(size=3), matches=500, seed=0)
    player = RandomPlayer(0)
    ended = 0
    for _ in range(60):
        decisions, results = arena.wait()
        assert np.array_equal(np.sort(results.outcome, axis=1), np.tile([-1.0, 1.0], (len(results), 1)))
        assert np.array_equal(results.reward, results.outcome)
        assert all(5 <= len(arena.finished[match]) <= 9 for match in results.match)
        ended += len(results)
        arena.act(decisions, player.act(decisions).action)
    assert ended > 2000


def test_history_tells_the_moves_in_the_absolute_frame() -> None:
    arena = HexArena(HexSettings(size=4, swap=True), matches=1, seed=0)
    for action in (1, 16, 2, 7):
        decisions, _ = arena.wait()
        arena.act(decisions, np.array([action], np.int32))
    # b1 becomes a2 by the swap; seat 1's own (row 1, column 3) lies at row 3, column 1
    assert arena.history(0) == [1, 16, 2, 13]
    assert stones_after(4, arena.history(0))[4] == 2
    decisions, _ = arena.wait()
    assert decisions.observation["planes"][0, 0].ravel().nonzero()[0].tolist() == [2]
    assert decisions.observation["planes"][0, 1].ravel().nonzero()[0].tolist() == [4, 13]


def test_a_slot_starts_the_next_match_when_one_has_ended() -> None:
    arena = RecordingArena(HexSettings(size=3), matches=1, seed=0)
    for action in (0, 3, 3, 6, 6):
        decisions, results = arena.wait()
        assert len(results) == 0
        arena.act(decisions, np.array([action], np.int32))
    assert arena.finished[0] == [0, 1, 3, 2, 6]
    decisions, results = arena.wait()
    assert results.outcome.tolist() == [[1.0, -1.0]]
    assert decisions.first.tolist() == [True]
    assert decisions.seat.tolist() == [0]
    assert not decisions.observation["planes"].any()
    assert arena.history(0) == []


def test_an_opening_lays_stones_in_turns_and_differs_between_matches() -> None:
    arena = HexArena(HexSettings(size=7, opening=5), matches=200, seed=4)
    decisions, _ = arena.wait()
    planes = decisions.observation["planes"].reshape(200, 2, 49)
    assert (decisions.seat == 1).all()
    assert (planes.sum(axis=2) == [2, 3]).all()
    histories = {tuple(arena.history(match)) for match in range(200)}
    assert len(histories) == 200
    assert {move for history in histories for move in history} == set(range(49))


def test_one_seed_lays_the_same_openings_whoever_plays() -> None:
    def second_openings(player: RandomPlayer) -> list[list[int]]:
        arena = HexArena(HexSettings(size=3, opening=2), matches=8, seed=5)
        seconds: list[list[int]] = [[] for _ in range(8)]
        while not all(seconds):
            decisions, results = arena.wait()
            for match in results.match:
                seconds[match] = seconds[match] or arena.history(match)
            arena.act(decisions, player.act(decisions).action)
        return seconds

    assert second_openings(RandomPlayer(1)) == second_openings(RandomPlayer(2))


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_goes_on_identically_from_a_snapshot(settings: HexSettings) -> None:
    arena = HexArena(settings, matches=16, seed=2)
    assert isinstance(arena, Resumable)
    player = RandomPlayer(0)
    for _ in range(30):
        decisions, _ = arena.wait()
        arena.act(decisions, player.act(decisions).action)
    snapshot = arena.snapshot()

    def play_on(arena: HexArena) -> list[list[object]]:
        player, seen = RandomPlayer(9), []
        for _ in range(80):
            decisions, results = arena.wait()
            seen.append(
                [
                    decisions.observation["planes"].tolist(),
                    decisions.legal.tolist(),
                    decisions.first.tolist(),
                    results.match.tolist(),
                    results.outcome.tolist(),
                ]
            )
            arena.act(decisions, player.act(decisions).action)
        return seen

    fresh = HexArena(settings, matches=16, seed=77)
    fresh.restore(snapshot)
    assert play_on(arena) == play_on(fresh)
    with pytest.raises(ValueError, match="another arena"):
        HexArena(settings, matches=15, seed=2).restore(snapshot)


def test_rows_may_be_answered_in_parts_and_late() -> None:
    arena = HexArena(HexSettings(size=5), matches=6, seed=0)
    decisions, _ = arena.wait()
    even = decisions.take(np.array([4, 0, 2]))
    odd = decisions.take(np.array([1, 3, 5]))
    arena.act(even, np.array([7, 8, 9], np.int32))
    decisions, _ = arena.wait()
    assert decisions.match.tolist() == [0, 2, 4]
    assert decisions.seat.tolist() == [1, 1, 1]
    assert [arena.history(match) for match in range(6)] == [[8], [], [9], [], [7], []]
    arena.act(odd, np.array([1, 1, 1], np.int32))
    arena.act(decisions, np.array([0, 0, 0], np.int32))
    decisions, _ = arena.wait()
    assert decisions.match.tolist() == [0, 1, 2, 3, 4, 5]
    assert decisions.seat.tolist() == [0, 1, 0, 1, 0, 1]
    with pytest.raises(InputError, match="answer them with `act` first"):
        arena.wait()


def test_parts_and_wholes_play_the_same_matches() -> None:
    whole, parts = (HexArena(HexSettings(size=4, opening=2), matches=10, seed=0) for _ in range(2))
    player, rng = RandomPlayer(0), np.random.default_rng(1)
    for _ in range(100):
        decisions, results = whole.wait()
        others, others_results = parts.wait()
        assert np.array_equal(decisions.observation["planes"], others.observation["planes"])
        assert set(results.match) == set(others_results.match)
        actions = player.act(decisions).action
        whole.act(decisions, actions)
        for rows in np.array_split(rng.permutation(10), 3):
            parts.act(others.take(rows), actions[rows])


@pytest.mark.parametrize("action", [-1, 12, 25, 26, 10**6])
def test_an_illegal_action_is_refused_and_nothing_is_played(action: int) -> None:
    arena = HexArena(HexSettings(size=5, swap=True), matches=3, seed=0)
    decisions, _ = arena.wait()
    arena.act(decisions, np.array([0, 1, 2], np.int32))
    decisions, _ = arena.wait()
    arena.act(decisions, np.array([12, 12, 12], np.int32))
    decisions, _ = arena.wait()
    before = arena.snapshot()
    with pytest.raises(
        IllegalAction, match=rf"match 1, seat 0: action {action} is not legal; legal: 0, 2, .*, \.\.\. \(23 of 26\)"
    ):
        arena.act(decisions, np.array([7, action, 8], np.int32))
    assert all(np.array_equal(before[name], array) for name, array in arena.snapshot().items())
    arena.act(decisions, np.array([7, 7, 7], np.int32))


def test_rows_that_do_not_wait_are_refused() -> None:
    arena = HexArena(HexSettings(size=5), matches=2, seed=0)
    decisions, _ = arena.wait()
    twice = decisions.take(np.array([0, 0]))
    with pytest.raises(InputError, match="answered once"):
        arena.act(twice, np.array([1, 2], np.int32))
    kept = decisions.take(np.array([0, 1]))
    arena.act(decisions, np.array([1, 2], np.int32))
    with pytest.raises(InputError, match="match 0, seat 0: no row waits"):
        arena.act(kept, np.array([3, 4], np.int32))
    stranger = Decisions(
        match=np.array([2], np.int32),
        seat=kept.seat[:1],
        observation={},
        legal=kept.legal[:1],
        reward=kept.reward[:1],
        first=kept.first[:1],
    )
    with pytest.raises(InputError, match="match 2, seat 0: no row waits"):
        arena.act(stranger, np.array([0], np.int32))


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"size": 2}, "size"),
        ({"size": 20}, "size"),
        ({"size": 3, "opening": 5}, "at most 2"),
        ({"sise": 5}, "sise"),
        ({"swap": 1}, "swap"),
    ],
)
def test_settings_out_of_range_are_named(settings: dict[str, object], wrong: str) -> None:
    with pytest.raises((msgspec.ValidationError, InputError), match=wrong):
        msgspec.convert(settings, HexSettings)
