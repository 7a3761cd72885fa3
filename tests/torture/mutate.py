"""Messages of a Showdown server, damaged: by a network, by a fault, or by somebody who wants to see us fall."""

import json
import random
from typing import Any

NUMBERS = (
    "nan",
    "-nan",
    "inf",
    "-1",
    "1e400",
    "9" * 400,
    "9" * 5000,
    "0",
    "0/0",
    "5/0",
    "nan/100",
    "-5/100",
    "1/1e9",
    "²",
)
WORDS = (
    "",
    " ",
    "p1a: ",
    "p2b: Nobody",
    "p9z: X",
    "[from] ability: ",
    "[of] ",
    "none",
    "\x1b[2J",
    "\x00",
    "\u202e",
    "x" * 9000,
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1.5,
    10**30,
    10**400,
    "",
    "x",
    "0/0",
    "nan/1",
    [],
    {},
    [None],
    {"x": {}},
    "\x1b]0;x\x07",
)
ROOMS = (
    "battle-gen1randombattle-1/../../../../escaped",
    "battle-gen1randombattle-1/../../..",
    "battle-\x00",
    "battle-",
    "battle",
    "battle-gen9randombattle-" + "9" * 300,
    "battle-gen9randombattle-..",
    "battle-gen9randombattle-/etc/passwd",
    "battle-gen9randombattle-1\\..\\..",
    "battle-gen9randombattle-\x1b[2J",
    ".." + "/.." * 20,
    "/tmp/escaped",
)


def hostile_room(rng: random.Random) -> str:
    """A room id that no server of good will would choose."""
    room = rng.choice(ROOMS)
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(room) + 1)
        room = (
            room[:at]
            + rng.choice(("/", "..", "../", "\x00", "\n", "|", "é", "a", "-", ".", "\\", "~", "%2e"))
            + room[at:]
        )
    return room


def mutated(message: str, rng: random.Random) -> str:
    """`message` with one to three faults in it."""
    lines = message.split("\n")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(lines))
        if lines[at].startswith("|request|") and rng.random() < 0.7:
            lines[at] = _mutated_request(lines[at], rng)
        else:
            _mutate_line(lines, at, rng)
    return "\n".join(lines)


def hostile_notice(rng: random.Random) -> str:
    """A message that belongs to no room."""
    return rng.choice(
        (
            "|updatesearch|",
            "|updatesearch|null",
            '|updatesearch|{"searching":5}',
            '|updatesearch|{"searching":{}',
            "|updatesearch|" + "[" * 20_000,
            "|popup|" + "<" * 50_000,
            "|popup|\x1b[31mred\x07",
            "|popup",
            "|pm| A| B|/challenge",
            "|pm|" + "|" * 50,
            "|pm| Ann| Ourbot|/challenge gen9ou|gen9ou|||",
            "|updateuser| Ourbot" if rng.random() < 0.9 else "|updateuser| Guest 7|0|1|{}",
            "|challstr|4|again",
            "|challstr",
            "|raw|" + "(" * 50_000,
            "|" * 5000,
            "\x00",
            "",
            ">",
            ">battle-",
            f">{hostile_room(rng)}\n|init|battle\n|title|x",
            ">battle-gen9randombattle-77777\n|win|",
        )
    )


def _mutate_line(lines: list[str], at: int, rng: random.Random) -> None:
    parts = lines[at].split("|")
    field = rng.randrange(len(parts))
    kind = rng.randrange(10)
    if kind == 0:
        del parts[field]
    elif kind == 1:
        parts.insert(field, rng.choice(WORDS))
    elif kind == 2:
        parts[field] = rng.choice(NUMBERS)
    elif kind == 3:
        parts[field] = rng.choice(WORDS)
    elif kind == 4:
        other = lines[rng.randrange(len(lines))].split("|")
        parts[field] = other[rng.randrange(len(other))]
    elif kind == 5:
        parts = parts[: field + 1]
    elif kind == 6:
        lines.insert(at, rng.choice(lines))
    elif kind == 7:
        other_at = rng.randrange(len(lines))
        lines[at], lines[other_at] = lines[other_at], lines[at]
        return
    elif kind == 8:
        lines.insert(at, rng.choice(INSERTED))
        return
    else:
        text = lines[at]
        cut = rng.randrange(len(text) + 1)
        lines[at] = text[:cut] + chr(rng.choice((0, 7, 27, 92, 123, 8238, 0xFFFF, 48))) + text[cut + 1 :]
        return
    lines[at] = "|".join(parts)


INSERTED = (
    "|win|",
    "|win",
    "|win|Somebody Else",
    "|request|",
    "|request|null",
    "|request|{}",
    "|request|[]",
    '|request|{"active":[]}',
    "|request|{" * 50,
    "|turn|nan",
    "|turn|-5",
    "|turn|" + "9" * 5000,
    "|-boost|p1a: X|atk|nan",
    "|-setboost|p1a: X|atk|1e30",
    "|-damage|p2a: X|nan/100",
    "|teamsize|p1|999",
    "|error|[Invalid choice] no",
    "|error|[Unavailable choice] no",
    "|switch|p1a: X|Ditto, L99999999|100/100",
    "|uhtml|otsrequest|x",
    "|inactive",
    "|-message",
    "|player|p2",
    "|c|x|typing too quickly message-throttle-notice",
)


def _mutated_request(line: str, rng: random.Random) -> str:
    text = line.removeprefix("|request|")
    try:
        request = json.loads(text)
    except ValueError:
        return line[: rng.randrange(len(line) + 1)]
    if rng.random() < 0.2:
        return line[: rng.randrange(len(line) + 1)]
    node = request
    while isinstance(node, (dict, list)) and node:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = rng.choice(keys)
        if isinstance(node[key], (dict, list)) and node[key] and rng.random() < 0.8:
            node = node[key]
            continue
        if rng.random() < 0.3:
            del node[key]
        else:
            node[key] = rng.choice(VALUES)
        break
    return f"|request|{json.dumps(request)}"
