"""The arena keeps the protocol in every mode, with and without threads."""

import logging

import numpy as np
import pytest

from sparring.core import IllegalAction, InputError, check_arena, load_game
from sparring.core.code import own
from sparring.games.rocket import field
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.players import TowardBallPlayer
from sparring.games.rocket.settings import RewardSettings, RocketSettings
from sparring.games.rocket.states import SITUATIONS, near_goal

EVERY_START = {"kickoff": 1.0, **dict.fromkeys(SITUATIONS, 1.0)}


@pytest.mark.parametrize(
    ("modes", "room", "threads", "observation"),
    [
        (["1v1"], 1, 0, "default"),
        (["1v1", "2v2", "3v3"], 3, 2, "default"),
        (["2v2"], 3, 0, "rlgym"),
        (["1v1"], 2, 1, "positions"),
    ],
)
def test_the_protocol_is_kept(modes, room, threads, observation):
    settings = RocketSettings(
        modes=modes, room=room, threads=threads, observation=observation, starts=EVERY_START, seconds=2
    )
    arena = RocketArena(settings, matches=5, seed=1)
    report = check_arena(arena, matches=12, seed=2)
    arena.close()
    assert report.failed == 0


def test_a_real_match_has_kickoffs_after_goals_and_overtime_when_level():
    settings = RocketSettings(
        end="clock", seconds=4, overtime_seconds=3, starts={"near_goal": 1.0}, rewards=RewardSettings(sparse=True)
    )
    arena = RocketArena(settings, matches=6, seed=3)
    player = TowardBallPlayer(settings, 0)
    overtimes, goals_inside, outcomes, previous = 0, 0, [], np.zeros(6)
    for _ in range(200):
        decisions, results = arena.wait()
        ahead = decisions.observation["world"][::2, 61] * 5
        scored = np.flatnonzero((ahead != previous) & ~decisions.first[::2])
        for match in scored:
            goals_inside += 1
            assert decisions.observation["world"][2 * match, 63] == 1  # kickoff
            assert abs(decisions.reward[2 * match]) == 2  # one for the goal, one for not conceding: zero-sum
        previous = ahead
        overtimes += int(decisions.observation["world"][:, 62].any())
        outcomes += results.outcome[:, 0].tolist()
        arena.act(decisions, player.act(decisions).action)
    assert goals_inside > 0
    assert overtimes > 0
    assert len(outcomes) >= 6


def test_a_seat_of_a_smaller_mode_gets_nothing_and_the_others_play_by_their_mode():
    arena = RocketArena(RocketSettings(modes=["1v1", "3v3"], room=3, seconds=0.5), matches=2, seed=0)
    decisions, _ = arena.wait()
    assert sorted(decisions.seat[decisions.match == 0].tolist()) in ([0, 3], [0, 1, 2, 3, 4, 5])
    assert len(decisions) == 8
    cars = decisions.observation["cars"]
    small = decisions.match == decisions.match[np.flatnonzero(np.bincount(decisions.match)[decisions.match] == 2)[0]]
    assert cars[small, :, 0].sum(axis=1).tolist() == [2.0, 2.0]
    assert (cars[small][:, 1:3] == 0).all()
    while True:
        arena.act(decisions, np.zeros(len(decisions), np.int32))
        decisions, results = arena.wait()
        if len(results):
            break
    assert results.outcome.shape == (2, 6)


def test_slots_take_turns_with_the_modes():
    arena = RocketArena(RocketSettings(modes=["1v1", "2v2"], room=2, seconds=0.2), matches=4, seed=0)
    sizes = []
    for _ in range(12):
        decisions, _ = arena.wait()
        sizes.append(tuple(np.bincount(decisions.match, minlength=4).tolist()))
        arena.act(decisions, np.zeros(len(decisions), np.int32))
    assert {(2, 4, 2, 4), (4, 2, 4, 2)} == set(sizes)


def test_a_bad_action_and_a_seat_without_a_row_are_refused():
    arena = RocketArena(RocketSettings(), matches=2, seed=0)
    decisions, _ = arena.wait()
    with pytest.raises(IllegalAction, match="match 1, seat 1: action 90 is not legal"):
        arena.act(decisions, np.array([0, 0, 0, 90], np.int32))
    arena.act(decisions.take(np.array([0])), np.zeros(1, np.int32))
    with pytest.raises(InputError, match="match 0, seat 0: no row waits for this action"):
        arena.act(decisions.take(np.array([0])), np.zeros(1, np.int32))


