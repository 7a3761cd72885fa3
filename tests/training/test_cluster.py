"""Training whose matches are played on a Ray cluster: the same episodes, new weights in time, hosts that are lost."""

import json
from collections import deque
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tests.clusters import simulated

from sparring.core import InputError, load_game  # isort: skip
from sparring.inference import Device  # isort: skip
from sparring.policy.checkpoint import tensor_bytes  # isort: skip
from sparring.policy.network import build_network  # isort: skip
from sparring.rollout import fleet as fleets  # isort: skip
from sparring.rollout.fleet import Piece, Stream  # isort: skip
from sparring.training.cluster import ClusterPlay, RunPlaying  # isort: skip
from sparring.training.config import validate_config  # isort: skip
from sparring.training.league.away import MET, ROSTER, Roster, Seated  # isort: skip
from sparring.training.opponents import find_opponents  # isort: skip
from sparring.training.self_play import SelfPlay  # isort: skip
from sparring.training.served import ServedPolicy  # isort: skip
from tests.bench import slowed  # isort: skip
from tests.commands import sparring  # isort: skip

CONFIG = {
    "game": "hex",
    "settings": {"size": 4},
    "network": {"channels": 8, "blocks": 1},
    "learner": {"kind": "ppo", "batch_size": 512, "minibatch_size": 512, "epochs": 1},
    "matches": 16,
    "threads": 1,
    "opponents": {"random": 0.25},
    "evaluation": {"matches": 4},
    "report": [],
}


def prepared(**changes):
    config, game = validate_config({**CONFIG, **changes}, where="test")
    return config, game, find_opponents(config, game, Path("nowhere"))


def playing(number=0, access=None, **changes):
    config, game, opponents = prepared(**changes)
    seated = {name: opponents[name] for name in config.opponents}
    return RunPlaying(config, game, seated, 4, access, Stream(0, number))


def weights_of(part):
    return tensor_bytes(part._engine.weights("main"))


def test_a_piece_is_whole_episodes_that_come_out_as_they_went_in():
    part = playing()
    piece = part.collect(60.0, 100)
    spec = part._engine.spec
    episodes = piece.episodes(spec)
    assert episodes.rows >= 100
    assert piece.counters.decisions >= episodes.rows
    assert part._collector.counters.decisions == 0
    assert set(episodes.columns()) == set(piece.columns)
    again = Piece.of(episodes, piece.counters).episodes(spec)
    for name, array in episodes.columns().items():
        np.testing.assert_array_equal(again.columns()[name], array)


def test_a_piece_takes_no_longer_than_it_may_and_may_be_empty():
    part = playing()
    piece = part.collect(0.0, 100)
    assert piece.columns == {}
    assert piece.episodes(part._engine.spec) is None


def test_collectors_share_the_lot_of_opponents_but_no_match():
    spec, serials, met = None, [], []
    for number in (0, 1):
        part = playing(number)
        spec = part._engine.spec
        headers = part.collect(60.0, 400).episodes(spec).headers
        serials.append(set(headers.serial.tolist()))
        own, counts = np.unique(headers.serial, return_counts=True)
        met.append(dict(zip(own.tolist(), (counts == 1).tolist(), strict=True)))
    assert not serials[0] & serials[1]
    lot = part._collector._lineup
    for against_random in met:
        drawn = lot(np.array(list(against_random), np.int64)).max(axis=1) == 1
        assert drawn.tolist() == list(against_random.values())


def test_new_weights_are_taken_up_with_their_version():
    part, other = playing(), playing(1)
    part.swap(weights_of(other), 5)
    assert weights_of(part) == weights_of(other)
    assert part.collect(60.0, 200).episodes(part._engine.spec).headers.version.max() == 5


