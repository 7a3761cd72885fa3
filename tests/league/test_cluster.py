"""Self-play by name on a Ray cluster: as many matches as were asked for, each once, whoever dies."""

import json

import numpy as np
import pytest

from tests.clusters import simulated

from sparring.league import Seating, Style  # isort: skip
from sparring.league.cluster import MatchesOnCluster, SeatingPlaying  # isort: skip
from sparring.rollout.collector import Counters  # isort: skip
from sparring.rollout.fleet import Piece, Stream  # isort: skip
from sparring.rollout.store import read_episodes  # isort: skip
from sparring.serving.models import ModelSource  # isort: skip
from tests import hex  # isort: skip
from tests.commands import sparring  # isort: skip
from tests.serving.support import running  # isort: skip


@pytest.fixture
def seating():
    return Seating.of("random", "path", game="hex", settings={"size": 4})


def serials(piece, spec):
    episodes = piece.episodes(spec)
    return [] if episodes is None else np.unique(episodes.headers.serial).tolist()


def test_a_process_hands_over_the_matches_it_was_given_and_no_others(seating):
    stream = Stream(3, 1)
    part = SeatingPlaying(seating, Style(), 8, 0, False, stream)
    found = serials(part.collect(60.0, 5), seating.spec)
    assert found == list(range(stream.first_serial, stream.first_serial + 5))
    assert part.collect(0.1, 0).columns == {}
    begun = part._collector.next_serial
    later = serials(part.collect(60.0, 20), seating.spec)
    assert len(later) == 20
    assert min(later) >= begun  # given out before they began
    part.close()


class Dying:
    """A fleet of two, of which the first dies with what it was given."""

    def __init__(self, parts, give, lost):
        self.parts, self.give, self.lost, self.turn = parts, give, lost, 0

    def take(self):
        self.turn += 1
        if self.turn == 3:
            dead = self.parts.pop(0)
            self.lost(dead.stream)
        part = self.parts[self.turn % len(self.parts)]
        return part.stream, part.collect(0.05, *self.give(part.stream))


def test_matches_of_who_dies_are_given_out_again(seating):
    made = object.__new__(MatchesOnCluster)
    made.counters, made._spec, made._left, made._given, made._each = Counters(), seating.spec, 100, {}, 8
    parts = []
    for number in (0, 1):
        part = SeatingPlaying(seating, Style(), 8, 0, False, Stream(0, number))
        part.stream = Stream(0, number)
        parts.append(part)
    made._fleet = Dying(parts, made._give, made._take_back)
    found = []
    for _ in range(2000):
        episodes = made.more()
        found += [] if episodes is None else np.unique(episodes.headers.serial).tolist()
        if len(found) >= 100:
            break
    assert len(found) == len(set(found)) == 100
    assert made._left == 0


def test_failed_matches_are_replaced(seating):
    made = object.__new__(MatchesOnCluster)
    made.counters, made._spec, made._left, made._given, made._each = Counters(), seating.spec, 10, {}, 4
    stream = Stream(0, 0)
    assert made._give(stream) == (8,)
    made._fleet = type("Once", (), {"take": lambda self: (stream, Piece.of(None, Counters(failed=3)))})()
    assert made.more() is None
    assert (made._given[stream], made._left) == (5, 5)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_collectors_of_a_cluster_ask_one_policy_server(tmp_path):
    model = ModelSource("main", hex.spec(), hex.policy(), 4)
    with running(model) as server, simulated(2, 1) as cluster:
        words = ["selfplay", "hex", "--model", f"{server.address}/main", "--size", 4, "--matches", 200]
        where = ["--parallel", 16, "--save", tmp_path / "games", "--cluster", cluster.address]
        done, _ = sparring(*words, *where, timeout=500)
        served = server.models["main"].report()
    assert done.returncode == 0, done.stderr
    headers = [episodes.headers for episodes in read_episodes(tmp_path / "games")]
    assert len(np.unique(np.concatenate([part.serial for part in headers]))) == 200
    assert {version for part in headers for version in part.version.tolist()} == {4}
    assert served.rows >= sum(int(part.lengths.sum()) for part in headers)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_command_plays_on_a_cluster(tmp_path):
    with simulated(2, 1) as cluster:
        words = ["selfplay", "hex", "--model", "random", "--opponent", "path", "--size", 4, "--matches", 300]
        where = ["--parallel", 16, "--shard", 100, "--save", tmp_path / "games", "--cluster", cluster.address]
        done, _ = sparring(*words, *where, timeout=500)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "games" / "summary.json").read_text())["matches"] == 300
    headers = [episodes.headers for episodes in read_episodes(tmp_path / "games")]
    found = np.concatenate([part.serial for part in headers])
    assert len(found) == 600
    assert len(np.unique(found)) == 300
