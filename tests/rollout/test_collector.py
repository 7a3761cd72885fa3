"""The collector: every row of every recorded seat, once, in order, with the right reward and player."""

import json

import numpy as np
import pytest

from sparring.core import Answers, IllegalAction, RandomPlayer
from sparring.games.hex import HexArena
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.rollout import Collector, Meetings, everyone, taking_turns
from tests import hex

CPU = Device("cpu", "float32")


class Numbered:
    """Plays at random and gives each answer a number as its value, so that rows can be followed."""

    def __init__(self, start=0):
        self._random = RandomPlayer(3)
        self._next = start

    def act(self, decisions):
        value = np.arange(self._next, self._next + len(decisions), dtype=np.float32)
        self._next += len(decisions)
        return Answers(self._random.act(decisions).action, value=value)


def network(matches, *, size=4, memory="none", keep_policy=False):
    engine = InferenceEngine(hex.spec(size), slots=2 * matches, device=CPU, seed=0)
    engine.add("main", hex.policy(size=size, memory=memory))
    return NetworkPlayer(engine, "main", keep_policy=keep_policy)


def test_an_episode_is_one_seats_rows_in_order_and_ends_with_its_reward():
    collector = Collector(hex.arena(matches=16), {"a": Numbered()}, everyone(0, 2), record=["a"])
    episodes = collector.collect(500)
    assert episodes.rows >= 500
    stones = episodes.steps.observation["planes"].sum(axis=(1, 2, 3))
    for start, length, seat, outcome in zip(
        episodes.starts, episodes.headers.lengths, episodes.headers.seat, episodes.headers.outcome, strict=True
    ):
        rows = slice(start, start + length)
        np.testing.assert_array_equal(stones[rows], seat + 2 * np.arange(length))
        assert (np.diff(episodes.steps.value[rows]) > 0).all()
        np.testing.assert_array_equal(episodes.steps.reward[rows][:-1], 0)
        assert episodes.steps.reward[rows][-1] == outcome != 0
    assert episodes.headers.complete.all()


def test_no_row_is_lost_or_doubled_over_many_collections():
    collector = Collector(hex.arena(matches=16), {"a": Numbered()}, everyone(0, 2), record=["a"])
    seen = np.concatenate([collector.collect(300).steps.value for _ in range(10)])
    assert len(np.unique(seen)) == len(seen)
    missing = collector.counters.decisions - len(seen)
    assert 0 < missing <= 16 * 16


def test_both_seats_of_a_match_share_its_number_and_win_or_lose_together():
    episodes = Collector(hex.arena(matches=16), {"a": RandomPlayer(0)}, everyone(0, 2), record=["a"]).collect(800)
    order = np.argsort(episodes.headers.serial, kind="stable")
    pairs = episodes.headers.outcome[order].reshape(-1, 2)
    assert (pairs.sum(axis=1) == 0).all()
    assert (np.sort(episodes.headers.seat[order].reshape(-1, 2), axis=1) == [0, 1]).all()


def test_only_recorded_players_rows_are_kept_and_seats_change_every_match():
    players = {"a": Numbered(), "b": Numbered(start=1_000_000)}
    collector = Collector(hex.arena(matches=16), players, taking_turns([0, 1], 2), record=["b"])
    episodes = collector.collect(600)
    assert (episodes.steps.value >= 1_000_000).all()
    assert (episodes.headers.player == 1).all()
    np.testing.assert_array_equal(episodes.headers.seat, 1 - episodes.headers.serial % 2)


def test_the_recorded_mask_action_and_log_prob_belong_together():
    collector = Collector(
        hex.arena(matches=16), {"a": network(16, keep_policy=True)}, everyone(0, 2), record=["a"], keep_policy=True
    )
    episodes = collector.collect(400)
    legal = episodes.unpack_legal()
    assert legal[np.arange(episodes.rows), episodes.steps.action].all()
    np.testing.assert_array_equal(legal, episodes.steps.observation["planes"].sum(axis=1).reshape(-1, 16) == 0)
    taken = episodes.steps.policy[np.arange(episodes.rows), episodes.steps.action]
    np.testing.assert_allclose(np.log(taken), episodes.steps.log_prob, atol=1e-5)
    assert (episodes.steps.policy[~legal] == 0).all()


