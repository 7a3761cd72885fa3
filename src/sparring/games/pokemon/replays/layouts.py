"""One replay out of what sites and data sets keep it in: JSON of several layouts, saved pages, plain logs.

    Showdown's site    id, format, formatid, players, log, uploadtime, rating
    metamon            the same, with the string MISSING where there is no value
    pokechamp          battle_id, gamemode, text, elo (a number, or a range such as 1600-1799), month_year
    vgc-battle-logs    id: [uploadtime, log], in files that are named after the format

`log` and `text` may also be lists of lines.
"""

import html
import re
from datetime import UTC, datetime
from typing import Any

from sparring.core.replays import Rejected, Replay
from sparring.games.pokemon.formats import to_id
from sparring.games.pokemon.replays.reasons import Reason

MOST_BYTES = 8 << 20
"""Of one battle; a long one has a tenth of that."""
FIELDS = (
    *("id", "battle_id", "log", "text", "formatid", "format", "gamemode"),
    *("rating", "elo", "uploadtime", "month_year"),
)
"""All that is read of a record."""
_PAGE_LOG = re.compile(r'<script[^>]*class="(?:battle-log-data|log)"[^>]*>(.*?)</script>', re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_MISSING = "MISSING"
_ID_FORMAT = re.compile(r"(?:[a-z]+-)?(gen\d[a-z0-9]*)-\d+(?:-\w+)?")
_FILE_FORMAT = re.compile(r"(?:logs?[_-])?(gen\d[a-z0-9]*)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def read_record(data: object, where: str, *, name: str = "", format: str = "") -> Replay:
    """A replay from JSON of any known layout; `name` and `format` are for those that do not say. Raises `Rejected`."""
    if isinstance(data, list) and len(data) == 2:
        data = {"uploadtime": data[0], "log": data[1]}
    if not isinstance(data, dict):
        raise Rejected(Reason.NOT_A_LOG, f"{where}: no object with a log in it")
    log = _given(data, "log", "text")
    if isinstance(log, list):
        log = "\n".join(str(line) for line in log)
    if not isinstance(log, str):
        raise Rejected(Reason.EMPTY, f"{where}: no log in it")
    id = str(_given(data, "id", "battle_id") or name)[:200].removeprefix("battle-")
    named = _ID_FORMAT.fullmatch(id)
    written = to_id(str(_given(data, "formatid", "format", "gamemode") or ""))[:100]
    return read_log(
        log,
        where,
        id=id,
        format=written or (named[1] if named else format),
        rating=_rating(_given(data, "rating", "elo")),
        played_at=_seconds(_given(data, "uploadtime")) or _month(_given(data, "month_year")),
    )


def read_log(
    log: str, where: str, *, id: str, format: str = "", rating: float = float("nan"), played_at: int = 0
) -> Replay:
    """A replay with `log`, its lines ended as Showdown ends them; raises `Rejected` if it cannot be a battle's."""
    if len(log) > MOST_BYTES:
        raise Rejected(Reason.TOO_LONG, f"{where}: over {MOST_BYTES >> 20} MB")
    log = log.removeprefix("\ufeff")
    if "\r" in log:
        log = log.replace("\r\n", "\n").replace("\r", "\n")
    if not log.strip():
        raise Rejected(Reason.EMPTY, f"{where}: nothing in it")
    if "|" not in log:
        raise Rejected(Reason.NOT_A_LOG, f"{where}: no protocol lines in it")
    return Replay(id, log, format, rating, played_at or _started(log))


def page_log(page: str, where: str) -> str:
    """The log inside a saved replay page, where slashes are written `\\/` and some programs write entities."""
    found = _PAGE_LOG.search(page)
    if found is None:
        raise Rejected(Reason.NOT_A_LOG, f"{where}: a page without a battle log in it")
    text = found[1].replace("\\/", "/").replace("<\\!--", "<!--")
    return "\n".join(" ".join(html.unescape(line).splitlines()) if "&" in line else line for line in text.split("\n"))


def file_format(name: str) -> str:
    """The format that a file is named after, such as `logs_gen9ou.json`; "" if it is not."""
    found = _FILE_FORMAT.fullmatch(name.rpartition("/")[2].partition(".")[0].lower())
    return found[1] if found else ""


def _given(data: dict[str, Any], *keys: str) -> Any:
    """The first of `keys` that has a value."""
    return next((data[key] for key in keys if data.get(key) not in (None, "", _MISSING)), None)


def _rating(value: Any) -> float:
    """A rating; of a range the middle; NaN if there is none."""
    numbers = [float(number) for number in _NUMBER.findall(value[:100])] if isinstance(value, str) else []
    if isinstance(value, int | float) and not isinstance(value, bool):
        numbers = [float(value)]
    known = [number for number in numbers[:2] if 0 < number < 10_000]
    return sum(known) / len(known) if known else float("nan")


def _seconds(value: Any) -> int:
    try:
        seconds = int(float(value))
    except (TypeError, ValueError, OverflowError):
        return 0
    return seconds if 0 < seconds < 1 << 40 else 0


def _started(log: str) -> int:
    """When a battle began, as its log says; 0 if it does not."""
    at = 0 if log.startswith("|t:|") else log.find("\n|t:|") + 1
    return _seconds(log[at + 4 : at + 24].partition("\n")[0]) if log.startswith("|t:|", at) else 0


def _month(value: Any) -> int:
    """The first second of a month such as `March2025` or `2025-03`; 0 if it is none."""
    text = str(value)[:40].lower()
    year = re.search(r"(?<!\d)(?:19|20)\d\d(?!\d)", text)
    month = next((number for number, name in enumerate(_MONTHS, 1) if name in text), 0)
    if year is not None and not month:
        rest = _NUMBER.search(text.replace(year[0], "", 1))
        month = int(rest[0]) if rest else 0
    return int(datetime(int(year[0]), month, 1, tzinfo=UTC).timestamp()) if year and 1 <= month <= 12 else 0