def test_rows_of_one_wait_may_be_answered_in_parts():
    arena = RocketArena(RocketSettings(), matches=2, seed=0)
    decisions, _ = arena.wait()
    kept = decisions.take(np.arange(4))
    arena.act(kept.take(np.array([3, 0])), np.zeros(2, np.int32))
    with pytest.raises(InputError, match="answer them with `act` first"):
        arena.wait()
    arena.act(kept.take(np.array([1, 2])), np.zeros(2, np.int32))
    assert len(arena.wait()[0]) == 4


def test_a_match_whose_physics_breaks_is_named_replaced_and_not_counted(caplog):
    arena = RocketArena(RocketSettings(), matches=3, seed=0)
    decisions, _ = arena.wait()
    car = arena._groups[0]._simulators[1].cars[1]
    state = car.get_state()
    state.vel = type(state.vel)(float("nan"), 0.0, 0.0)
    car.set_state(state)
    with caplog.at_level(logging.ERROR):
        arena.act(decisions, np.zeros(6, np.int32))
        decisions, results = arena.wait()
    assert results.match.tolist() == [1]
    assert results.failed.tolist() == [True]
    assert "match 1 broke off" in caplog.text
    assert "seat 1" in caplog.text
    assert decisions.first.tolist() == [False, False, True, True, False, False]
    assert all(np.isfinite(part).all() for part in decisions.observation.values())
    arena.act(decisions, np.zeros(6, np.int32))
    assert len(arena.wait()[1]) == 0


def test_orange_sees_what_blue_would_see_from_the_other_side():
    """A kickoff is symmetric, so both seats see the same numbers."""
    arena = RocketArena(RocketSettings(), matches=4, seed=9)
    decisions, _ = arena.wait()
    for name in ("cars", "world"):
        seen = decisions.observation[name]
        np.testing.assert_allclose(seen[0::2], seen[1::2], atol=1e-5)


def test_the_ball_in_a_cars_own_axes():
    arena = RocketArena(RocketSettings(), matches=1, seed=0)
    decisions, _ = arena.wait()
    cars = decisions.observation["cars"]
    offset = decisions.observation["world"][:, :3] - cars[:, 0, 1:4]
    assert np.allclose(np.linalg.norm(offset, axis=1), np.linalg.norm(cars[:, 0, 21:24], axis=1), atol=1e-5)
    assert np.allclose((offset * cars[:, 0, 4:7]).sum(axis=1), cars[:, 0, 21], atol=1e-5)


def test_reports_count_what_was_played():
    settings = RocketSettings(rewards=RewardSettings(components={"speed_to_ball": 1.0}, zero_sum=False), seconds=3)
    arena = RocketArena(settings, matches=4, seed=0)
    paid, player = 0.0, TowardBallPlayer(settings, 0)
    for _ in range(30):
        decisions, _ = arena.wait()
        paid += float(decisions.reward.sum())
        arena.act(decisions, player.act(decisions).action)
    report = arena.report()
    assert report["reward/speed_to_ball"] > 0
    assert report["speed"] > 300
    assert arena.report()["matches"] == 0


def test_the_game_is_found_by_name_and_says_what_fits():
    game = load_game("rocket")
    spec = game.spec(RocketSettings())
    assert game.fits(spec, game.spec(RocketSettings(tick_skip=6))) is None
    assert "actions" in str(game.fits(spec, game.spec(RocketSettings(actions="small"))))


def test_no_match_at_all_is_an_input_error():
    with pytest.raises(InputError, match="matches = 0"):
        RocketArena(RocketSettings(), matches=0, seed=0)