def test_weights_that_are_swapped_in_during_an_answer_make_no_episode_newer_than_it_is():
    player = network(8)
    engine, answer = player.engine, player.engine.answer

    def swapped_meanwhile(*arguments, **options):
        answers = answer(*arguments, **options)
        engine.swap("main", engine.weights("main"), version=player.version + 1)
        return answers

    engine.answer = swapped_meanwhile
    collector = Collector(hex.arena(matches=8), {"main": player}, everyone(0, 2), record=["main"])
    first = collector.collect(1).headers
    assert set(first.version[first.seat == 0].tolist()) == {0}
    assert set(first.version[first.seat == 1].tolist()) == {1}  # which answers a wait later


def test_memory_is_stored_at_each_segments_start():
    player = network(16, memory="lstm")
    collector = Collector(hex.arena(matches=16), {"a": player}, everyone(0, 2), record=["a"], segment=3)
    episodes = [collector.collect(300) for _ in range(3)][-1]
    assert len(episodes.memory.state["hidden"]) == episodes.segment_counts.sum()
    firsts = np.cumsum(episodes.segment_counts) - episodes.segment_counts
    assert (episodes.memory.state["hidden"][firsts] == 0).all()
    later = np.setdiff1d(np.arange(episodes.segment_counts.sum()), firsts)
    assert (np.abs(episodes.memory.state["hidden"][later]).max(axis=1) > 0).all()


def test_a_long_episode_is_cut_and_valued_by_its_next_row():
    collector = Collector(hex.arena(matches=8), {"a": Numbered()}, everyone(0, 2), record=["a"], truncate_after=3)
    episodes = collector.collect(500)
    assert episodes.headers.lengths.max() == 3
    cut = ~episodes.headers.complete
    assert cut.any()
    assert (episodes.headers.outcome[cut] == 0).all()
    following = set(episodes.steps.value[episodes.starts].tolist())
    assert np.isin(episodes.headers.last_value[cut], list(following)).mean() > 0.8


def test_play_settles_which_matches_count_before_they_start():
    collector = Collector(hex.arena(matches=7), {"a": RandomPlayer(0), "b": RandomPlayer(1)}, taking_turns([0, 1], 2))
    seated, outcome = collector.play(50)
    assert outcome.shape == (50, 2)
    assert (outcome.sum(axis=1) == 0).all()
    np.testing.assert_array_equal(seated, [[0, 1], [1, 0]] * 25)


def test_play_tells_of_matches_as_they_end_and_how_many_turns_they_took():
    collector = Collector(hex.arena(size=3, matches=4), {"random": RandomPlayer(0)}, everyone(0, 2))
    told = {}
    _, outcome = collector.play(
        12,
        ended=lambda serials, turns, results: told.update(
            zip(serials.tolist(), zip(turns.tolist(), results.outcome[:, 0].tolist(), strict=True), strict=True)
        ),
    )
    assert sorted(told) == list(range(12))
    for serial, (turns, first) in told.items():
        assert first == outcome[serial, 0]
        assert 5 <= turns <= 9
        assert (turns % 2 == 1) == (first == 1)  # who moves last in Hex has won


def test_an_illegal_action_is_refused():
    class Stubborn:
        def act(self, decisions):
            return Answers(np.zeros(len(decisions), np.int32))

    collector = Collector(hex.arena(matches=4), {"a": Stubborn()}, everyone(0, 2))
    collector.advance()
    with pytest.raises(IllegalAction):
        collector.advance()


def test_a_restored_collector_continues_exactly():
    def make():
        arena = hex.arena(matches=16)
        player = network(16, memory="lstm")
        return arena, player, Collector(arena, {"a": player}, everyone(0, 2), record=["a"], segment=4)

    arena, player, collector = make()
    collector.collect(200)
    saved = arena.snapshot(), collector.snapshot(), player.engine.snapshot()
    draws = player.engine.rng.bit_generator.state
    expected = collector.collect(300)
    arena, player, collector = make()
    arena.restore(saved[0])
    collector.restore(saved[1])
    player.engine.restore(saved[2])
    player.engine.rng.bit_generator.state = draws
    again = collector.collect(300)
    for whole, resumed in (
        (expected.headers, again.headers),
        (expected.steps, again.steps),
        (expected.memory, again.memory),
    ):
        for name, column in whole.columns().items():
            np.testing.assert_array_equal(column, resumed.columns()[name], err_msg=name)


