"""Tables and progress: what they say, and that they load neither torch nor numba."""

import subprocess
import sys

from sparring.core import Score
from sparring.report.progress import ProgressLine, training_text
from sparring.report.tables import score_json, score_table


def test_progress_and_tables_import_neither_torch_nor_numba():
    code = (
        "import sys, sparring.report.tables, sparring.report.progress\n"
        "assert not {'torch', 'numba'} & sys.modules.keys(), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_training_text_says_speed_and_the_share_of_each_stage():
    metrics = {"play/matches_per_second": 410.2, "play/decisions_per_second": 6120.0, "play/mean_batch": 512.0}
    metrics |= {"time/learn": 0.71, "time/forward": 0.287, "time/publish": 0.003, "loss/entropy": 1.0}
    assert training_text(metrics) == "410 matches/s  6,120 decisions/s  batch 512  learn 71% forward 29%"


def test_progress_away_from_a_terminal_is_a_plain_line(capsys):
    with ProgressLine("training", total=100) as bar:
        bar.update(50, "fast")
        bar.update(60, "not ten seconds later")
    errors = capsys.readouterr().err
    assert "training  50%" in errors
    assert "fast" in errors
    assert "60%" not in errors


def test_a_score_as_a_table_and_as_data():
    score = Score(wins=6, draws=2, losses=2, failed=1, decisions_per_match=9.5)
    table = score_table("mine", {"random": score})
    cells = [next(iter(column.cells)) for column in table.columns]
    assert cells[:2] == ["random", "70.0%"]
    assert cells[3:] == ["6", "2", "2"]
    data = score_json(score)
    assert data["matches"] == 10
    assert data["interval"][0] < data["win_rate"] == 0.7 < data["interval"][1]
    assert data.keys() == {
        "matches", "wins", "draws", "losses", "failed", "win_rate", "interval", "decisions_per_match",
    }  # fmt: skip
