"""The fleet: pieces, weights and back-pressure, and processes that die, hang or cannot start, on a real Ray cluster."""

from functools import partial
from itertools import pairwise
from time import monotonic, sleep

import pytest

from tests.clusters import Numbering, ray, simulated

from sparring.core import InputError, RunError  # isort: skip
from sparring.rollout import fleet as fleets  # isort: skip
from sparring.rollout.fleet import AHEAD, Fleet, Stream  # isort: skip
from sparring.rollout.joining import connect  # isort: skip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster():
    with simulated(2, 2) as made:
        connect(made.address)
        yield made


@pytest.fixture
def open_fleet(cluster, tmp_path):
    opened = []

    def make(count=2, fault="", **options):
        said = []
        made = Fleet(
            partial(Numbering, str(tmp_path), fault=fault),
            count=count,
            ask=lambda stream: (),
            say=said.append,
            **options,
        )
        made.said = said
        opened.append(made)
        return made

    yield make
    for one in opened:
        one.close()


def numbers(fleet, until, *, most=120.0):
    """The numbers of the pieces that come until `until(fleet)`, and of ten more."""
    found, end = [], monotonic() + most

    def take():
        found.append(int(fleet.take()[1].columns["number"][0]))

    while not until(fleet):
        assert monotonic() < end
        take()
    for _ in range(10):
        take()
    return found


def playing(count):
    return lambda fleet: sum(fleet.hosts.values()) == count


def test_streams_share_no_serial_number_and_no_seed():
    streams = [Stream(session, number) for session in (0, 1, 2**14 - 1) for number in (0, 1, 2**12 - 1)]
    assert len({stream.first_serial for stream in streams}) == len({stream.seed(0) for stream in streams}) == 9
    assert max(stream.first_serial for stream in streams) < 2**60
    gaps = sorted(stream.first_serial for stream in streams)
    assert min(b - a for a, b in pairwise(gaps)) >= 2**34


def test_processes_are_spread_over_the_hosts_and_every_piece_comes_once(open_fleet):
    fleet = open_fleet(count=4)
    found = numbers(fleet, playing(4))
    assert len(set(found)) == len(found)
    assert sorted(fleet.hosts.values()) == [2, 2]
    assert fleet.said == []


def test_nobody_plays_further_ahead_than_allowed(open_fleet, tmp_path):
    fleet = open_fleet(count=2)
    taken = len(numbers(fleet, playing(2)))
    sleep(2)  # nobody takes anything now
    assert taken < len(list(tmp_path.iterdir())) <= taken + 2 * AHEAD
    fleet.go_on()
    sleep(2)
    assert len(list(tmp_path.iterdir())) == taken + 2 * AHEAD


def test_weights_reach_everybody_and_those_who_come_later(open_fleet):
    fleet = open_fleet(count=2, fault="killed")
    fleet.publish(b"abc", 7)
    numbers(fleet, lambda fleet: fleet.replaced and playing(2)(fleet))
    seen = dict(fleet.take() for _ in range(400))
    assert len(seen) == 2
    for piece in seen.values():
        assert int(piece.columns["version"][0]) == 7
        assert piece.columns["weights"].tobytes() == b"abc"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("killed", "died"),
        ("wrong", "ValueError: something is wrong"),
        ("damaged", "bytes from another host are damaged"),
    ],
)
def test_who_dies_is_replaced_with_the_reason_shown_and_nothing_is_doubled(open_fleet, fault, reason):
    fleet = open_fleet(count=2, fault=fault)
    found = numbers(fleet, lambda fleet: fleet.replaced and playing(2)(fleet))
    assert len(set(found)) == len(found)
    assert fleet.replaced == len(fleet.said) == 1
    assert reason in fleet.said[0]
    assert "another takes its place" in fleet.said[0]


def test_who_hangs_is_replaced(open_fleet):
    fleet = open_fleet(count=2, fault="hangs", stall=3.0)
    numbers(fleet, lambda fleet: fleet.replaced)
    assert "nothing came from it for 3 s" in fleet.said[0]


def test_a_fleet_that_cannot_start_ends_with_the_reason(open_fleet):
    with pytest.raises(RunError, match="3 times before they played: ValueError: it cannot play"):
        open_fleet(fault="no start").start()


def test_a_host_with_another_version_is_refused(open_fleet, monkeypatch):
    monkeypatch.setattr(fleets, "VERSION", "0.0.7")
    with pytest.raises(InputError, match="not 0.0.7; install the same"):
        open_fleet().start()


def test_closing_lets_everybody_finish(open_fleet, tmp_path):
    fleet = open_fleet(count=2)
    numbers(fleet, playing(2))
    fleet.close()
    fleet.close()
    assert len(list(tmp_path.glob("closed-*"))) == 2


def test_an_address_without_a_cluster_is_one_line(cluster, monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **options: (_ for _ in ()).throw(ConnectionError("nobody\nthere")))
    with pytest.raises(InputError, match=r"^--cluster here:1: nobody; start one with: ray start --head$"):
        connect("here:1")
