"""Highlights: of all matches a run has shown, the pages of those that paid the network most.

    matches/index.json     the kept matches, best first: page, update, reward, result
    matches/UPDATE-N.html  their replay pages

Pay changes with reward schedules and stages, so the list tells what was worth most, not what was played best.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.json import decode

from sparring.core import InputError
from sparring.core.files import safe_name, write_file
from sparring.games.rocket.watch import Recording, html_page, summary

INDEX = "index.json"
KEPT = 5


class Highlight(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kept match."""

    page: str
    update: int
    reward: float
    """What the blue cars were paid in all."""
    result: str


def keep_highlights(recordings: Sequence[Recording], folder: Path, *, update: int, keep: int = KEPT) -> list[Highlight]:
    """Adds the matches of `update` to those in `folder`, drops all but the `keep` best; returns these, best first."""
    before = read_highlights(folder)
    pages = {f"{update:08d}-{number}.html": recording for number, recording in enumerate(recordings, start=1)}
    added = [
        Highlight(
            page=page,
            update=update,
            reward=round(float(recording.reward[~recording.orange].sum()), 3),
            result=summary(recording),
        )
        for page, recording in pages.items()
    ]
    ranked = sorted([*(old for old in before if old.page not in pages), *added], key=lambda match: -match.reward)
    kept = ranked[:keep]
    for match in kept:
        if match.page in pages:
            write_file(folder / match.page, html_page(pages[match.page]).encode())
    index = [{name: getattr(match, name) for name in match.__struct_fields__} for match in kept]
    write_file(folder / INDEX, (json.dumps(index, indent=1) + "\n").encode())
    for match in ranked[keep:]:
        (folder / match.page).unlink(missing_ok=True)
    return kept


def read_highlights(folder: Path) -> list[Highlight]:
    """What `keep_highlights` has left in `folder`; nothing if it was never called there."""
    try:
        kept = decode((folder / INDEX).read_bytes(), type=list[Highlight])
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise InputError(f"{folder / INDEX}: not a list of matches: {error}") from error
    for match in kept:
        if match.page != safe_name(match.page):
            raise InputError(f"{folder / INDEX}: the page {match.page!r} is no file of this folder")
    return kept