def test_pad_timers_follow_rocketsims_own():
    settings = RocketSettings(starts={"replay": 1.0}, seconds=60, idle_seconds=0)
    arena = RocketArena(settings, matches=4, seed=4)
    player, taken = TowardBallPlayer(settings, 0), 0
    for _ in range(150):
        decisions, _ = arena.wait()
        arena.act(decisions, player.act(decisions).action)
        group = arena._groups[0]
        truth = [[pad.get_state().cooldown for pad in simulator.pads] for simulator in group._simulators]
        np.testing.assert_array_equal(group._pads, np.float32(truth))
        taken += int((group._pads > field.SMALL_PAD_SECONDS).any())
    assert taken > 0


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_ten_thousand_matches_leave_memory_flat_and_no_number_broken():
    import psutil

    settings = RocketSettings(modes=["1v1", "3v3"], room=3, starts=EVERY_START, seconds=0.5)
    arena = RocketArena(settings, matches=64, seed=0)
    process, ended, rng, before = psutil.Process(), 0, np.random.default_rng(0), 0
    while ended < 10_000:
        decisions, results = arena.wait()
        assert not results.failed.any()
        assert np.isfinite(decisions.observation["cars"].sum() + decisions.reward.sum())
        ended += len(results)
        if not before and ended > 2_000:  # every slot has both its simulators by then
            before = process.memory_info().rss
        arena.act(decisions, rng.integers(90, size=len(decisions)).astype(np.int32))
    assert process.memory_info().rss - before < 20e6


def own_goal(rng, team):
    """A ball that rolls into orange's goal."""
    start = near_goal(rng, team)
    start.ball[:] = (0, field.BACK_WALL - 300, field.BALL_REST, 0, 2000, 0, 0, 0, 0)
    return start


@pytest.mark.parametrize(
    ("why", "settings"),
    [
        ("goal", {"starts": {own(own_goal): 1.0}}),
        ("time", {"seconds": 0.5}),
        ("idle", {"seconds": 9, "idle_seconds": 0.5}),
        ("overtime", {"end": "clock", "seconds": 0.5, "overtime_seconds": 0.5}),
        ("time", {"end": "clock", "seconds": 2, "starts": {own(own_goal): 1.0}}),
    ],
)
def test_results_and_the_report_say_why_matches_ended(why, settings):
    arena = RocketArena(RocketSettings(**settings), matches=3, seed=0)
    ended = []
    while len(ended) < 6:
        decisions, results = arena.wait()
        if len(results):
            ended += [arena.endings[number] for number in results.ending]
        arena.act(decisions, np.zeros(len(decisions), np.int32))
    assert set(ended) == {why}
    report = arena.play_report()
    assert {name: report[f"ended_by_{name}"] for name in arena.endings} == {
        name: float(name == why) for name in arena.endings
    }


def test_a_reward_is_told_of_the_touches_of_its_own_step():
    """Who touched the ball last and whether it is still kickoff are those after the step, not before it."""
    told = []

    def note(step, seconds):
        touched = step.cars[:, :, field.TOUCHED] > 0
        told.append((touched.copy(), step.last_team.copy(), step.kickoff.copy()))
        return np.zeros_like(touched, np.float32)

    settings = RocketSettings(rewards=RewardSettings(components={own(note): 1.0}), end="clock", seconds=60)
    arena = RocketArena(settings, matches=2, seed=0)
    player = TowardBallPlayer(settings, 0)
    while not told or not told[-1][0].any():
        decisions, _ = arena.wait()
        arena.act(decisions, np.where(decisions.seat == 0, player.act(decisions).action, 0))
    touched, last_team, kickoff = told[-1]
    assert touched.any(axis=0).tolist() == [True, False]
    assert last_team.tolist() == touched[:, 0].tolist()
    assert kickoff.tolist() == (~touched[:, 0]).tolist()
    for _, before, still in told[:-1]:
        assert still.all()
        assert not before.any()


def test_the_last_action_is_forgotten_at_every_kickoff():
    settings = RocketSettings(end="clock", seconds=60, starts={"near_goal": 1.0})
    arena = RocketArena(settings, matches=6, seed=3)
    player = TowardBallPlayer(settings, 0)
    group = arena._groups[0]
    kickoffs = 0
    for _ in range(150):
        decisions, _ = arena.wait()
        restarted = group._referee.kickoff & ~group._first
        fresh = np.flatnonzero(restarted & (group._referee.idle == 0))
        assert (group._last[fresh] == 0).all()
        kickoffs += len(fresh)
        arena.act(decisions, player.act(decisions).action)
    assert kickoffs > 0
