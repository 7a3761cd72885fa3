"""The simulator processes: honest per side, never in lock-step, and replaced when they die or hang."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from sparring.core import RunError
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.simulator import Asked, Ended, Event, Failed, ProcessState, Refused, Simulator
from sparring.games.pokemon.teams import built_in_teams


@pytest.fixture(scope="module", autouse=True)
def kept_processes() -> None:
    """None: here every simulator has processes of its own, from their first moment to their last."""


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    made = Simulator(processes=1)
    yield made
    made.close()


def start(simulator: Simulator, battle: int, *, seed: int = 7, log: bool = False) -> None:
    teams = built_in_teams(find_format("gen1ou"))
    simulator.start(battle, format="gen1ou", seed=seed, teams=teams[:2], log=log)


def heard(simulator: Simulator, count: int) -> list[Event]:
    events: list[Event] = []
    while len(events) < count:
        events += simulator.wait(timeout=60)
    return events


def play_out(simulator: Simulator, battle: int) -> tuple[list[Asked], Ended]:
    """Both sides take Showdown's default until the battle ends."""
    asked: list[Asked] = []
    while True:
        for event in simulator.wait(timeout=60):
            if isinstance(event, Asked):
                asked.append(event)
                simulator.choose(event.battle, event.side, "default")
            elif isinstance(event, Ended) and event.battle == battle:
                return asked, event
            else:
                raise AssertionError(event)


def test_a_battle_goes_from_requests_to_a_winner(simulator: Simulator) -> None:
    start(simulator, 0, log=True)
    asked, ended = play_out(simulator, 0)
    assert {event.side for event in asked} == {0, 1}
    assert ended.winner in (0, 1)
    assert f"|win|Seat {ended.winner + 1}" in ended.log
    assert ended.turns > 5


def test_a_seed_fixes_a_battle(simulator: Simulator) -> None:
    stories = []
    for battle, seed in enumerate((3, 3, 4)):
        start(simulator, battle, seed=seed)
        asked, ended = play_out(simulator, battle)
        stories.append(([event.request for event in asked], ended.winner, ended.turns))
    assert stories[0] == stories[1]
    assert stories[0] != stories[2]


def test_each_side_gets_its_own_exact_hp_and_the_foes_rounded(simulator: Simulator) -> None:
    start(simulator, 0)
    first, second = heard(simulator, 2)
    assert isinstance(first, Asked)
    assert isinstance(second, Asked)
    for event, own in ((first, "p1a"), (second, "p2a")):
        switches = [line.split("|") for line in event.lines.split("\n") if line.startswith("|switch|")]
        exact = {parts[2][:3]: not parts[4].startswith("100/100") for parts in switches}
        assert exact == {"p1a": own == "p1a", "p2a": own == "p2a"}
        assert event.request["side"]["id"] == own[:2]


def test_one_side_alone_does_not_move_the_battle(simulator: Simulator) -> None:
    start(simulator, 0)
    heard(simulator, 2)
    simulator.choose(0, 0, "move 1")
    assert simulator.wait(timeout=60) == []


def test_a_wait_with_a_timeout_ends_early_when_nothing_more_can_come(simulator: Simulator) -> None:
    start(simulator, 0)
    heard(simulator, 2)
    while simulator.owes:  # the last record of a batch may come in a read of its own
        simulator.wait(timeout=60)
    began = time.monotonic()
    assert simulator.wait(timeout=60) == []
    assert time.monotonic() - began < 20


def test_an_invalid_choice_is_reported_with_the_log(simulator: Simulator) -> None:
    start(simulator, 0)
    heard(simulator, 2)
    simulator.choose(0, 1, "move 5")
    (refused,) = heard(simulator, 1)
    assert isinstance(refused, Refused)
    assert (refused.battle, refused.side) == (0, 1)
    assert "doesn't have a move 5" in refused.reason
    assert "|turn|1" in refused.log


def test_a_battle_that_cannot_start_fails_alone(simulator: Simulator) -> None:
    start(simulator, 0)
    simulator.start(1, format="gen1ou", seed=1, teams=("no team", "no team"))
    events = heard(simulator, 3)
    assert sorted(type(event).__name__ for event in events) == ["Asked", "Asked", "Failed"]
    assert next(event for event in events if isinstance(event, Failed)).battle == 1


def test_a_killed_process_is_replaced_and_only_its_battles_fail() -> None:
    simulator = Simulator(processes=2)
    try:
        for battle in range(4):
            start(simulator, battle)
        asked = heard(simulator, 8)
        os.kill(simulator.pids[0], signal.SIGKILL)
        failed = heard(simulator, 2)
        assert sorted(event.battle for event in failed) == [0, 2]
        assert all(isinstance(event, Failed) and "died" in event.reason for event in failed)
        assert simulator.replaced == 1
        for event in asked:
            assert isinstance(event, Asked)
            simulator.choose(event.battle, event.side, "default")
        assert {event.battle for event in heard(simulator, 4)} == {1, 3}
        start(simulator, 4)
        assert {event.battle for event in heard(simulator, 2)} == {4}
    finally:
        simulator.close()


def test_a_schedulers_signal_to_the_whole_tree_leaves_a_process_and_its_battle_alone(simulator: Simulator) -> None:
    start(simulator, 0)
    heard(simulator, 2)
    pid = simulator.pids[0]
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        os.kill(pid, number)
    simulator.choose(0, 0, "default")
    simulator.choose(0, 1, "default")
    _, ended = play_out(simulator, 0)
    assert ended.winner in (0, 1)
    assert simulator.pids == [pid]


def test_a_hung_process_is_replaced() -> None:
    simulator = Simulator(processes=1, hang_seconds=1.0)
    try:
        start(simulator, 0)
        heard(simulator, 2)
        os.kill(simulator.pids[0], signal.SIGSTOP)
        simulator.choose(0, 0, "default")
        simulator.choose(0, 1, "default")
        (failed,) = heard(simulator, 1)
        assert isinstance(failed, Failed)
        assert "said nothing for 1 s" in failed.reason
    finally:
        simulator.close()


def test_a_process_that_only_waits_for_choices_is_not_hung() -> None:
    simulator = Simulator(processes=1, hang_seconds=0.5)
    try:
        start(simulator, 0)
        heard(simulator, 2)
        time.sleep(1.0)
        assert simulator.wait(timeout=1.0) == []
        assert simulator.replaced == 0
    finally:
        simulator.close()


def test_processes_say_what_they_are_doing(simulator: Simulator) -> None:
    assert simulator.states == [ProcessState.STARTING]
    start(simulator, 1)
    heard(simulator, 2)
    while simulator.owes:
        simulator.wait(timeout=1)
    assert simulator.states == [ProcessState.IDLE]
    simulator.choose(1, 0, "default")
    simulator.flush()
    assert simulator.states == [ProcessState.WORKING]
    simulator.close()
    assert simulator.states == [ProcessState.ENDED]
    simulator.choose(1, 1, "default")
    simulator.flush()  # nothing is written to a pipe that is gone


def test_waiting_without_a_battle_is_an_error(simulator: Simulator) -> None:
    with pytest.raises(RunError, match="no battle is running"):
        simulator.wait()


def test_closing_ends_the_processes_and_may_be_done_twice() -> None:
    simulator = Simulator(processes=2)
    pids = simulator.pids
    simulator.close()
    simulator.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
