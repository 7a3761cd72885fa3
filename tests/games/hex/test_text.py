from time import process_time

import pytest

from sparring.core import InputError, RandomPlayer
from sparring.games.hex import HexSettings
from sparring.games.hex.text import (
    Record,
    cell_name,
    draw_board,
    format_play,
    mirrored,
    parse_move,
    parse_play,
    read_sgf,
    stones_after,
    winning_chain,
    write_sgf,
)
from tests.games.hex.support import RecordingArena


@pytest.mark.parametrize("size", [3, 11, 19])
def test_every_move_has_a_name_that_reads_back(size: int) -> None:
    names = [cell_name(size, move) for move in range(size * size + 1)]
    assert len(set(names)) == size * size + 1
    assert [parse_move(size, name.upper()) for name in names] == list(range(size * size + 1))
    assert names[0] == "a1"
    assert names[1] == "b1"
    assert names[size] == "a2"


def test_mirroring_is_its_own_inverse_and_leaves_the_swap() -> None:
    assert [mirrored(3, move) for move in range(10)] == [0, 3, 6, 1, 4, 7, 2, 5, 8, 9]


@pytest.mark.parametrize("text", ["", "a", "1a", "a0", "a4", "d1", "a01", "a1 b1", "swap-sides", "é1"])
def test_what_is_no_move_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(InputError, match="allowed are cells a1 to c3, and swap"):
        parse_move(3, text)


def test_plays_read_back() -> None:
    assert format_play(5, 0, 7) == "play black c2"
    assert format_play(5, 1, 25) == "play white swap-pieces"
    for seat in (0, 1):
        for move in range(26):
            assert parse_play(5, format_play(5, seat, move)) == (seat, move)
    assert parse_play(5, " PLAY w C2 ") == (1, 7)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("play", "play black|white CELL"),
        ("play black", "play black|white CELL"),
        ("genmove black a1", "play black|white CELL"),
        ("play red a1", "'red' is no colour; allowed are black and white"),
        ("play black z9", "'z9' is no move"),
    ],
)
def test_a_malformed_play_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(InputError) as error:
        parse_play(5, text)
    assert wrong in str(error.value)


def test_the_board_is_drawn_as_a_rhombus() -> None:
    assert draw_board(3, stones_after(3, [1, 9, 4, 8])).splitlines() == [
        "   a b c",
        " 1  . . .  1",
        "  2  O X .  2",
        "   3  . . O  3",
        "       a b c",
    ]


def test_the_chain_of_the_winner_is_the_shortest_and_has_signs_of_its_own() -> None:
    x_wins = [0, 1, 1, 1, 1, 2, 2, 1, 0]
    assert winning_chain(3, x_wins, 0) == [1, 4, 7]
    assert winning_chain(3, x_wins, 1) == []
    assert draw_board(3, x_wins, last=4, chain=[1, 4, 7]).splitlines()[1:4] == [
        " 1  . # X  1",
        "  2  X[#]O  2",
        "   3  O # .  3",
    ]
    o_wins = [1, 0, 2, 1, 2, 1, 2, 0, 0]
    assert winning_chain(3, o_wins, 1) == [6, 4, 2]
    assert draw_board(3, o_wins, chain=[6, 4, 2]).splitlines()[1] == " 1  X . @  1"


@pytest.mark.parametrize(("result", "resigned"), [("W+", False), ("W+R", True), ("W+Resign", True), ("W+3", False)])
def test_a_record_says_whether_the_loser_resigned(result: str, resigned: bool) -> None:
    record = read_sgf(f"(;GM[11]SZ[3]RE[{result}];B[a1])")
    assert (record.winner, record.resigned) == (1, resigned)
    assert f"RE[W+{'R' if resigned else ''}]" in write_sgf(record)


def test_random_matches_survive_sgf() -> None:
    for swap in (False, True):
        arena = RecordingArena(HexSettings(size=5, swap=swap), matches=20, seed=0)
        player, ended = RandomPlayer(0), 0
        while ended < 40:
            decisions, results = arena.wait()
            for match, outcome in zip(results.match, results.outcome, strict=True):
                record = Record(size=5, moves=tuple(arena.finished[match]), black="path", winner=int(outcome.argmax()))
                assert read_sgf(write_sgf(record)) == record
                ended += 1
            arena.act(decisions, player.act(decisions).action)


