"""A training run on one screen: how well it plays, how far and how fast it came, what to do next, all its settings.

Files of a run are read as they are: one that is missing or damaged only leaves out what it would have told.
"""

import html
import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from sparring.core import Game, InputError, load_game
from sparring.core.score import wilson_interval
from sparring.core.text import printable, printable_lines
from sparring.report.page import facts
from sparring.report.progress import duration
from sparring.report.settings import in_a_line

Line = Mapping[str, float]

WIN_RATE = "rating/win_rate/"
_LONGEST = 60
_MOST_RATES = 4
_SPEED, _MATCHES = "play/decisions_per_second", "play/matches_per_second"
_MOST_BYTES = 1 << 20
_PACKAGES = ("sparring", "torch", "python")


def run_summary(run: Path, lines: Sequence[Line], config: Mapping[str, Any]) -> str:
    """The boxes and lines at the top of a run's page, as HTML."""
    times = [line["time"] for line in lines if "time" in line]
    environment, ending = _read(run / "environment.json"), _read(run / "ending.json")
    said = [
        config.get("game", ""),
        in_a_line(mapping_in(config, "settings")),
        mapping_in(config, "learner").get("kind", ""),
        f"seed {config['seed']}" if "seed" in config else "",
        f"first update {_date(times[0])}" if times else "",
        f"{ending['how']}: {ending.get('reason', '')}" if "how" in ending else "still training, or killed",
    ]
    where = [
        environment.get("processor", environment.get("machine", "")),
        *(f"{name} {environment[name]}" for name in _PACKAGES if name in environment),
    ]
    rates, notes = _rates(lines, rating_matches(config))
    progress, more = _progress(lines, config, times)
    parts = [
        _line(said),
        f'<div class="facts">{facts(rates, notes, look="fact rate")}{facts(progress, more)}</div>',
        _next(run, config, ending),
        _line(where),
        f"<details><summary>All settings</summary><pre>{html.escape(_settings(run))}</pre></details>",
    ]
    return "\n".join(parts)


def _line(words: Sequence[object]) -> str:
    text = "; ".join(printable(str(word), 2 * _LONGEST) for word in words if word)
    return f'<p class="about">{html.escape(text)}</p>' if text else ""


def _rates(lines: Sequence[Line], matches: int | None) -> tuple[dict[str, str], dict[str, str]]:
    """The last win rates, the hardest opponents first, and their intervals, by what is written below each."""
    rates, intervals = dict[str, str](), dict[str, str]()
    last = {name: rate for line in lines for name, rate in line.items() if name.startswith(WIN_RATE)}
    for name, rate in sorted(last.items(), key=lambda item: item[1])[:_MOST_RATES]:
        opponent = f"won against {printable(name.removeprefix(WIN_RATE), _LONGEST)}"
        rates[opponent] = f"{_share(rate):.1%}"
        if matches:
            intervals[opponent] = f"95% interval {_interval(rate, matches)}"
    return rates, intervals


def _progress(
    lines: Sequence[Line], config: Mapping[str, Any], times: Sequence[float]
) -> tuple[dict[str, str], dict[str, str]]:
    """How far, how long and how fast, and a note below each."""
    last, aim = lines[-1], config.get("decisions")
    shown = {"decisions": f"{int(last['decisions']):,}"}
    notes = {"decisions": f"in {int(last['update']):,} update{'s' * (last['update'] != 1)}"}
    if isinstance(aim, int) and not isinstance(aim, bool) and last["decisions"] < aim:
        notes["decisions"] += f", {last['decisions'] / aim:.0%} of {aim:,}"
    if len(times) > 1:
        shown["from the first update to the last"] = duration(max(times) - min(times))
    speeds = [line[_SPEED] for line in lines if _SPEED in line]
    if speeds:
        shown["decisions a second"] = f"{median(speeds):,.0f}"
        matches = [line[_MATCHES] for line in lines if _MATCHES in line]
        notes["decisions a second"] = f"{median(matches):,.0f} matches a second" if matches else ""
    return shown, notes


def _next(run: Path, config: Mapping[str, Any], ending: Mapping[str, Any]) -> str:
    """Commands to go on with."""
    folder = shlex.quote(printable(str(run), 2 * _LONGEST))
    game = _installed(config.get("game"))
    built_in = [] if game is None else [name for name in game.players if name != "human"]
    several = len(list((run / "checkpoints").glob("[0-9]*"))) > 1
    rival = built_in[-1] if built_in else "random"
    steps = {
        "play": f"sparring play {game.name} {folder}" if game is not None and "human" in game.players else "",
        "rate": f"sparring evaluate {folder} {rival}",
        "rate its checkpoints": f"sparring tournament {folder}/checkpoints --page tournament.html" if several else "",
    }
    rows = [f"<dt>{what}</dt><dd><code>{html.escape(how)}</code></dd>" for what, how in steps.items() if how]
    if ending.get("how") != "finished":
        rows.insert(0, "<dt>train on</dt><dd>type the command that began it once more</dd>")
    return f'<div class="box"><dl class="next">{"".join(rows)}</dl></div>'


def _installed(name: object) -> Game | None:
    with suppress(InputError):
        return load_game(name) if isinstance(name, str) else None
    return None


def ratings_table(lines: Sequence[Line], matches: int | None) -> str:
    """The last win rate against each opponent, with its 95% interval if the number of `matches` is known."""
    rows = []
    for name in sorted({name for line in lines for name in line if name.startswith(WIN_RATE)}):
        line = next(line for line in reversed(lines) if name in line)
        rate = _share(line[name])
        interval = _interval(rate, matches) if matches else "-"
        cells = (f"{rate:.1%}", interval, f"{int(line.get('rating/update', line['update'])):,}")
        opponent = html.escape(printable(name.removeprefix(WIN_RATE), 2 * _LONGEST))
        rows.append(f"<tr><th>{opponent}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    head = "<tr><th>opponent</th><td>win rate</td><td>95% interval</td><td>after update</td></tr>"
    return f'<table class="results">{head}{"".join(rows)}</table>'


def rating_matches(config: Mapping[str, Any]) -> int | None:
    """Against each opponent; None if the settings do not tell."""
    given = mapping_in(config, "evaluation").get("matches")
    return given if isinstance(given, int) and given > 0 else None


def _share(rate: float) -> float:
    return min(1.0, max(0.0, rate))


def _interval(rate: float, matches: int) -> str:
    return "{:.1%} - {:.1%}".format(*wilson_interval(_share(rate), matches))


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
