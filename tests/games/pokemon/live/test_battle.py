"""A live battle's room: the arena's own view of it, whatever order, loss or refusal the server comes up with."""

import json
from dataclasses import dataclass
from time import monotonic

import numpy as np
import pytest

from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.live import battle as live
from sparring.games.pokemon.live.battle import LiveBattle, State, rating_told
from sparring.games.pokemon.live.limits import Limits
from sparring.games.pokemon.simulator import Asked, Ended, Simulator
from sparring.games.pokemon.teams import built_in_teams
from sparring.games.pokemon.tracker import Tracker

FORMAT = "gen1ou"


@dataclass
class Recorded:
    """One side's course of a battle: what it was told before each request, and the last lines."""

    turns: list[tuple[list[str], dict]]
    end: list[str]


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    simulator = Simulator(processes=1)
    names = ("Ourbot", "Rival")
    simulator.start(0, format=FORMAT, seed=5, teams=built_in_teams(find_format(FORMAT))[:2], names=names, log=True)
    turns: list[tuple[list[str], dict]] = []
    try:
        while True:
            for event in simulator.wait(timeout=120):
                if isinstance(event, Asked):
                    if event.side == 0:
                        request = event.request | {"rqid": 2 + len(turns)}
                        turns.append((event.lines.split("\n"), request))
                    simulator.choose(0, event.side, "default")
                elif isinstance(event, Ended):
                    last = event.log.split("\n")
                    return Recorded(turns, last[last.index(turns[-1][0][-1]) + 1 :])
    finally:
        simulator.close()


def new_battle(**options) -> LiveBattle:
    actions = action_space(find_format(FORMAT))
    return LiveBattle(
        "battle-gen1ou-1", "ourbot", format=find_format(FORMAT), actions=actions, **{"open_sheets": False, **options}
    )


def request_line(request: dict) -> str:
    return f"|request|{json.dumps(request)}"


def views(recorded: Recorded) -> list[np.ndarray]:
    """What the arena's tracker sees at each request."""
    tracker, seen = Tracker(1, "p1"), []
    for lines, request in recorded.turns:
        tracker.lines(lines)
        tracker.request(request)
        seen.append(np.concatenate([tracker.ids, tracker.floats]))
    return seen


def view(battle: LiveBattle) -> np.ndarray:
    assert battle.tracker is not None
    return np.concatenate([battle.tracker.ids, battle.tracker.floats])


def answer(battle: LiveBattle) -> None:
    """Plays the first legal action and empties the outbox."""
    legal = np.zeros(action_space(find_format(FORMAT)).actions, np.bool_)
    battle.mask(legal)
    battle.choose(int(legal.argmax()))
    battle.outbox.clear()


@pytest.mark.parametrize("request_first", [False, True], ids=["lines first", "request first"])
def test_the_view_is_the_arenas_in_whichever_order_a_server_sends(recorded: Recorded, request_first: bool) -> None:
    battle = new_battle()
    battle.read(["|init|battle", "|title|Ourbot vs. Rival", "|j|☆Ourbot"])
    for (lines, request), expected in zip(recorded.turns, views(recorded), strict=True):
        if request_first:
            battle.read([request_line(request)])
            assert not battle.ready(monotonic())
            battle.read(["|inactive|Time left: 150 sec this turn"])
            assert not battle.ready(monotonic())
            battle.read(lines)
        else:
            battle.read(lines)
            battle.read([request_line(request)])
        assert battle.ready(monotonic())
        np.testing.assert_array_equal(view(battle), expected)
        answer(battle)
    battle.read(recorded.end)
    assert battle.over
    assert battle.outcome == (1.0 if "|win|Ourbot" in recorded.end else -1.0)
    assert battle.opponent == "Rival"
    assert not battle.ready(monotonic())


def heard(battle: LiveBattle) -> list[tuple]:
    """What a listener is told of the row that waits."""
    told: list[tuple] = []
    assert battle.tell(3, [lambda *words: told.append(words)])
    return told


