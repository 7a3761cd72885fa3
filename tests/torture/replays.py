"""Damaged logs of Pokémon battles: each is read or rejected with a reason, and what is read is sound.

python -m tests.torture.replays --logs 20000 [--people FOLDER]
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sparring.core import Episodes
from sparring.core.episodes import unpack_mask
from sparring.core.replays import Filters, Replay
from sparring.games.pokemon.replays.episodes import read_replays
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.replays.sources import ReplayFiles
from tests.games.pokemon.replays.logs import DOUBLES, battle
from tests.games.pokemon.replays.truth import played
from tests.torture.mutate import NUMBERS, WORDS

FORMATS = (
    *("gen1randombattle", "gen2randombattle", "gen3randombattle", "gen4randombattle", "gen5randombattle"),
    *("gen6randombattle", "gen7randombattle", "gen8randombattle", "gen9randombattle", "gen8ou", "gen9ou"),
    *("gen9doubleshackmonscup", "gen9randomdoublesbattle", "gen9vgc2025regi"),
)
READINGS: tuple[dict[str, str], ...] = (
    *[{}] * 17,
    {"own_team": "usage", "corpus": ""},
    {"own_team": "infer", "corpus": ""},
    {"belief": "yes"},
)
"""Most are read plainly, which is what costs least."""
FIELDS = (
    *NUMBERS,
    *WORDS,
    *("p1", "p2", "p1: X", "p2a: X", "p1b: X", "p1c: X", "p3a: X", "p1a", "a: X", "p2a:X"),
    *("0 fnt", "100/100", "0/100", "50/100 slp", "-5/100 par", "100/100 xyz", "48/48g", "1/0", "101/100"),
    *(
        "MissingNo.",
        "Zoroark, M",
        "Ditto, L1",
        "Mew, L0",
        "Arceus-*",
        "Wishiwashi-School, shiny",
        "é♀☆ 龍",
        "Mew, tera:X",
    ),
    *(
        "Struggle",
        "Metronome",
        "Transform",
        "Max Flare",
        "G-Max Wildfire",
        "Z-Toxic",
        "Hidden Power",
        "10,000,000 Volts",
    ),
    *(
        "[from]",
        "[of] p9a: X",
        "[from] move: ",
        "[from] lockedmove",
        "[spread] p1a,p9z",
        "[still]",
        "[notarget]",
        "[silent]",
    ),
    *("typechange", "Dynamax", "move: Encore", "perish9", "Substitute", "Mimic", "Illusion", "recharge", "flinch"),
)
LINES = (
    *(
        "|",
        "||",
        "|upkeep",
        "|turn|1",
        "|turn|2",
        "|turn|99999",
        "|win|",
        "|tie",
        "|start",
        "|clearpoke",
        "|teampreview",
    ),
    *(
        "|teampreview|4",
        "|teamsize|p1|0",
        "|teamsize|p2|6",
        "|teamsize|p1|24",
        "|gen|1",
        "|gen|9",
        "|gen|12",
        "|gametype|",
    ),
    *("|gametype|doubles", "|gametype|singles", "|gametype|triples", "|poke|p1|Mew|", "|poke|p2|Arceus-*|item"),
    *("|showteam|p1|", "|showteam|p1|Mew||Leftovers|Synchronize|surf,psychic|||||||", "|showteam|p2|" + "]" * 40),
    *("|switch|p1a: X|Mew|100/100", "|switch|p2b: X|Ditto|1/100 par", "|drag|p1a: Y|Zoroark, F|100/100"),
    *(
        "|replace|p1a: Z|Zoroark, M",
        "|replace|p2a: Z|Mew",
        "|faint|p1a: X",
        "|faint|p2b: X",
        "|swap|p1a: X|1",
        "|swap|p2b: X|0",
    ),
    *("|-transform|p1a: X|p2a: Y", "|-transform|p2a: Y|p1a: X", "|-terastallize|p1a: X|Fire", "|-mega|p2a: Y|X|Y"),
    *(
        "|-zpower|p1a: X",
        "|-burst|p1a: X|X|Y",
        "|-start|p1a: X|Dynamax",
        "|-end|p1a: X|Dynamax",
        "|cant|p2a: Y|recharge",
    ),
    *("|-heal|p1: X|50/100|[from] move: Revival Blessing", "|-heal|p2: Nobody|50/100|[from] move: Revival Blessing"),
    *(
        "|-activate|p1a: X|move: Instruct|[of] p1b: Y",
        "|-activate|p2a: X|ability: Dancer",
        "|-activate|p1a: X|move: Pursuit",
    ),
    *(
        "|-singleturn|p1b: X|move: Follow Me",
        "|-item|p1a: X|Choice Scarf|[from] move: Trick",
        "|-enditem|p1a: X|Eject Button",
    ),
    *("|-formechange|p1a: X|Nobody|", "|detailschange|p1a: X|Charizard-Mega-X, M", "|-copyboost|p1a: X|p2a: Y"),
    *(
        "|-sidestart|p1: Ann|Reflect",
        "|-sideend|p9: |Spikes",
        "|-swapsideconditions",
        "|-weather|Snow|[upkeep]",
        "|-fieldstart|",
    ),
    *("|player|p1|", "|player|p3|Third", "|player|p1|Ann|1|99999", "|message|Ann forfeited.", "|raw|Ann's rating: 9"),
)
OTHER_SIDE, OTHER_PLACE = str.maketrans("12", "21"), str.maketrans("ab", "ba")


def mutated(log: str, other: str, rng: random.Random) -> str:
    """`log` with one to six faults in it; what is spliced in comes from `other`."""
    lines = log.split("\n")
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        _mutate(lines, other.split("\n"), rng)
    return "\n".join(lines)


def _mutate(lines: list[str], others: Sequence[str], rng: random.Random) -> None:
    at, there = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(14)
    if kind == 0:
        del lines[at : at + rng.choice((1, 1, 2, 10))]
    elif kind == 1:
        lines[at], lines[there] = lines[there], lines[at]
    elif kind == 2:
        lines[at:at] = lines[there : there + rng.choice((1, 1, 2, 10))]
    elif kind == 3:
        del lines[at:]
        lines.extend(rng.choice(((), ("|win|one",), ("|", "|tie"))))
    elif kind == 4:
        lines[at:] = others[rng.randrange(len(others)) :]
    elif kind == 5:
        start = rng.randrange(len(others))
        lines[at:at] = others[start : start + rng.choice((1, 3, 30))]
    elif kind == 6:
        lines.insert(at, rng.choice(LINES))
    elif kind == 7:
        lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
    elif kind == 8:
        cut = rng.randrange(len(lines[at]) + 1)
        lines[at] = (
            lines[at][:cut] + chr(rng.choice((0, 7, 27, 92, 124, 8238, 0xFFFF, 48, 0xE9))) + lines[at][cut + 1 :]
        )
    elif kind == 9:
        lines[at] = lines[at].translate(rng.choice((OTHER_SIDE, OTHER_PLACE)))
    else:
        lines[at] = _with_other_field(lines[at], lines[there], rng)
    if not lines:
        lines.append("|")


def _with_other_field(line: str, other: str, rng: random.Random) -> str:
    parts, others = line.split("|"), other.split("|")
    field = rng.randrange(len(parts))
    kind = rng.randrange(6)
    if kind == 0:
        del parts[field]
    elif kind == 1:
        parts.insert(field, rng.choice(FIELDS))
    elif kind == 2:
        parts[field] = rng.choice(others)
    elif kind == 3:
        del parts[field + 1 :]
    else:
        parts[field] = rng.choice(FIELDS)
    return "|".join(parts)


def unsound(episodes: Episodes) -> Iterator[str]:
    """What no episode may be, however odd the log."""
    steps = episodes.steps
    assert steps.consistent is not None
    for name, array in steps.observation.items():
        if not np.isfinite(array).all():
            yield f"{name} is not finite"
    legal, fits = (unpack_mask(packed, episodes.spec.actions) for packed in (steps.legal, steps.consistent))
    if not fits.any(axis=1).all():
        yield "no action fits"
    if (fits & ~legal).any():
        yield "a forbidden action fits"
    if len(episodes.headers.lengths) != 2 or not (episodes.headers.lengths > 0).all():
        yield "not two episodes"


def torture(logs: Sequence[str], count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """What became of `count` damaged logs, and each that went wrong."""
    rng = random.Random(seed)
    tally: Counter[str] = Counter()
    problems: list[str] = []
    for number in range(count):
        if number and number % 2_000 == 0:
            print(f"{number:,} logs, {len(problems)} problems", file=sys.stderr, flush=True)
        log = mutated(rng.choice(logs), rng.choice(logs), rng)
        try:
            reading = read_replays([Replay(f"{seed}-{number}", log)], Filters(), rng.choice(READINGS))
            wrong = [what for episodes in reading.episodes.values() for what in unsound(episodes)]
            failed = [str(one) for one in reading.rejected.values() if one.reason == Reason.READER_FAILED]
            problems += [f"log {number}: {what}" for what in wrong + failed]
            tally["read" if reading.episodes else next(iter(reading.rejected.values())).reason] += 1
        except Exception as error:  # the very thing that must not happen
            problems.append(f"log {number}: {type(error).__name__}: {error}")
    return tally, problems


def battles(each: int) -> list[str]:
    """Logs of battles, `each` of random and of heuristic players a format; of doubles of old generations short ones."""
    found = [
        one["log"]
        for format in FORMATS
        for player in ("random", "heuristic")
        for one in played(format, player, each, seed=1)
    ]
    return found + [battle(*DOUBLES, gen=gen, kind="doubles") for gen in range(3, 9) for _ in range(each)]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--logs", type=int, default=20_000, help="damaged logs to read")
    options.add_argument("--people", type=Path, help="files or folder of logs to damage beside those that are played")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    logs = battles(2)
    if given.people is not None:
        logs += [one.log for one in ReplayFiles([given.people]) if isinstance(one, Replay)]
    tally, problems = torture(logs, given.logs, given.seed)
    for problem in problems:
        print(problem)
    for reason, times in tally.most_common():
        print(f"{times:7,} {reason}")
    print(f"{given.logs:,} damaged logs of {len(logs)} battles: {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
