"""Damaged shards, checkpoints and resume states: each is refused with one line, or reads as if nothing had happened.

Half of the damage is honest: bytes changed, lost, added or moved. The other half is followed by a new checksum (of a
shard) or none (of a checkpoint), so that what lies behind the checksum is tried too; it may then read as other data,
but may neither crash nor raise anything but the one line.

    python -m tests.torture.damage --cases 10000
"""

import argparse
import hashlib
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from sparring.core import InputError, RandomPlayer
from sparring.core.checksums import SUMS
from sparring.policy.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from sparring.rollout import Collector, everyone
from sparring.rollout import store as shard_format
from sparring.rollout.store import EpisodeStore, read_shard
from sparring.training.run import ResumeState, RunFolder
from tests import hex as small

OUTCOMES = ("refused", "the same", "other data", "another error", "crashed")
BATCH = 250
"""Cases a forked child tries, one after the other."""


def mutated(content, rng):
    """`content` with one thing wrong with it."""
    size = len(content)
    at = int(rng.integers(size))
    length = int(rng.integers(1, 65))
    other = int(rng.integers(size))
    changes = {
        "bit": lambda: content[:at] + bytes([content[at] ^ 1 << int(rng.integers(8))]) + content[at + 1 :],
        "byte": lambda: content[:at] + rng.bytes(1) + content[at + 1 :],
        "bytes": lambda: content[:at] + rng.bytes(length) + content[at + length :],
        "zeros": lambda: content[:at] + bytes(min(length * 16, size - at)) + content[at + length * 16 :],
        "cut short": lambda: content[:at],
        "lost": lambda: content[:at] + content[at + length :],
        "added": lambda: content[:at] + rng.bytes(length) + content[at:],
        "doubled": lambda: content[: at + length] + content[at:],
        "moved": lambda: content[:at] + content[other : other + length] + content[at + length :],
        "longer": lambda: content + rng.bytes(length),
    }
    return changes[list(changes)[int(rng.integers(len(changes)))]]()


def sealed_again(content):
    """A damaged shard with a checksum that is right."""
    digest = hashlib.sha256(shard_format._SEAL.sub(shard_format._BLANK, content)).hexdigest().encode()
    return shard_format._SEAL.sub(shard_format._BLANK[:-64] + digest, content)


class Shard:
    """An episode file."""

    def __init__(self, place):
        players = {"ann": RandomPlayer(0)}
        collector = Collector(small.arena(3, matches=4), players, everyone(0, 2), record=["ann"])
        with EpisodeStore(place / "store", small.spec(3)) as store:
            path = store.append(collector.collect(60))
        self.files = [path]
        self._columns = self._read()

    def _read(self):
        episodes = read_shard(self.files[0])
        return {**episodes.headers.columns(), **episodes.steps.columns()}

    def same(self):
        found = self._read()
        return found.keys() == self._columns.keys() and all(
            found[name].dtype == array.dtype and np.array_equal(found[name], array)
            for name, array in self._columns.items()
        )

    def unprotected(self, path, content):
        path.write_bytes(sealed_again(content))


class Folder:
    """A checkpoint or a resume state: files with checksums beside them."""

    def __init__(self, folder):
        self.files = sorted(folder.iterdir())
        self._sums = folder / SUMS
        self._content = self._read()

    def same(self):
        return _equal(self._read(), self._content)

    def unprotected(self, path, content):
        path.write_bytes(content)
        self._sums.unlink(missing_ok=True)


class StoredCheckpoint(Folder):
    def __init__(self, place):
        self._folder = place / "checkpoint"
        network = {"channels": 8, "blocks": 1}
        weights = small.policy(3).state_dict()
        save_checkpoint(self._folder, Checkpoint(small.spec(3), network, 7, weights, {"decisions": 1234}))
        super().__init__(self._folder)

    def _read(self):
        checkpoint = load_checkpoint(self._folder)
        checkpoint.policy(small.spec(3))
        return vars(checkpoint)


class StoredResume(Folder):
    def __init__(self, place):
        self._run = RunFolder(place / "run")
        learner = {"weight": torch.arange(40.0), "rng": torch.arange(50, dtype=torch.uint8)}
        state = ResumeState(update=3, values={"decisions": 99, "best": 0.5}, learner=learner, playing={"a": np.ones(9)})
        self._run.save_resume(state)
        super().__init__(place / "run" / "resume" / "00000003")

    def _read(self):
        return vars(self._run.read_resume(3))


def _equal(one, other):
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, np.ndarray | torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    return one == other


def try_case(kinds, number):
    """Damages one file, reads it, puts it back; which of `OUTCOMES` it was, and whether its checksum protected it."""
    rng = np.random.default_rng(number)
    kind = kinds[number % len(kinds)]
    protected = (number // len(kinds)) % 2 == 0
    whole = {path: path.read_bytes() for path in kind.files}
    path = kind.files[int(rng.integers(len(kind.files)))]
    damaged = mutated(whole[path], rng)
    try:
        if protected:
            path.write_bytes(damaged)
        else:
            kind.unprotected(path, damaged)
        return ("the same" if kind.same() else "other data"), protected, ""
    except InputError as error:
        one_line = "\n" not in str(error) and len(str(error)) < 1000
        return ("refused" if one_line else "another error"), protected, "" if one_line else repr(error)
    except Exception as error:
        return "another error", protected, repr(error)[:300]
    finally:
        for name, content in whole.items():
            name.write_bytes(content)


def torture(place, cases, *, first=0):
    """How often each outcome came, with and without the protection of a checksum; and what was wrong."""
    kinds = [Shard(place), StoredCheckpoint(place), StoredResume(place)]
    backup = place.parent / "whole"
    shutil.copytree(place, backup)
    tally, problems = Counter(), []
    number = first
    while number < first + cases:
        count = min(BATCH, first + cases - number)
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(receive)
            signal.alarm(300)
            with os.fdopen(send, "w", buffering=1) as out:
                for case in range(number, number + count):
                    outcome, protected, why = try_case(kinds, case)
                    out.write(f"{OUTCOMES.index(outcome)} {int(protected)} {why.splitlines()[0] if why else ''}\n")
            os._exit(0)
        os.close(send)
        with os.fdopen(receive) as answers:
            lines = answers.read().splitlines()
        _, status = os.waitpid(child, 0)
        for offset, line in enumerate(lines):
            outcome, protected, why = line.split(" ", 2)
            tally[OUTCOMES[int(outcome)], bool(int(protected))] += 1
            bad = OUTCOMES[int(outcome)] == "another error" or (outcome == "2" and protected == "1")
            if bad:
                problems.append(f"case {number + offset}: {OUTCOMES[int(outcome)]} {why}")
        number += len(lines)
        if status:
            tally["crashed", True] += 1
            problems.append(f"case {number}: the process ended with {os.waitstatus_to_exitcode(status)}")
            number += 1
            shutil.rmtree(place)
            shutil.copytree(backup, place)
    return tally, problems


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--cases", type=int, default=10_000)
    options.add_argument("--first", type=int, default=0, help="number of the first case, which seeds it")
    chosen = options.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) / "files"
        place.mkdir()
        tally, problems = torture(place, chosen.cases, first=chosen.first)
    for protected in (True, False):
        counts = ", ".join(f"{name} {tally[name, protected]}" for name in OUTCOMES)
        print(f"{'with' if protected else 'past'} its checksum: {counts}")
    print(f"{chosen.cases} cases, {len(problems)} problems", *problems[:20], sep="\n  ")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
