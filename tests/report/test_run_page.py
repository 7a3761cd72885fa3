"""The page of a training run: what is in its folder, whoever wrote it, and nothing from the network."""

import json
import re

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
    assert "random: 80.0%" in page
    assert "Policy loss <small>now 1.5</small>" in page
    assert page.count("<polyline") == 3
    assert "://" not in page


def test_a_summary_tells_what_was_trained_where_and_how_well(tmp_path):
    config = "game: hex\nsettings: {size: 5, swap: true}\nseed: 7\nlearner: {kind: ppo}\nevaluation: {matches: 100}\n"
    folder = made(
        tmp_path / "run",
        update(1, time=1_700_000_000.5),
        update(2, time=1_700_000_090.5, **{"rating/win_rate/path": 0.5, "rating/update": 1}),
        update(3, time=1_700_000_125.5),
        config=config,
    )
    (folder / "environment.json").write_text(json.dumps({"processor": "2 cores, Abacus", "torch": "2.0"}))
    (folder / "ending.json").write_text(json.dumps({"how": "finished", "reason": "all decisions"}))
    page = run_page(folder)
    assert "hex; size 5, swap true; ppo; seed 7; first update 2023-11-14 22:13 UTC; finished: all decisions" in page
    assert "2 cores, Abacus; torch 2.0" in page
    assert "<b>2:05</b>" in page
    assert "<th>path</th><td>50.0%</td><td>40.4% - 59.6%</td><td>1</td>" in page
    assert f"<pre>{config.strip()}</pre>" in page


@pytest.mark.parametrize("content", ["{", "[1]", '{"how": ["<script>"], "reason": {}, "processor": "<script>"}'])
def test_damaged_files_beside_the_metrics_leave_the_page_whole(tmp_path, content):
    folder = made(tmp_path / "run", update(1, time=1e200), config=f"{CONFIG}seed: <script>\nsettings: [<script>]\n")
    (folder / "environment.json").write_text(content)
    (folder / "ending.json").write_text(content)
    page = run_page(folder)
    assert "<h2>Strength</h2>" in page
    assert "<script>" not in page


@pytest.mark.parametrize(
    ("evaluation", "said"),
    [
        ("{opponents: []}", "evaluation.opponents is empty"),
        ("{opponents: [path], every: 12}", "after every 12 updates and at the end"),
        ("{opponents: [path], every: 0}", "a rating comes at the end"),
        ("3", "a rating comes at the end"),
    ],
)
def test_a_run_without_a_rating_says_why(tmp_path, evaluation, said):
    assert said in run_page(made(tmp_path / "run", update(1), config=f"game: hex\nevaluation: {evaluation}\n"))


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
        "switch: 60.0%",
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


def test_the_first_screen_tells_how_well_how_far_how_fast_and_what_to_do_next(tmp_path):
    speed = {"play/decisions_per_second": 5000.0, "play/matches_per_second": 350.0}
    config = "game: hex\ndecisions: 400\nlearner: {kind: ppo}\nevaluation: {matches: 100}\n"
    rates = {"rating/win_rate/random": 0.9, "rating/win_rate/path": 0.5}
    folder = made(tmp_path / "my run", update(1, **speed), update(2, **speed, **rates), config=config)
    page = run_page(folder)
    first = page[: page.index("<h2>")]
    assert first.index(
        "<b>50.0%</b><span>won against path</span><span>95% interval 40.4% - 59.6%</span>"
    ) < first.index("<b>90.0%</b><span>won against random</span>"), "the hardest opponent comes first"
    assert "<b>200</b><span>decisions</span><span>in 2 updates, 50% of 400</span>" in first
    assert "<b>5,000</b><span>decisions a second</span><span>350 matches a second</span>" in first
    assert "still training, or killed" in first
    assert f"sparring play hex &#x27;{folder}&#x27;" in first
    assert f"sparring evaluate &#x27;{folder}&#x27; path" in first, "the strongest built-in player tells most"
    assert "/checkpoints --page" not in first, "there is nothing to compare yet"
    assert "<dt>train on</dt>" in first
    (folder / "ending.json").write_text(json.dumps({"how": "finished", "reason": "all decisions"}))
    for number in (1, 2):
        (folder / f"checkpoints/0000000{number}").mkdir(parents=True)
    finished = run_page(folder)
    assert "<dt>train on</dt>" not in finished
    assert f"sparring tournament &#x27;{folder}&#x27;/checkpoints --page tournament.html" in finished


def test_metrics_that_never_change_are_one_line(tmp_path):
    lines = [update(number, **{"play/dropped": 0, "play/mean_batch": 512, "play/length": number}) for number in (1, 2)]
    page = run_page(made(tmp_path / "run", *lines))
    assert '<p class="constant">Constant: dropped = 0, mean_batch = 512</p>' in page
    assert "Length <small>now 2</small>" in page
    assert "Dropped" not in page
    assert page.count("<polyline") == 1


def test_metrics_of_one_family_share_a_plot_of_a_few_lines(tmp_path):
    rewards = [f"play/reward/part{number}" for number in range(8)]
    lines = [update(number, **dict.fromkeys([*rewards, "play/length"], number)) for number in (1, 2)]
    page = run_page(made(tmp_path / "run", *lines))
    plots = re.findall(r"<h3>(.*?)</h3>(.*?)</svg>", page[page.index("<h2>Play") :], re.DOTALL)
    assert [(re.sub("<[^>]+>", "", title), drawn.count("<polyline")) for title, drawn in plots] == [
        ("Length now 2", 1),
        ("Reward 1 to 6 of 8", 6),
        ("Reward 7 to 8 of 8", 2),
    ]


def test_a_group_that_nobody_foresaw_is_drawn_too(tmp_path):
    page = run_page(
        made(tmp_path / "run", *(update(number, **{"gpu/memory": number, "my_own/x": -number}) for number in (1, 2)))
    )
    assert page.index("<h2>GPU</h2>") < page.index("<h2>My own</h2>")


def test_a_metric_that_came_late_is_drawn_over_the_whole_run(tmp_path):
    lines = [update(number, **({"loss/late": number} if number > 8 else {})) for number in range(1, 11)]
    page = run_page(made(tmp_path / "run", *lines))
    late = page[page.index("Late <small>") :]
    across = [float(point.split(",")[0]) for point in re.search(r'points="([^"]+)"', late)[1].split()]
    assert len(across) == 2
    assert across[0] == pytest.approx(across[1] - (across[1] - 56) / 10, abs=0.1)


def test_numbers_that_are_none_are_left_out(tmp_path):
    lines = [
        '{"update": 1, "decisions": 100, "loss/a": NaN, "loss/b": Infinity, "loss/c": 1}',
        '{"update": 2, "decisions": 200, "loss/a": 2, "loss/b": -Infinity, "loss/c": 3}',
    ]
    page = run_page(made(tmp_path / "run", *lines))
    assert "A <small>now 2</small>" in page
    assert "B <small>" not in page
    assert not re.search(r"\b(?:nan|inf)\b", page)


def test_a_long_run_makes_no_long_page_and_loses_no_peak(tmp_path):
    lines = [update(number, **{"loss/a": 1000 if number == 3333 else number % 7}) for number in range(1, 5001)]
    page = run_page(made(tmp_path / "run", *lines))
    points = re.search(r'points="([^"]+)"', page[page.index("A <small>") :])[1].split()
    assert len(points) <= 400
    heights = [float(point.split(",")[1]) for point in points]
    assert min(heights) == pytest.approx(12.0)
    assert points == sorted(points, key=lambda point: float(point.split(",")[0]))
    assert len(page) < 40_000
