"""A person's match from start to end, typed line by line."""

import io
import sys
import termios
import time

import numpy as np
import pytest
from rich.console import Console
from rich.text import Text

from sparring.core import Answers, InputError
from sparring.games.hex.model import HexModel
from sparring.games.hex.text import draw_board, load_sgf, stones_after, winning_chain
from sparring.league import Entrant, Seating, Style
from sparring.league.by_hand import play_by_hand


class Column:
    """Fills the second column, as its seat sees the board, then the others; never swaps."""

    def act(self, decisions):
        size = decisions.observation["planes"].shape[-1]
        order = [row * size + (1 + shift) % size for shift in range(size) for row in range(size)]
        return Answers(action=np.array([next(a for a in order if row[a]) for row in decisions.legal], np.int32))


@pytest.fixture
def play(monkeypatch, capsys):
    """Plays against `Column` on 3x3, typing `words`; returns the outcome, what was shown and what was not read."""

    def run(words, *, seat=0, save=None, **settings):
        typed = io.StringIO("".join(f"{word}\n" for word in words.split()))
        monkeypatch.setattr(sys, "stdin", typed)
        seating = Seating.of(Column(), game="hex", settings={"size": 3, **settings})
        outcome = play_by_hand(seating, seat=seat, seed=0, style=Style(), save=save)
        return outcome, capsys.readouterr().out, typed.read().split()

    return run


def board(*names):
    moves = ["abc".index(name[0]) + 3 * (int(name[1]) - 1) for name in names]
    stones = stones_after(3, moves)
    chain = [cell for seat in (0, 1) for cell in winning_chain(3, stones, seat)]
    return draw_board(3, stones, last=moves[-1], chain=chain)


@pytest.mark.parametrize(
    ("seat", "typed", "course", "outcome"),
    [
        (0, "c1 c2 c3", "c1 a2 c2 b2 c3", 1),
        (0, "a1 b1 c1", "a1 a2 b1 b2 c1 c2", -1),
        (1, "b2 a2 c2", "b1 b2 b3 a2 c1 c2", 1),
        (1, "a1 a2", "b1 a1 b2 a2 b3", -1),
    ],
)
def test_the_end_is_shown_in_every_seat_and_nothing_more_is_asked(play, seat, typed, course, outcome):
    result, shown, left = play(f"{typed} a3", seat=seat)
    assert result == outcome
    assert left == ["a3"]
    whose, sign = ("Your" if outcome > 0 else "Their"), "#" if (outcome > 0) == (seat == 0) else "@"
    assert shown.endswith(f"{whose} chain is complete; its stones are marked {sign}.\n{board(*course.split())}\n")


def test_the_rivals_moves_are_told_and_the_last_one_is_marked(play):
    _, shown, _ = play("c1 c2")
    assert "Column plays a2.\n" + board("c1", "a2") in shown
    assert " 2 [O]. .  2" in shown
    assert "\x1b" not in shown, "no colours outside a terminal"


def test_a_swap_is_offered_and_the_mirrored_stone_marked(play):
    _, shown, _ = play("swap", seat=1, swap=True)
    assert "You may swap" in shown
    assert "Your move, or swap: " in shown
    first, again = shown.split("Column plays b1.\n")[1:]
    assert first.startswith("   a b c\n 1  .[X].  1\n  2  . . .  2\n")
    assert again.startswith("   a b c\n 1  .[X].  1\n  2  O . .  2\n"), "b1 became a2, and was free for the answer"
    _, shown, _ = play("a1", swap=True)
    assert "You may swap" not in shown


def test_a_rivals_swap_is_told_and_the_mirrored_stone_marked(monkeypatch, capsys):
    class Swapping(Column):
        def act(self, decisions):
            swap = decisions.legal.shape[1] - 1
            return Answers(action=np.array([swap], np.int32)) if decisions.legal[0, swap] else super().act(decisions)

    monkeypatch.setattr(sys, "stdin", io.StringIO("c1\n"))
    seating = Seating.of(Swapping(), game="hex", settings={"size": 3, "swap": True})
    assert play_by_hand(seating, seat=0, seed=0, style=Style()) is None
    swapped = draw_board(3, stones_after(3, [2, 9]), last=6)
    assert "   3 [O]. .  3" in swapped
    assert f"Swapping swaps.\n{swapped}\n" in capsys.readouterr().out


def test_a_rival_that_takes_its_time_is_said_to_think(monkeypatch, capsys):
    monkeypatch.setattr("sparring.report.progress.PATIENCE", 0.05)
    said = []

    class Slow(Column):
        def act(self, decisions):
            time.sleep(0.3)
            return super().act(decisions)

    monkeypatch.setattr(sys, "stdin", io.StringIO("c1\nhint\n"))
    play_by_hand(Seating.of(Slow(), game="hex", settings={"size": 3}), seat=0, seed=0, style=Style(), say=said.append)
    assert said == ["Slow is thinking"] * 2, "at its move and at the hint"
    monkeypatch.setattr(sys, "stdin", io.StringIO("c1\nhint\n"))
    play_by_hand(Seating.of(Column(), game="hex", settings={"size": 3}), seat=0, seed=0, style=Style(), say=said.append)
    assert len(said) == 2