def test_a_collector_that_asks_plays_as_one_with_a_network_of_its_own():
    alone = playing()
    spec, weights = alone._engine.spec, alone._engine.weights("main")
    served = ServedPolicy(
        build_network(CONFIG["network"], load_game("hex"), spec),
        spec,
        "tcp://127.0.0.1:0",
        matches=4,
        device=Device("cpu", "float32"),
        timeout=0.02,
        say=lambda text: None,
    )
    try:
        served.swap(weights, 3)
        alone.swap(tensor_bytes(weights), 3)
        asking = playing(access=served.access)
        assert asking._engine.policies == {}
        here, there = (part.collect(60.0, 200).episodes(spec).columns() for part in (alone, asking))
        asking.close()
    finally:
        served.close()
    assert set(here) == set(there)
    for name, column in here.items():
        np.testing.assert_allclose(there[name], column, rtol=1e-5, atol=1e-6, err_msg=name)


class Pieces:
    """A fleet whose pieces are there already."""

    def __init__(self, pieces):
        self.pieces = iter(pieces)

    def take(self):
        return Stream(0, 0), next(self.pieces)

    def go_on(self):
        self.ahead = True


def test_what_is_too_old_is_dropped_and_counted_and_never_makes_a_batch_empty():
    part = playing()
    spec, old = part._engine.spec, [part.collect(60.0, 100) for _ in range(2)]
    part.swap(weights_of(part), 3)
    part.collect(60.0, 400)  # until the last match that began with the old ones has ended
    fresh = part.collect(60.0, 300)
    made = object.__new__(ClusterPlay)
    made.counters, made._dropped, made._spec, made._max_lag, made._version = fresh.counters, 0, spec, 2, 3
    made._served, made._met = None, deque(maxlen=3)
    nothing = Piece({}, counters=fresh.counters)
    made._fleet = Pieces([nothing, *old, nothing, fresh])
    episodes = made.collect(300)
    assert made._fleet.ahead  # nobody waits while these are learned from
    assert episodes.rows >= 300
    assert set(episodes.headers.version.tolist()) == {3}
    assert episodes.steps.action.flags.writeable
    assert made.take_dropped() == sum(len(piece.episodes(spec)) for piece in old)
    assert made.take_dropped() == 0


def roster(shares, *members):
    config, _, _ = prepared()
    return msgspec.json.encode(
        Roster([Seated(number, policy, dict(config.network)) for number, policy in members], shares)
    )


def test_a_collector_plays_the_pool_that_it_is_told_and_says_whom_it_met():
    """Number 1 is the fixed opponent. Nobody who is still in a match is dropped."""
    part = playing(league={}, opponents={"random": 0.2})
    spec = part._engine.spec

    def met():
        piece = part.collect(60.0, 300)
        episodes, found = piece.episodes(spec), piece.columns[MET]
        alone = np.unique(episodes.headers.serial, return_counts=True)[1] == 1
        assert alone.sum() == len({s for s, who in zip(episodes.headers.serial.tolist(), found, strict=True) if who})
        return set(found.tolist())

    assert met() == {0, 1}
    for policy in ("pool-a", "pool-b"):
        part.hear(policy, weights_of(part))
    part.hear(ROSTER, roster({1: 0.2, 2: 0.4, 3: 0.2}, (2, "pool-a"), (3, "pool-b")))
    met()  # matches that began before end with it
    assert met() == {0, 1, 2, 3}
    part.hear(ROSTER, roster({1: 0.2, 3: 0.4}, (3, "pool-b")))
    met()
    assert met() == {0, 1, 3}
    part.collect(0.0, 1)
    assert set(part._engine.policies) == {"main", "pool-b"}
    assert part.collect(0.0, 1).columns == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workers": 2}, "workers: with a cluster its collectors play"),
        ({"learner": {"kind": "imitation"}, "opponents": {}}, "plays no matches to learn from"),
    ],
)
def test_what_a_cluster_cannot_play_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        prepared(cluster={"address": "auto"}, **changes)


@pytest.mark.parametrize(
    ("cluster", "changes", "message"),
    [
        ({}, {}, "without a cluster nobody would ask it"),
        ({"address": "auto"}, {"learner": {"kind": "alphazero"}}, "alphazero searches where it plays"),
        ({"address": "auto", "server": "here"}, {}, "cluster.server"),
    ],
)
def test_what_cannot_be_served_is_refused(cluster, changes, message):
    with pytest.raises(InputError, match=message):
        prepared(cluster={"server": "tcp://127.0.0.1:0", **cluster}, **changes)


