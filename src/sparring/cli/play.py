"""`sparring play`."""

import secrets
from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, say
from sparring.cli.options import (
    EXTRA,
    PLAYER,
    AnySeed,
    DeviceOption,
    Key,
    Simulations,
    Temperature,
    Threads,
    game_settings,
)


@app.command(
    rich_help_panel="Train and play",
    context_settings=EXTRA,
    epilog="Example: sparring play hex runs/hex-quick --seat 1",
)
def play(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help="The game.")],
    opponent: Annotated[str, typer.Argument(help=PLAYER)] = "random",
    seat: Annotated[int, typer.Option(min=0, help="Your seat; 0 moves first.")] = 0,
    temperature: Temperature = 0.0,
    simulations: Simulations = 0,
    device: DeviceOption = "auto",
    threads: Threads = 0,
    key: Key = None,
    save: Annotated[Path | None, typer.Option(help="A new file for the match (Hex: SGF).")] = None,
    seed: AnySeed = None,
) -> None:
    """Play a match against a player in the terminal.

    Game settings follow as --key value: --size 7 --swap true.
    """
    from sparring.league import Seating, Style

    style = Style(temperature=temperature, simulations=simulations, device=device, threads=threads, key=key)
    left_out = opponent.startswith("--")  # then it is the first of the game's settings
    settings = game_settings(context, *([opponent] if left_out else []))
    seating = Seating.of("random" if left_out else opponent, game=game, settings=settings)

    from sparring.league.by_hand import play_by_hand

    seed = secrets.randbits(32) if seed is None else seed
    outcome = play_by_hand(seating, seat=seat, seed=seed, style=style, save=save, say=say)
    if outcome is None:
        say("\nmatch left unfinished")
    else:
        print({1: "You won.", 0: "A draw.", -1: "You lost."}[int(outcome)])
