"""What the benchmarks share: options, timing in turns, printing figures, peers' environments, and before against after.

Only the standard library is imported, so that a script can also run inside a peer's own environment.

Every benchmark takes `--quick`, and `--against CHECKOUT`: the same benchmark of another checkout of the project, run in
turns with this one, whose figures are then compared by their names.

    python benchmarks/collector.py --quick --against ../sparring-before --rounds 5
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")  # for the processes that are started from here

T = TypeVar("T")

VERSIONS_OF = ("sparring", "torch", "numpy")


def parser(description: str | None, quick: str = "finish in about a minute") -> argparse.ArgumentParser:
    """A parser with the options of every benchmark; `quick` says what is left out. Parsed by `parse`."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, parents=[_comparison()]
    )
    made.add_argument("--quick", action="store_true", help=quick)
    return made


def parse(made: argparse.ArgumentParser) -> argparse.Namespace:
    """The options; does not return if they ask for a comparison, which is made and printed instead."""
    options = made.parse_args()
    if options.against is not None:
        _, rest = _comparison().parse_known_args()
        compare(options.against, rest, rounds=options.rounds)
        raise SystemExit
    return options


def _comparison() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(add_help=False)
    made.add_argument("--against", type=Path, metavar="CHECKOUT", help="compare with another checkout, in turns")
    made.add_argument("--rounds", type=int, default=3, help="runs of each side of such a comparison")
    return made


def in_turns(sides: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """What each side returned, round by round. Sides take turns, so that a busy machine hits all of them alike."""
    found: dict[str, list[T]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            found[name].append(side())
    return found


def cpu_seconds(call: Callable[[], object]) -> float:
    """CPU seconds of this process that `call` takes."""
    start = process_time()
    call()
    return process_time() - start


def say(text: str) -> None:
    """A line for people, on standard error."""
    print(text, file=sys.stderr, flush=True)


def figure(name: str, value: float, unit: str, **more: Any) -> None:
    """One JSON line for programs on standard output, one readable line on standard error.

    `limit` or `peer` in `more` say what the figure is measured against (a number, or a name whose number is
    `reference`), and `ratio` how the two compare.
    """
    line = {"figure": name, "value": value, "unit": unit, **more}
    print(json.dumps({key: _rounded(entry) for key, entry in line.items()} | _here()), flush=True)
    rest = "  ".join(f"{key} {_text(entry)}" for key, entry in more.items())
    say(f"{name:<66} {_text(value):>12} {unit:<18} {rest}".rstrip())


def _rounded(value: Any) -> Any:
    """`value` with five significant digits to each number that is not whole, inside lists too."""
    if isinstance(value, list | tuple):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " - ".join(_text(entry) for entry in value)
    if isinstance(value, int | float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)


@cache
def _here() -> dict[str, Any]:
    """The machine and the versions that figures are of."""
    versions = {"python": platform.python_version()}
    for package in VERSIONS_OF:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"machine": f"{os.cpu_count()} cores, {_processor()}", "versions": versions}


def _processor() -> str:
    """The processor's name, with the numbers that tell its generation, which a virtual machine may leave out of it."""
    told: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            told.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    name = told.get("model name") or platform.processor() or platform.machine()
    numbers = [f"{word} {told[key]}" for word, key in (("family", "cpu family"), ("model", "model")) if key in told]
    more = [*filter(None, [_zen(told)]), *numbers]
    return f"{name} ({', '.join(more)})" if more else name


def _zen(told: Mapping[str, str]) -> str:
    """The generation of an AMD processor of family 25, which has two."""
    if told.get("vendor_id") != "AuthenticAMD" or told.get("cpu family") != "25":
        return ""
    model = int(told.get("model", 0))
    return "Zen 4" if 0x10 <= model <= 0x1F or model >= 0x60 else "Zen 3"


def peer_python(name: str, packages: Sequence[str], *, without_dependencies: Iterable[str] = ()) -> str:
    """The interpreter of a peer's own environment, made in the cache folder when it is not there.

    The peer finds our packages after its own, so that large ones (torch) are not installed twice. Raises
    `CalledProcessError` if it cannot be installed.
    """
    cached = Path(os.environ.get("SPARRING_CACHE") or Path.home() / ".cache" / "sparring")
    folder = cached.expanduser() / "peers" / name
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        say(f"making an environment for {name} in {folder}")
        install = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        if packages:
            subprocess.run([*install, *packages], check=True, stdout=sys.stderr)
        alone = list(without_dependencies)
        if alone:
            subprocess.run([*install, "--no-deps", *alone], check=True, stdout=sys.stderr)
        own = next((folder / "lib").glob("python*/site-packages"))
        ours = [path for path in sys.path if path.endswith("site-packages")]
        (own / "zz_ours.pth").write_text("".join(f"{path}\n" for path in ours))
        (folder / "ready").touch()
    return str(python)


def compare(checkout: Path, arguments: Sequence[str], *, rounds: int) -> None:
    """Runs this benchmark and that of `checkout` in turns with `arguments`; prints this one's figures over the other's.

    Each side runs its own script, with its own interpreter if it has a `.venv`, so that layouts may differ: only the
    names of figures must agree. The ratio is the median over pairs of neighbouring runs.
    """
    script = Path(sys.argv[0]).resolve()
    sides = {"here": script.parents[1], "there": checkout.resolve()}
    found = in_turns({side: partial(_figures, root, script.name, arguments) for side, root in sides.items()}, rounds)
    for key in found["here"][0]:
        pairs = [(here[key], there[key]) for here, there in zip(*found.values(), strict=True) if key in there]
        if not pairs:
            say(f"{key[0]}: only here")
            continue
        ratios = [here / there for here, there in pairs if there]
        here, there = (median(values) for values in zip(*pairs, strict=True))
        ratio = {"ratio": median(ratios), "ratios": ratios} if ratios else {}
        figure(key[0], here, key[1], peer=str(checkout), reference=there, **ratio)


def _figures(root: Path, script: str, arguments: Sequence[str]) -> dict[tuple[str, str, int], float]:
    """The figures that the benchmark of a checkout prints, by name, unit and how often both came before."""
    own = root / ".venv" / "bin" / "python"
    command = [str(own) if own.exists() else sys.executable, str(root / "benchmarks" / script), *arguments]
    say(f"running {' '.join(command)}")
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    done = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[tuple[str, str, int], float] = {}
    for line in done.stdout.splitlines():
        entry = json.loads(line)
        same = sum(key[:2] == (entry["figure"], entry["unit"]) for key in figures)
        figures[entry["figure"], entry["unit"], same] = entry["value"]
    return figures