def test_listeners_are_told_what_they_are_told_without_a_server(recorded: Recorded) -> None:
    battle = new_battle()
    battle.read(["|init|battle", "|title|Ourbot vs. Rival", "|j|☆Ourbot"])
    for number, (lines, request) in enumerate(recorded.turns):
        battle.read(["|c|Rival|hello", *lines, "|inactive|Time left: 150 sec this turn"])
        battle.read([request_line(request)])
        ((slot, seat, first, text, told),) = heard(battle)
        assert (slot, seat, first, told) == (3, 0, number == 0, request)
        assert text.split("\n") == [line for line in lines if line]
        answer(battle)


def test_listeners_are_told_a_battle_anew_if_it_is_read_anew(recorded: Recorded) -> None:
    battle = new_battle()
    battle.read(["|init|battle", *recorded.turns[0][0], request_line(recorded.turns[0][1])])
    heard(battle)
    battle.read(["|init|battle", "|player|p1|Ourbot|1|", "|start", "|turn|7", request_line(recorded.turns[7][1])])
    ((_, _, first, text, _),) = heard(battle)
    assert first
    assert text.split("\n") == ["|player|p1|Ourbot|1|", "|start", "|turn|7"]


def test_a_battle_that_a_listener_cannot_follow_fails_and_says_why(recorded: Recorded) -> None:
    def lost(*words: object) -> None:
        raise NotImplementedError("|-dance|")

    battle = new_battle()
    battle.read(["|init|battle", *recorded.turns[0][0], request_line(recorded.turns[0][1])])
    assert not battle.tell(0, [lost])
    assert battle.reason == "a message that can't be read: NotImplementedError: |-dance|"
    assert "in lost" in battle.fault


@pytest.mark.parametrize("answered", [False, True], ids=["before our choice", "after our choice was lost"])
@pytest.mark.parametrize("missed", [0, 2])
def test_after_a_lost_connection_the_view_goes_on_where_it_stood(
    recorded: Recorded, missed: int, answered: bool
) -> None:
    battle, seen, at = new_battle(), views(recorded), 6
    battle.read(["|init|battle"])
    for lines, request in recorded.turns[: at + 1]:
        battle.read(lines)
        battle.read([request_line(request)])
        if request["rqid"] < at + 2 or answered:
            answer(battle)
    now = at + missed
    log = [line for lines, _ in recorded.turns[: now + 1] for line in lines]
    battle.read(["|init|battle", "|title|Ourbot vs. Rival", "|j|☆Ourbot", *log])
    battle.read([request_line(recorded.turns[now][1])])
    if answered and not missed:
        assert [text.split()[0] for text in battle.outbox] == ["/choose"]
        assert not battle.ready(monotonic())
    else:
        assert battle.ready(monotonic())
    if not missed:
        np.testing.assert_array_equal(view(battle), seen[now])
    else:  # requests that were missed told of PP and stats of a moment; who is where and how well is all there
        assert (view(battle) == seen[now]).mean() > 0.99


def test_a_choice_that_arrived_before_the_connection_was_lost_is_not_made_again(recorded: Recorded) -> None:
    battle = new_battle()
    lines, request = recorded.turns[0]
    battle.read(["|init|battle", *lines])
    battle.read([request_line(request)])
    answer(battle)
    battle.read(["|init|battle", *lines])
    battle.read([request_line(request), "|sentchoice|move 1"])
    assert battle.outbox == []
    assert not battle.ready(monotonic())


def test_a_room_that_was_never_seen_before_is_read_from_its_log(recorded: Recorded) -> None:
    battle = new_battle()
    log = [line for lines, _ in recorded.turns[:8] for line in lines]
    battle.read(["|init|battle", *log])
    battle.read([request_line(recorded.turns[7][1])])
    assert battle.ready(monotonic())
    assert battle.tracker is not None
    assert battle.turn == int([line for line in log if line.startswith("|turn|")][-1].split("|")[2])
    assert not battle.tracker.unknown


