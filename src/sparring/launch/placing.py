"""Where a job fits: partition, account, quality of service, CPUs and memory, each with the reason for the choice."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sparring.core import InputError, did_you_mean
from sparring.launch.cluster import Account, Cluster, Node, Partition, Quality
from sparring.launch.programs import clock
from sparring.launch.request import JobRequest

_BRIEF = re.compile(r"debug|test|dev|short|quick", re.IGNORECASE)
"""What partitions and qualities of service for short jobs are called."""


@dataclass(frozen=True)
class Placement:
    """What is asked of SLURM; None: nothing is said of it."""

    partition: str
    account: str | None
    qos: str | None
    cpus: int
    """Of each node."""
    memory: int | None
    """Of each node, in megabytes; 0: all of it."""
    reasons: tuple[str, ...]


class _Unfit(Exception):
    """Why a partition does not take the job."""


def place(request: JobRequest, cluster: Cluster, *, cpus_per_process: int) -> Placement:
    """The best place for the job; raises `InputError` with the reason of each partition if there is none."""
    partitions = cluster.partitions
    if request.partition is not None:
        names = [partition.name for partition in partitions]
        if request.partition not in names:
            hint = did_you_mean(request.partition, names)
            raise InputError(f"--partition {request.partition}: no such partition{hint}; there are: {', '.join(names)}")
        partitions = tuple(partition for partition in partitions if partition.name == request.partition)
    found, faults = [], []
    for partition in partitions:
        try:
            found.append(_in_partition(request, cluster, partition, cpus_per_process))
        except _Unfit as fault:
            faults.append(f"{partition.name}: {fault}")
    if not found:
        raise InputError(f"no partition takes this job: {'; '.join(faults) or 'there are none'}")
    return min(found, key=lambda option: option[0])[1]


def _in_partition(
    request: JobRequest, cluster: Cluster, partition: Partition, cpus_per_process: int
) -> tuple[tuple[object, ...], Placement]:
    """How the job fits into `partition`, and a rank: the lowest is the best. Raises `_Unfit`."""
    if not partition.up:
        raise _Unfit("is closed")
    if partition.most_minutes is not None and request.hours * 60 > partition.most_minutes:
        raise _Unfit(f"its limit of {clock(partition.most_minutes / 60)} is below {clock(request.hours)}")
    if partition.most_nodes is not None and request.nodes > partition.most_nodes:
        raise _Unfit(f"takes jobs of up to {partition.most_nodes} nodes")
    if partition.groups is not None and not partition.groups & cluster.groups:
        raise _Unfit(f"is for the groups {', '.join(sorted(partition.groups))}")
    nodes = [node for node in partition.nodes if not any(_lacks(node, request))]
    if len(nodes) < request.nodes:
        lacking = sorted({fault for node in partition.nodes for fault in _lacks(node, request)})
        raise _Unfit(f"{len(nodes)} of its {len(partition.nodes)} nodes fit" + "".join(f", {one}" for one in lacking))
    account, account_reason = _account(request, cluster, partition)
    quality, quality_reason = _quality(request, cluster, partition, account)
    free = sum(node.free for node in nodes)
    why = "as asked" if request.partition else "the default" if partition.default else "where it fits"
    if request.brief and not request.partition:
        why = "for short jobs" if _BRIEF.search(partition.name) else "the shortest limit that is long enough"
    smallest = min(nodes, key=lambda node: (node.cpus, node.memory))
    cpus, cpus_reason = _cpus(request, smallest, cpus_per_process)
    memory, memory_reason = _memory(request, smallest, cpus)
    reasons = [
        f"partition {partition.name}: {why}; {len(nodes)} of its nodes fit, {free} of them free",
        account_reason,
        quality_reason,
        cpus_reason,
        memory_reason,
    ]
    limit = partition.most_minutes if partition.most_minutes is not None else float("inf")
    rank: tuple[object, ...] = (not partition.default, free < request.nodes, limit, partition.name)
    if request.brief:
        rank = (not _BRIEF.search(partition.name), limit, partition.name)
    name = None if account is None else account.name
    placement = Placement(partition.name, name, quality, cpus, memory, tuple(filter(None, reasons)))
    return rank, placement


def _lacks(node: Node, request: JobRequest) -> Iterator[str]:
    """What `node` has too little of."""
    if node.gpus < request.gpus_per_node:
        yield f"{node.gpus} GPUs are fewer than {request.gpus_per_node}"
    if node.cpus < request.processes_per_node:
        yield f"{node.cpus} CPUs are fewer than {request.processes_per_node} processes"
    if request.memory_megabytes is not None and node.memory < request.memory_megabytes:
        yield f"{node.memory}M of memory are less than {request.memory}"
    wanted = set((request.constraint or "").split("&")) - {""}
    if re.fullmatch(r"[\w.&-]*", request.constraint or "") and not wanted <= node.features:
        yield f"lacks {'&'.join(sorted(wanted - node.features))}"


def _account(request: JobRequest, cluster: Cluster, partition: Partition) -> tuple[Account | None, str]:
    if not cluster.accounts:  # SLURM keeps none, or says none: what the user gave is all that is known
        if request.account is None and partition.accounts is not None:
            raise _Unfit(f"is for the accounts {', '.join(sorted(partition.accounts))}; name yours with --account")
        given = None if request.account is None else Account(request.account, ())
        return given, "" if given is None else f"account {request.account}: as asked"
    usable = [
        account
        for account in cluster.accounts
        if account.partition in ("", partition.name)
        and (partition.accounts is None or account.name in partition.accounts)
    ]
    if request.account is not None:
        named = [account for account in usable if account.name == request.account]
        if not named:
            own = ", ".join(sorted({account.name for account in usable})) or "none"
            raise _Unfit(f"account {request.account} is not one that you may charge there; yours: {own}")
        return named[0], f"account {request.account}: as asked"
    if not usable:
        allowed = ", ".join(sorted(partition.accounts or ())) or "others"
        raise _Unfit(f"is for the accounts {allowed}, of which you have none")
    account = min(usable, key=lambda one: (not one.default, one.name))
    why = "your default" if account.default else f"the first of yours that {partition.name} takes"
    return account, f"account {account.name}: {why}"


def _quality(
    request: JobRequest, cluster: Cluster, partition: Partition, account: Account | None
) -> tuple[str | None, str]:
    allowed = partition.qualities
    if request.qos is not None:
        known = None if account is None or not account.qualities else set(account.qualities)
        if (known is not None and request.qos not in known) or (allowed is not None and request.qos not in allowed):
            theirs = sorted((known or {request.qos}) & (allowed or known or set()))
            raise _Unfit(f"QOS {request.qos} may not be used there; yours: {', '.join(theirs) or 'none'}")
        return request.qos, f"QOS {request.qos}: as asked"
    if account is None or not account.qualities:
        return None, ""
    limits = {quality.name: quality for quality in cluster.qualities}
    usable = [limits.get(name, Quality(name)) for name in account.qualities if allowed is None or name in allowed]
    usable = [one for one in usable if one.most_minutes is None or request.hours * 60 <= one.most_minutes]
    if not usable:
        raise _Unfit(f"no QOS of account {account.name} allows {clock(request.hours)} there")
    brief = [one for one in usable if _BRIEF.search(one.name)] if request.brief else []
    if brief:
        return brief[0].name, f"QOS {brief[0].name}: for short jobs"
    usual = next((one for one in usable if one.name == account.default_quality), None)
    if usual is not None:
        return usual.name, f"QOS {usual.name}: the account's default"
    best = min(usable, key=lambda one: (-one.priority, one.name))
    return best.name, f"QOS {best.name}: of those that allow {clock(request.hours)}, the one with the highest priority"


def _cpus(request: JobRequest, node: Node, cpus_per_process: int) -> tuple[int, str]:
    if request.exclusive:
        return node.cpus, f"CPUs a node: {node.cpus}, all of them, as asked"
    if request.gpus_per_node:
        cpus = max(request.processes_per_node, node.cpus * request.gpus_per_node // node.gpus)
        return (
            cpus,
            f"CPUs a node: {cpus}, the part of its {node.cpus} that {request.gpus_per_node} of {node.gpus} GPUs are",
        )
    wanted = request.processes_per_node * cpus_per_process
    cpus = min(wanted, node.cpus)
    why = f"{cpus_per_process} for each process" if cpus == wanted else f"all of them; {wanted} would be of use"
    return cpus, f"CPUs a node: {cpus}, {why}"


def _memory(request: JobRequest, node: Node, cpus: int) -> tuple[int | None, str]:
    if request.memory is not None:
        return request.memory_megabytes, f"memory a node: {request.memory}, as asked"
    if request.exclusive:
        return 0, "memory a node: all of it"
    part = node.memory * cpus // node.cpus
    if node.memory <= 1:  # SLURM's way to say that nobody told it
        return None, ""
    return part, f"memory a node: {part}M, the part of its {node.memory}M that {cpus} of {node.cpus} CPUs are"
