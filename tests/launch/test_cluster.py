"""What there is on a cluster, read from what SLURM's programs print."""

import pytest

from sparring.launch.cluster import Node, parse_partitions
from sparring.launch.jobs import parse_accounted, parse_jobs
from sparring.launch.programs import clock, minutes
from tests.launch import recorded


def test_partitions_with_their_rules_and_nodes():
    main, debug, long = recorded.cluster().partitions
    assert (main.name, main.default, main.up, main.most_minutes, main.accounts) == ("main", True, True, 60, None)
    assert (debug.name, debug.default, debug.most_minutes, len(debug.nodes)) == ("debug", False, 5, 1)
    assert (long.most_minutes, long.accounts, long.qualities) == (7 * 1440, {"lab"}, {"long", "normal"})
    assert main.nodes[1] == Node("node1", 2, 4000, 2, frozenset({"fast", "wide"}), free=True)


@pytest.mark.parametrize(
    ("gres", "count"),
    [
        ("gpu:2", 2),
        ("gpu:a100:4(S:0-1)", 4),
        ("gpu:a100:2,gpu:v100:1", 3),
        ("(null)", 0),
        ("shard:8", 0),
        ("fpga:1", 0),
    ],
)
def test_gpus_of_every_kind_are_counted(gres, count):
    (partition,) = parse_partitions("PartitionName=p State=UP", f"p*|n|8|1000|{gres}|(null)|mixed")
    assert partition.nodes[0].gpus == count
    assert partition.nodes[0].features == frozenset()


@pytest.mark.parametrize("state", ["down*", "drained", "allocated", "inval"])
def test_a_node_that_takes_nothing_now_is_not_free(state):
    (partition,) = parse_partitions("PartitionName=p State=UP", f"p|n|8|1000|(null)|(null)|{state}")
    assert not partition.nodes[0].free


def test_accounts_and_qualities_of_service():
    cluster = recorded.cluster()
    assert [(one.name, one.default, one.default_quality) for one in cluster.accounts] == [
        ("lab", True, "normal"),
        ("guests", False, ""),
        ("root", False, ""),
    ]
    assert cluster.accounts[0].qualities == ("debug", "long", "normal")
    assert {one.name: (one.priority, one.most_minutes) for one in cluster.qualities} == {
        "normal": (0, None),
        "long": (5, 10080),
        "debug": (100, 30),
    }


def test_jobs_as_scontrol_shows_them():
    jobs = {record.job: record for record in parse_jobs(recorded.text("jobs"))}
    assert {number: record.state for number, record in jobs.items()} == {
        "1": "TIMEOUT",
        "2": "FAILED",
        "3": "FAILED",
        "4": "COMPLETED",
        "5": "CANCELLED",
        "6": "COMPLETED",
        "7_[0-2]": "PENDING",
        "7_1": "PENDING",
    }
    assert jobs["3"].exit_code == "3:0"
    assert (jobs["1"].run_time, jobs["1"].time_limit, jobs["1"].nodes) == ("00:01:19", "00:01:00", "node0")
    assert (jobs["7_1"].restarts, jobs["7_1"].reason, jobs["7_1"].nodes) == (1, "BeginTime", "")
    assert [number for number, record in jobs.items() if record.waits] == ["7_[0-2]", "7_1"]
    assert [number for number, record in jobs.items() if record.over] == ["1", "2", "3", "4", "5", "6"]


def test_jobs_as_sacct_shows_them():
    jobs = parse_accounted(recorded.text("accounted"))
    assert [record.state for record in jobs] == ["TIMEOUT", "FAILED", "FAILED", "COMPLETED", "CANCELLED"]
    assert (jobs[4].reason, jobs[4].nodes) == ("by 0", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30", 30),
        ("05:30", 5.5),
        ("1:00:00", 60),
        ("7-00:00:00", 10080),
        ("1-12", 2160),
        ("1-12:30", 2190),
        ("UNLIMITED", None),
        ("infinite", None),
        ("", None),
        ("x-1:00", None),
    ],
)
def test_times(text, expected):
    assert minutes(text) == expected


def test_hours_as_slurm_reads_them():
    assert [clock(hours) for hours in (6, 0.25, 1 / 60, 100, 0.001)] == [
        "6:00:00",
        "0:15:00",
        "0:01:00",
        "100:00:00",
        "0:01:00",
    ]
