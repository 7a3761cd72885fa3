"""The command line. Each module adds its commands to the one app.

A game may bring commands of its own: a module in the entry-point group `sparring.commands` that adds them.
"""

from importlib.metadata import entry_points

from sparring.cli import (
    bench,
    data,
    diagnose,
    doctor,
    evaluate,
    exploit,
    games,
    launch,
    league,
    plan,
    play,
    presets,
    report,
    selfplay,
    serve,
    setup,
    tournament,
    train,
)
from sparring.cli.app import app, main

for _point in entry_points(group="sparring.commands"):
    try:
        _point.load()
    except (Exception, SystemExit) as _error:
        from sparring.core.plugins import cannot_load, pass_over  # only now: it takes time

        pass_over(cannot_load(_point, _error))

__all__ = [
    "app",
    "bench",
    "data",
    "diagnose",
    "doctor",
    "evaluate",
    "exploit",
    "games",
    "launch",
    "league",
    "main",
    "plan",
    "play",
    "presets",
    "report",
    "selfplay",
    "serve",
    "setup",
    "tournament",
    "train",
]
