"""Tables and progress: what they say, and that they load neither torch nor numba."""

import re
import subprocess
import sys
from time import monotonic, sleep

import pytest

from sparring.core import Score, game_names, load_game, player_names, shipped_weights
from sparring.report import panel, progress
from sparring.report.panel import TrainingPanel
from sparring.report.progress import ProgressLine, announced, duration
from sparring.report.tables import game_table, games_table, ladder_table, score_json, score_table, status_table
from sparring.serving.protocol import ModelReport, Report
from tests.commands import shown


def test_progress_and_tables_import_neither_torch_nor_numba():
    code = (
        "import sys, sparring.report.tables, sparring.report.panel\n"
        "assert not {'torch', 'numba'} & sys.modules.keys(), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


FIGURES = {
    "play/matches_per_second": 410.2, "play/decisions_per_second": 61200.0, "play/mean_batch": 512.0,
    "time/learn": 0.61, "time/forward": 0.287, "time/rating": 0.07, "time/collect": 0.03, "time/publish": 0.003,
    "loss/policy_loss": -0.01234, "loss/value_loss": 0.2314, "loss/entropy": 1.8441, "loss/approx_kl": 0.01034,
}  # fmt: skip
SCORES = {"random": Score(199, 0, 1), "path": Score(162, 0, 38)}


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Makes standard error a terminal of 80 columns; returns what it shows, without control sequences."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")

    def shown():
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)

    return shown


def test_the_panel_on_a_terminal_of_80_columns_shows_everything_about_a_run(terminal):
    with TrainingPanel(total=450_000) as shown:
        shown.update(57, 234_112, FIGURES)
        shown.rated(40, SCORES)
    text = terminal()
    assert "\u2501" * 10 in text
    lines = [line.rstrip() for line in text[text.rindex("training") :].splitlines()]
    assert max(map(len, lines)) <= 78  # where a terminal writes ^C
    for part in (" 52%", "left", "update 57"):
        assert part in lines[0]
    machine = re.fullmatch(r"machine   CPU of \d+ +\d+\.\d  memory +([\d,]+) MB", lines[2])
    assert int(machine[1].replace(",", "")) > 20
    assert [line for line in lines[1:] if line != lines[2]] == [
        "speed     decisions/s  61,200  matches/s      410  batch      512",
        "time      learn           61%  forward        29%  rating      7%  collect  3%",
        "          " + "█" * 41 + "▓" * 20 + "▒" * 5 + "░" * 2,
        "learning  policy loss -0.0123  value loss  0.2314  entropy 1.8441  KL   0.0103",
        "win rate  random        99.5%  97.2% - 99.9%   after update 40",
        "          path          81.0%  75.0% - 85.8%",
    ]


def test_figures_stand_still_while_they_change_and_small_ones_keep_a_digit(terminal):
    with TrainingPanel(total=100) as shown:
        shown.update(1, 10, FIGURES)
        shown.update(2, 20, FIGURES | {"loss/policy_loss": 0.5, "loss/approx_kl": 2e-5, "play/mean_batch": 7.0})
    text = terminal()
    assert "learning  policy loss  0.5000  value loss  0.2314  entropy 1.8441  KL  2.0e-05" in text
    assert "speed     decisions/s  61,200  matches/s      410  batch        7" in text


