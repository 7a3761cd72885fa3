"""Bad settings get one clear line; curricula go through their stages and come back where they were."""

from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest

from sparring.core import InputError, load_game
from sparring.core.settings import convert
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.curriculum import RATINGS, Curriculum, elo
from sparring.games.rocket.settings import RocketSettings
from sparring.league import Seating, Style
from sparring.league.selfplay import Plan, self_play
from sparring.rollout import WorkerArena
from sparring.training.config import load_config
from sparring.training.opponents import find_opponents
from sparring.training.self_play import SelfPlay

TWO_STAGES = [
    {"name": "touch", "advance": {"measure": "touches_per_minute", "at_least": 3.0}, "starts": {"random": 1.0}},
    {"name": "team", "modes": ["2v2"]},
]


def settings(**values):
    return convert(values, RocketSettings, where="rocket")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"rewards": {"components": {"tuoch": 1.0}}}, "unknown name 'tuoch' \\(did you mean 'touch'"),
        ({"rewards": {"components": {"touch": "nan"}}}, "rewards.components.touch = .nan.: allowed: a finite number"),
        ({"stage": -1}, "stage = -1"),
        ({"stage": 2, "curriculum": TWO_STAGES, "room": 2}, "stage: 2 is not one of the 2 stages"),
        ({"modes": ["4v4"]}, "4v4"),
        ({"modes": ["3v3"]}, "modes: 3v3 needs room: 3, but room is 1"),
        ({"curriculum": TWO_STAGES}, r"curriculum\[1\].modes: 2v2 needs room: 2"),
        ({"curriculum": TWO_STAGES[:1]}, r"curriculum\[0\].advance"),
        ({"action_delay": 8}, "action_delay: 8 must be less than tick_skip"),
        ({"starts": {}}, "starts: name at least one"),
        ({"starts": {"kickof": 1.0}}, "kickof"),
        ({"tickskip": 8}, "tickskip: unknown key"),
    ],
)
def test_bad_settings_are_named_in_one_line(values, line):
    with pytest.raises(InputError, match=line) as caught:
        settings(**values)
    assert "\n" not in str(caught.value)


def test_a_stage_changes_what_it_names_and_nothing_else():
    staged = settings(room=2, seconds=20, curriculum=TWO_STAGES)
    assert staged.at(0).modes == ["1v1"]
    assert staged.at(0).starts == {"random": 1.0}
    assert staged.at(1).modes == ["2v2"]
    assert staged.at(1).seconds == 20


def test_a_stage_ends_when_its_aim_is_reached_often_enough_in_a_row():
    curriculum = Curriculum(settings(room=2, curriculum=TWO_STAGES).curriculum)
    assert not curriculum.observe({"touches_per_minute": 5.0})
    assert not curriculum.observe({"win_rate/rule": 1.0})  # says nothing about this aim
    assert not curriculum.observe({"touches_per_minute": 1.0})
    assert not curriculum.observe({"touches_per_minute": 5.0})
    assert curriculum.observe({"touches_per_minute": 5.0})
    assert curriculum.stage == 1
    assert not curriculum.observe({"touches_per_minute": 5.0})


def test_elo_is_the_rating_that_explains_the_scores_against_rated_players():
    assert elo({"touches_per_minute": 3.0}) is None
    assert elo({"win_rate/rule": 0.5}) == pytest.approx(RATINGS["rule"], abs=0.1)
    assert elo({"win_rate/rule": 10 / 11}) == pytest.approx(RATINGS["rule"] + 400, abs=0.1)
    rating = 350.0
    rates = {f"win_rate/{name}": 1 / (1 + 10 ** ((other - rating) / 400)) for name, other in RATINGS.items()}
    assert elo(rates) == pytest.approx(rating, abs=0.1)
    assert 500 < elo({"win_rate/random": 1.0}) < 1500


def test_a_stage_that_waits_for_an_elo_ends_with_it_and_the_elo_is_reported():
    stages = [
        {"name": "first", "advance": {"measure": "elo", "at_least": RATINGS["rule"], "times": 1}},
        {"name": "next"},
    ]
    arena = RocketArena(settings(curriculum=stages), matches=1, seed=0)
    assert arena.adapt({"rating/win_rate/rule": 0.4, "play/elo": 5000.0}) is None
    assert arena.report()["elo"] < RATINGS["rule"]
    assert arena.adapt({"play/touches_per_minute": 30.0}) is None
    assert arena.adapt({"rating/win_rate/rule": 0.6}) == "stage 2 of 2: next"


