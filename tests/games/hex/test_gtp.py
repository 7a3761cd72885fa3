"""GTP as HexGUI and tournament managers speak it: every line answered, nothing crashes."""

import itertools
import json
import re
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sparring.core import Answers, InputError
from sparring.games.hex import HexSettings
from sparring.games.hex.analysis import describe_search, position
from sparring.games.hex.gtp import GtpSession, serve
from sparring.games.hex.text import cell_name, mirrored
from sparring.league import Seating, Style


class FirstFree:
    """Plays the first legal cell; notes how many simulations it was made with."""

    made: list[int]

    def __init__(self):
        self.made = []

    def __call__(self, settings, simulations):
        self.made.append(simulations)
        self.size = settings.size
        return self

    def act(self, decisions):
        free = np.flatnonzero(decisions.legal[0]).tolist()
        first = min(free, key=lambda action: mirrored(self.size, action)) if decisions.seat[0] else free[0]
        return Answers(action=np.array([first], np.int32))

    def ponder(self, decisions, rng):
        self.pondered = decisions
        for self.steps in itertools.count(1):
            yield

    def found(self, match):
        """All simulations so far went to the move it would play; it thinks of one other."""
        action = self.act(self.pondered).action
        visits, policy = np.zeros((2, 1, self.pondered.legal.shape[1]))
        visits[0, action], policy[0, action], policy[0, 8] = self.steps, 0.5, 0.25
        return SimpleNamespace(action=action, value=np.zeros(1), policy=policy, visits=visits)

    def lines(self, match):
        action = int(self.act(self.pondered).action[0])
        return {action: (0.2, 0.3, [action, 2])}


class Typed:
    """A client that sends `lines`, each after its `patience` of looks whether there is more."""

    def __init__(self, *lines, patience=0):
        self.lines = list(lines)
        self.patience = patience
        self.looks = 0

    def __iter__(self):
        while self.lines:
            self.looks = 0
            yield self.lines.pop(0)

    def waiting(self, *, block=False):
        self.looks += 1
        return block or self.looks > self.patience


@pytest.fixture
def session():
    return GtpSession(HexSettings(size=3), FirstFree(), simulations=64, name="Test", version="1")


def test_a_whole_match(session):
    lines = ["boardsize 3", "play black a1", "genmove white", "play b a2", "genmove w", "play black a3"]
    assert [session.answer(line) for line in lines] == ["=", "=", "= b1", "=", "= c1", "="]
    assert session.answer("final_score") == "= B+"
    assert session.answer("genmove white") == "? the match is over: black has won"
    assert session.answer("undo") == "="
    assert session.answer("final_score") == "? cannot score: nobody has connected yet"
    assert session.answer("all_legal_moves") == "= a3 b2 b3 c2 c3"
    assert "X O O" in session.answer("showboard")


def test_numbers_comments_and_empty_lines(session):
    assert session.answer("7 name") == "=7 Test"
    assert session.answer("12 nonsense 3") == "?12 unknown command: nonsense"
    assert session.answer("  # nothing here") is None
    assert session.answer("") is None
    assert session.answer("5") == "?5 no command"
    assert session.answer("version # of what?") == "= 1"
    assert session.answer("protocol_version") == "= 2"


def test_every_listed_command_is_known(session):
    commands = session.answer("list_commands").removeprefix("= ").splitlines()
    for name in [
        "boardsize",
        "play",
        "genmove",
        "showboard",
        "undo",
        "list_commands",
        "known_command",
        "final_score",
        "time_settings",
    ]:
        assert name in commands
        assert session.answer(f"known_command {name}") == "= true"
    assert session.answer("known_command fly") == "= false"


@pytest.mark.parametrize(
    "line",
    [
        "boardsize",
        "boardsize 2",
        "boardsize 99999999999999999999",
        "boardsize 5 6",
        "boardsize -3",
        "boardsize x",
        "play",
        "play black",
        "play black z9",
        "play red a1",
        "play black swap-pieces",
        "genmove",
        "genmove red",
        "genmove black white",
        "reg_genmove",
        "all_legal_moves red",
        "loadsgf",
        "loadsgf /nowhere/at-all.sgf",
        "lz-analyze soon",
        "lz-analyze black 10 interval",
        "kata-analyze 10 ownership true",
        "kata-analyze maxmoves -3",
        "kata-genmove_analyze red",
        "undo",
        "time_settings 1",
        "time_settings a b c",
        "time_left",
        "time_left black x 0",
        "\x00\x01play",
        "play black a1 a2",
        "final_score",
        "ж ж ж",
        "²",
    ],
)
def test_malformed_lines_are_answered_and_change_nothing(session, line):
    before = session.answer("showboard")
    assert session.answer(line).startswith("?")
    assert session.answer("showboard") == before
    assert session.answer("play black b2") == "="
    assert session.answer("play white b2") == "? white cannot play b2 here"


