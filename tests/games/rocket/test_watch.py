"""Recordings, pages, pictures, streams, reward studies and set-up."""

import json
import re
import socket
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from sparring.cli import app
from sparring.core import InputError, RunError, load_game
from sparring.games.rocket import setup
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.highlights import keep_highlights, read_highlights
from sparring.games.rocket.players import RulePlayer, TowardBallPlayer
from sparring.games.rocket.reward_study import first_and_last, reward_series, variants
from sparring.games.rocket.settings import RocketSettings
from sparring.games.rocket.stream import open_stream, rocketsimvis_packet
from sparring.games.rocket.watch import animated_picture, best_for_blue, html_page, record, summary, write_recording
from sparring.rollout import Collector, taking_turns


@pytest.fixture(scope="module")
def recordings():
    settings = RocketSettings(modes=["2v2"], room=2, end="clock", seconds=3, overtime_seconds=0)
    arena = RocketArena(settings, matches=1, seed=1)
    players = RulePlayer(settings, 0), TowardBallPlayer(settings, 0)
    return record(arena, *players, names=("rule", "<b>toward</b>"), matches=2)


def test_a_recording_has_every_frame_of_its_match(recordings):
    assert len(recordings) == 2
    first = recordings[0]
    assert len(first.ball) == 45  # 3 seconds at 15 decisions a second
    assert first.cars.shape == (45, 4, 3)
    assert first.orange.tolist() == [False, False, True, True]
    assert np.abs(np.diff(first.cars[:, 0], axis=0)).max() < 200
    assert best_for_blue(recordings).reward[:2].sum() == max(r.reward[:2].sum() for r in recordings)
    assert re.match(r"rule \d : \d <b>toward</b>, ended by time after 3 s, touches \d+ : \d+", summary(first))


def test_matches_of_an_arena_are_followed_to_their_last_goal():
    settings = RocketSettings(modes=["1v1"], room=2, end="clock", seconds=4, overtime_seconds=1)
    arena, kept, ended = RocketArena(settings, matches=3, seed=2), {}, 0
    load_game("rocket").follow(arena, kept.__setitem__)
    players = {"rule": RulePlayer(settings, 0), "</script>": TowardBallPlayer(settings, 0)}
    collector = Collector(arena, players, taking_turns([0, 1], 4))
    while ended < 6:
        _, results = collector.advance()
        for at, slot in enumerate(results.match.tolist()):
            points = results.points[at]
            record, ended = kept.pop(slot), ended + 1
            page = record.render(("ann", "</script>")).decode()
            data = match_in(page)
            assert data["goals"][-1] == [points[0], points[2]]
            assert data["ending"] == arena.endings[results.ending[at]]
            assert record.margin == abs(points[0] - points[2])
            assert 60 <= len(data["ball"]) <= 76
            assert len(data["orange"]) == 2
            assert page.count("</script>") == 2


def match_in(page):
    """What the page holds as data."""
    return json.loads(re.search(r'<script type="application/json" id="match">(.*?)</script>', page).group(1))


def test_the_page_stands_alone_and_holds_the_match(recordings):
    page = html_page(recordings[0])
    assert "http" not in page.replace("http-equiv", "")
    assert "<b>toward" not in page
    assert "default-src 'none'" in page
    data = match_in(page)
    assert data["ending"] == "time"
    assert len(data["ball"]) == len(data["cars"]) == len(data["goals"]) == 45
    assert len(data["pads"]) == 34
    assert len(data["taken"]) == 45
    assert data["taken"][20] == np.flatnonzero(recordings[0].taken[20]).tolist()


def test_the_picture_moves(recordings):
    with Image.open(BytesIO(animated_picture(recordings[0]))) as picture:
        assert picture.n_frames > 20
        first = np.asarray(picture.convert("RGB")).copy()
        picture.seek(15)
        assert (first != np.asarray(picture.convert("RGB"))).any()


def test_only_the_matches_that_paid_most_of_all_updates_are_kept(recordings, tmp_path):
    paying = [replace(recordings[0], reward=np.float32([pay, 0, 9, 9])) for pay in (1, 5, 3, 4)]
    keep_highlights(paying[:2], tmp_path, update=7, keep=2)
    kept = keep_highlights(paying[2:], tmp_path, update=8, keep=2)
    assert [(match.update, match.reward) for match in kept] == [(7, 5.0), (8, 4.0)]
    assert read_highlights(tmp_path) == kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000007-2.html", "00000008-2.html", "index.json"]
    assert keep_highlights(paying[2:], tmp_path, update=8, keep=2) == kept  # a resumed run comes by again
    assert kept[0].result == summary(recordings[0])


def test_a_list_of_matches_that_is_none_is_named(tmp_path):
    assert read_highlights(tmp_path) == []
    (tmp_path / "index.json").write_text('[{"page": 3}]')
    with pytest.raises(InputError, match=r"index\.json: not a list of matches"):
        read_highlights(tmp_path)


