"""One episode in words: what the seat saw at each decision, what it could do, and what it did."""

import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from sparring.core import Array, Episodes, InputError
from sparring.core.episodes import unpack_mask
from sparring.core.versions import present_vocabulary
from sparring.core.words import Words
from sparring.data.catalogue import find_stores
from sparring.data.statistics import END_OF_CALENDAR, words_for
from sparring.rollout.store import read_shard, renumber, renumbering, shard_info, shards

_LONG_NAME = 60
"""If a name is longer than this, each gets a line of its own."""
_NUMBERS = 12
"""An axis of at most this many numbers is printed whole."""
_RESULTS = {1: "won", 0: "drew", -1: "lost"}


def show_episode(
    path: Path, number: int, *, step: int | None = None, arrays: bool = False, say: Callable[[str], None] = print
) -> Iterator[str]:
    """Episode `number` of the store at `path`, counted from 0 in the order of its files, as lines.

    Only decision `step`, if it is given; `arrays` adds the numbers, which are always shown for a game without words.
    """
    if len(stores := find_stores([path])) > 1:
        names = ", ".join(store.name for store in stores)
        raise InputError(f"{path}: several stores ({names}); name the one to show an episode of")
    episodes, count = _find(stores[0], number, say)
    length = int(episodes.headers.lengths[0])
    if step is not None and not 0 <= step < length:
        raise InputError(f"step {step}: episode {number} has the decisions 0..{length - 1}")
    words = words_for(episodes.spec, say)
    yield from _fitted(f"episode {number} of {count:,}: {_header(episodes)}")
    for decision in range(length) if step is None else [step]:
        yield ""
        yield from _decision(episodes, decision, words, arrays=arrays or words is None)


def _find(store: Path, number: int, say: Callable[[str], None]) -> tuple[Episodes, int]:
    """Episode `number` alone, and how many the store has."""
    files = shards(store)
    counts = [shard_info(file).episodes for file in files]
    total = sum(counts)
    if not 0 <= number < total:
        raise InputError(f"episode {number}: {store} has the episodes 0..{total - 1}")
    ends = np.cumsum(counts)
    at = int(np.searchsorted(ends, number, side="right"))
    episodes = read_shard(files[at])
    now = present_vocabulary(episodes.spec.game)
    if now is not None and (difference := renumbering(episodes.spec, now)):
        say(f"{store}: episodes of another vocabulary, renumbered by name ({difference})")
        episodes, _ = renumber(episodes, now, files[at])
    return episodes.take(np.array([number - (ends[at] - counts[at])], np.intp)), total


def _header(episodes: Episodes) -> str:
    headers, spec = episodes.headers, episodes.spec
    complete = bool(headers.complete[0])
    parts = [
        f"{spec.game} {spec.settings.get('format', '')}".strip(),
        f"{episodes.players[headers.player[0]]} in seat {headers.seat[0]}",
        _RESULTS[int(np.sign(headers.outcome[0]))] if complete else "truncated",
        f"{headers.lengths[0]} decisions",
    ]
    if headers.rating is not None and not np.isnan(headers.rating[0]):
        parts.append(f"rating {headers.rating[0]:.0f}")
    if headers.played_at is not None and 0 < headers.played_at[0] < END_OF_CALENDAR:
        parts.append(f"played on {datetime.fromtimestamp(int(headers.played_at[0]), UTC):%Y-%m-%d}")
    return f"{', '.join(parts)} (match {headers.serial[0]})"


def _decision(episodes: Episodes, step: int, words: Words | None, *, arrays: bool) -> Iterator[str]:
    steps, actions = episodes.steps, episodes.spec.actions
    seat = int(episodes.headers.seat[0])
    before, row = (
        {name: values[number] for name, values in steps.observation.items()} if number >= 0 else None
        for number in (step - 1, step)
    )
    assert row is not None
    legal = unpack_mask(steps.legal[step], actions)
    chosen = np.zeros(actions, np.bool_)
    if steps.action[step] >= 0:
        chosen[steps.action[step]] = True
    elif steps.consistent is not None:
        chosen = unpack_mask(steps.consistent[step], actions)
    yield f"decision {step}"
    if words is not None:
        yield from (part for line in words.position(row, seat=seat, before=before) for part in _fitted(f"  {line}"))
    several = "unknown; one of" if steps.action[step] < 0 else "chose"
    for what, among in ((f"may ({int(legal.sum())} of {actions})", legal), (several, chosen)):
        names = list(map(str, np.flatnonzero(among))) if words is None else words.actions(row, legal, among, seat=seat)
        if max(map(len, names), default=0) <= _LONG_NAME:
            yield from _wrapped(f"{what}: {'; '.join(names)}")
        else:
            yield f"  {what}:"
            yield from (f"  {line}" for name in names for line in _wrapped(name))
    if steps.reward[step]:
        yield f"  reward {steps.reward[step]:g}"
    if arrays:
        yield from _arrays(steps.take(slice(step, step + 1)).columns())


def _width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def _fitted(line: str) -> list[str]:
    """`line` as it is if the terminal has room for it, else with the rest indented below."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, _width(), subsequent_indent=indent, break_on_hyphens=False) or [line]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _width(), initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def _arrays(columns: Mapping[str, Array]) -> Iterator[str]:
    """Each array of a row, long ones by their ends."""
    for name, values in columns.items():
        value = values[0]
        shape = f"[{', '.join(map(str, value.shape))}]"
        text = np.array2string(
            value, threshold=_NUMBERS**2, edgeitems=3, precision=4, suppress_small=True, max_line_width=_width() - 4
        )
        yield f"  {name} {value.dtype}{shape if value.ndim else ''}"
        yield from (f"    {line}" for line in text.split("\n"))
