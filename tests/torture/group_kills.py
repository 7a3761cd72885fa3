"""A run with worker processes, its whole process group killed: no shared memory is left behind.

python -m tests.torture.group_kills --kills 20
"""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN = """
from sparring.rollout import WorkerArena
from tests import hex as small

if __name__ == "__main__":
    arena = WorkerArena(small.GAME, small.settings(3), matches=4, seed=0, workers=1)
    arena.start()
    print("ready", flush=True)
    arena.wait()
    input()
"""


def blocks():
    """Shared memory of this user that has a name."""
    return {entry.name for entry in os.scandir("/dev/shm") if entry.stat().st_uid == os.getuid()}


def torture(kills, folder):
    """Blocks that `kills` killed groups left."""
    script = folder / "run.py"
    script.write_text(RUN)
    before = blocks()
    for _ in range(kills):
        run = subprocess.Popen(
            [sys.executable, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        )
        assert run.stdout.readline() == b"ready\n"
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
    return sorted(name for name in blocks() - before if name.startswith(("psm_", "sparring")))


def main():
    import tempfile
    from pathlib import Path

    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--kills", type=int, default=20)
    kills = options.parse_args().kills
    with tempfile.TemporaryDirectory() as temporary:
        left = torture(kills, Path(temporary))
    print(f"{kills} groups killed: {len(left)} blocks of shared memory left", *left, sep="\n  ")
    sys.exit(bool(left))


if __name__ == "__main__":
    main()