def test_an_invalid_choice_is_counted_and_another_one_made(recorded: Recorded) -> None:
    battle = new_battle()
    lines, request = recorded.turns[0]
    battle.read(["|init|battle", *lines])
    battle.read([request_line(request)])
    legal = np.zeros(action_space(find_format(FORMAT)).actions, np.bool_)
    battle.mask(legal)
    for refused, action in enumerate(np.flatnonzero(legal).tolist(), start=1):
        assert battle.ready(monotonic())
        battle.choose(action)
        battle.read(["|error|[Invalid choice] Can't move: it can't"])
        assert battle.invalid == refused
        left = legal.copy()
        battle.mask(left)
        assert not left[action] or refused == legal.sum()
    battle.choose(action)
    assert battle.outbox[-1] == f"/choose default|{request['rqid']}"


def test_an_unavailable_choice_brings_a_new_request_and_is_no_fault(recorded: Recorded) -> None:
    battle = new_battle()
    lines, request = recorded.turns[0]
    battle.read(["|init|battle", *lines])
    battle.read([request_line(request)])
    answer(battle)
    battle.read(["|error|[Unavailable choice] Can't switch: The active Pokémon is trapped"])
    assert not battle.ready(monotonic())
    battle.read([request_line(request | {"rqid": 99, "update": True})])
    assert battle.ready(monotonic())
    assert (battle.invalid, battle.unavailable) == (0, 1)


def test_nothing_is_sent_after_the_end(recorded: Recorded) -> None:
    battle = new_battle()
    lines, request = recorded.turns[0]
    battle.read(["|init|battle", *lines])
    battle.read([request_line(request)])
    battle.read(["|-message|Rival forfeited.", "|", "|win|Ourbot"])
    battle.choose(0)
    battle.repeat()
    assert battle.outbox == []
    assert battle.outcome == 1.0


def test_a_late_choice_is_not_made_again(recorded: Recorded) -> None:
    battle = new_battle()
    lines, request = recorded.turns[0]
    battle.read(["|init|battle", *lines])
    battle.read([request_line(request)])
    answer(battle)
    battle.read(["|error|[Invalid choice] Sorry, too late to make a different move; the next turn has already started"])
    assert (battle.invalid, battle.late) == (0, 1)
    assert not battle.ready(monotonic())


def test_the_clock_is_heard() -> None:
    battle = new_battle()
    battle.read(["|init|battle", "|player|p1|Ourbot|1|", "|player|p2|Rival|1|"])
    battle.read(["|inactive|Ourbot has 20 seconds left.", "|inactive|Rival has 20 seconds left."])
    battle.read(["|-message|Ourbot lost due to inactivity.", "|", "|win|Rival"])
    assert (battle.warnings, battle.timed_out, battle.outcome) == (1, True, -1.0)


def test_a_room_that_is_gone_is_no_result() -> None:
    battle = new_battle()
    battle.read(["|init|battle"])
    battle.read(["|noinit|nonexistent|The room does not exist."])
    assert battle.state is State.FAILED
    assert battle.reason == "the server closed the room"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "5",
        '"x"',
        "{}",
        '{"active":[]}',
        '{"side":{}}',
        "[" * 9000,
        '{"rqid":"x"}',
        '{"active":[{}],"side":5}',
    ],
)
def test_a_request_that_makes_no_sense_fails_the_battle_and_says_why(recorded: Recorded, text: str) -> None:
    battle = new_battle()
    battle.read(["|init|battle", *recorded.turns[0][0]])
    battle.read([f"|request|{text}"])
    assert battle.state is State.FAILED
    assert battle.reason.startswith("a message that can't be read")
    assert "Traceback" in battle.fault
    assert not battle.ready(monotonic())
    battle.read([request_line(recorded.turns[0][1])])
    battle.choose(0)
    assert battle.outbox == []


@pytest.mark.parametrize("line", ["|win", "|win|", "|win|Somebody Else", "|win|\x1b[2J"])
def test_a_win_of_nobody_who_plays_is_no_result(recorded: Recorded, line: str) -> None:
    battle = new_battle()
    battle.read(["|init|battle", "|player|p1|Ourbot|1|", "|player|p2|Rival|1|", *recorded.turns[0][0]])
    battle.read([line])
    assert battle.state is State.FAILED
    assert "who does not play" in battle.reason
    assert battle.reason.isprintable()


