"""Where a job fits, and why."""

from dataclasses import replace

import pytest

from sparring.core import InputError
from sparring.launch.cluster import Cluster, Node, Partition
from sparring.launch.placing import place
from sparring.launch.request import checked
from tests.launch import recorded


def asked(**options):
    return checked(**{"preset": "kuhn-ppo", "run": "/runs/kuhn", "folder": "/home/me", "hours": 0.5} | options)


def put(cluster=None, cpus=1, **options):
    return place(asked(**options), cluster or recorded.cluster(), cpus_per_process=cpus)


def node(name, cpus=64, memory=256_000, gpus=8, *, free=True, features=()):
    return Node(name, cpus, memory, gpus, frozenset(features), free)


def test_the_default_partition_account_and_quality_are_taken_if_they_fit():
    placement = put(nodes=2)
    assert (placement.partition, placement.account, placement.qos) == ("main", "lab", "normal")
    assert placement.reasons == (
        "partition main: the default; 2 of its nodes fit, 2 of them free",
        "account lab: your default",
        "QOS normal: the account's default",
        "CPUs a node: 1, 1 for each process",
        "memory a node: 2000M, the part of its 4000M that 1 of 2 CPUs are",
    )


def test_a_longer_job_goes_where_its_time_is_allowed():
    placement = put(hours=6)
    assert placement.partition == "long"
    assert placement.reasons[0].startswith("partition long: where it fits")


def test_a_test_goes_where_short_jobs_are_run():
    placement = put(hours=1 / 15, brief=True)
    assert (placement.partition, placement.qos) == ("debug", "debug")
    assert "for short jobs" in placement.reasons[0]
    without_names = replace(recorded.cluster().partitions[1], name="p5")
    cluster = replace(recorded.cluster(), partitions=(recorded.cluster().partitions[0], without_names))
    assert put(cluster, hours=1 / 15, brief=True).partition == "p5", "the shortest limit, if none is called so"


def test_a_quality_whose_limit_is_too_short_is_not_taken():
    cluster = recorded.cluster()
    lab = replace(cluster.accounts[0], default_quality="debug")
    placement = put(replace(cluster, accounts=(lab,)), hours=0.9)
    assert placement.qos == "long"
    assert "the one with the highest priority" in placement.reasons[2]


def test_without_accounts_none_is_named():
    placement = put(recorded.cluster(accounts=False))
    assert (placement.account, placement.qos) == (None, None)
    assert put(recorded.cluster(accounts=False), account="mine", qos="fast").account == "mine"


def test_cpus_and_memory_are_the_part_that_the_gpus_are():
    cluster = Cluster((Partition("gpu", (node("a"), node("b")), default=True),))
    placement = put(cluster, nodes=2, gpus_per_node=4, processes_per_node=4)
    assert (placement.cpus, placement.memory) == (32, 128_000)
    whole = put(cluster, gpus_per_node=4, processes_per_node=4, exclusive=True)
    assert (whole.cpus, whole.memory) == (64, 0)
    assert put(cluster, memory="64G").memory == 65_536


def test_without_gpus_there_are_as_many_cpus_as_the_processes_use():
    cluster = Cluster((Partition("cpu", (node("a", gpus=0),), default=True),))
    assert put(cluster, cpus=5, processes_per_node=4).cpus == 20
    assert put(cluster, cpus=50, processes_per_node=4).cpus == 64


def test_memory_that_slurm_was_never_told_is_not_asked_for():
    assert put(Cluster((Partition("cpu", (node("a", memory=1),)),))).memory is None


def test_of_several_that_fit_one_with_free_nodes_is_taken():
    busy = Partition("a", (node("n0", free=False),))
    free = Partition("b", (node("n1"),))
    assert put(Cluster((busy, free))).partition == "b"
    assert put(Cluster((busy, free)), partition="a").partition == "a"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"partition": "mian"}, ["no such partition (did you mean 'main'?)", "there are: main, debug, long"]),
        ({"partition": "debug"}, ["debug: its limit of 0:05:00 is below 0:30:00"]),
        ({"nodes": 3}, ["main: 2 of its 2 nodes fit", "debug: its limit"]),
        ({"gpus_per_node": 4}, ["0 of its 2 nodes fit, 2 GPUs are fewer than 4"]),
        ({"processes_per_node": 3}, ["2 CPUs are fewer than 3 processes"]),
        ({"memory": "1T"}, ["4000M of memory are less than 1T"]),
        ({"constraint": "fast&a100"}, ["lacks a100"]),
        ({"account": "theirs"}, ["account theirs is not one that you may charge there; yours: guests, lab, root"]),
        ({"qos": "debug", "partition": "long"}, ["QOS debug may not be used there; yours: long, normal"]),
        ({"hours": 24 * 8}, ["long: its limit of 168:00:00 is below 192:00:00"]),
        ({"account": "guests", "hours": 6}, ["long: account guests is not one that you may charge there; yours: lab"]),
    ],
)
def test_what_fits_nowhere_is_refused_with_the_reason_of_each_partition(options, words):
    with pytest.raises(InputError) as refused:
        put(**options)
    for word in words:
        assert word in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"up": False}, "is closed"),
        ({"most_nodes": 1}, "takes jobs of up to 1 nodes"),
        ({"groups": frozenset({"physics"})}, "is for the groups physics"),
        ({"accounts": frozenset({"physics"})}, "is for the accounts physics, of which you have none"),
    ],
)
def test_the_rules_of_a_partition_are_kept(rule, words):
    cluster = recorded.cluster()
    with pytest.raises(InputError, match=words):
        put(replace(cluster, partitions=(replace(cluster.partitions[0], **rule),)), nodes=2)


def test_a_constraint_with_alternatives_is_left_to_slurm():
    assert put(constraint="a100|fast").partition == "main"
    assert put(constraint="fast").partition == "main"
