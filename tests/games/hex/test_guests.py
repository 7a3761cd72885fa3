"""Programs of others at Hex: GTP over pipes and OpenSpiel, told the moves in order; what fails loses, and ends."""

import os
import sys
import time

import numpy as np
import pytest

from sparring.core import Guest, InputError, RandomPlayer
from sparring.games.hex import gtp_player
from sparring.games.hex.course import Courses
from sparring.games.hex.gtp_player import GtpPlayer
from sparring.games.hex.openspiel import OpenSpielPlayer
from sparring.games.hex.text import stones_after
from sparring.rollout import Collector
from tests import hex
from tests.commands import SPARRING

GOOD = """
import sys
for line in sys.stdin:
    words = line.split()
    if words[0] == "boardsize": size = int(words[1]); board = set()
    if words[0] == "clear_board": board = set()
    if words[0] == "play":
        if words[2] in board: print("? taken\\n", flush=True); continue
        board.add(words[2])
    answer = ""
    if words[0] == "genmove":
        cells = [f"{chr(97 + c)}{r + 1}" for c in range(size) for r in range(size)]
        answer = next(cell for cell in cells if cell not in board); board.add(answer)
    print("= " + answer + "\\n", flush=True)
"""
BAD = {
    "ends": ("import sys; sys.stderr.write('no licence\\n'); sys.exit(3)", "with code 3: no licence"),
    "hangs": ("import time; time.sleep(100)", "did not answer 'boardsize 4' in 0.5 s"),
    "is no GTP": ("print('hello\\n', flush=True); input(); input()", "'hello', which is no GTP"),
    "refuses": ("while input(): print('? not now\\n', flush=True)", "refused 'boardsize 4': not now"),
    "plays nonsense": ("while input(): print('= z99\\n', flush=True)", "'z99', which is no move"),
    "plays a taken cell": (GOOD.replace("cell not in board", "True"), "which is not legal"),
    "resigns": (GOOD.replace("answer = next", "answer = 'resign'; next"), "resigned"),
    "talks on end": ("while True: print('= a1', flush=True)", ""),
}


def guest(patience=20.0):
    return Guest(matches=4, seed=1, patience=patience)


def program(folder, code):
    path = folder / "engine.py"
    path.write_text(code)
    return f"{sys.executable} -S -E {path}"


def meet(player, other, *, matches=4, ended=lambda slot: None, **settings):
    arena = hex.arena(4, matches=matches, seed=3, **settings)
    lineup = lambda serials: np.where(serials[:, None] % 2 == 0, [0, 1], [1, 0]).astype(np.int32)  # noqa: E731
    return Collector(arena, {"a": player, "b": other}, lineup).play(
        matches, ended=lambda serials, turns, results: [ended(slot) for slot in results.match.tolist()]
    )


@pytest.mark.parametrize("settings", [{}, {"opening": 3}, {"swap": True}], ids=str)
def test_the_moves_in_order_lead_to_what_a_row_shows(settings):
    class Checks(RandomPlayer):
        courses, seen = Courses(4), 0

        def act(self, decisions):
            answers = super().act(decisions)
            for row, action in enumerate(answers.action.tolist()):
                mine, others = decisions.observation["planes"][row]
                seat = decisions.seat[row]
                black, white = (mine, others) if seat == 0 else (others.T, mine.T)
                moves = self.courses.follow(decisions, row)
                assert stones_after(4, moves) == (black + 2 * white).ravel().tolist()
                assert len(moves) % 2 == seat
                move = action if seat == 0 or action == 16 else action % 4 * 4 + action // 4
                assert self.courses.play(decisions, row, move) == action
                Checks.seen += 1
            return answers

    meet(Checks(1), RandomPlayer(2), matches=40, **settings)
    assert Checks.seen > 200