@pytest.mark.parametrize(
    "line", ["|inactive", "|-message", "|player", "|player|p2", "|uhtml", "|", "||", "|tier", "|turn|"]
)
def test_lines_that_end_too_soon_are_left_out(recorded: Recorded, line: str) -> None:
    battle = new_battle()
    lines, request = recorded.turns[0]
    battle.read(["|init|battle", line, *lines, line])
    battle.read([request_line(request)])
    assert battle.ready(monotonic())


def test_a_battle_that_never_asks_fails_when_its_time_is_over(recorded: Recorded) -> None:
    battle = new_battle(limits=Limits(silence=5.0))
    battle.read(["|init|battle", *recorded.turns[0][0]])
    for _ in range(10):
        battle.read(["|inactive|Time left: 150 sec", "|c|Rival|hello", "|-message|hm"])
    battle.check(monotonic() + 4.0)
    assert not battle.ended
    battle.check(monotonic() + 6.0)
    assert battle.reason == "nothing was asked of us for 5 s"


def test_our_own_time_is_no_silence_of_the_server(recorded: Recorded) -> None:
    battle = new_battle(limits=Limits(silence=5.0))
    lines, request = recorded.turns[0]
    battle.read(["|init|battle", *lines])
    battle.read([request_line(request)])
    battle.check(monotonic() + 60.0)
    assert battle.ready(monotonic())


def test_a_battle_without_end_fails_at_its_limits(recorded: Recorded) -> None:
    lines, request = recorded.turns[0]
    asking = new_battle(limits=Limits(requests=10))
    asking.read(["|init|battle", *lines])
    talking = new_battle(limits=Limits(log=100))
    talking.read(["|init|battle", *lines])
    for number in range(20):
        asking.read([request_line(request | {"rqid": number})])
        talking.read(["|c|Rival|hello"] * 10)
    assert asking.reason == "asked more than 10 times"
    assert talking.reason == "more than 100 lines"


def test_lines_of_absurd_length_are_left_out(recorded: Recorded) -> None:
    battle = new_battle(limits=Limits(line=100))
    battle.read(["|init|battle", "|player|p2|Rival|1|", "|player|p2|" + "x" * 1000, "|tier|" + "y" * 1000])
    assert battle.opponent == "Rival"
    assert battle.long_lines == 2
    assert battle.log == ["|player|p2|Rival|1|"]


def test_a_name_is_fit_to_be_shown() -> None:
    battle = new_battle()
    battle.read(["|init|battle", "|player|p2|[red]\x1b[31mR\u202eival" + "x" * 99])
    assert battle.opponent.startswith("red31mRival")
    assert len(battle.opponent) <= 30


SHEETS = '|uhtml|otsrequest|<button name="send" value="/acceptopenteamsheets">Accept</button>'


@pytest.mark.parametrize("word", ["Rival rejected open team sheets.", "|showteam|p2|", "silence"])
def test_open_team_sheets_never_hold_up_a_battle(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setattr(live, "_SHEETS_SECONDS", 30.0)
    battle = new_battle(open_sheets=True)
    lines, request = recorded.turns[0]
    battle.read(["|init|battle", *lines, SHEETS])
    battle.read([request_line(request)])
    assert battle.outbox == ["/acceptopenteamsheets"]
    assert not battle.ready(monotonic())
    if word == "silence":
        assert battle.ready(monotonic() + 31.0)
    else:
        battle.read([word])
        assert battle.ready(monotonic())


def test_who_rejects_open_team_sheets_does_not_wait(recorded: Recorded) -> None:
    battle = new_battle()
    lines, request = recorded.turns[0]
    battle.read(["|init|battle", *lines, SHEETS])
    battle.read([request_line(request)])
    assert battle.outbox == ["/rejectopenteamsheets"]
    assert battle.ready(monotonic())


def test_the_rating_is_read() -> None:
    assert (
        rating_told("|raw|Rival's rating: 1000 &rarr; <strong>1020</strong><br />(+20 for winning)", "ourbot") is None
    )
    assert (
        rating_told("|raw|Ourbot's rating: 1040 &rarr; <strong>1021</strong><br />(-19 for losing)", "ourbot") == 1021
    )
