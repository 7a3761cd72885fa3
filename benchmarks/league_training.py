"""Does a league make a stronger Hex agent? The same run with and without one, three seeds, the same CPU time each.

Runs of one seed begin with the same weights, and stop with the update that reaches the CPU time; the learning rate is
constant, so that nothing depends on where that is. They are rated against players that neither met in training:
built-in ones, OpenSpiel's MCTS, shipped weights, and what the runs of other seeds came to, on random openings.

python benchmarks/league_training.py --size 5 --minutes 1.25 --processes 2
"""

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev

import torch
from scipy.stats import t as students_t

import measure
import sparring

SIDES = {"alone": (), "league": ("league.every=3", "league.keep=8")}
"""What the sides' runs differ in; the league draws opponents as is usual for its role."""
STRANGERS = ("path", "openspiel:100", "openspiel:400", "hex-7x7")


@dataclass(frozen=True)
class Task:
    """A run to be trained, and the runs whose results it is then rated against."""

    side: str
    seed: int
    size: int
    seconds: float
    """CPU time of its training."""
    matches: int
    """Against each opponent."""
    folder: Path
    """Of all runs."""
    others: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        return run_name(self.side, self.seed)


def run_name(side: str, seed: int) -> str:
    return f"{side}-{seed}"


def trained(task: Task) -> tuple[int, float]:
    """Trains on one thread; the decisions it learned from, and CPU seconds."""
    torch.set_num_threads(1)
    began, updates = time.process_time(), list[sparring.Update]()

    def enough(update: sparring.Update) -> bool:
        updates[:] = [update]
        return time.process_time() - began >= task.seconds

    sparring.train(
        "hex-quick",
        f"settings={{size: {task.size}, opening: 2}}",
        "learner.batch_size=6144",
        "learner.lr_schedule=constant",
        "decisions=1000000000",
        "evaluation={every: 0, opponents: []}",
        "checkpoint.every=1000000",
        "threads=1",
        f"seed={task.seed}",
        *SIDES[task.side],
        run=task.folder / task.name,
        on_update=enough,
        say=lambda text: None,
    )
    return updates[0].decisions, time.process_time() - began


def rated(task: Task) -> dict[str, float]:
    """Points a match against each opponent, on random openings; networks play as trained."""
    torch.set_num_threads(1)
    settings = {"size": task.size, "opening": 2}
    own, found = str(task.folder / task.name), dict[str, float]()
    for opponent in (*STRANGERS, *(run_name(*other) for other in task.others)):
        who = opponent if opponent in STRANGERS else str(task.folder / opponent)
        score = sparring.evaluate(own, who, game="hex", settings=settings, matches=task.matches)
        found[opponent] = score.win_rate
    return found


def show_gain(name: str, gains: Sequence[float]) -> None:
    """The mean of what the league's runs made more, with its 95% interval over seeds."""
    spread = students_t.ppf(0.975, len(gains) - 1) * stdev(gains) / sqrt(len(gains))
    middle = mean(gains)
    measure.figure(name, middle, "points a match", interval=[middle - spread, middle + spread], seeds=list(gains))


def main() -> None:
    parser = measure.parser(__doc__, quick="two seeds, ten CPU-seconds a run, few matches")
    parser.add_argument("--size", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=1.25, help="CPU-minutes of each run")
    parser.add_argument("--matches", type=int, default=200, help="against each opponent")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1, help="runs at the same time")
    options = measure.parse(parser)
    if options.quick:
        options.minutes, options.matches, options.seeds = 1 / 6, 20, 2
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(options.processes, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool,
    ):
        every = [(side, seed) for seed, side in product(range(options.seeds), SIDES)]
        tasks = [
            Task(
                side=side,
                seed=seed,
                size=options.size,
                seconds=60 * options.minutes,
                matches=options.matches,
                folder=Path(folder),
                others=tuple(other for other in every if other != (side, seed)),
            )
            for side, seed in every
        ]
        for task, (decisions, seconds) in zip(tasks, pool.map(trained, tasks), strict=True):
            measure.figure(f"{task.name}, trained on", decisions, "decisions", cpu_seconds=seconds)
        points = dict(zip(every, pool.map(rated, tasks), strict=True))
    show(points, options.seeds, options.matches)


def show(points: dict[tuple[str, int], dict[str, float]], seeds: int, matches: int) -> None:
    """Every score, and what the league's runs made more: `points` by side and seed, then by opponent."""

    def held_out(side: str, seed: int) -> float:
        own = [run_name(each, seed) for each in SIDES]
        return mean(value for opponent, value in points[side, seed].items() if opponent not in own)

    for (side, seed), found in points.items():
        for opponent, value in found.items():
            measure.figure(f"{run_name(side, seed)} against {opponent}", value, "points a match", matches=matches)
        measure.figure(f"{run_name(side, seed)}, held-out set", held_out(side, seed), "points a match")
    for opponent in STRANGERS:
        gains = [points["league", seed][opponent] - points["alone", seed][opponent] for seed in range(seeds)]
        show_gain(f"league over alone, against {opponent}", gains)
    show_gain(
        "league over alone, held-out set", [held_out("league", seed) - held_out("alone", seed) for seed in range(seeds)]
    )
    direct = [points["league", seed][run_name("alone", seed)] - 0.5 for seed in range(seeds)]
    show_gain("league against alone of the same seed, over a half", direct)


if __name__ == "__main__":
    main()
