"""Built-in players read observations alone, answer all rows at once, and are worth their names."""

import numpy as np
import pytest

from sparring.core import RandomPlayer, built_in, load_game
from sparring.games.rocket.actions import action_table, nearest_actions
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.players import RulePlayer, TowardBallPlayer, view
from sparring.games.rocket.settings import RocketSettings
from sparring.league import Entrant, Style, evaluate


def test_both_observations_give_the_players_the_same_view():
    views = []
    for observation in ("default", "rlgym"):
        settings = RocketSettings(modes=["2v2"], room=2, observation=observation, starts={"random": 1.0})
        views.append(view(RocketArena(settings, matches=3, seed=2).wait()[0].observation))
    for name in vars(views[0]):
        np.testing.assert_allclose(getattr(views[0], name), getattr(views[1], name), atol=1e-3, err_msg=name)


@pytest.mark.parametrize("player", [TowardBallPlayer, RulePlayer])
@pytest.mark.parametrize("table", ["full", "small"])
def test_players_act_alike_on_both_sides_of_a_symmetric_field(player, table):
    settings = RocketSettings(actions=table)
    arena = RocketArena(settings, matches=6, seed=1)
    for _ in range(5):
        decisions, _ = arena.wait()
        action = player(settings, 0).act(decisions).action
        np.testing.assert_array_equal(action[0::2], action[1::2])
        arena.act(decisions, action)


def test_toward_ball_gets_to_the_ball():
    settings = RocketSettings(seconds=6)
    arena = RocketArena(settings, matches=4, seed=0)
    player = TowardBallPlayer(settings, 0)
    for _ in range(60):
        decisions, _ = arena.wait()
        arena.act(decisions, player.act(decisions).action)
    assert arena.play_report()["touches_per_minute"] > 5


def test_the_nearest_action_of_a_table_row_is_that_row():
    for name in ("full", "small"):
        table = action_table(name)
        assert nearest_actions(table, table).tolist() == list(range(len(table)))


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [("toward-ball", "random"), ("rule", "random"), ("rule", "toward-ball")])
def test_the_better_player_wins(first, second):
    settings = RocketSettings(seconds=60, idle_seconds=20)
    players = {"toward-ball": TowardBallPlayer, "rule": RulePlayer, "random": lambda _, seed: RandomPlayer(seed)}
    arena = RocketArena(settings, matches=32, seed=11)
    score = evaluate(players[first](settings, 0), players[second](settings, 1), arena, matches=150)
    assert score.interval[0] > 0.5


def test_the_shipped_agent_plays_and_does_not_lose_to_random():
    assert shipped_score("random", seconds=10, matches=24).win_rate > 0.5


@pytest.mark.slow
def test_the_shipped_agent_beats_the_rule_player():
    assert shipped_score("rule", seconds=30, matches=300).interval[0] > 0.6


def shipped_score(rival, *, seconds, matches):
    """The shipped agent's score, with the starts it was trained on."""
    game = load_game("rocket")
    starts = {"kickoff": 3.0, "replay": 2.0, "attack": 2.0, "random": 1.0}
    settings = RocketSettings(actions="small", starts=starts, seconds=seconds, idle_seconds=8)
    arena = RocketArena(settings, matches=24, seed=3)
    agent = Entrant.parse("rocket-1v1").seat(
        game, arena.spec, matches=24, seed=0, style=Style(temperature=0.0, device="cpu")
    )
    return evaluate(agent, built_in(game, arena.spec, rival, seed=0), arena, matches=matches)