def test_sgf_as_others_write_it() -> None:
    text = "(;FF[4]\n GM[11] SZ[11]AP[x]PB[A\\]\\\\B]PW[w]\n;B[c2]C[good [one\\]];W[swap-pieces]\n;B[F6] ; W[k11])\n"
    record = read_sgf(text)
    assert record == Record(size=11, moves=(13, 121, 60, 120), black="A]\\B", white="w", winner=None)
    assert write_sgf(record) == ("(;FF[4]GM[11]CA[UTF-8]SZ[11]PB[A\\]\\\\B]PW[w];B[c2];W[swap-pieces];B[f6];W[k11])\n")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "line 1, column 1: expected ("),
        ("hello", "line 1, column 1: expected ("),
        ("(", "line 1, column 2: expected ;"),
        ("(;FF[4]", "line 1, column 8: expected a property"),
        ("(;FF)", "line 1, column 5: expected [ after FF"),
        ("(;SZ[5];B[a1", "line 1, column 10: the value of B has no closing ]"),
        ("(;GM[1]SZ[19])", "line 1, column 3: GM[1] is not Hex; allowed is GM[11]"),
        ("(;GM[11])", "no board size; allowed is SZ[3] to SZ[19]"),
        ("(;SZ[20])", "line 1, column 3: SZ[20]; allowed is one size from 3 to 19"),
        ("(;SZ[x])", "SZ[x]; allowed"),
        ("(;SZ[²])", "SZ[²]; allowed"),
        (f"(;SZ[{'9' * 5000}])", "line 1, column 3: SZ[9999999999999999999…]; allowed is one size"),
        ("(;B[a1])", "a move before the board's size"),
        ("(;SZ[5]\n;B[a1]\n;W[a1])", "line 3, column 2: move 2 is a1, which black holds already"),
        ("(;SZ[5]\n;B[f1])", "line 2, column 2: 'f1' is no move; allowed are cells a1 to e5"),
        ("(;SZ[5];B[swap-pieces])", "only the second move"),
        ("(;SZ[5];B[a2];W[swap-pieces];B[b1])", "move 3 is b1, which white holds already"),
        ("(;SZ[5];B[a1];AW[b2])", "line 1, column 15: this set-up (AW) cannot be read; allowed are AB and AW before"),
        ("(;SZ[5]AE[a1])", "line 1, column 8: this set-up (AE)"),
        ("(;AB[a1]\nAW[a1]SZ[5])", "line 2, column 1: a1 is set up twice"),
        ("(;SZ[5]AB[f1])", "line 1, column 8: 'f1' is no move"),
        ("(;SZ[5]AB[swap])", "a swap cannot be set up"),
        ("(;SZ[5]AB[a1];W[a1])", "line 1, column 15: move 1 is a1, which black holds already"),
        ("(;SZ[5]AB[a1];B[b1];W[swap-pieces])", "move 2 is a swap; only the second move may be one"),
        ("(;SZ[5];B[b1];B[swap-pieces])", "move 2 is a swap; only the second move may be one, by the other side"),
        ("(;SZ[5]PL[red])", "line 1, column 8: PL: 'red' is no colour; allowed are black and white"),
        ("(;SZ[5](;B[a1])(;B[a2]))", "line 1, column 8: variations"),
        ("(;SZ[5])(;SZ[5])", "line 1, column 9: text after the end"),
    ],
)
def test_malformed_sgf_is_refused_with_its_place(text: str, wrong: str) -> None:
    with pytest.raises(InputError) as error:
        read_sgf(text)
    assert wrong in str(error.value)
    assert "\n" not in str(error.value)


def test_the_time_to_read_grows_with_the_length_only() -> None:
    def seconds(comments: int) -> float:
        started = process_time()
        assert read_sgf(f"(;SZ[5]{'C[abc]' * comments})").size == 5
        return process_time() - started

    assert seconds(120_000) < 8 * seconds(30_000) + 0.1


def test_records_that_cannot_be_are_not_written() -> None:
    with pytest.raises(InputError, match="move 2 is a1, which black holds already"):
        write_sgf(Record(size=5, moves=(0, 0)))
    with pytest.raises(InputError, match="26 is no move on a 5x5 board"):
        write_sgf(Record(size=5, moves=(26,)))


def test_stones_that_are_set_up_and_moves_in_any_order_survive_sgf() -> None:
    text = "(;AW[c3]AB[b2][a1]GM[11]SZ[3];AB[c1];W[a3];W[b3];B[c2];PL[B])"
    record = read_sgf(text)
    assert record == Record(3, (6, 7, 5), (1, 1, 0), setup=((0, 0), (0, 2), (0, 4), (1, 8)), to_move=0)
    assert write_sgf(record) == "(;FF[4]GM[11]CA[UTF-8]SZ[3]AB[a1][c1][b2]AW[c3];W[a3];W[b3];B[c2];PL[B])\n"
    assert read_sgf(write_sgf(record)) == record
    assert record.stones() == [1, 0, 1, 0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("text", "seat"),
    [
        ("(;SZ[5])", 0),
        ("(;SZ[5]PL[W])", 1),
        ("(;SZ[5]AB[a1])", 1),
        ("(;SZ[5]AB[a1]AW[b1])", 0),
        ("(;SZ[5]AB[a1][a2]PL[black])", 0),
        ("(;SZ[5];B[a1])", 1),
        ("(;SZ[5];B[a1];B[a2])", 1),
        ("(;SZ[5]PL[W];W[a1])", 0),
        ("(;SZ[5];W[a1];PL[W])", 1),
    ],
)
def test_a_record_knows_who_moves_after_it(text: str, seat: int) -> None:
    assert read_sgf(text).seat == seat
    assert read_sgf(write_sgf(read_sgf(text))) == read_sgf(text)


def test_a_record_before_a_move_has_its_mover_to_move() -> None:
    record = read_sgf("(;SZ[5]AB[a1][b1];B[a2];W[a3])")
    assert [record.before(number).seat for number in range(3)] == [0, 1, 0]
    assert record.before(1).moves == (5,)
    assert record.before(0).setup == record.setup
    assert record.before(2) == record
