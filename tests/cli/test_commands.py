"""The commands as a user types them."""

import json
import re
import signal
import time

import pytest
from typer.main import get_command

from sparring.cli import app
from sparring.cli.evaluate import _standing
from sparring.cli.train import next_step
from sparring.core import InputError, game_names, load_game
from sparring.rollout.store import read_episodes
from tests.commands import sparring
from tests.warm import Process


@pytest.mark.parametrize("words", ["version", "--version"])
def test_version(run, words):
    result = run(words)
    assert result.exit_code == 0
    assert result.stdout.startswith("sparring 0.")


def test_games_lists_players_and_shipped_agents_and_says_where_presets_are(run):
    found = run("games")
    for word in ("hex", "path", "hex-7x7", "rocket-1v1"):
        assert word in found.stdout
    assert "sparring games NAME" in found.stderr


def test_games_and_presets_can_be_asked_about_one_game(run):
    games, presets = run("games", "hex").stdout, run("presets", "hex").stdout
    assert "hex-quick" in games
    assert "hex-quick" in presets
    assert "rocket" not in games + presets


def test_the_next_step_after_training_is_one_that_the_game_has(run, tmp_path):
    steps = {name: next_step(load_game(name), tmp_path) for name in game_names()}
    assert steps["hex"] == f"sparring play hex {tmp_path}"
    assert steps["rocket"] == f"sparring watch rocket {tmp_path}"
    assert steps["pokemon"] == f"sparring play pokemon {tmp_path}"
    assert steps["kuhn"] == f"sparring evaluate {tmp_path} random"
    for step in steps.values():
        assert str(tmp_path) in step
        assert run(*step.split()[1 : 3 if "watch" in step else 2], "--help").exit_code == 0


def commands():
    """Every command by its words, with the names of its options."""
    found = {}
    for name, command in get_command(app).commands.items():
        below = {f"{name} {sub}": one for sub, one in getattr(command, "commands", {}).items()}
        for words, one in (below or {name: command}).items():
            found[words] = {option for parameter in one.params for option in parameter.opts}
    return found


def test_one_thing_has_one_name_in_all_commands():
    known = commands()
    assert {"train", "evaluate", "bench selfplay", "watch rocket"} <= set(known)
    for command, options in known.items():
        old = {"--games", "--total", "--battles", "--num-workers", "--least", "--concurrent", "--model-b", "--vs"}
        assert not options & old, command
    for command in ("evaluate", "play", "selfplay", "ladder", "watch rocket"):
        assert {"--seed", "--device", "--threads", "--temperature"} <= known[command], command
    for command in ("evaluate", "selfplay", "bench selfplay", "ladder", "watch rocket"):
        assert "--matches" in known[command], command
    for command in ("train", "selfplay", "bench selfplay"):
        assert "--workers" in known[command], command


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