def test_nobody_is_asked_about_matches_beyond_those_to_be_played():
    class Asked:
        def __init__(self):
            self.firsts = 0
            self._random = RandomPlayer(0)

        def act(self, decisions):
            self.firsts += int(decisions.first.sum())
            return self._random.act(decisions)

    player = Asked()
    Collector(hex.arena(matches=1), {"a": player}, everyone(0, 2)).play(1)
    assert player.firsts == 2  # both seats of the one match


def test_an_arena_that_keeps_records_is_told_who_sits_where_and_a_player_who_follows_is_shown_the_arena():
    class Naming(HexArena):
        def __init__(self):
            super().__init__(hex.settings(3), matches=2, seed=0)
            self.told = []

        def name_seats(self, matches, names):
            self.told += zip(matches, names, strict=True)

    class Following(Numbered):
        arena = None

        def attend(self, arena):
            self.arena = arena

    arena, ann = Naming(), Following()
    collector = Collector(arena, {"ann": ann, "ben": Numbered()}, taking_turns([0, 1], 2))
    assert arena.told == [(0, ["ann", "ben"]), (1, ["ben", "ann"])]
    assert ann.arena is arena
    _, results = collector.advance()
    while not len(results):
        _, results = collector.advance()
    seated = [["ann", "ben"], ["ben", "ann"]]
    for number, (match, names) in enumerate(arena.told[2:]):
        assert match == results.match[number]
        assert names == seated[number % 2]
    assert len(arena.told) == 2 + len(results)


def meeting(shares, seats, *, seed):
    meetings = Meetings(seats, seed=seed, last=len(shares))
    meetings.change(dict(enumerate(shares, 1)), at=0)
    return meetings


@pytest.mark.parametrize("seats", [2, 4])
def test_a_policy_meets_others_in_their_shares_on_either_side_and_itself_in_the_rest(seats):
    serials = np.arange(20_000)
    seated = meeting([0.1, 0.3], seats, seed=5)(serials)
    assert seated.shape == (20_000, seats)
    met = seated.max(axis=1)
    for opponent, share in ((1, 0.1), (2, 0.3), (0, 0.6)):
        assert abs((met == opponent).mean() - share) < 0.015
    for opponent in (1, 2):
        sides = seated[met == opponent]
        assert set(sides.ravel()) == {0, opponent}
        assert ((sides == opponent).sum(axis=1) == seats // 2).all()
        assert abs((sides[:, 0] == opponent).mean() - 0.5) < 0.03


def test_who_is_met_depends_on_the_seed_and_the_matchs_number_alone():
    serials = np.arange(1000)
    whole = meeting([0.5], 2, seed=1)(serials)
    assert (meeting([0.5], 2, seed=1)(serials[300:400]) == whole[300:400]).all()
    assert (meeting([0.5], 2, seed=2)(serials) != whole).any()
    assert (meeting([], 2, seed=1)(serials) == 0).all()
    assert (meeting([1.0], 2, seed=1)(serials).sum(axis=1) == 1).all()


def test_shares_that_change_leave_the_matches_before_as_they_were():
    serials = np.arange(4000)
    meetings = meeting([0.5], 2, seed=3)
    before = meetings(serials)
    meetings.change({7: 0.25, 9: 0.75}, at=1000)
    after = meetings.opponents(serials)
    assert (meetings(serials)[:1000] == before[:1000]).all()
    assert set(after[1000:]) == {7, 9}
    assert abs((after[1000:] == 7).mean() - 0.25) < 0.03
    assert meetings(serials)[1000:].max() == 1, "numbers above the last are its"
    again = Meetings(2, seed=3, last=1)
    again.restore(json.loads(json.dumps(meetings.snapshot())))
    assert (again.opponents(serials) == after).all()
    meetings.forget(1200)
    assert len(meetings.snapshot()) == 1
    assert (meetings.opponents(serials[1200:]) == after[1200:]).all()
