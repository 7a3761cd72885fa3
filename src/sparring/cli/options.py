"""What commands share: options that mean the same everywhere, and game settings as `--key value`."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Context settings of a command that takes game settings."""

PLAYER = (
    "A run or checkpoint folder, shipped weights (hex-7x7), a built-in player, package.module:name of "
    "your own, tcp://host:port/model, or another program's: gtp:COMMAND, openspiel:1000, poke-env:NAME."
)
SEATED = (
    "A run or checkpoint folder, shipped weights, a built-in player, package.module:name of your own, or "
    "tcp://host:port/model."
)
"""The players of a game in which no other program's can be seated."""
NETWORK = "A run or checkpoint folder, shipped weights, or package.module:function=FOLDER."

_SEED = {"min": 0, "max": 2**32 - 1, "help": "Of everything random."}
Seed = Annotated[int, typer.Option(**_SEED)]
AnySeed = Annotated[int | None, typer.Option(**_SEED, show_default="another one each time")]
Parallel = Annotated[int, typer.Option(min=1, help="Matches played at the same time.")]
Workers = Annotated[int, typer.Option(min=0, help="Processes that play; 0: all in this one.")]
Temperature = Annotated[
    float, typer.Option(min=0, help="Of networks: 0 plays the likeliest action, 1 the policy as trained.")
]
Simulations = Annotated[int, typer.Option(min=0, help="Of networks, per move; 0 plays without search.")]
PolicyThreshold = Annotated[
    float, typer.Option(min=0, max=1, help="A network's actions less likely than this are never played.")
]
Patience = Annotated[
    float, typer.Option(min=0.1, help="Seconds another program has for a move, and at least 60 for its first.")
]
DeviceOption = Annotated[Literal["auto", "cpu", "cuda", "mps"], typer.Option(help="Where networks run.")]
Threads = Annotated[int, typer.Option(min=0, help="CPU threads of a network; 0: as many as there are free cores.")]
Key = Annotated[Path | None, typer.Option(help="client.key, for tcp:// players whose server has keys.")]
BatchSize = Annotated[int, typer.Option(min=1, help="Rows at which a batch is full and need not wait for more.")]
TimeoutMs = Annotated[float, typer.Option(min=0, help="No row waits longer for others to join it.")]
Cluster = Annotated[
    str | None, typer.Option(help="Play on a Ray cluster: ray://HOST:PORT, HOST:PORT, or auto for this machine's.")
]
Profile = Annotated[Path | None, typer.Option(help="Write where the time goes: a .html page, or .json for speedscope.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def _each_once(overrides: list[str] | None) -> list[str] | None:
    """The overrides; raises `InputError` if a key is given twice."""
    from sparring.core.errors import InputError

    keys = [key for key, equals, _ in (text.partition("=") for text in overrides or []) if key and equals]
    for key in keys:
        if keys.count(key) > 1:
            raise InputError(f"{key} is given {keys.count(key)} times; allowed: once")
    return overrides


Overrides = Annotated[
    list[str] | None, typer.Argument(help="key=value settings laid over the preset.", callback=_each_once)
]


def game_settings(context: typer.Context, *before: str) -> dict[str, Any]:
    """The game's settings by name: every `--key value` or `key=value` that the command itself does not know.

    `before` are words before them that were mistaken for an argument, which is left out.
    """
    from sparring.core import InputError
    from sparring.core.settings import parse_value

    values: dict[str, Any] = {}
    words = [*before, *context.args]
    while words:
        word = words.pop(0)
        key, equals, text = word.removeprefix("--").partition("=")
        if not equals:
            if not word.startswith("--") or not words:
                raise InputError(f"unexpected argument {word!r}; game settings are --key value or key=value")
            text = words.pop(0)
        key = key.replace("-", "_")
        if key.startswith("settings."):
            raise InputError(f"{key}: write --{key.removeprefix('settings.')} {text} here; a preset's keys are train's")
        if word.startswith("--"):
            _refuse_misspelt_option(key, context)
        values[key] = parse_value(text, where=word)
    return values


def _refuse_misspelt_option(key: str, context: typer.Context) -> None:
    """Raises `InputError` if `key` is more like one of the command's own options than like any game's setting."""
    from sparring.core import InputError, closest, installed_games

    options = {name for option in context.command.params for name in option.opts if name.startswith("--")}
    settings = {name for game in installed_games().values() for name in game.settings.__annotations__}
    word = f"--{key.replace('_', '-')}"
    meant = closest(word, [*options, *(f"--{name.replace('_', '-')}" for name in settings)])
    if key not in settings and meant in options:
        raise InputError(f"no such option: {word} (did you mean {meant!r}?); see: {context.command_path} --help")


def check_people(*players: str | None) -> None:
    """Raises `InputError` if a person is among the `players`, and there is no terminal to ask them in."""
    from sparring.core import InputError
    from sparring.league.entrants import HUMAN

    if HUMAN in players and not sys.stdin.isatty():
        raise InputError(f"{HUMAN}: a person answers in a terminal, and standard input is none")


def split_settings(words: list[str], context: typer.Context) -> tuple[list[str], dict[str, Any]]:
    """Names from `words`, and the game's settings, which typer mistakes for names if a command takes many."""
    everything = [*words, *context.args]
    at = next((number for number, word in enumerate(everything) if word.startswith("--")), len(everything))
    context.args[:] = []
    return everything[:at], game_settings(context, *everything[at:])
