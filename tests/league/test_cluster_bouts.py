"""A tournament on a Ray cluster: every match once, whoever dies, and the ledger as if it had been played here."""

import json
from threading import Thread
from time import monotonic, sleep

import psutil
import pytest

from tests.clusters import ray, simulated

from sparring.core import InputError  # isort: skip
from sparring.league import Seating, Style  # isort: skip
from sparring.league.bouts import BLOCK, Bout, Ended, Played, Table  # isort: skip
from sparring.league.cluster_bouts import BoutPlaying, BoutsOnCluster  # isort: skip
from sparring.league.ledger import Ledger  # isort: skip
from sparring.league.tournament import Rules, play_tournament  # isort: skip
from sparring.rollout.fleet import Stream  # isort: skip
from sparring.rollout.handout import Handout  # isort: skip
from tests.commands import sparring  # isort: skip

SMALL = {"game": "hex", "settings": {"size": 4}}
PLAYERS = ["path", "random"]


@pytest.fixture
def seating():
    return Seating.of(*PLAYERS, **SMALL, rating=True, varied=True)


def whole(block=0, starts=5):
    numbers = tuple(range(block * BLOCK, block * BLOCK + starts))
    return Bout(0, 1, (numbers, numbers[:3]))


def kept(path):
    with Ledger(path) as ledger:
        return list(ledger.matches())


def ids(matches):
    return sorted(match.id for match in matches)


def test_a_process_hands_over_each_match_once_and_bouts_in_their_order(seating):
    part = BoutPlaying(seating, Style(), 0, Stream(0, 0))
    pieces = [part.collect(0.0, whole(0)), part.collect(0.0, whole(1))]
    while sum(piece.over for piece in pieces) < 2:
        pieces.append(part.collect(0.0, None))
    assert len(pieces) > 4, "matches are handed over while the bout goes on"
    assert part.collect(0.01, None) is None
    part.close()
    there = [match for piece in pieces for match in piece.matches]
    ended = [(one.start, one.order) for piece in pieces for one in piece.ended]
    assert len(there) == len(set(ids(there))) == len(ended) == len(set(ended)) == 16
    first_over = next(at for at, piece in enumerate(pieces) if piece.over)
    assert {one.start // BLOCK for piece in pieces[: first_over + 1] for one in piece.ended} == {0}
    here = []
    with Table(seating, Style(), here.extend, seed=0) as table:
        for block in (0, 1):
            table.play(whole(block))
    assert ids(here) == ids(there)


def test_the_rest_of_a_bout_is_what_neither_ended_nor_broke_off():
    played = Played(whole(), ended=[Ended(0, 0, 1.0), Ended(2, 1, 0.0)], broken=[(4, 0), (0, 1)])
    assert played.rest == Bout(0, 1, ((1, 2, 3), (1,)))


class Dying:
    """A fleet of two, of which the first dies in the middle of its first bout, and others take its place."""

    def __init__(self, seating, ask, lost):
        self.ask, self.lost, self.turn = ask, lost, 0
        self.parts = {Stream(0, n): BoutPlaying(seating, Style(), 0, Stream(0, n)) for n in (0, 1)}
        self.make = lambda n: BoutPlaying(seating, Style(), 0, Stream(0, n))
        self.died = 0

    def take(self):
        self.turn += 1
        streams = list(self.parts)
        stream = streams[self.turn % 2]
        piece = self.parts[stream].collect(0.0, *self.ask(stream))
        if self.died < 2 and piece is not None and piece.ended and not piece.over:
            self.died += 1
            self.parts.pop(stream).close()
            self.lost(stream)
            fresh = Stream(0, 1 + self.died)
            self.parts[fresh] = self.make(fresh.number)
            return fresh, None
        return stream, piece


def test_what_a_process_that_dies_had_not_handed_over_is_played_again(seating):
    crew, entered = object.__new__(BoutsOnCluster), []
    crew._enter = entered.extend
    crew._bouts = Handout(lambda played: "a bout")
    crew._fleet = fleet = Dying(seating, crew._ask, crew._bouts.take_back)
    bouts = [whole(block) for block in range(4)]
    for bout in bouts:
        crew.begin(bout)
    done, end = [], monotonic() + 60
    while len(done) < 4:
        assert monotonic() < end
        done += crew.wait()
    assert fleet.died == 2
    assert sorted(played.bout.starts for played in done) == sorted(bout.starts for bout in bouts)
    for played in done:
        assert len(played.ended) == len({(one.start, one.order) for one in played.ended}) == 8
    assert len(entered) == len(set(ids(entered))) == 32


def test_what_does_not_go_together_with_a_cluster_is_one_line(tmp_path):
    for more, reason in (({"workers": 2}, "--workers"), ({"keep": tmp_path / "kept"}, "--keep")):
        with pytest.raises(InputError, match=f"^{reason}: "):
            play_tournament(PLAYERS, tmp_path / "x.ledger", Rules(cluster="auto", **more), **SMALL)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_command_plays_on_a_cluster_and_one_who_is_killed_costs_nothing(tmp_path):
    """What is played there and what is played here afterwards is one tournament."""
    ledger = tmp_path / "hex.ledger"
    words = ["tournament", *PLAYERS, "--game", "hex", "--size", 4, "--schedule", "round-robin", "--ledger", ledger]
    killed = []

    def kill_one():
        end = monotonic() + 300
        while monotonic() < end and not killed:
            if ledger.exists() and len(kept(ledger)) > 40:
                actors = [one for one in psutil.Process().children(recursive=True) if "ray::_Actor" in one.name()]
                if actors:
                    actors[0].kill()
                    killed.append(actors[0])
            sleep(0.02)

    with simulated(2, 1) as cluster:
        killer = Thread(target=kill_one, daemon=True)
        killer.start()
        done, _ = sparring(*words, "--matches", 600, "--cluster", cluster.address, "--json", timeout=500)
        killer.join()
    assert done.returncode == 0, done.stderr
    assert killed, "somebody died while matches were played"
    assert "another takes its place" in done.stderr
    assert json.loads(done.stdout)["matches"] == len(kept(ledger)) == 600
    here = tmp_path / "here.ledger"
    found = play_tournament(PLAYERS, here, Rules(schedule="round-robin", matches=600), **SMALL)
    assert found["complete"]
    assert ids(kept(here)) == ids(kept(ledger))
    assert not ray.is_initialized()
