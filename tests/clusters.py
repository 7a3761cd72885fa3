"""Ray clusters for tests: nodes that are processes of this machine, and small things that play on them."""

import os
import signal
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import numpy as np
import pytest

from sparring.rollout.collector import Counters

ray = pytest.importorskip("ray", reason="tests of --cluster need Ray: pip install 'sparring[ray]'")

STORE = 100 * 2**20


@contextmanager
def simulated(*cpus):
    """A cluster with a node for each number of CPUs."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": cpus[0], "object_store_memory": STORE, "include_dashboard": False},
    )
    try:
        made.others = [made.add_node(num_cpus=count, object_store_memory=STORE) for count in cpus[1:]]
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


class Damaged:
    """A piece of which a byte changes on its way."""

    def __reduce__(self):
        from sparring.rollout.fleet import Piece

        unpack, (content, *others) = Piece({"number": np.array([0])}).__reduce__()
        return unpack, (content[:-1] + bytes([content[-1] ^ 1]), *others)


class Numbering:
    """Plays nothing: each piece has the next number, and is noted in a folder."""

    def __init__(self, folder, stream, *, fault=""):
        self.folder, self.stream, self.fault, self.count = Path(folder), stream, fault, 0
        self.weights = (b"", -1)
        if fault == "no start":
            raise ValueError("it cannot play")

    def collect(self, seconds, *asked):
        from sparring.rollout.fleet import Piece

        self.count += 1
        (self.folder / f"{self.stream.number}-{self.count}").touch()
        if self.fault and self.stream.number == 0 and self.count == 2:
            if self.fault == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            elif self.fault == "hangs":
                sleep(1000)
            elif self.fault == "damaged":
                return Damaged()
            raise ValueError(f"something is {self.fault}")
        version = np.array([self.weights[1]])
        number = np.array([self.stream.first_serial + self.count])
        return Piece(
            {"number": number, "version": version, "weights": np.frombuffer(self.weights[0], np.uint8)},
            counters=Counters(decisions=1),
        )

    def swap(self, weights, version):
        self.weights = (weights, version)

    def close(self):
        (self.folder / f"closed-{self.stream.number}").touch()