def test_either_colour_may_play_at_any_time(session):
    for line in ["play white a1", "play black b1", "play black c2", "play white b2"]:
        assert session.answer(line) == "="
    assert session.answer("showboard").splitlines()[2:5] == [" 1  O X .  1", "  2  . O X  2", "   3  . . .  3"]
    assert session.answer("reg_genmove black") == "= c1"
    assert session.answer("genmove black") == "= c1"
    assert session.answer("genmove black") == "= a2"
    assert session.answer("genmove white") == "= a3"
    for _ in range(5):
        assert session.answer("undo") == "="
    assert session.answer("showboard").splitlines()[2:5] == [" 1  O X .  1", "  2  . . .  2", "   3  . . .  3"]
    assert session.answer("undo") == session.answer("undo") == "="
    assert session.answer("undo") == "? cannot undo: no move has been played"


def test_stones_can_be_laid_after_a_connection_and_the_winner_stays(session):
    for line in ["play white a1", "play white b1", "play white c1", "play black b2"]:
        assert session.answer(line) == "="
    assert session.answer("final_score") == "= W+"
    for command in ["genmove black", "reg_genmove white", "lz-analyze black", "kata-genmove_analyze white"]:
        assert session.answer(command) == "? the match is over: white has won"
    assert session.answer("all_legal_moves") == "="


def test_a_record_is_loaded_whole_or_up_to_a_move(session, tmp_path):
    path = tmp_path / "a problem.sgf"
    path.write_text("(;GM[11]AB[b2][b3]AW[c1]SZ[4];W[d4];B[a1])")
    assert session.answer(f"loadsgf {path}") == "="
    whole = session.answer("showboard")
    assert whole.splitlines()[2:6] == [
        " 1  X . O .  1",
        "  2  . X . .  2",
        "   3  . X . .  3",
        "    4  . . . O  4",
    ]
    assert session.answer("all_legal_moves") == session.answer("all_legal_moves white")
    assert session.answer("undo") == "="
    before_the_last = session.answer("showboard")
    assert session.answer(f"loadsgf {path} 2") == "="
    assert session.answer("showboard") == before_the_last != whole
    assert session.answer("undo") == "="
    assert session.answer("undo") == "? cannot undo: no move has been played", "set-up stones were not played"
    path.write_text("(;SZ[4];B[z9])")
    assert session.answer(f"loadsgf {path}") == (
        f"? {path}: line 1, column 9: 'z9' is no move; allowed are cells a1 to d4, and swap"
    )
    assert session.answer(f"loadsgf {path} 0").startswith("?")


INFO = "info move b1 visits {} winrate 6000 prior 3000 order 0 pv b1 c1"
KATA = "info move b1 visits {} utility 0.2000 winrate 0.6000 prior 0.3000 order 0 pv b1 c1"


def wire(session, *lines, patience=0):
    return "".join(serve(session, Typed(*lines, patience=patience)))


def test_an_analysis_goes_on_until_the_next_command(session):
    session.answer("play black a1")
    said = wire(session, "9 lz-analyze white 0", "name", patience=2)
    assert said == f"=9\n{INFO.format(3)}\n\n= Test\n\n"


