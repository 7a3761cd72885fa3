"""SIGKILL before every file operation of training, self-play, keys and set-up; then the same command again.

Counted are the operations that change something below the command's folder (files opened for writing, renames,
removals, new folders) and every fsync. After the kill a best checkpoint that was there must still be there; after the
second run everything must be there, equal to an undisturbed run's, and nothing temporary.

    python -m tests.torture.crash_points               every operation
    python -m tests.torture.crash_points --step 20     every twentieth
    python -m tests.torture.crash_points --most 6      six of each command, evenly spread
"""

import argparse
import io
import os
import shutil
import signal
import sys
import tarfile
import tempfile
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from sparring.core.files import is_leftover
from sparring.games.pokemon import setup as pokemon_setup
from sparring.games.pokemon.settings import PINNED
from sparring.games.rocket import setup as rocket_setup
from sparring.policy.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from sparring.rollout.store import EpisodeStore
from sparring.serving.keys import read_client_key, read_server_key
from sparring.training.run import RunFolder
from tests import hex as small
from tests.runs import updates
from tests.torture.forks import command, in_child

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}


def kill_before(number, root, journal):
    """From now on counts this process's operations and kills it before number `number`; 0 keeps a list instead."""
    done = 0

    def count(name):
        nonlocal done
        done += 1
        if number == 0:
            os.write(journal, f"{name}\n".encode())
        if done == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event, arguments):
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str) and path.startswith(root) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                count(f"open {path}")
        elif event in CHANGES:
            paths = [os.fspath(part) for part in arguments if isinstance(part, str | os.PathLike)]
            relative = event in ("os.remove", "os.rmdir") and arguments[1] >= 0
            if relative or any(path.startswith(root) for path in paths):
                count(f"{event} {' '.join(paths)}")

    real = os.fsync
    os.fsync = lambda handle: (count("fsync"), real(handle))[1]
    sys.addaudithook(hook)


class Scenario:
    """A command, what must be true after it was killed, and what after it ran to its end."""

    name: str

    def run(self, folder):
        raise NotImplementedError

    def killed(self, folder, operations):
        """Problems that a process killed after `operations` left behind."""
        return []

    def finished(self, folder):
        """Problems of a finished run."""
        return []


OVERRIDES = [
    *(
        "settings.size=3",
        "network.channels=8",
        "network.blocks=1",
        "learner.batch_size=48",
        "learner.minibatch_size=32",
    ),
    *("learner.epochs=1", "decisions=190", "matches=8", "threads=1", "backend=torch", "checkpoint.every=1"),
    *("checkpoint.keep=2", "evaluation.every=2", "evaluation.matches=4", "evaluation.opponents=[random]"),
]


@dataclass
class Train(Scenario):
    """Training with a checkpoint every update; deterministic, so a resumed run must equal an undisturbed one."""

    name: str = "train"
    reference: Path | None = None

    def run(self, folder):
        command("train", "hex-quick", *OVERRIDES, "--run", folder / "run")

    def killed(self, folder, operations):
        problems = []
        run = str(folder / "run")
        if any(name.startswith("os.rename") and name.endswith(f"{run}/best") for name in operations):
            problems += _raised(load_checkpoint, folder / "run" / "best")
        resumable = any(name.startswith("os.rename") and f"{run}/resume/0" in name.split()[-1] for name in operations)
        if resumable and RunFolder(folder / "run")._newest_resume(print) is None:
            problems.append("no resume state: it would start at zero")
        return problems

    def finished(self, folder):
        run = folder / "run"
        problems = _raised(load_checkpoint, run / "best")
        if self.reference is None or problems:
            return problems
        ours, theirs = (load_checkpoint(path / "best") for path in (run, self.reference / "run"))
        if ours.version != theirs.version or any(
            (ours.weights[key] != theirs.weights[key]).any() for key in ours.weights
        ):
            problems.append("other weights than an undisturbed run's")
        if updates(run) != updates(self.reference / "run"):
            problems.append("other metrics than an undisturbed run's")
        return problems


@dataclass
class SelfPlay(Scenario):
    """Self-play with several shards."""

    model: Path
    name: str = "self-play"
    matches: int = 24

    def run(self, folder):
        words = f"--matches {self.matches} --parallel 4 --shard 4 --simulations 0 --threads 1".split()
        command("selfplay", "hex", "--model", self.model, "--save", folder / "games", *words)

    def finished(self, folder):
        with EpisodeStore(folder / "games", small.spec(3)) as store:
            serial = np.concatenate([np.unique(part.headers.serial) for part in store])
        return [] if serial.tolist() == list(range(self.matches)) else [f"{len(serial)} matches, not each of them once"]


class Keys(Scenario):
    """A server's and a client's key."""

    name = "keys"

    def run(self, folder):
        command("keys", folder / "keys")

    def finished(self, folder):
        paths = folder / "keys" / "server.key", folder / "keys" / "client.key"
        server, client = read_server_key(paths[0]), read_client_key(paths[1])
        problems = [] if [client.public] == server.clients else ["keys that do not fit each other"]
        return problems + [f"{path.name} can be read by others" for path in paths if path.stat().st_mode & 0o077]