def test_undo_goes_back_to_the_persons_last_decision(play, tmp_path):
    outcome, shown, _ = play("undo a1 b1 undo undo undo c1 c2 c3", save=tmp_path / "m.sgf")
    assert outcome == 1
    assert shown.count("There is no move of yours to take back.") == 2
    assert "Taken back.\n" + board("a1", "a2") in shown
    assert shown.count("Column plays a2.") == 2, "once for a1 and once for c1, not again when b1 is taken back"
    assert load_sgf(tmp_path / "m.sgf").moves == (2, 3, 5, 4, 8)


def test_resigning_is_losing(play, tmp_path):
    outcome, shown, _ = play("c1 resign", save=tmp_path / "m.sgf")
    assert outcome == -1
    assert shown.endswith("You resigned.\n" + board("c1", "a2") + "\n")
    record = load_sgf(tmp_path / "m.sgf")
    assert (record.black, record.white, record.winner, record.resigned) == ("you", "Column", 1, True)


@pytest.mark.parametrize("seat", [0, 1])
def test_the_invitation_comes_once_below_the_first_board_and_what_was_typed_before_is_dropped(play, monkeypatch, seat):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    dropped = []
    monkeypatch.setattr(termios, "tcflush", lambda *given: dropped.append(given))
    monkeypatch.setattr(io, "StringIO", Terminal)
    _, shown, _ = play("c1 c2", seat=seat)
    assert len(dropped) == 1
    assert shown.count("Type a cell such as c4, or help.") == 1
    assert shown.index("a b c") < shown.index("Type a cell")


@pytest.mark.parametrize("last", ["", "quit"])
def test_who_leaves_has_no_outcome_and_keeps_the_moves(play, tmp_path, last):
    assert play(f"c1 {last}", seat=1, save=tmp_path / "m.sgf")[0] is None
    record = load_sgf(tmp_path / "m.sgf")
    assert (record.moves, record.winner) == ((1, 2, 4), None)


def test_ctrl_c_leaves_too(monkeypatch):
    def interrupt(self, here):
        raise KeyboardInterrupt

    seating = Seating.of("random", game="hex", settings={"size": 3})
    monkeypatch.setattr("sparring.games.hex.human.HumanPlayer._move", interrupt)
    assert play_by_hand(seating, seat=0, seed=0, style=Style()) is None


def test_a_hint_is_what_the_rival_would_do(play):
    assert "Column would play b1." in play("hint")[1]
    assert "Column would play a2." in play("hint", seat=1)[1]


def test_help_names_every_command(play):
    words = {line.split()[0] for line in play("help", swap=True)[1].splitlines() if line}
    assert {"swap", "hint", "undo", "resign", "quit"} <= words
    assert "swap" not in play("help")[1], "without the rule there is nothing to explain"


def test_what_cannot_be_kept_is_refused_before_the_first_move(play, tmp_path):
    (tmp_path / "old.sgf").write_text("kept")
    with pytest.raises(InputError, match="exists already"):
        play("a1", save=tmp_path / "old.sgf")
    assert (tmp_path / "old.sgf").read_text() == "kept"
    with pytest.raises(InputError, match="opening stones"):
        play("a1", save=tmp_path / "new.sgf", opening=2)


def test_a_network_answers_once_before_the_first_question(monkeypatch, capsys):
    asked = []

    class Slow(Column):
        def act(self, decisions):
            asked.append(capsys.readouterr().out)
            return super().act(decisions)

    monkeypatch.setattr(Entrant, "is_network", True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    play_by_hand(Seating.of(Slow(), game="hex", settings={"size": 3}), seat=0, seed=0, style=Style())
    assert asked == [""]
    assert "Your move" in capsys.readouterr().out


def test_a_terminal_gets_colours(monkeypatch, capsys):
    from sparring.games.hex.human import print_text

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_text(draw_board(3, [1, 0, 0, 0, 2, 0, 0, 0, 1], last=4, chain=[8]))
    shown = capsys.readouterr().out
    coloured, red, blue = Text.from_ansi(shown), 1, 4
    assert coloured.plain.rstrip("\n") == draw_board(3, [1, 0, 0, 0, 2, 0, 0, 0, 1], last=4, chain=[8])

    def colours(sign):
        return {
            (style.color and style.color.number, bool(style.reverse))
            for at, found in enumerate(coloured.plain)
            if found == sign
            for style in [coloured.get_style_at_offset(Console(), at)]
        }

    assert colours("X") == {(red, False)}
    assert colours("#") == {(red, True)}
    assert colours("O") == {(blue, True)}, "the last stone is reversed"
    assert colours("a") == {(red, False)}, "black's edges"
    assert colours("2") == {(blue, False)}, "white's edges"
    assert colours(".") == {(None, False)}


def test_the_kernels_that_show_the_end_are_compiled_before_the_first_question(play, monkeypatch):
    calls = []
    apply = HexModel.apply
    monkeypatch.setattr(HexModel, "apply", lambda *given: calls.append(given) or apply(*given))
    assert play("quit")[0] is None
    assert len(calls) == 1
