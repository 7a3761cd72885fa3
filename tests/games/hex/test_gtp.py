"""GTP as HexGUI and tournament managers speak it: every line answered, nothing crashes."""

import json

import numpy as np
import pytest

from sparring.core import InputError
from sparring.games.hex import HexSettings
from sparring.games.hex.analysis import Position, describe_search, position
from sparring.games.hex.gtp import GtpSession, serve
from sparring.games.hex.text import cell_name


class FirstFree:
    """Plays the first legal cell; notes how many simulations it was made with."""

    made: list[int]

    def __init__(self):
        self.made = []

    def __call__(self, settings, simulations):
        self.made.append(simulations)

        def mover(here: Position) -> int:
            legal = here.decisions().legal[0]
            return min(here.move(int(a)) for a in np.flatnonzero(legal))

        return mover


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
        "play white a1",
        "play black swap-pieces",
        "genmove",
        "genmove red",
        "genmove white",
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
    assert list(serve(session, ["name", "", "quit", "name"])) == ["= Test\n\n", "=\n\n"]


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
    data = describe_search(here, action=1, value=-0.5, policy=policy, visits=visits, lines={1: (0.25, [1, 2])})
    assert data["to_move"] == "white"
    assert data["best"] == cell_name(3, 3) == "a2"
    assert data["candidates"] == [
        {"move": "a2", "policy": 0.25, "visits": 3, "value": 0.25, "line": ["a2", "c1"]},
        {"move": cell_name(3, 7), "policy": 0.75, "visits": 1},
    ]
    assert json.loads(json.dumps(data)) == data