def test_the_arena_changes_stage_with_the_next_matches_and_stands_there_after_a_resume():
    staged = settings(room=2, seconds=0.3, curriculum=TWO_STAGES)
    arena = RocketArena(staged, matches=3, seed=0)
    assert arena.adapt({"play/touches_per_minute": 5.0}) is None
    assert arena.adapt({"play/touches_per_minute": 5.0}) == "stage 2 of 2: team"
    sizes = []
    for _ in range(8):
        decisions, _ = arena.wait()
        sizes.append(len(decisions))
        arena.act(decisions, np.zeros(len(decisions), np.int32))
    assert sizes[0] == 6
    assert sizes[-1] == 12
    assert arena.report()["stage"] == 1
    other = RocketArena(staged, matches=3, seed=0)
    other.stand_at(arena.standing())
    assert other.standing() == arena.standing()


def test_a_trained_agent_is_not_taught_a_beginners_lessons_again():
    """Reward schedules go on after the decisions that the weights of `init` were trained on, unless told otherwise."""
    small = ["matches=4", "init=rocket-1v1", "learner.batch_size=128", "learner.minibatch_size=128", "threads=1"]
    said = []
    for changes, rows in (([], 34_951_252), (["settings.played=1000"], 1000)):
        config, game = load_config("rocket-1v1", [*small, *changes])
        opponents = find_opponents(config, game, Path("nowhere"))
        run = SelfPlay(config, game, opponents, say=said.append)
        assert run.standing["rows"] == rows
        run.close()
    assert sum("reward schedules go on after 34,951,252 rows" in line for line in said) == 1
    plain = RocketArena(settings(), matches=2, seed=0)
    assert plain.go_on_after(1000) is None, "nothing that changes over time"


REFUSED = "rocket changes with how it is played, as one arena; settings.threads plays on several cores"


@pytest.mark.parametrize(
    ("preset", "asked", "key"),
    [("rocket-curriculum", "workers=2", "workers"), ("rocket-1v1", "cluster.address=auto", "cluster")],
)
def test_several_processes_are_refused_by_the_settings_alone(preset, asked, key):
    with pytest.raises(InputError, match=f"^{preset}: {key}: {REFUSED}$"):
        load_config(preset, [asked])


def test_workers_that_read_episodes_are_welcome(tmp_path):
    preset = tmp_path / "mine.yaml"
    preset.write_text("game: rocket\nlearner: {kind: imitation}\ndata: [games]\ndecisions: 1000\nmatches: 4\n")
    config, _ = load_config(str(preset), ["workers=2"])
    assert config.workers == 2


def test_several_processes_are_refused_before_any_begins(tmp_path):
    game = load_game("rocket")
    with pytest.raises(InputError, match=f"^workers: {REFUSED}$"):
        WorkerArena(game, settings(), matches=4, seed=0, workers=2)
    seating, plan = Seating.of("rule", game="rocket"), Plan(matches=4, workers=2)
    with pytest.raises(InputError, match=f"^workers: {REFUSED}$"):
        self_play(seating, tmp_path / "store", plan, style=Style(), say=print)
    assert not (tmp_path / "store").exists()
    assert not active_children()


@pytest.mark.parametrize("preset", ["rocket-1v1", "rocket-1v1-lstm", "rocket-curriculum"])
def test_presets_are_valid(preset):
    config, game = load_config(preset, [])
    assert game.name == "rocket"
    staged = convert(config.settings, RocketSettings, where=preset)
    if preset == "rocket-curriculum":
        assert len(staged.curriculum) == 5
        assert staged.at(0).modes == ["1v1"]
        assert staged.at(4).modes == ["3v3"]


@pytest.mark.parametrize(
    ("preset", "memory"), [("rocket-1v1", False), ("rocket-1v1-lstm", True), ("rocket-curriculum", True)]
)
def test_a_preset_learns_an_update_with_the_memory_it_names(preset, memory):
    small = [
        "matches=4",
        "learner.batch_size=128",
        "learner.minibatch_size=64",
        "network.width=16",
        "learner.truncate_after=16",
    ]
    config, game = load_config(preset, small)
    training = SelfPlay(config, game, find_opponents(config, game, Path("run")), say=lambda text: None)
    values = training.advance()
    segment = training.playing.collector._segment
    training.close()
    assert np.isfinite(values["loss/policy_loss"])
    assert segment == (16 if memory else 0)
