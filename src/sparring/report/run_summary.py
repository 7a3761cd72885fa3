"""A training run in a few lines: what was trained, how far, where and when, how well it plays, and all its settings.

Files of a run are read as they are: one that is missing or damaged only leaves out what it would have told.
"""

import html
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sparring.core.score import wilson_interval
from sparring.core.text import printable, printable_lines
from sparring.report.page import facts
from sparring.report.progress import duration
from sparring.report.settings import in_a_line

Line = Mapping[str, float]

WIN_RATE = "rating/win_rate/"
_LONGEST = 60
_MOST_BYTES = 1 << 20
_PACKAGES = ("sparring", "torch", "python")


def run_summary(run: Path, lines: Sequence[Line], config: Mapping[str, Any]) -> str:
    """The boxes and lines at the top of a run's page, as HTML."""
    last, times = lines[-1], [line["time"] for line in lines if "time" in line]
    environment, ending = _read(run / "environment.json"), _read(run / "ending.json")
    shown = {
        "game": str(config.get("game", "")),
        "learner": str(mapping_in(config, "learner").get("kind", "")),
        "updates": f"{int(last['update']):,}",
        "decisions": f"{int(last['decisions']):,}",
        **({"from the first update to the last": duration(max(times) - min(times))} if len(times) > 1 else {}),
    }
    said = [
        in_a_line(mapping_in(config, "settings")),
        f"seed {config['seed']}" if "seed" in config else "",
        f"first update {_date(times[0])}" if times else "",
        f"{ending['how']}: {ending.get('reason', '')}" if "how" in ending else "",
    ]
    where = [
        environment.get("processor", environment.get("machine", "")),
        *(f"{name} {environment[name]}" for name in _PACKAGES if name in environment),
    ]
    parts = [facts({name: printable(value, _LONGEST) for name, value in shown.items() if value})]
    for words in (said, where):
        text = "; ".join(printable(str(word), 2 * _LONGEST) for word in words if word)
        if text:
            parts.append(f'<p class="about">{html.escape(text)}</p>')
    parts.append(f"<details><summary>All settings</summary><pre>{html.escape(_settings(run))}</pre></details>")
    return "\n".join(parts)


def ratings_table(lines: Sequence[Line], matches: int | None) -> str:
    """The last win rate against each opponent, with its 95% interval if the number of `matches` is known."""
    rows = []
    for name in sorted({name for line in lines for name in line if name.startswith(WIN_RATE)}):
        line = next(line for line in reversed(lines) if name in line)
        rate = min(1.0, max(0.0, line[name]))
        interval = "{:.1%} - {:.1%}".format(*wilson_interval(rate, matches)) if matches else "-"
        cells = (f"{rate:.1%}", interval, f"{int(line.get('rating/update', line['update'])):,}")
        opponent = html.escape(printable(name.removeprefix(WIN_RATE), 2 * _LONGEST))
        rows.append(f"<tr><th>{opponent}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    head = "<tr><th>opponent</th><td>win rate</td><td>95% interval</td><td>after update</td></tr>"
    return f'<table class="results">{head}{"".join(rows)}</table>'


def why_unrated(config: Mapping[str, Any]) -> str:
    """Why a run has no rating, by its settings."""
    evaluation = mapping_in(config, "evaluation")
    if not evaluation.get("opponents", True):
        return "This run is not rated: evaluation.opponents is empty."
    every = evaluation.get("every")
    when = f"after every {every:,} updates and " if isinstance(every, int) and every > 0 else ""
    return f"Not rated yet: a rating comes {when}at the end of the run (evaluation.every)."


def mapping_in(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A mapping inside a configuration; empty if there is none."""
    found = config.get(name)
    return found if isinstance(found, dict) else {}


def _read(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        with path.open("rb") as file:
            found = json.loads(file.read(_MOST_BYTES))
        if isinstance(found, dict):
            return found
    return {}


def _settings(run: Path) -> str:
    with (run / "config.yaml").open("rb") as file:
        return printable_lines(file.read(_MOST_BYTES).decode(errors="replace"), 1000).strip()


def _date(seconds: float) -> str:
    with suppress(ValueError, OverflowError, OSError):
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    return "?"
