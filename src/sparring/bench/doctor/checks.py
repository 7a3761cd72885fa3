"""Every check of `sparring doctor`, in the order in which they are shown."""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from sparring.bench.doctor.children import ChildFailed, ask_child
from sparring.bench.doctor.device import ask_torch, check_device, check_torch
from sparring.bench.doctor.packages import check_extras, check_python, check_ray, check_slurm
from sparring.bench.doctor.play_child import Played
from sparring.bench.doctor.processor import check_cores, check_load, check_memory, check_threads
from sparring.bench.doctor.storage import (
    check_cache,
    check_kernels,
    check_open_files,
    check_runs,
    check_shared_memory,
)
from sparring.core import InputError, game_names, load_game
from sparring.core.checkup import Check, Checked, CheckUp, Status, check_port
from sparring.core.plugins import COMMANDS, GAMES, load_plugin, offered, package_of

SERVE_PORT = 5555
"""Where `sparring serve` listens unless it is told otherwise."""
_PLAY_SECONDS = 300.0


def check_machine(asked: CheckUp, *, needed: Collection[str] = ()) -> Iterator[Check]:
    """Every check, one after the other, while torch is imported elsewhere. Games that are `needed` must be playable."""
    for game in set(needed) - set(game_names()):
        load_game(game)  # raises `InputError` with the names there are
    with ThreadPoolExecutor(1) as aside:
        torch = aside.submit(ask_torch, comprehensive=asked.comprehensive)
        yield check_python()
        yield check_cores()
        yield check_threads()
        yield check_load()
        yield check_memory()
        yield check_cache(long=asked.comprehensive)
        yield check_runs(long=asked.comprehensive)
        yield check_kernels()
        yield check_open_files()
        yield check_shared_memory()
        yield check_port("server port", SERVE_PORT, "sparring serve")
        yield from check_slurm()
        yield from check_ray()
        yield from check_extras(needed)
        yield from _check_commands()
        for game in game_names():
            yield from _check_game(game, msgspec.structs.replace(asked, needed=game in needed))
        yield check_torch(torch.result())
        yield check_device(torch.result())


def worst(checks: Sequence[Check]) -> Status:
    """The worst that was found."""
    found = {check.status for check in checks}
    return "fail" if "fail" in found else "warn" if "warn" in found else "ok"


def _check_commands() -> Iterator[Check]:
    """Modules of commands that cannot be loaded; of the others there is nothing to say."""
    for name, point in offered(COMMANDS).items():
        try:
            load_plugin(point)
        except InputError as error:
            yield Check(f"{name}: commands", "fail", str(error), f"pip uninstall {package_of(point)}")


def _check_game(name: str, asked: CheckUp) -> Iterator[Check]:
    try:
        game = load_game(name)
    except InputError as error:
        yield Check(name, "fail", str(error), f"pip uninstall {package_of(offered(GAMES)[name])}")
        return
    parts = list(game.check_up(asked)) if isinstance(game, Checked) else []
    for check in parts:
        yield msgspec.structs.replace(check, name=f"{name}: {check.name}")
    if asked.comprehensive:
        yield _play(name, asked)


def _play(name: str, asked: CheckUp) -> Check:
    """Whether the game can really be played; what it lacks has been named before."""
    what = f"{name}: play"
    try:
        played = ask_child("sparring.bench.doctor.play_child", name, found=Played, seconds=_PLAY_SECONDS)
    except ChildFailed as failure:
        return Check(what, "fail", str(failure), f"sparring setup {name}")
    if played.problem:
        return asked.lacking(what, played.problem, f"sparring setup {name}")
    return Check(what, "ok", f"{played.decisions:,} decisions in {played.seconds:.1f} s")
