"""The project's own benchmarks, of a checkout: run them, keep their figures, write the tables of the docs from these.

`benchmarks/figures.jsonl` holds a JSON object a figure, as a benchmark printed it, with the `benchmark` it is of.
`benchmarks/tables.md` holds the tables as templates, a section each, and a page of the docs shows one between markers:

    <!-- figures: hex-arena -->
    ...
    <!-- end of figures -->

In a template `{hex_engine / arena steps / value / ,.0f}` is a figure: benchmark, name, field and format. Where figures
of a name differ in what they are beside, `arena steps @ OpenSpiel` picks one. Of several the last one counts. Below a
table stands the machine that its figures are of; if there are several, rows are marked.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import sparring
from sparring.core.errors import InputError, RunError, did_you_mean
from sparring.core.files import append_file, write_file
from sparring.report.progress import duration

FIGURES, TABLES = "figures.jsonl", "tables.md"
PAGES = ("README.md", "docs/benchmarks.md", "docs/hex.md", "docs/replays.md", "docs/rocket.md")
QUICK = ("hex_engine", "collector", "dataset", "workers")
"""Benchmarks of `make bench-quick`, with their quick forms: those whose peers are installed with the project."""
_SHARED = "measure"
_MARKS = "¹²³⁴⁵⁶⁷⁸⁹"
_MARKED = re.compile(r"(<!-- figures: (?P<table>[\w-]+) -->\n)(?P<body>.*?)(<!-- end of figures -->)", re.DOTALL)
_FIGURE = re.compile(r"\{([^{}]+)\}")


def checkout() -> Path:
    """The folder of the checkout that this package is run from; raises `InputError` for an installed package."""
    root = Path(sparring.__file__).resolve().parents[2]
    if not (root / "benchmarks" / f"{_SHARED}.py").exists():
        raise InputError(
            "the project's benchmarks are part of its checkout, and this is an installed package: clone it"
        )
    return root


def benchmark_names(root: Path) -> list[str]:
    """The benchmarks of a checkout."""
    return sorted(path.stem for path in (root / "benchmarks").glob("*.py") if path.stem != _SHARED)


def run_suite(
    names: Sequence[str], *, quick: bool, output: Path | None, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Runs benchmarks one after another, all if none is named; their figures are returned and added to `output`.

    Raises `InputError` for an unknown name, `RunError` if a benchmark fails; what others printed is kept.
    """
    root = checkout()
    known = benchmark_names(root)
    for name in names:
        if name not in known:
            raise InputError(f"unknown benchmark {name!r}{did_you_mean(name, known)}; there are: {', '.join(known)}")
    found: list[dict[str, Any]] = []
    for name in names or known:
        started = monotonic()
        say(f"== {name}")
        lines = _run(root, name, quick=quick)
        if output is not None:
            append_file(output, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        found += lines
        say(f"== {name}: {len(lines)} figures in {duration(monotonic() - started)}")
    return found


def _run(root: Path, name: str, *, quick: bool) -> list[dict[str, Any]]:
    command = [sys.executable, str(root / "benchmarks" / f"{name}.py"), *(["--quick"] if quick else [])]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    done = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RunError(f"benchmark {name} ended with code {done.returncode}; what it said is above")
    more = {"quick": True} if quick else {}
    return [{"benchmark": name, **json.loads(line), **more} for line in done.stdout.splitlines() if line.strip()]


class Figures:
    """Stored figures, by benchmark and name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for number, text in enumerate(path.read_text().splitlines(), 1):
            try:
                line = json.loads(text)
                key = (line["benchmark"], line["figure"])
                float(line["value"]), str(line["machine"])
            except (ValueError, TypeError, KeyError) as error:
                raise InputError(f"{path}, line {number}: not a figure ({type(error).__name__}: {error})") from None
            self._lines.setdefault(key, []).append(line)

    def text(self, asked: str) -> tuple[str, str]:
        """What `benchmark / figure [@ beside] / field / format` is, written as the format says; and its machine."""
        try:
            benchmark, name, field, form = (part.strip() for part in asked.split(" / "))
        except ValueError:
            raise InputError(f"{{{asked}}}: not of the form benchmark / figure / field / format") from None
        name, _, beside = (part.strip() for part in name.partition(" @ "))
        lines = [
            line
            for line in self._lines.get((benchmark, name), ())
            if not beside or beside in (line.get("peer"), line.get("limit"))
        ]
        if not lines or field not in lines[-1]:
            raise InputError(f"{{{asked}}}: {self._path} has no such figure")
        value = lines[-1][field]
        try:
            text = " - ".join(format(part, form) for part in (value if isinstance(value, list) else [value]))
        except (ValueError, TypeError) as error:
            raise InputError(f"{{{asked}}}: {error}") from None
        return text, str(lines[-1]["machine"])


def filled(template: str, figures: Figures) -> str:
    """A table with its figures, and with the machines that they are of."""
    rows: list[tuple[str, dict[str, None]]] = []
    for line in template.splitlines():
        machines: dict[str, None] = {}

        def figure(found: re.Match[str], machines: dict[str, None] = machines) -> str:
            text, machine = figures.text(found[1])
            machines[machine] = None
            return text

        rows.append((_FIGURE.sub(figure, line), machines))
    known = list(dict.fromkeys(machine for _, machines in rows for machine in machines))
    if len(known) > 1:
        rows = [(_marked(line, [known.index(machine) for machine in machines]), machines) for line, machines in rows]
        known = [f"{_MARKS[number]} {machine}" for number, machine in enumerate(known)]
    return "".join(f"{line}\n" for line, _ in rows) + f"\nMachine: {'; '.join(known)}.\n"


def _marked(line: str, machines: Sequence[int]) -> str:
    """A row of a table whose first cell ends in the marks of its machines."""
    if not machines:
        return line
    _, first, rest = line.split("|", 2)
    return f"| {first.strip()} {''.join(_MARKS[number] for number in machines)} |{rest}"


def rendered_pages(root: Path) -> dict[Path, str]:
    """The pages that show figures, as they should be."""
    figures = Figures(root / "benchmarks" / FIGURES)
    parts = re.split(r"^## ([\w-]+)\n", (root / "benchmarks" / TABLES).read_text(), flags=re.MULTILINE)[1:]
    templates = {name: body.strip() + "\n" for name, body in zip(parts[::2], parts[1::2], strict=True)}

    def table(found: re.Match[str]) -> str:
        name = found["table"]
        if name not in templates:
            raise InputError(f"figures: {name}: {TABLES} has no such table; there are: {', '.join(templates)}")
        return found[1] + filled(templates[name], figures) + found[4]

    return {root / page: _MARKED.sub(table, (root / page).read_text()) for page in PAGES}


def render(*, check: bool) -> list[Path]:
    """Writes the tables of the pages anew, or only looks with `check`; returns the pages that were not up to date."""
    changed = [(page, text) for page, text in rendered_pages(checkout()).items() if page.read_text() != text]
    for page, text in () if check else changed:
        write_file(page, text.encode())
    return [page for page, _ in changed]
