"""How strength is judged: five-minute matches with kickoffs, and goals a minute beside the win rate."""

import json
from io import StringIO

import msgspec
import numpy as np
from rich.console import Console
from typer.testing import CliRunner

import sparring
from sparring.cli import app
from sparring.core import Rated, Score, load_game
from sparring.core.settings import convert
from sparring.games.rocket import GAME
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.players import RulePlayer, TowardBallPlayer
from sparring.games.rocket.settings import RocketSettings
from sparring.league import Seating, evaluate
from sparring.league.evaluation import rating_matches
from sparring.report.tables import score_table
from sparring.training.exploit import exploit_config, rate_response, train_response


class Watched(RocketArena):
    """Keeps the results it hands out."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.handed = {}

    def wait(self):
        decisions, results = super().wait()
        for number, match in enumerate(results.match.tolist()):
            self.handed.setdefault(match, results.take(np.array([number])))
        return decisions, results


def test_goals_a_minute_follow_the_player_from_seat_to_seat():
    settings = RocketSettings(
        modes=["2v2"], room=2, end="clock", seconds=20, overtime_seconds=0, starts={"attack": 1.0}, actions="small"
    )
    arena = Watched(settings, matches=4, seed=2)
    score = evaluate(RulePlayer(settings, 0), TowardBallPlayer(settings, 0), arena, matches=4)
    points = np.array([arena.handed[match].points[0] for match in range(4)])
    minutes = sum(float(arena.handed[match].minutes[0]) for match in range(4))
    mine = [points[0, 0], points[1, 2], points[2, 0], points[3, 2]]
    theirs = [points[0, 2], points[1, 0], points[2, 2], points[3, 0]]
    assert points.sum() > 0
    assert sum(mine) != sum(theirs)
    np.testing.assert_allclose(score.points_per_minute, [sum(mine) / minutes, sum(theirs) / minutes], rtol=1e-6)
    assert 80 / 60 <= minutes < 2.5


def test_a_rating_is_played_as_the_game_is():
    assert isinstance(GAME, Rated)
    settings = convert(GAME.rating, RocketSettings, where="rating")
    assert (settings.end, settings.seconds, settings.idle_seconds) == ("clock", 300, 0)
    assert settings.starts == {"kickoff": 1.0}


def test_the_settings_of_a_rating_lie_between_the_checkpoints_and_the_users():
    seating = Seating.of("rocket-1v1", "rule", settings={"seconds": 60, "tick_skip": 4}, rating=True)
    assert (seating.settings.end, seating.settings.seconds, seating.settings.tick_skip) == ("clock", 60, 4)
    assert Seating.of("rocket-1v1", "rule").settings.end == "goal"
    assert (rating_matches(GAME), rating_matches(load_game("hex"))) == (64, 400)


def test_python_rates_as_the_command_does():
    score = sparring.evaluate(
        "rule", "random", game="rocket", matches=2, settings={"seconds": 5, "overtime_seconds": 0}
    )
    assert score.decisions_per_match >= 2 * 15 * 5
    assert score.points_per_minute is not None


def test_evaluate_plays_by_the_clock_unless_told_otherwise():
    words = ["evaluate", "rule", "random", "--game", "rocket", "--matches", "2", "--overtime-seconds", "0", "--json"]
    done = CliRunner().invoke(app, [*words, "--seconds", "15"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["decisions_per_match"] >= 2 * 15 * 15  # no goal ends it, and nobody is too idle
    assert len(found["points_per_minute"]) == 2
    assert found["endings"] == {"goal": 0, "time": 2, "idle": 0, "overtime": 0}
    done = CliRunner().invoke(app, [*words, "--seconds", "3", "--end", "goal"])
    assert json.loads(done.stdout)["decisions_per_match"] <= 2 * 15 * 3


def test_the_table_shows_goals_where_they_are_counted():
    console = Console(width=100, file=StringIO())
    console.print(score_table("x", {"rule": Score(1, 0, 0, points_per_minute=(2.4, 0.25))}))
    console.print(score_table("x", {"rule": Score(1, 0, 0)}))
    text = console.file.getvalue()
    assert text.count("for : against / min") == 1
    assert "2.40 : 0.25" in text


def test_a_best_response_is_rated_as_the_game_is_judged(tmp_path):
    seating = Seating.of("rocket-1v1")
    config = exploit_config(seating, from_weights=True, seed=0)
    learner = msgspec.structs.replace(config.learner, batch_size=512, minibatch_size=256, epochs=1)
    config = msgspec.structs.replace(config, learner=learner, matches=8)
    train_response(seating, tmp_path / "response", config, minutes=0.001, say=lambda text: None)
    found = rate_response(seating, tmp_path / "response", matches=1, settings={"seconds": 20}, say=lambda text: None)
    least = 20 * 15  # decisions by the clock; a match to the first goal ends with one, or when nobody moves
    assert found["score"].decisions_per_match >= 2 * least
    assert (rating_matches(GAME, 2000), rating_matches(load_game("hex"), 2000)) == (64, 2000)