def test_a_wide_panel_shows_a_gpu_and_a_longer_bar(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with TrainingPanel(total=100) as shown:
        shown.update(1, 10, FIGURES | {"gpu/memory": 1203.4, "gpu/utilisation": 0.87})
    text = terminal()
    assert re.search(r"GPU +1,203 MB +load +87%", text)
    assert "█" * 66 + "▓" * 31 in text


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_panel_takes_all_of_a_terminal_but_room_for_the_echo_of_ctrl_c(terminal, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    with TrainingPanel(total=450_000) as shown:
        shown.update(57, 234_112, FIGURES)
        shown.rated(40, SCORES | {"runs/a-run-with-a-long-name/checkpoints/00000036": Score(1, 0, 1)})
    text = terminal()
    lines = [line.rstrip() for line in text[text.rindex("training") :].splitlines()]
    assert max(map(len, lines)) == columns - 2
    assert "…" not in text
    assert len(lines[0]) == len(next(line for line in lines if "KL" in line)) == columns - 2
    told = " ".join(" ".join(lines).split())
    for part in ("decisions/s 61,200", "batch 512", "collect 3%", "policy loss -0.0123", "KL 0.0103", "random 99.5%"):
        assert part in told


def test_a_table_of_scores_keeps_to_a_narrow_terminal_with_names_whole():
    name = "runs/a-run-with-a-long-name/checkpoints/00000036"
    lines = shown(score_table("title", {name: Score(1, 2, 3)}), width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert "".join(line.split(" ")[0] for line in lines[3:]) == name


def test_a_long_name_and_an_exploitability_have_their_lines_in_the_panel(terminal):
    with TrainingPanel(total=100) as shown:
        shown.update(1, 10, FIGURES)
        shown.rated(1, {"runs/first/checkpoints/24": Score(3, 0, 1)}, nash_conv=0.25)
    text = terminal()
    assert "win rate  runs/first/checkpoints/24   75.0%  30.1% - 95.4%   after update 1" in text
    assert "          NashConv                     0.25" in text


def test_the_panel_says_what_a_run_waits_for(terminal):
    with TrainingPanel(total=100, done=5, update=3) as shown:
        assert shown._live is not None
        shown.update(4, 10, FIGURES)
        shown.doing("rating against path: 120 of 400 matches")
        shown._live.refresh()
        shown.update(5, 20, FIGURES)
    text = terminal()
    assert "now       update 4 under way for 0:00" in text
    assert "now       rating against path: 120 of 400 matches" in text
    assert "now" not in text[text.rindex("training") :]


def test_away_from_a_terminal_every_evaluation_is_a_line_of_a_table(capsys):
    with TrainingPanel(total=450_000) as shown:
        shown.update(39, 200_000, FIGURES)
        shown.update(40, 234_112, {name: value for name, value in FIGURES.items() if name != "loss/approx_kl"})
        shown.rated(40, SCORES, nash_conv=0.25)
    heading, line, *rating = capsys.readouterr().err.splitlines()
    assert " ".join(heading.split()) == "decisions done left a second CPU MB policy value entropy KL"
    assert line.split()[:2] == ["234,112", "52%"]
    assert line.split()[3] == "61,200"
    assert line.split()[6:11] == ["-0.0123", "0.231", "1.84", "-"]
    assert rating == ["  update 40:  random 99.5% [97.2, 99.9]  path 81.0% [75.0, 85.8]", "    NashConv 0.25"]
    assert len(heading) == len(line) <= 80


def test_away_from_a_terminal_only_a_rating_that_takes_long_is_told_before_its_end(capsys, monkeypatch):
    times = iter((0.0, 9.0, 10.0, 15.0, 20.0))
    with TrainingPanel(total=450_000) as shown:
        shown.update(40, 234_112, FIGURES)
        begun = monotonic() + 100
        monkeypatch.setattr(panel, "monotonic", lambda: begun + now)
        for now in times:
            shown.doing(f"rating against path: {now:.0f} of 400 matches")
    assert capsys.readouterr().err.splitlines() == [
        "rating against path: 10 of 400 matches",
        "rating against path: 20 of 400 matches",
    ]


def test_a_rating_against_nobody_is_not_shown(capsys):
    with TrainingPanel(total=450_000) as shown:
        shown.update(40, 234_112, FIGURES)
        shown.rated(40, {})
    assert "update 40" not in capsys.readouterr().err


def test_away_from_a_terminal_a_run_that_is_not_rated_is_not_silent_for_long(capsys, monkeypatch):
    monkeypatch.setattr(panel, "_LINE_SECONDS", 0.0)
    with TrainingPanel(total=450_000) as shown:
        shown.update(40, 234_112, FIGURES)
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_bar_on_a_terminal_of_80_columns_keeps_its_time_left_above_long_details(terminal):
    with ProgressLine("self-play", total=100) as bar:
        bar.update(50, "many details " * 7)
        assert bar._live is not None
        bar._live.refresh()
    text = terminal()
    assert "\u2501" * 10 in text
    assert " 50%   0:00 left" in text
    assert " ".join(text.split()).count("many details") >= 7


def test_progress_away_from_a_terminal_is_a_plain_line_every_ten_seconds(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    with ProgressLine("training", total=100) as bar:
        bar.update(50, "fast")
        monkeypatch.setattr(progress, "PLAIN_SECONDS", 10.0)
        bar.update(60, "not ten seconds later")
    assert capsys.readouterr().err == "training  50%  0:00 left  fast\n"


def test_work_that_only_a_clock_ends_has_no_time_left_of_its_own():
    pace = progress.Pace(10**15)
    assert pace.left == "?"
    pace.done, pace.started = 1000, pace.started - 10
    assert pace.left == "?"


def test_durations_read_like_clocks():
    assert [duration(seconds) for seconds in (0.4, 42, 725, 11220)] == ["0:00", "0:42", "12:05", "3:07:00"]


def test_only_what_takes_long_is_announced(monkeypatch):
    said = []
    with announced("waiting", said.append):
        pass
    assert said == []
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    with announced("waiting", said.append):
        sleep(0.3)
    assert said == ["waiting"]


def test_a_score_as_a_table_and_as_data():
    score = Score(wins=6, draws=2, losses=2, failed=1, decisions_per_match=9.5)
    title, _, _, cells = shown(score_table("mine at hex, " + "x" * 60, {"random": score})).splitlines()
    assert title == "mine at hex, " + "x" * 60
    assert cells.split() == ["random", "70.0%", "39.7%", "-", "89.2%", "6", "2", "2"]
    data = score_json(score)
    assert data["matches"] == 10
    assert data["interval"][0] < data["win_rate"] == 0.7 < data["interval"][1]
    assert data.keys() == {
        "matches", "wins", "draws", "losses", "failed", "win_rate", "interval", "decisions_per_match",
        "points_per_minute", "endings", "forfeits",
    }  # fmt: skip


def test_why_matches_ended_is_told_below_the_table():
    score = Score(wins=3, draws=1, losses=0, endings={"goal": 0, "time": 1, "overtime": 3})
    *_, line = shown(score_table("mine at rocket", {"rule": score})).splitlines()
    assert line == "matches with rule ended by: overtime 3, time 1"
    assert score_json(score)["endings"] == {"goal": 0, "time": 1, "overtime": 3}
    assert "ended" not in shown(score_table("mine at hex", {"path": Score(1, 0, 0)}))


def test_forfeits_are_told_below_the_table():
    score = Score(wins=3, draws=0, losses=0, forfeits=("x forfeits: resigned",) * 2)
    *_, about, reason = shown(score_table("mine at hex", {"x": score})).splitlines()
    assert (about, reason) == ("2 matches were forfeited:", "  x forfeits: resigned")
    assert score_json(score)["forfeits"] == {"matches": 2, "notes": ["x forfeits: resigned"]}


def test_the_state_of_a_server_fits_80_columns():
    model = ModelReport(
        version=123456, game="hex", sessions=128, slots_used=8192, slots=8192, requests=1_234_567_890,
        rows=9_876_543_210, forwards=1, mean_batch=31.9, forward_seconds=1.0, p50=0.0123, p95=0.1234, p99=1.5,
        queue=120, repeated=0, lost=0, failed=0,
    )  # fmt: skip
    models = {"main": model, "older": model}
    report = Report(protocol=1, uptime=86_400.0, requests_per_second=12_345.6, refused=0, models=models)
    text = shown(status_table("tcp://localhost:5555", report))
    heading, _, first, _ = text.splitlines()[1:]
    assert " ".join(heading.split()) == "model version clients slots requests batch queue p50/p95/p99 ms"
    assert first.split() == ["main", "123456", "128", "8192/8192", "1,234,567,890", "31.9", "120", "12.3/123/1500"]


def test_the_summary_of_the_ladder_uses_the_width_there_is():
    summary = {
        "username": "MyBot", "model": "runs/pokemon-gen1", "format": "gen1ou", "matches": 100,
        "wins": 60, "draws": 1, "losses": 39, "win_rate": 0.605, "interval": [0.507, 0.695],
        "opponents": {"Someone": {"wins": 60, "draws": 1, "losses": 39}}, "ratings": {"ws://x": 1312},
        "answer_ms": {"p50": 12.0, "p99": 31.0}, "mean_batch": 4.2, "matches_per_hour": 1234.0,
        "invalid_choices": 0, "unavailable_choices": 0, "late_choices": 0, "time_outs": 0, "forfeited": 0,
        "failed": 0, "reconnects": 0,
    }  # fmt: skip
    lines = shown(ladder_table(summary)).splitlines()
    assert lines[0] == "MyBot (runs/pokemon-gen1) at gen1ou: 100 matches"
    assert "win rate 60.5%, 95% interval 50.7% - 69.5%, rating 1312" in lines
    assert "faults: none" in lines
    assert "faults: late choices 2, failed 1" in shown(ladder_table({**summary, "late_choices": 2, "failed": 1}))
    assert "answers p50 12 ms, p99 31 ms, mean batch 4.2, 1,234 matches/hour" in lines
    without = {**summary, "matches": 0, "win_rate": 0.0, "interval": [0.0, 1.0], "forfeited": 1}
    assert shown(ladder_table(without)).splitlines() == [
        "MyBot (runs/pokemon-gen1) at gen1ou: 0 matches",
        "faults: forfeited 1",
    ]


def test_the_games_that_come_with_us_fit_one_screen_with_every_name_whole():
    games = [load_game(name) for name in game_names()]
    lines = shown(games_table(games)).splitlines()
    assert len(lines) <= 21  # of 24: a hint, and what was typed
    for game in games:
        assert {*player_names(game), *shipped_weights(game.name)} <= set(" ".join(lines).replace(",", " ").split())


@pytest.mark.parametrize("name", game_names())
def test_one_game_is_shown_with_its_presets(name):
    game = load_game(name)
    words = shown(game_table(game)).replace(",", " ").split()
    assert {*player_names(game), *shipped_weights(name), *(path.stem for path in game.presets.glob("*.yaml"))} <= {
        *words
    }


def test_away_from_a_terminal_an_update_has_one_line_however_often_it_is_rated(capsys, monkeypatch):
    monkeypatch.setattr(panel, "_LINE_SECONDS", 0.0)
    with TrainingPanel(total=450_000) as shown:
        shown.update(40, 234_112, FIGURES)
        shown.rated(30, SCORES)
        shown.rated(40, SCORES)
    _, *lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1].strip(":") for line in lines] == ["52%", "30", "40"]


def test_a_display_whose_terminal_became_narrower_begins_where_the_broken_lines_of_it_begin(
    terminal, monkeypatch, capsys
):
    monkeypatch.setenv("COLUMNS", "120")
    with TrainingPanel(total=100) as shown:
        shown.update(1, 10, FIGURES)
        assert shown._live is not None
        shown._live.refresh()
        drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err).split("training")[-1].split("\n")
        rows = sum(-(-len(line) // 60) for line in ["training" + drawn[0], *drawn[1:]])
        shown._console.width = 60
        shown._live.refresh()
        begun = capsys.readouterr().err.split("training")[0]
    assert rows > len(drawn)
    assert begun.count("\x1b[1A") == begun.count("\x1b[2K") - 1 == rows - 1
