"""Training in a league: who is met, who joins and leaves the pool, and that nothing of it is lost."""

import json
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sparring.core import Answers, InputError
from sparring.inference import NetworkPlayer
from sparring.policy.checkpoint import load_checkpoint, save_checkpoint
from sparring.rollout import Meetings
from sparring.training.config import validate_config
from sparring.training.league import LeagueSettings
from sparring.training.league.matchmaking import Member, most_alike, shares
from sparring.training.league.player import PoolPlayer
from sparring.training.loop import train
from sparring.training.rating import Ratings
from sparring.training.run import RunFolder
from sparring.training.self_play import SelfPlay
from sparring.training.state import restore
from tests import hex
from tests.runs import lines, updates
from tests.warm import Process, group

TINY = {
    "game": "hex",
    "settings": {"size": 3},
    "network": {"channels": 8, "blocks": 1},
    "learner": {"kind": "ppo", "batch_size": 200, "minibatch_size": 100, "epochs": 1, "lr_schedule": "constant"},
    "decisions": 2400,
    "matches": 24,
    "threads": 1,
    "backend": "torch",
    "checkpoint": {"every": 1, "keep": 1},
    "evaluation": {"every": 0, "matches": 4, "opponents": ["random"]},
    "league": {"every": 2, "keep": 3, "mix": {"self": 0.2, "hard": 0.4, "uniform": 0.4}},
}
RNAD = {"kind": "rnad", "batch_size": 200, "minibatch_size": 100, "target_network_avg": 0.5, "temperature": 2.0}


def run(folder, **changes):
    config, game = validate_config({**TINY, **changes}, where="test")
    return train(config, game, RunFolder(Path(folder)), say=lambda text: None)


def members(folder):
    """The names in the last resume state, without those that only end their matches."""
    state = max(Path(folder).glob("resume/*/state.json"))
    league = json.loads(state.read_text())["values"]["league"]
    return [member["name"] for member in league["members"] if not member["retired"]]


def pool(*rates, role="main"):
    return [Member(number, f"m{number}", role, 100 * rate - 1, 98) for number, rate in enumerate(rates, 5)]


