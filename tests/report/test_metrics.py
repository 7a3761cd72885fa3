"""Metrics on disk: JSON lines and TensorBoard say the same, also after a resume."""

import json
import time

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from sparring.report.metrics import Metrics


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def board(folder):
    """What TensorBoard shows: `{name: [(decisions, value), ...]}`."""
    events = EventAccumulator(str(folder / "tensorboard"), purge_orphaned_data=True).Reload()
    return {name: [(point.step, point.value) for point in events.Scalars(name)] for name in events.Tags()["scalars"]}


def first_run(folder):
    """Three updates and a final rating; the run was saved after the second."""
    metrics = Metrics(folder, resumed_at=0)
    for update in (1, 2, 3):
        metrics.write(update, 100 * update, {"loss/entropy": update / 4, "play/policy_lag": 0})
    metrics.write(3, 300, {"rating/win_rate/random": 0.5})
    metrics.close()
    time.sleep(1.1)  # TensorBoard orders a run's files by the second they were begun in


def test_a_line_has_its_update_decisions_and_time_and_tensorboard_counts_decisions(tmp_path):
    first_run(tmp_path)
    assert lines(tmp_path)[1].keys() == {"update", "decisions", "time", "loss/entropy", "play/policy_lag"}
    shown = board(tmp_path)
    assert shown["loss/entropy"] == [(100, 0.25), (200, 0.5), (300, 0.75)]
    assert shown["rating/win_rate/random"] == [(300, 0.5)]
    assert shown.keys() == {"loss/entropy", "play/policy_lag", "rating/win_rate/random"}


def test_small_values_keep_their_digits(tmp_path):
    metrics = Metrics(tmp_path, resumed_at=0)
    metrics.write(1, 10, {"loss/learning_rate": 1.23456e-9})
    metrics.close()
    assert lines(tmp_path)[0]["loss/learning_rate"] == 1.23456e-9


def test_a_run_resumed_before_its_last_update_drops_what_came_after(tmp_path):
    first_run(tmp_path)
    metrics = Metrics(tmp_path, resumed_at=2)
    metrics.write(3, 310, {"loss/entropy": 0.8})
    metrics.close()
    assert [(line["update"], line["decisions"]) for line in lines(tmp_path)] == [(1, 100), (2, 200), (3, 310)]
    shown = board(tmp_path)
    assert [step for step, _ in shown["loss/entropy"]] == [100, 200, 310]
    assert not shown.get("rating/win_rate/random")


def test_a_run_resumed_at_its_end_drops_only_the_final_rating(tmp_path):
    first_run(tmp_path)
    before = lines(tmp_path)
    Metrics(tmp_path, resumed_at=3).close()
    assert lines(tmp_path) == before[:3]
    shown = board(tmp_path)
    assert shown["loss/entropy"] == [(100, 0.25), (200, 0.5), (300, 0.75)]
    assert not shown.get("rating/win_rate/random")
