"""The page of a training run: what is in its folder, whoever wrote it, and nothing from the network."""

import json

import pytest

from sparring.core import InputError
from sparring.report.plots import ticks
from sparring.report.run_page import read_metrics, run_page

CONFIG = "game: hex\nlearner: {kind: imitation}\nevaluation: {matches: 100}\n"


def made(folder, *lines, config=CONFIG):
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(config)
    (folder / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def update(number, **figures):
    return json.dumps({"update": number, "decisions": 100 * number} | figures)


def test_win_rates_have_their_intervals_and_losses_their_curves(tmp_path):
    page = run_page(
        made(
            tmp_path / "run",
            update(1, **{"loss/policy_loss": 2.5, "time/learn": 0.7}),
            update(2, **{"loss/policy_loss": 1.5, "rating/win_rate/random": 0.8}),
        )
    )
    assert "95% intervals of 100 matches" in page
    assert "random: 0.8" in page
    assert "Policy loss <small>now 1.5</small>" in page
    assert page.count("<polyline") == 3
    assert "://" not in page


def test_validation_is_shown_by_kind_and_turn_with_calibration(tmp_path):
    figures = {"log_loss": 1.2, "top1": 0.5, "top3": 0.9, "frequent_top1": 0.2, "turn/1/top1": 0.4}
    figures |= {
        "kind/move/top1": 0.3,
        "kind/switch/top1": 0.6,
        "policy_bin/0/predicted": 0.1,
        "policy_bin/0/observed": 0.2,
    }
    page = run_page(
        made(tmp_path / "run", update(1, **{f"validation/{name}": value for name, value in figures.items()}))
    )
    for words in (
        "Held-out matches",
        "Likeliest by kind of choice",
        "switch: 0.6",
        "40.0%",
        "Calibration of the policy",
    ):
        assert words in page


def test_axes_are_marked_at_round_numbers():
    assert ticks(0.005175, 0.01545) == pytest.approx([0.005, 0.01, 0.015, 0.02])
    assert ticks(0.0, 1.0) == [0.0, 0.5, 1.0]
    assert ticks(2.0, 2.0) == [1.0, 2.0, 3.0]
    assert ticks(0.0, 0.0) == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize("low", [-1e299, -3.7, -1e-310, 0.0, 5e-324, 1e-9, 2.5, 1e299])
@pytest.mark.parametrize("span", [0.0, 5e-324, 1e-12, 0.37, 1e6, 1e299])
def test_axes_cover_every_range(low, span):
    marks = ticks(low, low + span)
    slack = 1e-6 * (marks[-1] - marks[0])
    assert marks[0] - slack <= low <= low + span <= marks[-1] + slack
    assert 3 <= len(marks) <= 5
    assert marks == sorted(set(marks))


def test_names_and_figures_from_outside_are_harmless(tmp_path):
    hostile = {"rating/win_rate/<script>": 0.5, "loss/</svg><img src=x>": 1.0, "loss/huge": 1e308, "loss/flag": True}
    page = run_page(made(tmp_path / "run", update(1, **hostile), config="game: [<b>]\nlearner: text\nevaluation: 3\n"))
    assert "<script>" not in page
    assert "<img" not in page
    assert "<b>]" not in page


def test_lines_that_a_crash_cut_short_are_left_out(tmp_path):
    folder = made(
        tmp_path / "run", update(1), '{"update": 2, "deci', "[1]", '{"update": "x", "decisions": 3}', update(3)
    )
    assert [line["update"] for line in read_metrics(folder)] == [1, 3]


@pytest.mark.parametrize(("lines", "said"), [(None, "no metrics.jsonl here"), (["{"], "no line of metrics in it yet")])
def test_a_folder_without_metrics_is_one_line(tmp_path, lines, said):
    if lines is not None:
        made(tmp_path, *lines)
    with pytest.raises(InputError, match=said):
        run_page(tmp_path)
