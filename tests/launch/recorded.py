"""What SLURM 22.05 printed on a small cluster with accounts, word for word."""

from pathlib import Path

from sparring.launch.cluster import Cluster, parse_accounts, parse_partitions, parse_qualities

_FOLDER = Path(__file__).parent / "recorded"


def text(name):
    return (_FOLDER / f"{name}.txt").read_text()


def cluster(*, accounts=True):
    partitions = parse_partitions(text("partitions"), text("nodes"))
    if not accounts:
        return Cluster(partitions)
    own = parse_accounts(text("associations"), text("default-account"))
    return Cluster(partitions, own, parse_qualities(text("qos")), frozenset({"users"}))