@pytest.mark.parametrize(
    ("mix", "wanted"),
    [
        ({"self": 1}, [0, 0, 0]),
        ({"uniform": 1}, [1 / 3, 1 / 3, 1 / 3]),
        ({"self": 3, "uniform": 1}, [1 / 12, 1 / 12, 1 / 12]),
        ({"hard": 1}, [0.64 / 0.93, 0.25 / 0.93, 0.04 / 0.93]),
        ({"even": 1}, [0.16 / 0.57, 0.25 / 0.57, 0.16 / 0.57]),
        ({"newest": 1}, [0, 0, 1]),
        ({"exploiters": 1}, [0, 0, 0]),
        ({"exploiters": 5, "uniform": 1}, [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_opponents_are_drawn_by_the_win_rate_against_them(mix, wanted):
    found = shares(pool(0.2, 0.5, 0.8), LeagueSettings(mix=mix))
    assert [found.get(number, 0.0) for number in (5, 6, 7)] == pytest.approx(wanted)


def test_those_near_in_elo_points_are_met_most():
    found = shares(pool(0.5, 0.76, 0.99), LeagueSettings(mix={"near": 1}, elo_width=200))
    assert found[6] / found[5] == pytest.approx(np.exp(-0.5), rel=0.01)  # 76% are 200 points
    assert found[7] < 0.01


def test_exploiters_meet_main_runs_alone_and_main_meets_exploiters():
    members = [*pool(0.5, 0.5), Member(9, "x", "exploiter", 20, 98)]
    assert set(shares(members, LeagueSettings(role="exploiter", runs=("r",)))) == {5, 6}
    assert shares(members, LeagueSettings(mix={"exploiters": 1})) == {9: 1.0}
    assert set(shares(members, LeagueSettings(role="league_exploiter", runs=("r",)))) == {5, 6, 9}
    members[2].retired = True
    assert 9 not in shares(members, LeagueSettings())


def test_who_leaves_is_the_one_most_like_others():
    everyone = pool(0.2, 0.5, 0.52, 0.9)
    policies = {member.number: np.full((4, 2), 0.5) for member in everyone}
    assert most_alike(everyone, policies, keep=8).win_rate in (0.5, 0.52)
    policies[6] = policies[7] = np.tile([1.0, 0.0], (4, 1))
    policies[7] = np.tile([0.0, 1.0], (4, 1))
    assert most_alike(everyone, policies, keep=8).number == 5, "of like strength, but of another style"


def test_in_rock_paper_scissors_answering_the_newest_circles_and_answering_the_pool_does_not():
    """Exact best responses in place of a learner: what is drawn makes the difference."""
    wins = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])

    def throws(mix, rounds=300):
        pool = [Member(1, "rock", "main")]
        thrown, settings = [0], LeagueSettings(mix=mix)
        for number in range(2, rounds):
            met = np.zeros(3)
            for member, share in shares(pool, settings).items():
                met[thrown[member - 1]] += share
            thrown.append(int((wins @ met).argmax()))
            pool.append(Member(number, "m", "main"))
        return np.bincount(thrown, minlength=3) / len(thrown), thrown

    _, thrown = throws({"newest": 1})
    assert thrown[:6] == [0, 1, 2, 0, 1, 2], "whatever it beats, it loses to what it was two steps before"
    mix, thrown = throws({"uniform": 1})
    assert thrown[:6] != [0, 1, 2, 0, 1, 2]
    assert (wins @ mix).max() < 0.15, "the pool as a whole is nearly unexploitable, and nearer with time"
    assert (wins @ throws({"uniform": 1}, 900)[0]).max() < (wins @ mix).max()


def test_old_results_fade():
    member = Member(1, "m", "main")
    assert member.win_rate == 0.5
    member.note(400, 400, window=100)
    assert member.matches == 100
    member.note(0, 100, window=100)
    assert member.win_rate == pytest.approx(0.5)


def test_snapshots_join_every_n_updates_and_the_pool_keeps_its_size(tmp_path):
    run(tmp_path / "r")
    told = updates(tmp_path / "r")
    assert [line["league/members"] for line in told][:8] == [0, 1, 1, 2, 2, 3, 3, 3]
    kept = members(tmp_path / "r")
    assert len(kept) == 3
    assert f"{2 * (len(told) // 2):08d}" in kept, "the newest stays"
    last = told[-1]
    assert all(0 < last[f"league/win_rate/{name}"] < 1 for name in kept[:2])
    assert load_checkpoint(tmp_path / "r" / "pool" / kept[0]).about["league"] == {"role": "main"}
    assert any(line["play/mean_return"] != 0 for line in told), "in self-play alone it is 0"


@pytest.mark.parametrize(
    ("memory", "learner"),
    [("none", TINY["learner"]), ("lstm", TINY["learner"]), ("lstm", RNAD)],
    ids=["ppo", "ppo-lstm", "rnad-lstm"],
)
def test_a_resumed_run_keeps_pool_table_and_draws_bit_for_bit(tmp_path, memory, learner):
    changes = {"network": {**TINY["network"], "memory": memory}, "opponents": {"random": 0.2}, "learner": learner}
    run(tmp_path / "whole", **changes, decisions=1900)
    for decisions in (700, 1500, 1900):
        run(tmp_path / "parts", **changes, decisions=decisions)
    ours, theirs = (updates(tmp_path / name) for name in ("parts", "whole"))
    assert ours == theirs
    assert members(tmp_path / "parts") == members(tmp_path / "whole")
    for name in members(tmp_path / "whole"):
        one, other = (load_checkpoint(tmp_path / folder / "pool" / name) for folder in ("parts", "whole"))
        assert all(torch.equal(weight, other.weights[key]) for key, weight in one.weights.items())


def test_a_killed_run_goes_on_with_its_pool_whole(tmp_path):
    config = tmp_path / "preset.yaml"
    config.write_text(json.dumps({**TINY, "checkpoint": {"every": 3, "keep": 1}}))
    process = Process("train", config, "decisions=1000000", "--run", tmp_path / "r")
    metrics, deadline = tmp_path / "r" / "metrics.jsonl", time.monotonic() + 120
    while time.monotonic() < deadline and not (metrics.exists() and metrics.read_text().count("\n") >= 11):
        time.sleep(0.02)
    process.kill()
    process.wait()
    reached = max(int(path.name) for path in (tmp_path / "r").glob("resume/[0-9]*"))
    decisions = next(line["decisions"] for line in updates(tmp_path / "r") if line["update"] == reached) + 800
    run(tmp_path / "r", checkpoint={"every": 3, "keep": 1}, decisions=decisions)
    run(tmp_path / "whole", checkpoint={"every": 3, "keep": 1}, decisions=decisions)
    assert lines(tmp_path / "r") == lines(tmp_path / "whole")
    assert members(tmp_path / "r") == members(tmp_path / "whole")


@pytest.mark.parametrize(
    "changes",
    [
        {"workers": 1, "overlap": True},
        {"learner": {"kind": "magnet", "ppo": TINY["learner"] | {"kind": "ppo"}}},
        {
            "learner": {
                "kind": "alphazero",
                "batch_size": 100,
                "minibatch_size": 64,
                "search": {"kind": "gumbel", "simulations": 4},
            },
            "decisions": 600,
        },
        {"learner": RNAD},
    ],
    ids=["overlap", "magnet", "alphazero", "rnad"],
)
def test_every_way_to_play_and_learn_takes_a_league(tmp_path, changes):
    run(tmp_path / "r", **changes)
    assert any(name.startswith("league/win_rate/") for line in updates(tmp_path / "r") for name in line)


def together(folder, decisions, **league):
    """A run of two processes."""
    preset = folder.parent / "preset.yaml"
    league = {**TINY["league"], "keep": 2, **league}
    preset.write_text(json.dumps({**TINY, "league": league, "report": [], "parallel": {"scaling": "off"}}))
    processes = group("train", preset, f"decisions={decisions}", "--run", folder)
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said


def test_several_processes_have_one_pool(tmp_path):
    """They count results together and play by the same shares; only rank 0 writes members."""
    together(tmp_path / "r", 1100)
    newest = max((tmp_path / "r" / "resume").glob("[0-9]*"))
    first, second = (
        json.loads((path / "state.json").read_text())["values"]
        for path in (newest, newest.parent / "rank-1" / newest.name)
    )
    assert first["league"] == second["league"]
    assert sum(member["matches"] for member in first["league"]["members"]) > 0
    assert first["meetings"][-1][1:] == second["meetings"][-1][1:], "the same shares"
    kept = {path.name for path in (tmp_path / "r" / "pool").iterdir()}
    assert {member["name"] for member in first["league"]["members"]} <= kept


@pytest.mark.slow
def test_several_processes_resume_their_pool_bit_for_bit_and_take_in_other_runs(tmp_path):
    run(tmp_path / "other", decisions=900)
    for folder, parts in (("whole", [1900]), ("parts", [700, 1900])):
        for decisions in parts:
            together(tmp_path / folder, decisions, runs=[str(tmp_path / "other")])
    assert updates(tmp_path / "parts") == updates(tmp_path / "whole")
    league = json.loads((max((tmp_path / "whole/resume").glob("[0-9]*")) / "state.json").read_text())["values"][
        "league"
    ]
    assert list(league["seen"]) == [str(tmp_path / "other")]
    assert league["next"] > 5, "members have come and gone: two are kept"


def test_matches_that_begin_anew_when_a_run_goes_on_are_counted_as_they_are_played(tmp_path):
    """An arena that cannot keep its matches: those of a resumed run have been drawn before the pool is there."""
    config, game = validate_config({**TINY, "decisions": 900, "league": {"every": 1, "mix": {"uniform": 1}}}, where="t")
    train(config, game, RunFolder(tmp_path / "r"), say=lambda text: None)
    selfplay = SelfPlay(config, game, {}, say=lambda text: None, pool=tmp_path / "r" / "pool")
    with closing(selfplay):
        state = RunFolder(tmp_path / "r").read_resume(max(int(p.name) for p in (tmp_path / "r/resume").glob("[0-9]*")))
        lost = replace(state, playing={})
        restore(lost, selfplay, Ratings(selfplay.rater, RunFolder(tmp_path / "r"), selfplay.stages), run=tmp_path)
        episodes, _ = selfplay._collect()
    seats = np.bincount(episodes.headers.serial)
    alone = np.flatnonzero(seats == 1)
    met = selfplay._opposition.lineup.opponents(episodes.headers.serial)
    assert len(alone) > 0
    np.testing.assert_array_equal(met > 0, seats[episodes.headers.serial] == 1)


def test_of_rnad_the_target_network_joins_the_pool(tmp_path):
    """It is the policy that is rated and saved; the acting one has moved further."""
    run(tmp_path / "r", learner=RNAD, checkpoint={"every": 1, "keep": 100}, decisions=700)
    (name, *_) = members(tmp_path / "r")
    member, saved = (load_checkpoint(tmp_path / "r" / folder / name) for folder in ("pool", "checkpoints"))
    assert all(torch.equal(weight, saved.weights[key]) for key, weight in member.weights.items())


def test_two_runs_form_a_league_and_an_exploiter_begins_anew_after_each_snapshot(tmp_path):
    run(tmp_path / "main")
    role = {"role": "exploiter", "runs": [str(tmp_path / "main")], "every": 3}
    run(tmp_path / "exploiter", league=role)
    taken = [name for name in members(tmp_path / "exploiter") if "-main-" in name]
    assert {name.rpartition("-")[2] for name in taken} >= set(members(tmp_path / "main"))
    own = [load_checkpoint(tmp_path / "exploiter" / "pool" / name) for name in members(tmp_path / "exploiter")]
    assert {"exploiter", "main"} == {one.about["league"]["role"] for one in own}
    run(tmp_path / "next", league={**TINY["league"], "keep": 10, "runs": [str(tmp_path / "exploiter")]}, decisions=1000)
    roles = {load_checkpoint(path).about["league"]["role"] for path in (tmp_path / "next" / "pool").iterdir()}
    assert roles == {"main", "exploiter"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"league": {"role": "exploiter"}}, "league.runs: an exploiter needs the run that it exploits"),
        ({"league": {"mix": {"hard": 0}}}, "league.mix: some weight must be above 0"),
        ({"league": {"mix": {"hrad": 1}}}, r"league.mix.hrad: unknown key \(did you mean 'hard'\?\)"),
        ({"league": {"keep": 1}}, "league.keep = 1"),
        ({"league": {"role": "boss"}}, "league.role = 'boss'"),
        ({"league": {"evry": 3}}, r"league.evry: unknown key \(did you mean 'every'\?\)"),
    ],
)
def test_a_league_that_cannot_be_is_refused_in_one_line(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        run(tmp_path / "r", **changes)
    assert not (tmp_path / "r").exists()


def test_a_member_that_is_gone_or_damaged_is_named(tmp_path):
    run(tmp_path / "r", decisions=900)
    name = members(tmp_path / "r")[0]
    weights = tmp_path / "r" / "pool" / name / "policy.safetensors"
    weights.write_bytes(weights.read_bytes()[:-7] + b"mutated")
    with pytest.raises(InputError, match=f"pool/{name}"):
        run(tmp_path / "r")


def test_code_that_a_snapshot_of_another_run_names_is_not_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "trap_in_pool.py").write_text("raise SystemExit(99)")
    run(tmp_path / "main", decisions=900)
    (name, *_) = members(tmp_path / "main")
    taken = load_checkpoint(tmp_path / "main" / "pool" / name)
    save_checkpoint(tmp_path / "main" / "pool" / name, replace(taken, network={"factory": "trap_in_pool:build"}))
    with pytest.raises(InputError, match="code of your own"):
        run(tmp_path / "r", league={**TINY["league"], "runs": [str(tmp_path / "main")]})
    assert "trap_in_pool" not in sys.modules


def test_nobody_leaves_the_pool_in_the_middle_of_an_answer():
    """With `overlap` a thread plays while members come and go."""
    asked, leaving = [], []

    class Engine:
        def answer_each(self, decisions, policies, which):
            asked.append(policies)
            leaving.append(threading.Thread(target=pool.drop, args=(1,)))
            leaving[0].start()
            leaving[0].join(0.05)
            assert leaving[0].is_alive()
            return Answers(action=np.zeros(len(decisions), np.int32))

    def seat(engine, policy):
        return object.__new__(NetworkPlayer)

    meetings = Meetings(2, seed=0, last=1)
    meetings.change({2: 1.0}, at=0)
    pool = PoolPlayer(Engine(), meetings, matches=4, seat=seat)
    pool.add(1, "old")
    pool.add(2, "young")
    arena = hex.arena(size=3, matches=4)
    decisions, _ = arena.wait()
    pool.begin(np.arange(4), np.arange(4))
    pool.act(decisions)
    leaving[0].join(10)
    assert asked == [["old", "young"]]
    assert pool.playing() == {2}
    with pytest.raises(KeyError):
        pool.drop(1)
