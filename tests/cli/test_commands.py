"""The commands as a user types them."""

import json

import pytest
from typer.testing import CliRunner

from sparring.cli import app


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *arguments, **options: runner.invoke(app, list(arguments), catch_exceptions=False, **options)


def test_version(run):
    assert run("version").stdout.startswith("sparring 0.")


def test_games_lists_players_and_presets(run):
    output = run("games").stdout
    assert "hex" in output
    assert "path" in output
    assert "hex-quick" in output


@pytest.mark.parametrize(
    "command", ["train", "evaluate", "play", "selfplay", "gtp", "analyse", "sgf", "games", "version"]
)
def test_every_command_has_help_with_an_example(run, command):
    output = run(command, "--help").stdout
    assert f"Example: sparring {command}" in output


def test_evaluate_prints_one_json_object(run):
    result = run("evaluate", "path", "random", "--game", "hex", "--size", "4", "--matches", "60", "--json")
    score = json.loads(result.stdout)
    assert score["matches"] == 60
    assert score["win_rate"] > 0.9
    assert score["interval"][0] < score["win_rate"] <= score["interval"][1] + 1e-9
    assert score["settings"]["size"] == 4


def test_a_person_can_play_a_match_in_the_terminal(run):
    """Column a from top to bottom connects seat 0's edges if random does not get in the way; any end will do."""
    moves = "".join(f"{column}{row}\n" for column in "abc" for row in (1, 2, 3))
    output = run("play", "hex", "random", "--size", "3", input=moves * 2).stdout
    assert "You won." in output or "You lost." in output


def test_a_person_may_leave_a_match(run):
    result = run("play", "hex", "path", "--size", "5", input="c3\n")
    assert result.exit_code == 0
    assert "unfinished" in result.output
