"""The ledger and the ratings under load: a million results of 200 players, eight writers at once, intervals that hold.

And tournaments in simulation: how often an SPRT is wrong, and how many matches a schedule needs beside a round robin.

Matches are drawn from the model of the ratings, with known strengths, draws and seat advantage.
"""

import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

import measure
from sparring.league import schedules
from sparring.league.bouts import BLOCK, Ended
from sparring.league.counts import PairCounts, pair_counts
from sparring.league.ledger import Identity, Ledger, Match, Seat
from sparring.league.ratings import ELO, chances, rate
from sparring.league.sprt import Sprt
from sparring.league.standings import standings

PLAYERS, WRITERS = 200, 8
ADVANTAGE, DRAW = 40.0, 0.5

WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
import league
league.write(*sys.argv[2:])
"""


def strengths() -> np.ndarray:
    return np.random.default_rng(0).normal(0, 200, PLAYERS)


def matches(name: str, count: int, seed: int) -> Iterator[Match]:
    """`count` matches between players drawn by lot, with ids that begin with `name`."""
    truth, rng = strengths(), np.random.default_rng(seed)
    first = rng.integers(PLAYERS, size=count)
    second = (first + rng.integers(1, PLAYERS, size=count)) % PLAYERS
    win, even, _ = chances((truth[first] - truth[second] + ADVANTAGE) / ELO, DRAW)
    lot = rng.random(count)
    outcome = np.where(lot < win, 1.0, np.where(lot < win + even, 0.0, -1.0))
    for at, (one, other, result) in enumerate(zip(first.tolist(), second.tolist(), outcome.tolist(), strict=True)):
        yield Match(
            id=f"{name}-{at}",
            game="hex",
            settings={"size": 11, "swap": True},
            seats=(
                Seat(name=f"p{one:03}", checkpoint="ab" * 32, kind="network", team=0, outcome=result),
                Seat(name=f"p{other:03}", checkpoint="ab" * 32, kind="network", team=1, outcome=-result),
            ),
            length=40,
            seed=at,
            time=1e9 + at,
            machine="here",
        )


def write(path: str, name: str, count: str) -> None:
    """One of several writers: adds matches one by one, each kept when the next begins."""
    with Ledger(path, create=True) as ledger:
        for match in matches(name, int(count), len(name)):
            ledger.add([match])


def adding(folder: Path, count: int) -> None:
    """Milliseconds of one match added by itself."""
    taken = []
    with Ledger(folder / "one.ledger", create=True) as ledger:
        for match in matches("one", count, 1):
            start = perf_counter()
            ledger.add([match])
            taken.append(1000 * (perf_counter() - start))
    for name, value in (("mean", np.mean(taken)), ("99th percentile", np.percentile(taken, 99))):
        measure.figure(f"ledger, adding one result, {name}", float(value), "ms", limit=1.0, ratio=float(value))


def writing_at_once(folder: Path, each: int) -> None:
    """Results that eight processes added at the same time, and how many of them are there."""
    path, start = folder / "many.ledger", perf_counter()
    here = str(Path(__file__).parent)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, here, str(path), "w" * (number + 1), str(each)])
        for number in range(WRITERS)
    ]
    failed = sum(writer.wait() != 0 for writer in writers)
    wall = perf_counter() - start
    with Ledger(path) as ledger:
        lost = WRITERS * each - len(ledger)
    measure.figure(f"ledger, results lost by {WRITERS} writers at once", float(lost), "results", limit=0, failed=failed)
    measure.figure(f"ledger, results of {WRITERS} writers at once, starting included", WRITERS * each / wall, "1/s")


def rating(folder: Path, count: int) -> None:
    """Seconds from a ledger of `count` results to ratings."""
    with Ledger(folder / "large.ledger", create=True) as ledger:
        left, start = matches("large", count, 2), perf_counter()
        while chunk := list(islice(left, 10_000)):
            ledger.add(chunk)
        measure.figure("ledger, results added 10,000 at a time", count / (perf_counter() - start), "1/s")
        start = perf_counter()
        counts = pair_counts(ledger.tallies("hex"))
        counted = perf_counter()
        found = rate(counts)
        rated = perf_counter()
        standings(ledger)
        shown = perf_counter()
    label = f"{count:,} results of {PLAYERS} players"
    measure.figure(f"{label}, counting", counted - start, "s")
    measure.figure(f"{label}, fitting", rated - counted, "s")
    measure.figure(f"{label}, both", rated - start, "s", limit=5.0, ratio=(rated - start) / 5)
    measure.figure(f"{label}, everything that `league show` says", shown - rated, "s")
    truth = strengths()
    errors = found.rating - (truth - truth[found.anchor])
    measure.figure(f"{label}, mean error of a rating", float(np.abs(errors).mean()), "Elo")


def covering(runs: int) -> None:
    """How often 95% intervals cover the truth, over worlds with few matches and many."""
    for players, each, spread, draw in ((2, 50, 100, 0.5), (6, 4, 200, 0.5), (12, 10, 300, 0.0)):
        hits = []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            truth = rng.normal(0, spread, players)
            first, second = np.nonzero(~np.eye(players, dtype=bool))
            gap = (truth[first] - truth[second] + ADVANTAGE) / ELO
            drawn = rng.multinomial(each, np.stack(chances(gap, draw), axis=1)).astype(np.int64).T
            names = tuple(Identity(name=f"p{number:03}") for number in range(players))
            found = rate(PairCounts(names, first, second, *drawn, np.zeros_like(first), (("", "", ""),)))
            for player in range(1, players):
                interval = found.estimate(player)
                hits.append(interval.low <= truth[player] - truth[0] <= interval.high)
        world = f"{players} players, {each} matches a pair and seat"
        measure.figure(f"95% intervals that cover, {world}", float(np.mean(hits)), "share", limit="0.93 to 0.97")


def testing(runs: int) -> None:
    """How often an SPRT of 0 against 30 Elo accepts the wrong one, asked every block of pairs from unequal starts."""
    test = Sprt(0, 30)
    for elo, wrong in ((0.0, "elo1"), (30.0, "elo0")):
        score, mistakes, taken = 1 / (1 + 10 ** (-elo / 400)), 0, 0
        for seed in range(runs):
            rng, pairs = np.random.default_rng([seed, int(elo)]), np.zeros(5, np.int64)
            while (verdict := test.verdict(pairs)) is None:
                tilt = rng.normal(0, 0.2, BLOCK)
                points = sum((rng.random(BLOCK) < np.clip(score + side * tilt, 0, 1)).astype(int) for side in (1, -1))
                pairs += np.bincount(2 * points, minlength=5)
            mistakes += verdict == wrong
            taken += int(pairs.sum())
        label = f"SPRT of 0 against 30 Elo, truth {elo:.0f}"
        measure.figure(f"{label}, wrong answers", mistakes / runs, "share", limit=0.05)
        measure.figure(f"{label}, pairs until it is decided", taken / runs, "pairs")


def scheduling(runs: int) -> None:
    """Matches until every interval is narrow enough, by the active schedule and by a round robin.

    Beside it, the least that any schedule can need, even one that knew the strengths in advance, but for luck.
    """
    for players, spread, width in ((6, 300, 150), (10, 300, 150), (10, 100, 100)):
        shares, least = [], []
        for seed in range(runs):
            truth = np.random.default_rng(seed).normal(0, spread, players)
            truth[0] = np.median(truth)  # the anchor is one who wins and loses
            shares.append(_matches_until(truth, width, seed, True) / _matches_until(truth, width, seed, False))
            least.append(_least_share(truth))
        label = f"{players} players spread by {spread} Elo, intervals of {width}"
        measure.figure(
            f"active schedule's matches beside round robin's, {label}",
            float(np.mean(shares)),
            "share",
            limit=round(float(np.mean(least)), 3),
            ratio=float(np.mean(shares) / np.mean(least)),
        )


def _least_share(truth: np.ndarray) -> float:
    """The least share of a round robin's matches after which the widest interval can be as narrow as after all of them.

    That is the largest variance of a difference to player 0, by the shares of pairs that make it least, over that of
    equal shares. A bound below it proves it: 1 / f, for any weighted mean f of the variances, is concave in the shares
    and in proportion to their size, so that f is nowhere below f(s)**2 / max d(s), with d the derivatives of -f at any
    shares s. Shares and weights are moved towards their saddle point, where the bound is reached.
    """
    first, second = np.triu_indices(len(truth), 1)
    win, _, loss = chances((truth[first] - truth[second]) / ELO, 0.0)
    told = win * loss
    design = np.zeros((len(told), len(truth)))
    design[np.arange(len(told)), first], design[np.arange(len(told)), second] = 1, -1
    design = design[:, 1:]
    shares, weights = np.full(len(told), 1 / len(told)), np.full(design.shape[1], 1 / design.shape[1])
    equal, bound = 0.0, 0.0
    for step in range(4000):
        spread = np.linalg.inv((design * (shares * told)[:, None]).T @ design)
        variances = np.diag(spread)
        equal = equal or float(variances.max())
        mean, slope = float(weights @ variances), (weights @ (spread @ design.T) ** 2) * told
        bound = max(bound, mean**2 / float(slope.max()))
        shares = shares * np.sqrt(slope / mean)
        shares /= shares.sum()
        if step % 3 == 0:
            weights = weights * (variances / mean) ** 0.3
            weights /= weights.sum()
    return bound / equal


def _matches_until(truth: np.ndarray, width: float, seed: int, active: bool) -> int:
    n, rng = len(truth), np.random.default_rng([seed, 1])
    sheet = schedules.ScoreSheet.empty(tuple(Identity(name=f"p{at:03}") for at in range(n)), 0)
    schedule = schedules.active(width=width, confidence=None, matches=10**6)

    def play(pair: tuple[int, int], starts: int) -> None:
        begun, chance = sheet.begun(pair), chances(np.float64((truth[pair[0]] - truth[pair[1]]) / ELO), 0.0)[0]
        for start in range(begun, begun + starts):
            for order in (0, 1):
                sheet.add(pair, Ended(start, order, float(rng.random() < chance)))

    while True:
        for pair in sheet.pairs if not active else ():
            play(pair, 2)
        wanted = schedule(sheet)
        behind = [pair for pair, starts in wanted.items() if starts > sheet.begun(pair)]
        if not behind:
            return sheet.matches()
        if active:
            play(behind[0], wanted[behind[0]] - sheet.begun(behind[0]))


def main() -> None:
    quick = measure.parse(measure.parser(__doc__)).quick
    with TemporaryDirectory() as name:
        folder = Path(name)
        adding(folder, 2_000 if quick else 20_000)
        writing_at_once(folder, 200 if quick else 2_000)
        rating(folder, 100_000 if quick else 1_000_000)
    covering(200 if quick else 2_000)
    testing(100 if quick else 1_000)
    scheduling(3 if quick else 20)


if __name__ == "__main__":
    main()
