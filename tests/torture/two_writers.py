"""Two processes that want to write to one episode store: one waits, and no shard of either is lost.

python -m tests.torture.two_writers --rounds 40
"""

import argparse
import os
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

from sparring.core import InputError, RandomPlayer
from sparring.rollout import Collector, everyone
from sparring.rollout.store import EpisodeStore, shard_info, shards
from tests import hex as small

SHARDS = 3
"""That each writer appends a round."""


def write(folder, episodes, writer):
    """Appends shards as soon as the folder is free; exit code 1 if it was refused with anything but the one line."""
    for _ in range(600):
        try:
            with EpisodeStore(folder, episodes.spec, about={"writer": writer}) as store:
                for _ in range(SHARDS):
                    store.append(episodes)
                    time.sleep(0.002)
            return
        except InputError as error:
            if "another process writes episodes there" not in str(error):
                raise
            time.sleep(0.005)
    sys.exit("the folder was never free")


def torture(place, rounds):
    """Shards that should be there and are not, or are there twice, over all rounds."""
    collector = Collector(small.arena(3, matches=4), {"ann": RandomPlayer(0)}, everyone(0, 2), record=["ann"])
    episodes = collector.collect(40)
    lost = 0
    for number in range(rounds):
        folder = place / str(number)
        fork = get_context("fork")
        writers = [fork.Process(target=write, args=(folder, episodes, name)) for name in range(2)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        found = [shard_info(path).about["writer"] for path in shards(folder)]
        with EpisodeStore(folder, episodes.spec) as store:
            serial = [value for part in store for value in sorted(set(part.headers.serial.tolist()))]
        lost += sum(SHARDS - found.count(name) for name in range(2))
        lost += serial != list(range(len(serial))) or any(writer.exitcode for writer in writers)
        lost += sorted(os.listdir(folder)) != [path.name for path in shards(folder)]
    return lost


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=40)
    rounds = options.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        lost = torture(Path(temporary), rounds)
    print(f"{rounds} rounds of two writers, {2 * SHARDS * rounds} shards: {lost} lost")
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
