"""What a cluster has: partitions with their nodes, accounts that the user may charge, qualities of service.

Partitions come from `scontrol` and `sinfo`, the rest from `sacctmgr`, which answers only where SLURM keeps accounts.
"""

import getpass
import grp
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from sparring.launch.programs import NoAnswer, call, fields, minutes

_GPUS = re.compile(r"\bgpu(?::[^:,()]+)?:(\d+)")
_FREE = ("idle", "mixed")


@dataclass(frozen=True)
class Node:
    """One machine, as a partition offers it."""

    name: str
    cpus: int
    memory: int
    """In megabytes."""
    gpus: int
    features: frozenset[str]
    free: bool
    """Whether some of it is free now."""


@dataclass(frozen=True)
class Partition:
    """A queue and its rules; None where there is none."""

    name: str
    nodes: tuple[Node, ...]
    default: bool = False
    up: bool = True
    most_minutes: float | None = None
    most_nodes: int | None = None
    accounts: frozenset[str] | None = None
    groups: frozenset[str] | None = None
    qualities: frozenset[str] | None = None


@dataclass(frozen=True)
class Account:
    """An account that the user may charge, perhaps only in one partition."""

    name: str
    qualities: tuple[str, ...]
    default_quality: str = ""
    partition: str = ""
    default: bool = False


@dataclass(frozen=True)
class Quality:
    """A quality of service (QOS)."""

    name: str
    priority: int = 0
    most_minutes: float | None = None


@dataclass(frozen=True)
class Cluster:
    """All that a job is placed by."""

    partitions: tuple[Partition, ...]
    accounts: tuple[Account, ...] = ()
    qualities: tuple[Quality, ...] = ()
    groups: frozenset[str] = frozenset()
    """Those that the user is in."""


def look(say: Callable[[str], None]) -> Cluster:
    """The cluster as it is now; `say` is told if it keeps no accounts. Raises `NoAnswer` if it does not answer."""
    partitions = parse_partitions(
        call("scontrol", "show", "partition", "--oneliner"),
        call("sinfo", "--noheader", "--Node", "--format=%P|%N|%c|%m|%G|%f|%T"),
    )
    user, ask = getpass.getuser(), ("sacctmgr", "--noheader", "--parsable2", "show")
    try:
        accounts = parse_accounts(
            call(*ask, "associations", f"user={user}", "format=Account,Partition,QOS,DefaultQOS"),
            call(*ask, "user", user, "format=DefaultAccount"),
        )
        qualities = parse_qualities(call(*ask, "qos", "format=Name,Priority,MaxWall"))
    except NoAnswer as error:
        say(f"no accounts: {error}; without --account and --qos, none is named")
        accounts, qualities = (), ()
    return Cluster(partitions, accounts, qualities, _groups())


def parse_partitions(rules: str, nodes: str) -> tuple[Partition, ...]:
    """From `scontrol show partition --oneliner` and `sinfo --Node --format=%P|%N|%c|%m|%G|%f|%T`."""
    members: dict[str, list[Node]] = {}
    for line in nodes.splitlines():
        parts = line.split("|")
        if len(parts) != 7:
            continue
        partition, name, cpus, memory, gres, features, state = parts
        members.setdefault(partition.removesuffix("*"), []).append(
            Node(
                name=name,
                cpus=int(cpus),
                memory=int(memory.removesuffix("+")),
                gpus=sum(int(count) for count in _GPUS.findall(gres)),
                features=_names(features) or frozenset(),
                free=state in _FREE,
            )
        )
    found = []
    for line in rules.splitlines():
        rule = fields(line)
        if "PartitionName" not in rule:
            continue
        most = rule.get("MaxNodes", "")
        found.append(
            Partition(
                name=rule["PartitionName"],
                nodes=tuple(members.get(rule["PartitionName"], ())),
                default=rule.get("Default") == "YES",
                up=rule.get("State") == "UP" and rule.get("RootOnly") != "YES",
                most_minutes=minutes(rule.get("MaxTime", "")),
                most_nodes=int(most) if most.isdigit() else None,
                accounts=_names(rule.get("AllowAccounts", "ALL")),
                groups=_names(rule.get("AllowGroups", "ALL")),
                qualities=_names(rule.get("AllowQos", "ALL")),
            )
        )
    return tuple(found)


def parse_accounts(associations: str, default: str) -> tuple[Account, ...]:
    """From `sacctmgr show associations format=Account,Partition,QOS,DefaultQOS` and the name of the default account."""
    found = []
    for line in associations.splitlines():
        name, partition, qualities, usual = line.split("|")
        found.append(
            Account(name, tuple(filter(None, qualities.split(","))), usual, partition, name == default.strip())
        )
    return tuple(found)


def parse_qualities(text: str) -> tuple[Quality, ...]:
    """From `sacctmgr show qos format=Name,Priority,MaxWall`."""
    rows = (line.split("|") for line in text.splitlines())
    return tuple(Quality(name, int(priority or 0), minutes(most)) for name, priority, most in rows)


def _names(text: str) -> frozenset[str] | None:
    """The names of a list; None if all are meant."""
    return None if text in ("ALL", "(null)") else frozenset(filter(None, text.split(",")))


def _groups() -> frozenset[str]:
    found = set()
    for number in {os.getgid(), *os.getgroups()}:
        try:
            found.add(grp.getgrgid(number).gr_name)
        except KeyError:  # a group without a name allows nothing
            continue
    return frozenset(found)