class SetUpRocket(Scenario):
    """Set-up of Rocket League, from an archive of empty meshes instead of the network."""

    name = "setup rocket"

    def run(self, folder):
        os.environ["SPARRING_CACHE"] = str(folder / "cache")
        rocket_setup._download = _fake_archive
        command("setup", "rocket")

    def finished(self, folder):
        meshes = folder / "cache" / "rocket" / "collision_meshes" / "soccar"
        found = len(list(meshes.glob("*.cmf")))
        return [] if found == rocket_setup.MESHES else [f"{found} meshes"]


class SetUpPokemon(Scenario):
    """Set-up of Pokémon, with files of ours where npm and Node would put theirs."""

    name = "setup pokemon"

    def run(self, folder):
        os.environ["SPARRING_CACHE"] = str(folder / "cache")
        pokemon_setup.find_node = lambda: "node"
        pokemon_setup._npm_install = lambda node, place, version: _fill(place / "node_modules")
        pokemon_setup.run_script = lambda found, script, *words: _fill(Path(words[-1]))
        command("setup", "pokemon")

    def finished(self, folder):
        os.environ["SPARRING_CACHE"] = str(folder / "cache")
        places = pokemon_setup.places(PINNED)
        parts = places.modules, places.tables, places.teams
        return [f"{part.name} is not whole" for part in parts if len(list(part.glob("*"))) != 3]


def _fill(folder):
    folder.mkdir(exist_ok=True)
    for number in range(3):
        (folder / str(number)).write_text("whole")


def _fake_archive(folder):
    path = folder / "meshes.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for number in range(rocket_setup.MESHES):
            archive.addfile(tarfile.TarInfo(f"x/{rocket_setup._INSIDE}{number}.cmf"), io.BytesIO())
    return path


def _raised(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:
        return [f"{call.__name__}: {error}"]
    return []


@dataclass
class Tally:
    """What one scenario came to."""

    name: str
    operations: int = 0
    kills: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self):
        return f"{self.name}: {self.operations} operations, {self.kills} kills, {len(self.problems)} problems"


def warm_up(scenario, place):
    """Runs it once in this process, so that the forks need not import and compile everything again."""
    with suppress(SystemExit), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        scenario.run(place)


def torture(scenario, place, *, step=1, first=1, most=None):
    """Kills `scenario` before every `step`-th operation, runs it again, and says what was wrong.

    With `most` the steps are so long that there are no more kills than that.
    """
    log = place / "log"
    journal = os.open(place / "operations", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    tally = Tally(scenario.name)

    def attempt(folder, number):
        def work():
            if number is not None:
                kill_before(number, str(folder), journal)
            scenario.run(folder)

        return in_child(work, log)

    folder = place / "work"  # one name for all, so that the operations are the same every time
    folder.mkdir()
    if attempt(folder, 0) != 0:
        tally.problems.append(f"an undisturbed run fails: {log.read_text()[-500:]}")
        return tally
    operations = (place / "operations").read_text().splitlines()
    tally.operations = len(operations)
    tally.problems += [f"undisturbed: {problem}" for problem in scenario.finished(folder) + _leftovers(folder)]
    reference = place / "undisturbed"
    folder.rename(reference)
    if isinstance(scenario, Train):
        scenario.reference = reference
    if most is not None:
        step = max(step, -(-len(operations) // most))
    for number in range(first, len(operations) + 1, step):
        where = f"before operation {number}, {operations[number - 1].replace(str(folder), '')}"
        folder.mkdir()
        code = attempt(folder, number)
        tally.kills += code == -signal.SIGKILL
        problems = [] if code == -signal.SIGKILL else [f"was not killed but ended with {code}"]
        problems += scenario.killed(folder, operations[: number - 1])
        code = attempt(folder, None)
        if code != 0:
            problems.append(f"the same command ends with {code}: {log.read_text().strip()[-500:]}")
        else:
            problems += scenario.finished(folder) + _leftovers(folder)
        tally.problems += [f"{where}: {problem}" for problem in problems]
        shutil.rmtree(folder)
    os.close(journal)
    return tally


def _leftovers(folder):
    found = [path for path in folder.rglob("*") if is_leftover(path) or ".tmp" in path.name or "waiting" in path.name]
    return [f"left behind: {path.relative_to(folder)}" for path in found]


def scenarios(place):
    """Every scenario, with what it needs in `place`."""
    model = place / "model"
    network = {"channels": 8, "blocks": 1, "memory": "lstm"}
    save_checkpoint(model, Checkpoint(small.spec(3), network, 1, small.policy(3, memory="lstm").state_dict(), {}))
    return [Keys(), SetUpRocket(), SetUpPokemon(), SelfPlay(model), Train()]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--step", type=int, default=1, help="kill before every STEP-th operation")
    options.add_argument("--only", default="", help="one scenario")
    options.add_argument("--most", type=int, help="kills of a scenario")
    chosen = options.parse_args()
    torch.set_num_threads(1)
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        for number, scenario in enumerate(scenarios(Path(temporary))):
            if chosen.only in ("", scenario.name):
                place = Path(temporary) / str(number)
                (place / "warm").mkdir(parents=True)
                warm_up(scenario, place / "warm")
                tally = torture(scenario, place, step=chosen.step, most=chosen.most)
                print(tally, *tally.problems[:20], sep="\n  ", flush=True)
                failed |= bool(tally.problems)
    sys.exit(failed)


if __name__ == "__main__":
    main()
