"""Metrics on disk: JSON lines and TensorBoard say the same, also after a resume."""

import json
import time

import pytest
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams.backend_context import Context
from tensorboard.plugins.hparams.list_session_groups import Handler

from sparring.report.metrics import Metrics

SETTINGS = {"learner.learning_rate": 0.001, "learner.kind": "ppo", "overlap": False, "opponents": "{}"}


def metrics_in(folder, *, resumed_at=0, **settings):
    return Metrics(folder, resumed_at=resumed_at, settings={**SETTINGS, **settings}, report=["tensorboard"])


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def board(folder):
    """What TensorBoard shows: `{name: [(decisions, value), ...]}`."""
    events = EventAccumulator(str(folder / "tensorboard"), purge_orphaned_data=True).Reload()
    return {name: [(point.step, point.value) for point in events.Scalars(name)] for name in events.Tags()["scalars"]}


def first_run(folder):
    """Three updates and a final rating; the run was saved after the second."""
    with metrics_in(folder) as metrics:
        for update in (1, 2, 3):
            metrics.write(update, 100 * update, {"loss/entropy": update / 4, "play/policy_lag": 0})
        metrics.write(3, 300, {"rating/win_rate/random": 0.5})
    time.sleep(1.1)  # TensorBoard orders a run's files by the second they were begun in


def test_a_line_has_its_update_decisions_and_time_and_tensorboard_counts_decisions(tmp_path):
    first_run(tmp_path)
    assert lines(tmp_path)[1].keys() == {"update", "decisions", "time", "loss/entropy", "play/policy_lag"}
    shown = board(tmp_path)
    assert shown["loss/entropy"] == [(100, 0.25), (200, 0.5), (300, 0.75)]
    assert shown["rating/win_rate/random"] == [(300, 0.5)]
    assert shown.keys() == {"loss/entropy", "play/policy_lag", "rating/win_rate/random"}


def test_small_values_keep_their_digits(tmp_path):
    with metrics_in(tmp_path) as metrics:
        metrics.write(1, 10, {"loss/learning_rate": 1.23456e-9})
    assert lines(tmp_path)[0]["loss/learning_rate"] == 1.23456e-9


def test_a_run_resumed_before_its_last_update_drops_what_came_after(tmp_path):
    first_run(tmp_path)
    with metrics_in(tmp_path, resumed_at=2) as metrics:
        metrics.write(3, 310, {"loss/entropy": 0.8})
    assert [(line["update"], line["decisions"]) for line in lines(tmp_path)] == [(1, 100), (2, 200), (3, 310)]
    shown = board(tmp_path)
    assert [step for step, _ in shown["loss/entropy"]] == [100, 200, 310]
    assert not shown.get("rating/win_rate/random")


def test_a_run_resumed_at_its_end_drops_only_the_final_rating(tmp_path):
    first_run(tmp_path)
    before = lines(tmp_path)
    with metrics_in(tmp_path, resumed_at=3):
        pass
    assert lines(tmp_path) == before[:3]
    shown = board(tmp_path)
    assert shown["loss/entropy"] == [(100, 0.25), (200, 0.5), (300, 0.75)]
    assert not shown.get("rating/win_rate/random")


def hparams_tab(folder):
    """The rows of TensorBoard's HPARAMS tab over all runs in `folder`: `{run: (settings, metrics, status)}`."""
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    backend = Context(TBContext(data_provider=MultiplexerDataProvider(multiplexer, str(folder))))
    ask, found = RequestContext(), {}
    metadata = backend.hparams_metadata(ask, "")
    experiment = backend.experiment_from_metadata(ask, "", True, metadata, [])
    wanted = api_pb2.ListSessionGroupsRequest(
        start_index=0,
        slice_size=100,
        allowed_statuses=[api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_SUCCESS],
        col_params=[api_pb2.ColParams(metric=info.name) for info in experiment.metric_infos],
        include_metrics=True,
    )
    for group in Handler(ask, backend, "", wanted).run().session_groups:
        (session,) = group.sessions
        settings = {name: getattr(value, value.WhichOneof("kind")) for name, value in group.hparams.items()}
        values = {value.name.tag: value.value for value in session.metric_values}
        found[session.name] = (settings, values, session.status)
    return found


def test_the_hparams_tab_shows_the_settings_and_the_last_metrics_of_every_run(tmp_path):
    first_run(tmp_path / "one")
    with metrics_in(tmp_path / "two", **{"learner.eta": 0.2}) as metrics:
        metrics.write(1, 100, {"rating/win_rate/hex-7x7": 0.25})
    shown = hparams_tab(tmp_path)
    assert shown.keys() == {"one/tensorboard", "two/tensorboard"}
    settings, values, status = shown["one/tensorboard"]
    assert settings == SETTINGS
    assert values == {"loss/entropy": 0.75, "play/policy_lag": 0, "rating/win_rate/random": 0.5}
    assert status == api_pb2.STATUS_SUCCESS
    settings, values, _ = shown["two/tensorboard"]
    assert settings["learner.eta"] == 0.2
    assert values == {"rating/win_rate/hex-7x7": 0.25}


def test_a_resumed_run_stays_one_row_of_the_hparams_tab(tmp_path):
    first_run(tmp_path / "run")
    with metrics_in(tmp_path / "run", resumed_at=2) as metrics:
        metrics.write(3, 310, {"loss/entropy": 0.8})
    ((settings, values, _),) = hparams_tab(tmp_path).values()
    assert settings == SETTINGS
    assert values["loss/entropy"] == pytest.approx(0.8)


def test_a_run_that_failed_is_no_success(tmp_path):
    with pytest.raises(ZeroDivisionError), metrics_in(tmp_path / "run"):
        raise ZeroDivisionError
    ((_, _, status),) = hparams_tab(tmp_path).values()
    assert status != api_pb2.STATUS_SUCCESS


def test_nothing_but_the_lines_is_written_unless_it_is_asked_for(tmp_path):
    with Metrics(tmp_path, resumed_at=0, settings=SETTINGS, report=[]) as metrics:
        metrics.write(1, 10, {"loss/entropy": 1.0})
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]