def test_a_network_that_remembers_is_not_served_to_be_trained():
    config, game, opponents = prepared(
        cluster={"address": "auto", "server": "tcp://127.0.0.1:0"}, network={**CONFIG["network"], "memory": "lstm"}
    )
    with pytest.raises(InputError, match="needs the network's memory"):
        SelfPlay(config, game, opponents, say=lambda text: None)


@pytest.fixture(scope="module")
def cluster():
    with simulated(1, 1) as made:
        yield made


def training(address, said, *, game=None, server=None, pool=None, **changes):
    config, found, opponents = prepared(cluster={"address": address, "collectors": 2, "server": server}, **changes)
    run = SelfPlay(config, game or found, opponents, say=said.append, pool=pool)
    run.start()
    return run


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_slow_game_never_gives_an_empty_batch(cluster, monkeypatch):
    monkeypatch.setattr(fleets, "PIECE_SECONDS", 0.1)
    game = slowed.Slowed("hex", env=0.1)
    run = training(cluster.address, [], game=game, learner={**CONFIG["learner"], "batch_size": 64})
    try:
        for _ in range(3):
            run.advance()
        assert run.decisions >= 3 * 64
    finally:
        run.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("server", [None, "tcp://127.0.0.1:0"])
def test_a_league_is_played_on_a_cluster_and_goes_on(cluster, tmp_path, server):
    league = {"every": 1, "keep": 2, "mix": {"self": 1, "uniform": 1}}
    run = training(cluster.address, [], server=server, pool=tmp_path / "pool", league=league)
    try:
        told = [run.advance() for _ in range(10)]
        assert [line["league/members"] for line in told[:3]] == [1, 2, 2]
        assert any(0 < rate < 1 for line in told for name, rate in line.items() if name.startswith("league/win_rate/"))
        assert all("play/against/random" in line for line in told[2:])
        state = run.snapshot()
    finally:
        run.close()
    again = training(cluster.address, [], server=server, pool=tmp_path / "pool", league=league)
    try:
        again.restore(state)
        assert again.advance()["league/members"] == 2
    finally:
        again.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_command_trains_on_a_cluster_and_goes_on_without(cluster, tmp_path):
    preset = tmp_path / "small.yaml"
    preset.write_text(json.dumps(CONFIG))
    words = ["train", preset, "--run", tmp_path / "run"]
    done, _ = sparring(*words, "decisions=2000", "--cluster", cluster.address, timeout=500)
    assert done.returncode == 0, done.stderr
    done, _ = sparring(*words, "decisions=4000")
    assert done.returncode == 0, done.stderr
    assert "resuming" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("server", [None, "tcp://127.0.0.1:0"])
def test_training_goes_on_when_a_host_is_lost_and_nothing_is_doubled(server):
    with simulated(1, 1) as cluster:
        _lose_a_host(cluster, server)


def _lose_a_host(cluster, server):
    said, seen = [], []
    run = training(cluster.address, said, server=server, max_policy_lag=4)
    update = run.algorithm.learner.update

    def learn(episodes, **steering):
        headers = episodes.headers
        seen.append((headers.serial, headers.seat, run.update - headers.version))
        return update(episodes, **steering)

    run.algorithm.learner.update = learn
    try:
        for _ in range(40):
            metrics = run.advance()
            if metrics["play/hosts"] == 2:
                break
        assert metrics["play/hosts"] == 2
        streams = {serial >> 34 for serials, _, _ in seen for serial in serials.tolist()}
        for _ in range(3):
            run.advance()
        cluster.remove_node(cluster.others.pop())
        for _ in range(10):
            metrics = run.advance()
    finally:
        run.close()
    streams = {serial >> 34 for serials, _, _ in seen for serial in serials.tolist()}
    assert len(streams) >= 2  # both have played
    assert metrics["play/replaced_collectors"] == 1
    assert any("node has died" in text for text in said)
    episodes = [(serial, seat) for serials, seats, _ in seen for serial, seat in zip(serials, seats, strict=True)]
    assert len(set(episodes)) == len(episodes)
    assert max(lag.max() for _, _, lag in seen) <= 4
    assert metrics["play/policy_lag"] <= 4
    assert min(lag.min() for _, _, lag in seen) >= 0