def test_a_gtp_program_plays_whole_matches_in_both_seats(tmp_path):
    player = GtpPlayer(hex.settings(4), program(tmp_path, GOOD), guest())
    _, outcome = meet(player, RandomPlayer(2), opening=2)
    assert np.isfinite(outcome).all()
    assert [player.forfeited(match) for match in range(4)] == [None] * 4
    player.close()
    player.close()


def test_the_clock_of_a_move_does_not_run_while_a_program_starts(tmp_path):
    """It loads before it answers, or before its first move; after that, a move that takes as long loses."""
    slow_start = GOOD.replace("import sys\n", "import sys, time\ntime.sleep(1.3)\n")
    slow_moves = slow_start.replace("answer = next", "time.sleep(1.3); answer = next")
    for code, reason in ((slow_start, None), (slow_moves, "did not answer 'genmove black' in 1 s")):
        player = GtpPlayer(hex.settings(4), program(tmp_path, code), guest(1.0))
        meet(player, RandomPlayer(2), matches=1)
        lost = player.forfeited(0)
        player.close()
        assert (lost and lost.reason) == reason


@pytest.mark.parametrize("kind", BAD)
def test_a_program_that_fails_forfeits_with_a_reason_and_is_ended(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(gtp_player, "START_SECONDS", 0.0)
    code, reason = BAD[kind]
    player = GtpPlayer(hex.settings(4), program(tmp_path, code), guest(0.5 if kind == "hangs" else 20.0))
    began = time.monotonic()
    meet(player, RandomPlayer(2), matches=2)
    forfeits = [player.forfeited(match) for match in range(2)]
    player.close()
    assert all(one is not None and reason in one.reason for one in forfeits), forfeits
    assert time.monotonic() - began < 30
    assert not [one for one in _children() if "engine.py" in one]


def _children():
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat") as stat, open(f"/proc/{name}/cmdline") as line:
                    if stat.read().rsplit(")", 1)[1].split()[1] == str(os.getpid()):
                        found.append(line.read())
            except OSError:
                continue
    return found


def test_a_program_that_always_fails_is_not_asked_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(gtp_player, "START_SECONDS", 0.0)
    player = GtpPlayer(hex.settings(4), program(tmp_path, BAD["hangs"][0]), guest(0.3))
    reasons = []
    meet(player, RandomPlayer(2), matches=8, ended=lambda slot: reasons.append(player.forfeited(slot).reason))
    assert sum("did not answer" in reason for reason in reasons) == 3
    assert sum("is not asked again" in reason for reason in reasons) == 5


def test_openspiel_wins_against_chance_from_any_opening():
    player = OpenSpielPlayer(hex.settings(4), "100", guest())
    seated, outcome = meet(player, RandomPlayer(2), matches=20, opening=2)
    assert (outcome[seated == 0] == 1).mean() > 0.8


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GtpPlayer(hex.settings(4), "no-such-engine --fast", guest()), "no program 'no-such-engine'"),
        (lambda: GtpPlayer(hex.settings(4), "", guest()), "names no program"),
        (lambda: GtpPlayer(hex.settings(4), "'half", guest()), "not a command"),
        (lambda: OpenSpielPlayer(hex.settings(4), "many", guest()), "not a number of simulations"),
        (lambda: OpenSpielPlayer(hex.settings(4, swap=True), "50", guest()), "no swap rule"),
    ],
)
def test_bad_names_are_one_line(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_a_command_is_run_without_a_shell(tmp_path):
    player = GtpPlayer(hex.settings(4), f"{sys.executable} -c pass ; touch {tmp_path / 'sprung'}", guest(5))
    meet(player, RandomPlayer(2), matches=1)
    player.close()
    assert not (tmp_path / "sprung").exists()


@pytest.mark.slow
def test_sparring_gtp_is_a_peer(tmp_path):
    command = f"{' '.join(SPARRING)} gtp hex hex-7x7 --simulations 2 --size 4"
    player = GtpPlayer(hex.settings(4), command, guest(120))
    meet(player, RandomPlayer(2), matches=2, opening=2)
    assert [player.forfeited(match) for match in range(2)] == [None, None]
    player.close()
