"""Showdown's replay site: what its search lists, newest first, and the replays themselves; politely.

`search.json?format=gen9ou&before=<uploadtime>` answers with at most 51 rows; 51 mean that there are more. Then each
replay is at `<id>.json`. One request a second unless told otherwise, and as late as the site asks when it asks: that
holds for all workers together, of which several only keep a slow site from holding up the next request.
"""

import re
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from importlib.metadata import version
from threading import Lock
from time import monotonic, sleep, time
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from sparring.core import InputError, RunError
from sparring.core.replays import Rejected, Replay
from sparring.games.pokemon.replays.download import Wanted
from sparring.games.pokemon.replays.layouts import read_record
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.replays.sources import MOST_WHOLE_BYTES

SHOWDOWN = "https://replay.pokemonshowdown.com"
PAGE = 51
"""Rows of a page that is not the last."""
TRIES = 6
LONGEST_PAUSE = 3600.0
"""A site that asks for more patience is asked again another day."""
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class ReplaySite:
    """The replays of some formats on Showdown's site; see `sparring.games.pokemon.replays.download.Source`.

    `position` has for each format the spans of upload times, `[newest, oldest]`, whose replays have been dealt with.
    """

    def __init__(self, formats: Sequence[str], *, url: str = SHOWDOWN, delay: float = 1.0, workers: int = 1) -> None:
        """`delay`: seconds between two requests. `workers`: requests that may be under way at the same time."""
        if not formats:
            raise InputError("Showdown's search needs a format: --format gen9ou")
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise InputError(f"{url}: not the address of a site; allowed: http:// or https://")
        self.name = url.rstrip("/")
        self.share = 0.0
        self.position: dict[str, Any] = {}
        self._formats = formats
        self._delay = delay
        self._workers = workers
        self._turn = Lock()
        """Held by the one who makes, or waits to make, the next request."""
        self._next_request = monotonic()
        self._pause: Callable[[float], None] = sleep
        self._failed = False

    def find(self, wanted: Wanted) -> Iterator[Replay | Rejected | None]:
        """The replays, newest first, format by format."""
        filters, self._pause = wanted.filters, wanted.pause
        with ThreadPoolExecutor(self._workers) as pool:
            try:
                for number, format in enumerate(self._formats):
                    for page in self._pages(format, filters.since):
                        for row, one in self._fetched(page, format, wanted, pool):
                            uploaded = row["uploadtime"]
                            passed = (time() - uploaded) / max(1.0, time() - filters.since) if filters.since else 0.0
                            self.share = (number + min(1.0, max(0.0, passed))) / len(self._formats)
                            yield one
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _fetched(
        self, page: Sequence[dict[str, Any]], format: str, wanted: Wanted, pool: ThreadPoolExecutor
    ) -> Iterator[tuple[dict[str, Any], Replay | Rejected | None]]:
        """The rows of a page with their replays, in order; as many are being fetched as there are workers."""
        waiting: deque[tuple[dict[str, Any], Future[Replay | Rejected]]] = deque()
        for row in page:
            id, rating = str(row.get("id")), row.get("rating")
            if wanted.have(id):
                yield row, None
            elif not _ID.fullmatch(id) or len(id) > 200:
                yield row, Rejected(Reason.NOT_FOUND, f"{id[:100]!r} is no replay's name")
            elif isinstance(rating, int | float) and 0 < rating < wanted.filters.min_rating:
                yield row, Rejected(Reason.FILTERED_RATING, f"{id}: {rating:.0f}")
            else:
                waiting.append((row, pool.submit(self._replay, id, format)))
            if len(waiting) == self._workers:
                row, answer = waiting.popleft()
                yield row, self._had(answer)
        for row, answer in waiting:
            yield row, self._had(answer)

    def _pages(self, format: str, since: int) -> Iterator[list[dict[str, Any]]]:
        """What the search lists and has not been dealt with; a page is dealt with when the next one is asked for."""
        spans: list[list[int]] = self.position.setdefault(format, [])
        before: int | None = None
        span: list[int] | None = None
        page: set[str] = set()
        while True:
            query = {"format": format} if before is None else {"format": format, "before": before}
            rows = self._search(query)
            young = [row for row in rows if row["uploadtime"] >= since]
            # Others were on the page before, uploaded in its last second.
            yield [row for row in young if str(row.get("id")) not in page]
            if len(young) < len(rows):
                return
            page = {str(row.get("id")) for row in rows}
            if span is None and rows:
                span = [rows[0]["uploadtime"] - 1, rows[0]["uploadtime"]]  # of that second there may be more to come
                spans.append(span)
            if span is None or len(rows) < PAGE:
                if span is not None:
                    span[1] = 0
                    spans[:] = [span]
                return
            last = rows[-1]["uploadtime"]
            stuck = before is not None and last + 1 >= before
            before = last if stuck else last + 1  # others may have been uploaded in the same second
            span[1] = before
            for other in [other for other in spans if other is not span and other[0] >= last]:
                span[1] = before = min(before, other[1])
                spans.remove(other)
            if before <= max(since, 1):
                return

    def _search(self, query: dict[str, Any]) -> list[dict[str, Any]]:
        """The rows of a page, newest first."""
        rows = self._get("search.json", query)
        if not isinstance(rows, list) or not all(
            isinstance(row, dict) and isinstance(row.get("uploadtime"), int) for row in rows
        ):
            raise RunError(f"{self.name}/search.json: no list of replays with upload times; is it a replay site?")
        return sorted(rows, key=lambda row: -row["uploadtime"])

    def _replay(self, id: str, format: str) -> Replay | Rejected:
        """One replay."""
        data = self._get(f"{id}.json", {})
        if data is None:
            return Rejected(Reason.NOT_FOUND, f"{id}: the search lists it, but it is not there")
        try:
            if isinstance(data, dict):
                data["id"] = id
            return read_record(data, f"{self.name}/{id}", format=format)
        except Rejected as rejected:
            return rejected

    def _had(self, answer: "Future[Replay | Rejected]") -> Replay | Rejected:
        """What was fetched. One that cannot be had is passed over, but not two in a row: then the site is at fault."""
        while not wait_for([answer], timeout=0.1).done:  # not for ever in one go: Ctrl-C is only heard in between
            self._pause(0.0)
        try:
            one = answer.result()
        except RunError as error:
            if self._failed:
                raise
            self._failed = True
            return Rejected(Reason.NOT_FOUND, str(error))
        self._failed = False
        return one

    def _take_turn(self) -> None:
        """Waits until a request may be made: `delay` after the last, and not while the site wants to be left alone."""
        with self._turn:
            now = monotonic()
            while (wait := self._next_request - now) > 0:
                self._pause(wait)
                now += wait
            self._next_request = monotonic() + self._delay

    def _leave_alone(self, seconds: float) -> None:
        """Nobody asks for so long; whoever waits for its turn waits on."""
        self._next_request = max(self._next_request, monotonic() + seconds)

    def _get(self, path: str, query: dict[str, Any]) -> Any:
        """The JSON at `path`, None if there is nothing; asks again if the site cannot answer now."""
        url = f"{self.name}/{path}{'?' if query else ''}{urlencode(query)}"
        agent = f"sparring/{version('sparring')} (replay downloader)"
        for attempt in range(TRIES):
            self._take_turn()
            wait = 0.0
            try:
                request = urllib.request.Request(url, headers={"User-Agent": agent, "Accept": "application/json"})
                with urllib.request.urlopen(request, timeout=30) as answer:
                    content = answer.read(MOST_WHOLE_BYTES + 1)
                if len(content) <= MOST_WHOLE_BYTES:
                    return msgspec.json.decode(content)
                problem = f"an answer of over {MOST_WHOLE_BYTES >> 20} MB"
                break
            except urllib.error.HTTPError as error:
                problem = f"{error.code} {error.reason}"
                wait = _retry_after(error.headers.get("Retry-After"))
                error.close()
                if error.code == 404:
                    return None
                if error.code not in (408, 425, 429) and error.code < 500:
                    break
            except (OSError, HTTPException, msgspec.DecodeError) as error:
                problem = str(getattr(error, "reason", error)) or type(error).__name__
            if wait > LONGEST_PAUSE:
                problem = f"{problem}, and asks to wait {wait:,.0f} seconds"
                break
            if attempt < TRIES - 1:
                self._leave_alone(max(wait, self._delay * 2**attempt))
        raise RunError(f"{url}: {problem}; the same command goes on where this one was")


def _retry_after(text: str | None) -> float:
    """Seconds, from a number of them or a date; 0 if it is neither."""
    if text is None:
        return 0.0
    if text.strip().isdecimal():
        return float(text[:10])
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