def test_a_player_of_your_own_is_a_player_for_every_command(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_first.py").write_text(FIRST)
    rules = ["--game", "hex", "--size", "4"]
    score = json.loads(run("evaluate", "own_first:First", "random", *rules, "--matches", 20, "--json").stdout)
    assert (score["matches"], score["first"]) == (20, "own_first:First")
    assert "unfinished" in run("play", "hex", "own_first:First", "--size", 5, input="c3\n").output
    words = ["hex", "--model", "own_first:First", "--opponent", "own_first:ready", "--matches", 6, "--size", 4]
    assert run("selfplay", *words, "--save", "games").exit_code == 0
    assert {name for part in read_episodes(tmp_path / "games") for name in part.players} == {
        "own_first:First",
        "own_first:ready",
    }
    met = run("tournament", "own_first:First", "path", *rules, "--matches", 8, "--ledger", "t.ledger", "--json")
    assert met.exit_code == 0, met.output
    assert "own_first:First" in met.stdout
    words = ["opponents={'own_first:First': 0.5}", "evaluation.opponents=[random, own_first:make]"]
    tiny = "decisions=200 matches=8 threads=1 evaluation.matches=4 learner.batch_size=128 learner.minibatch_size=64"
    trained = run("train", "hex-quick", *words, *tiny.split(), "--run", "r")
    assert trained.exit_code == 0, trained.output
    assert "own_first:make" in trained.output


FIRST = """
import numpy as np
from sparring import Answers

class First:
    def act(self, decisions):
        return Answers(action=decisions.legal.argmax(axis=1).astype(np.int32))

ready = First()

def make(spec):
    return First()
"""


def test_a_person_can_play_a_match_in_the_terminal(run):
    """Column a from top to bottom connects seat 0's edges if random does not get in the way; any end will do."""
    moves = "".join(f"{column}{row}\n" for column in "abc" for row in (1, 2, 3))
    output = run("play", "hex", "random", "--size", "3", input=moves * 2).stdout
    assert "You won." in output or "You lost." in output


def test_a_person_may_leave_a_match(run):
    result = run("play", "hex", "path", "--size", "5", input="c3\n")
    assert result.exit_code == 0
    assert "unfinished" in result.output


def test_shipped_weights_can_be_evaluated_played_and_named_as_opponent(run):
    score = json.loads(run("evaluate", "hex-7x7", "random", "--matches", 20, "--json").stdout)
    assert score["settings"]["size"] == 7
    assert score["win_rate"] > 0.9
    assert "unfinished" in run("play", "hex", "hex-7x7", input="d4\n").output


def test_a_built_in_player_can_play_itself_into_a_store(run, tmp_path):
    words = "--model path --matches 6 --parallel 4 --size 3 --save"
    assert run("selfplay", "hex", *words.split(), tmp_path / "games").exit_code == 0
    store = list(read_episodes(tmp_path / "games", game="hex"))
    assert sum(len(episodes) for episodes in store) == 12
    assert store[0].players == ("path",)
    lines = run("sgf", tmp_path / "games").stdout.splitlines()
    assert len(lines) == 6


def test_self_play_of_two_sums_up_who_won(run, tmp_path):
    words = "--model path --opponent random --matches 10 --size 4 --save"
    run("selfplay", "hex", *words.split(), tmp_path / "games")
    summary = json.loads((tmp_path / "games" / "summary.json").read_text())
    assert summary["matches"] == 10
    assert summary["win_rate"] > 0.5
    assert summary["interval"][0] <= summary["win_rate"] <= summary["interval"][1]


def test_self_play_goes_on_with_the_same_players_only(run, tmp_path):
    def play(*words):
        return run("selfplay", "hex", "--matches", "4", "--size", "3", "--save", tmp_path / "games", *words)

    play("--model", "path", "--opponent", "random")
    assert "holds 4 matches already" in play("--model", "random", "--opponent", "path").stderr
    with pytest.raises(InputError, match=r"games holds matches of path against random, not of random; choose another"):
        play("--model", "random", "--matches", "2")
    run("selfplay", "hex", "--model", "hex-7x7", "--matches", "2", "--simulations", "0", "--save", tmp_path / "more")
    with pytest.raises(InputError, match=r"more holds matches of hex-7x7, not of hex-7x7 with 2 simulations"):
        run(
            "selfplay", "hex", "--model", "hex-7x7", "--matches", "4", "--simulations", "2", "--save", tmp_path / "more"
        )


def test_a_run_that_is_rated_against_nobody_prints_no_empty_table(run, tmp_path):
    small = "decisions=64 matches=4 threads=1 learner.batch_size=64 learner.minibatch_size=64 evaluation.opponents=[]"
    result = run("train", "hex-quick", *small.split(), "--run", tmp_path / "run")
    assert "rated against nobody (evaluation.opponents is empty)" in result.stdout
    assert "win rate" not in result.stdout


def test_replays_of_which_none_can_be_read_are_refused(run, tmp_path):
    (tmp_path / "h.py").write_text("x = 1\n")
    for _ in range(2):  # the second time, that it cannot be read is known already
        with pytest.raises(InputError, match=r"h.py: no battle there could be read; .*rejected.jsonl says why"):
            run("replays", "parse", tmp_path / "h.py", "--output", tmp_path / "episodes", "--workers", "0")


def test_presets_are_listed_and_one_is_shown_with_what_it_sets(run):
    listed = run("presets").stdout
    assert "hex-quick" in listed
    assert "Five-by-five Hex from nothing" in listed
    shown = run("presets", "hex-quick", "learner.epochs=17", env={"COLUMNS": "120"}).stdout
    assert re.search(r"learner.epochs +17 .*default 3\]", " ".join(shown.split()))
    assert re.search(r"settings.size +5\s+Cells along one edge", shown)
    assert shown.startswith("hex-quick: Five-by-five Hex from nothing")


def test_what_a_preset_leaves_at_its_default_is_shown_on_demand(run):
    short, long = run("presets", "hex-quick"), run("presets", "hex-quick", "--all")
    keys, all_keys = (set(re.findall(r"^([a-z_.]+)(?:  .*| *)$", one.stdout, re.MULTILINE)) for one in (short, long))
    assert {"matches", "learner.batch_size", "checkpoint.every"} <= keys < all_keys
    assert {"seed", "learner.gamma", "checkpoint.keep"} <= all_keys - keys
    more = re.search(r"(\d+) more settings have their defaults; all: sparring presets hex-quick --all", short.stderr)
    assert int(more[1]) == len(all_keys - keys)
    assert "more settings" not in long.stderr


def test_settings_of_a_game_are_shown_without_torch():
    done, imported = sparring("settings", "hex")
    assert done.returncode == 0
    assert "size" in done.stdout
    assert "channels" in done.stdout
    assert "torch" not in imported


def test_game_settings_may_follow_a_game_without_an_opponent(run):
    result = run("play", "hex", "--size", "4", input="")
    assert result.exit_code == 0
    assert "a b c d\n" in result.stdout
    assert "e" not in result.stdout.split()


def test_evaluate_shows_how_far_it_is(run, monkeypatch):
    monkeypatch.setattr("sparring.report.progress.PLAIN_SECONDS", 0.0)
    errors = run("evaluate", "path", "random", "--game", "hex", "--size", "4", "--matches", "30").stderr
    assert re.search(r"evaluating +\d+%  \S+ left  \d+ of 30 matches", errors)


def test_an_evaluation_says_when_only_its_last_matches_go_on():
    assert _standing(396, 400, 12.3) == "396 of 400 matches  12.3 matches/s"
    assert _standing(399, 400, 12.3) == "399 of 400 matches; the last ones go on, each to its own end"


def test_ctrl_c_breaks_self_play_off_in_the_middle_of_a_move_and_keeps_what_has_ended(tmp_path):
    words = ["--model", "path", "--size", "4", "--matches", "10000000", "--save", "games", "--parallel", "64"]
    process = Process("selfplay", "hex", *words, cwd=tmp_path)
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and "self-play" not in process.stderr.read():
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert process.wait(60) == 0
    assert time.monotonic() - begun < 20
    said = process.stderr.read()
    assert "of 10,000,000 matches; the same command continues" in said
    assert "Traceback" not in said
    assert json.loads((tmp_path / "games" / "summary.json").read_text())["matches_stored"] > 0
