"""Weak scaling: how the decisions a second of hex-quick grow with the processes that learn it, each with its own batch.

Measured: one process and two under torchrun (gloo, a thread each) on this machine, in turns. Simulated by `sparring
plan`, from rates measured after that: the same two, to see how far it is off, and one process on each of up to 16
machines.
"""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import mean, median
from time import perf_counter

import measure
from plan import LINK, unrated
from sparring.bench.diagnose.result import Diagnosis
from sparring.bench.diagnose.run import diagnose
from sparring.bench.diagnose.subject import find_subject
from sparring.bench.plan.forecast import Forecast, forecast
from sparring.bench.plan.simulation import Layout
from sparring.learn import parallel
from sparring.training.ranks import own_config
from sparring.training.self_play import SelfPlay

PRESET = "hex-quick"
OVERRIDES = ["threads=1", "learner.batch_size=4096"]
PROCESSES = (1, 2)
NODES = (1, 2, 4, 8, 16)


def work(updates: int) -> None:
    """What each process that torchrun started does: so many updates after the first; rank 0 prints how they went."""
    subject = unrated(find_subject(PRESET, None, OVERRIDES))
    with parallel.joined(5.0):
        training = SelfPlay(own_config(subject.config), subject.game, {}, say=lambda text: None)
        try:
            training.start()
            training.advance()
            parallel.total(1)  # all begin together
            done, start, learned = training.decisions, perf_counter(), training.stages.seconds["learn"]
            epochs = [training.advance()["loss/epochs"] for _ in range(updates)]
            wall, learned = perf_counter() - start, training.stages.seconds["learn"] - learned
            decisions = training.decisions - done
            rows = decisions / parallel.size() * mean(epochs) / learned
            found = {"rate": decisions / wall, "learner": rows, "learn": learned / wall, "epochs": mean(epochs)}
            if parallel.rank() == 0:
                print(json.dumps(found), flush=True)
        finally:
            training.close()


def measured(processes: int, updates: int) -> dict[str, float]:
    """Decisions a second of so many processes, and learner rows a second of each."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    done = subprocess.run(
        [*torchrun, str(Path(__file__).resolve()), "--work", str(updates)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def simulated(rates: Diagnosis, epochs: float, *, nodes: int = 1, processes: int = 1) -> Forecast:
    subject = unrated(find_subject(PRESET, None, OVERRIDES))
    layout = Layout(nodes=nodes, processes=processes, cores=os.cpu_count() or 1, link=LINK)
    return forecast(PRESET, subject.config, subject.game, rates, layout, hours=1.0, epochs=epochs)


def main() -> None:
    made = measure.parser(__doc__)
    made.add_argument("--work", type=int, metavar="UPDATES", help="what torchrun starts")
    options = measure.parse(made)
    if options.work:
        return work(options.work)
    updates, rounds = (4, 2) if options.quick else (8, 3)
    subject = unrated(find_subject(PRESET, None, OVERRIDES))
    sides = {str(count): partial(measured, count, updates) for count in PROCESSES}
    found = measure.in_turns(sides, rounds)
    rates = diagnose(subject, ["learner"], seconds=6.0 if options.quick else 10.0)
    epochs = mean(each["epochs"] for rounds_of in found.values() for each in rounds_of)
    one = median(each["rate"] for each in found["1"])
    for name, rounds_of in found.items():
        rate = median(each["rate"] for each in rounds_of)
        predicted = simulated(rates, epochs, processes=int(name)).decisions_per_second
        here = f"{PRESET}, {name} under torchrun"
        measure.figure(
            here, rate, "decisions/s", peer="1 process", ratio=rate / one, each=[e["rate"] for e in rounds_of]
        )
        measure.figure(f"{here}: a learner", median(e["learner"] for e in rounds_of), "rows/s of each process")
        measure.figure(f"{here}: learning", median(e["learn"] for e in rounds_of), "share of the time")
        measure.figure(f"{here}: predicted", predicted, "decisions/s", peer="measured", ratio=predicted / rate)
    alone = simulated(rates, epochs).decisions_per_second
    for nodes in NODES:
        forecasted = simulated(rates, epochs, nodes=nodes)
        waiting = forecasted.shares.get("waiting for others", 0.0)
        measure.figure(
            f"{PRESET}, {nodes} machines, simulated",
            forecasted.decisions_per_second,
            "decisions/s",
            peer="1 machine",
            ratio=forecasted.decisions_per_second / alone,
            waiting=waiting,
        )


if __name__ == "__main__":
    main()