def test_an_analysis_reports_at_its_interval(session, monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr("sparring.games.hex.gtp_reports.monotonic", lambda: next(clock) / 10)
    session.answer("play black a1")
    said = wire(session, "kata-analyze 40", "quit", patience=12)
    visits = [int(line.split()[4]) for line in said.splitlines() if line.startswith("info")]
    assert visits == [4, 8, 12], "a tenth of a second for each simulation, and one for each report"
    assert KATA.format(4) in said.splitlines()


@pytest.mark.parametrize("command", ["lz-analyze", "kata-analyze"])
def test_an_analysis_is_of_the_colour_asked_for_and_of_as_many_moves(session, command):
    session.answer("play black a1")
    assert "info move b1" in wire(session, command)
    assert "info move c3" not in wire(session, command)
    assert "info move c3 visits 0" in wire(session, f"{command} black 50 minmoves 2")
    assert wire(session, f"{command} minmoves 2 maxmoves 1").count("info") == 1
    wire(session, f"{command} black")
    assert session._analysts[session._here.settings, 64].pondered.seat.tolist() == [0]
    assert session.answer("showboard").count("X") == 1, "an analysis plays nothing"


def test_an_analysis_stops_looking_when_it_has_seen_enough(session, monkeypatch):
    monkeypatch.setattr("sparring.games.hex.gtp._MOST_SIMULATIONS", 7)
    said = wire(session, "lz-analyze 10000", "name", patience=10**6)
    assert "visits 7 " in said
    assert said.endswith("\n\n= Test\n\n")


def test_a_move_can_be_found_with_reports(session):
    session.answer("play black a1")
    said = wire(session, "lz-genmove_analyze w 10000", "kata-genmove_analyze b", "showboard")
    assert said.startswith(f"=\n{INFO.format(64)}\nplay b1\n\n=\ninfo move c1 visits 64 utility")
    assert " 1  X O X  1" in said


def test_the_search_for_a_move_is_announced():
    thought = []

    @contextmanager
    def thinking():
        thought.append("begun")
        yield
        thought.append("ended")

    session = GtpSession(HexSettings(size=3), FirstFree(), simulations=1, name="", version="", thinking=thinking)
    wire(session, "play black a1", "showboard", "lz-analyze")
    assert thought == []
    wire(session, "genmove white", "reg_genmove black")
    assert thought == ["begun", "ended"] * 2


def test_hexgui_is_told_what_it_can_ask(session):
    menu = session.answer("hexgui-analyze_commands").removeprefix("= ").splitlines()
    known = session.answer("list_commands")
    assert len(menu) == 3
    for line in menu:
        assert line.split("/")[2].split()[0] in known


def test_the_swap_where_the_rule_is_on():
    session = GtpSession(HexSettings(size=3, swap=True), FirstFree(), simulations=1, name="", version="")
    assert session.answer("play black a2") == "="
    assert "swap-pieces" in session.answer("all_legal_moves")
    assert session.answer("play white swap-pieces") == "="
    assert session.answer("play black a2") == "=", "the stone went to b1 and changed its colour"


def test_a_short_clock_means_fewer_simulations():
    movers = FirstFree()
    session = GtpSession(HexSettings(size=5), movers, simulations=64, name="", version="")
    session.answer("genmove black")
    assert movers.made == [64]
    session._seconds_each = 0.1
    assert session.answer("time_left white 3 0") == "="
    session.answer("genmove white")
    assert movers.made[-1] <= 8
    assert session.answer("time_settings 0 1 0") == "=", "no limit in the protocol's words"
    session.answer("genmove black")
    assert movers.made == [64, movers.made[1]]


def test_serving_ends_at_quit(session):
    assert wire(session, "name", "", "quit", "name") == "= Test\n\n=\n\n"


def test_positions_follow_the_rules():
    here = position(HexSettings(size=3), [0, 1, 3, 2, 6])
    assert here.winner == 0
    assert position(HexSettings(size=3), [0, 1]).winner is None
    with pytest.raises(InputError, match="white cannot play a1 here"):
        position(HexSettings(size=3), [0, 0])


def test_an_analysis_names_moves_as_the_board_lies():
    here = position(HexSettings(size=3), [4])
    policy, visits = np.zeros(9, np.float32), np.zeros(9, np.int32)
    policy[[1, 5]], visits[[1, 5]] = (0.25, 0.75), (3, 1)
    data = describe_search(here, action=1, value=-0.5, policy=policy, visits=visits, lines={1: (0.25, 0.5, [1, 2])})
    assert data["to_move"] == "white"
    assert data["best"] == cell_name(3, 3) == "a2"
    assert data["candidates"] == [
        {"move": "a2", "policy": 0.25, "visits": 3, "value": 0.25, "prior": 0.5, "line": ["a2", "c1"]},
        {"move": cell_name(3, 7), "policy": 0.75, "visits": 1},
    ]
    assert json.loads(json.dumps(data)) == data


def test_the_dialogue_of_the_docs(monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "search.md").read_text()
    dialogue = re.search(r"^```gtp\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    exchanges = [each.partition("\n") for each in dialogue.strip().split("\n\n")]
    seating = Seating.of("hex-7x7", game="hex", networks=True)
    session = GtpSession(
        seating.settings,
        lambda board, looks: seating.searcher(board, seed=0, style=Style(simulations=looks, device="cpu")),
        simulations=64,
        name="",
        version="",
    )
    monkeypatch.setattr("sparring.games.hex.gtp_reports.monotonic", lambda: 0.0)  # so it reports once, at the end

    def lasting(text):
        """Without what another processor's rounding may change: numbers, and the moves later in a variation."""
        text = re.sub(r"(?<= )\d\.\d{4}|(?<=visits )\d+", "0", text)
        return [re.sub(r"(?<= pv )(\w+).*", r"\1", line).rstrip() for line in text.splitlines()]

    for command, _, answer in exchanges:
        assert lasting(wire(session, command, patience=63).strip()) == lasting(answer), command
    assert len(exchanges) > 12