def test_rocketsimvis_gets_the_field_over_udp():
    arena = RocketArena(RocketSettings(), matches=1, seed=0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(10)
        stream = open_stream(f"rocketsimvis:127.0.0.1:{receiver.getsockname()[1]}", seconds_a_frame=0.01)
        stream(arena.look(0))
        packet = json.loads(receiver.recv(65536))
    assert packet["ball_phys"]["pos"] == pytest.approx([0, 0, 93.15], abs=0.01)
    assert [car["team_num"] for car in packet["cars"]] == [0, 1]
    assert packet["cars"][0]["boost_amount"] == pytest.approx(1 / 3)
    assert packet["boost_pad_states"] == [True] * 34
    assert json.loads(rocketsimvis_packet(arena.look(0))) == packet


def test_an_unknown_viewer_is_named():
    with pytest.raises(InputError, match="unknown viewer 'vlc'"):
        open_stream("vlc", seconds_a_frame=0.1)


@pytest.mark.parametrize("kind", ["gif", "png", "webp"])
def test_a_picture_is_what_its_name_says(recordings, tmp_path, kind):
    write_recording(recordings[0], tmp_path / "match.html", tmp_path / f"match.{kind}")
    with Image.open(tmp_path / f"match.{kind}") as picture:
        assert picture.format == kind.upper()
        assert picture.n_frames > 20


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["rule", "--picture", "x.mp4"], r"x\.mp4: pictures can be \.gif, \.png, \.webp, not \.mp4"),
        (["hex-7x7"], "hex-7x7: a checkpoint of hex cannot play rocket"),
        (["rule", "--page", "no/such/match.html"], r"no/such/match\.html: there is no folder no/such"),
        (["rule", "--picture", "no/such/x.gif"], r"no/such/x\.gif: there is no folder no/such"),
        (["rule", "--opponent", "hex-7x7"], "hex-7x7: a checkpoint of hex cannot play rocket"),
    ],
)
def test_what_cannot_be_watched_is_refused_before_anything_is_played(words, line, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["watch", "rocket", *words])
    assert done.exit_code != 0
    assert isinstance(done.exception, InputError)
    assert re.search(line, str(done.exception))
    assert not list(tmp_path.iterdir())


def test_rewards_of_a_run_are_read_by_component(tmp_path):
    lines = [{"update": n, "play/reward/touch": n / 10, "play/reward/goal": 1 - n / 10} for n in range(10)]
    lines.append({"update": 9, "rating/update": 9})  # the final rating
    (tmp_path / "metrics.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    series = reward_series(tmp_path)
    assert {name: len(values) for name, values in series.items()} == {"touch": 10, "goal": 10}
    assert first_and_last(series) == {"touch": (0.0, 0.9), "goal": (1.0, pytest.approx(0.1))}
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"update": 1}))
    with pytest.raises(InputError, match="no rewards by component"):
        reward_series(tmp_path)


def test_an_ablation_leaves_out_one_component_at_a_time():
    runs = variants("rocket", {"rewards": {"components": {"goal": 1.0, "touch": 0.5}}})
    assert runs == {
        "all": [],
        "without goal": ['settings.rewards.components={"goal": 0.0, "touch": 0.5}'],
        "without touch": ['settings.rewards.components={"goal": 1.0, "touch": 0.0}'],
    }
    with pytest.raises(InputError, match="an ablation needs a rocket preset"):
        variants("hex", {})


TINY = """
game: rocket
settings:
  seconds: 2
  idle_seconds: 0
  starts: {near_goal: 1}
  rewards: {components: {touch: 1.0, speed_to_ball: 0.5}}
network: {width: 16, layers: 1}
learner: {kind: ppo, batch_size: 128, epochs: 1, minibatch_size: 64, truncate_after: 16}
matches: 4
evaluation: {matches: 2, opponents: [toward-ball]}
"""


def test_an_ablation_trains_every_variant_and_compares_them(tmp_path):
    """The command from start to end; a run also keeps its best matches."""
    (tmp_path / "tiny.yaml").write_text(TINY)
    runs = tmp_path / "runs"
    arguments = ["rewards", "ablate", str(tmp_path / "tiny.yaml"), "--decisions", "200", "--folder", str(runs)]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in runs.iterdir()) == ["all", "without-speed_to_ball", "without-touch"]
    for run in ("all", "without touch", "without speed_to_ball"):
        assert re.search(rf"{run}\s+\d+\.\d\d", done.output), done.output
    first = {path.name: json.loads((path / "metrics.jsonl").read_text().splitlines()[0]) for path in runs.iterdir()}
    assert first["all"]["play/reward/speed_to_ball"] != 0
    assert first["without-speed_to_ball"]["play/reward/speed_to_ball"] == 0
    assert len(read_highlights(runs / "all" / "matches")) == 4


def test_set_up_says_what_is_missing_and_does_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path))
    monkeypatch.setattr(setup, "_started", [])
    with pytest.raises(InputError, match="run `sparring setup rocket` once"):
        setup.start_rocketsim()
    said = []
    monkeypatch.setattr(setup, "PACKAGE", "rlgym-rocket-league==0.0.0.no.such.version")
    with pytest.raises(RunError, match="pip could not fetch"):
        setup.setup_rocket(say=said.append)
    assert not setup.mesh_folder().exists()
    monkeypatch.undo()
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path))
    monkeypatch.setattr(setup, "SHA256", "0" * 64)
    with pytest.raises(RunError, match="DO NOT MATCH THE HASHES"):
        setup.setup_rocket(say=said.append)
    assert not setup.mesh_folder().exists()
    folder = setup.mesh_folder() / "soccar"
    folder.mkdir(parents=True)
    for number in range(setup.MESHES):
        (folder / f"mesh_{number}.cmf").touch()
    setup.setup_rocket(say=said.append)
    assert "already" in said[-1]


@pytest.mark.parametrize("page", ["../../outside.html", "/etc/passwd", "", ".hidden"])
def test_a_list_of_highlights_names_no_file_outside_its_folder(tmp_path, page):
    (tmp_path / "index.json").write_text(json.dumps([{"page": page, "update": 1, "reward": 0.0, "result": ""}]))
    with pytest.raises(InputError, match="is no file of this folder"):
        read_highlights(tmp_path)
