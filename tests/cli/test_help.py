"""`--help`: whole at 80 columns, for every command."""

import re

import pytest
import typer.main

from sparring.cli import app


def commands(group=None, path=()):
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield pytest.param((*path, name), command, id=" ".join((*path, name)))


@pytest.mark.parametrize(("path", "command"), list(commands()))
def test_help_at_80_columns_shows_every_option_whole(run, path, command):
    text = run(*path, "--help", env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert not re.search(r"<\w|[{]|list\[", text)
    for parameter in command.params:
        for option in (*parameter.opts, *parameter.secondary_opts):
            assert (option if option.startswith("-") else option.upper()) in text


def test_the_list_of_commands_has_whole_sentences_and_begins_with_what_newcomers_need(run):
    text = run("--help", env={"COLUMNS": "80"}).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.partition("\n")[2]
    sections = re.findall(r"^(\w.*):\n((?:  .*\n)+)", text, re.MULTILINE)
    assert [name for name, _ in sections[:3]] == ["Options", "Train and play", "Look up"]
    assert sections[1][1].split()[0] == "train"
    assert {"Hex", "Pokémon", "Rocket League"} <= {name for name, _ in sections}
    assert "Play a match against a player in the terminal." in text
    assert "in any browser." in " ".join(run("watch", "--help").stdout.split())


@pytest.mark.parametrize("path", [(), ("train",), ("bench",), ("bench", "selfplay")])
def test_help_can_be_asked_for_in_three_ways(run, path):
    asked = run(*path, "--help")
    assert asked.exit_code == 0
    assert run(*path, "-h").stdout == asked.stdout
    assert run("help", *path).stdout.strip() == asked.stdout.strip().replace("Usage: root", "Usage: sparring")


def test_commands_that_take_game_settings_say_where_they_are_listed(run):
    where = "All settings of a game: sparring settings GAME"
    for taking in ("evaluate", "play", "gtp"):
        assert where in run(taking, "--help").stdout
    assert where not in run("train", "--help").stdout


def test_a_match_of_rocket_league_is_not_offered_players_of_other_games(run):
    text = run("watch", "rocket", "--help").stdout
    assert "--page" in text
    assert not [name for name in ("hex-7x7", "gtp:", "openspiel:", "poke-env:") if name in text]
