"""Replays from a source into a folder: those that are wanted, each battle once, going on where the last run was."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import isnan
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any, Protocol

from sparring.core import InputError
from sparring.core.replays import DownloadReport, Filters, Rejected, Replay
from sparring.games.pokemon.formats import to_id
from sparring.games.pokemon.replays.folder import ReplayFolder
from sparring.games.pokemon.replays.reasons import Reason

_NOTE_SECONDS = 5.0
"""Between two notes of how far a source has been read."""
_STEP = 0.1
_PLAYER = re.compile(r"^\|player\|(p[12])\|([^|\n]+)(?:\|[^|\n]*\|(\d+))?", re.MULTILINE)
_TIER = re.compile(r"^\|tier\|([^\n|]+)", re.MULTILINE)


@dataclass(frozen=True)
class Wanted:
    """What a source is asked for."""

    filters: Filters
    have: Callable[[str], bool]
    """Whether the battle with an id is there already and need not be fetched."""
    pause: Callable[[float], None]
    """Waits so many seconds; raises `Stopped` if the user does not want to."""


class Source(Protocol):
    """Where replays come from."""

    name: str
    share: float
    """How much of the source has been read, from 0 to 1; 0 as long as nobody knows."""
    position: dict[str, Any]
    """How far it has been read, as JSON: behind everything that has been dealt with. Set it to go on from there."""

    def find(self, wanted: Wanted) -> Iterator[Replay | Rejected | None]:
        """The replays from `position` on; None for one that is there already."""
        ...


class Stopped(Exception):
    """The user wants no more."""


def download(
    source: Source,
    output: Path,
    *,
    filters: Filters,
    most: int | None = None,
    packed: bool = False,
    on_progress: Callable[[DownloadReport], None] = lambda report: None,
    stopped: Callable[[], bool] = lambda: False,
) -> DownloadReport:
    """Adds the replays of `source` to folder `output` until there are no more, `most` are there, or it is `stopped`."""

    over = Event()  # for whoever still waits on behalf of the source

    def pause(seconds: float) -> None:
        end = monotonic() + seconds
        while True:
            if stopped() or over.is_set():
                raise Stopped
            if (left := end - monotonic()) <= 0:
                return
            sleep(min(_STEP, left))

    report = DownloadReport()
    with ReplayFolder(output, packed=packed) as folder:
        asked = {"name": source.name, **asdict(filters), "formats": list(filters.formats)}
        source.position = folder.position(asked)
        report.there = len(folder)
        noted = monotonic()
        try:
            found = source.find(Wanted(filters, lambda id: Replay(id, "") in folder, pause))
            while (most is None or len(folder) < most) and not stopped():
                try:
                    one = next(found)
                except (StopIteration, Stopped):
                    break
                _deal_with(one, folder, filters, report)
                reached = len(folder) / most if most else 0.0
                report.share = max(source.share, reached)
                on_progress(report)
                if monotonic() - noted > _NOTE_SECONDS:
                    folder.note(asked, source.position)
                    noted = monotonic()
        except BaseException:
            with suppress(InputError):  # the user is told what ended the run
                folder.note(asked, source.position)
            raise
        finally:
            over.set()
        folder.note(asked, source.position)
    return report


def _deal_with(one: Replay | Rejected | None, folder: ReplayFolder, filters: Filters, report: DownloadReport) -> None:
    """Adds a replay, unless it is there, unwanted or none."""
    report.found += 1
    if one is None or (isinstance(one, Replay) and one in folder):
        report.already += 1
        return
    try:
        if isinstance(one, Rejected):
            raise one
        about = _described(one)
        _check_wanted(about, filters)
    except Rejected as rejected:
        report.reject(rejected)
        return
    folder.add(one, about)
    report.there += 1
    report.new += 1
    report.by_format[about["format"] or "unknown"] += 1


def _described(replay: Replay) -> dict[str, Any]:
    """A replay as a record of Showdown's site has it; what the source does not say is taken from the log."""
    head = replay.log.partition("\n|start")[0]
    players = {found[1]: found for found in reversed(list(_PLAYER.finditer(head)))}
    ratings = [float(found[3]) for found in players.values() if found[3]]
    tier = _TIER.search(head)
    rating = min(ratings) if ratings else replay.rating
    return {
        "id": replay.id,
        "format": replay.format or to_id(tier[1] if tier else ""),
        "players": [players[seat][2] for seat in sorted(players)],
        "uploadtime": replay.played_at or None,
        "rating": None if isnan(rating) else rating,
        "log": replay.log,
    }


def _check_wanted(about: dict[str, Any], filters: Filters) -> None:
    id, rating, uploaded = about["id"], about["rating"], about["uploadtime"]
    if filters.formats and about["format"] not in filters.formats:
        raise Rejected(Reason.FILTERED_FORMAT, f"{id}: {about['format']}")
    if filters.min_rating and not (rating or 0) >= filters.min_rating:
        raise Rejected(Reason.FILTERED_RATING, f"{id}: {'none' if rating is None else round(rating)}")
    if filters.since and (uploaded or 0) < filters.since:
        raise Rejected(Reason.FILTERED_DATE, f"{id}: {uploaded or 'none'}")
