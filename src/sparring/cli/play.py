"""`sparring play`."""

from typing import Annotated

import typer

from sparring.cli.app import app, say
from sparring.cli.options import EXTRA, game_settings
from sparring.core import InputError, built_in, load_game


@app.command(
    context_settings=EXTRA,
    epilog="Example: sparring play hex runs/hex-quick --seat 1",
)
def play(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help="The game.")],
    opponent: Annotated[str, typer.Argument(help="A checkpoint or run folder, or a built-in player.")] = "random",
    seat: Annotated[int, typer.Option(min=0, help="Your seat; 0 moves first.")] = 0,
    temperature: Annotated[float, typer.Option(min=0, help="0 plays a network's likeliest action.")] = 0.0,
    simulations: Annotated[int, typer.Option(min=0, help="Look-ahead of checkpoints, a move; 0: none.")] = 0,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Play a match against a player in the terminal."""
    from sparring.inference import Device
    from sparring.league import Entrant
    from sparring.league.evaluation import play_one

    plugin = load_game(game)
    entrant = Entrant.parse(opponent)
    trained = entrant.checkpoint.spec if entrant.checkpoint is not None else None
    defaults = dict(trained.settings) if trained is not None and trained.game == game else {}
    settings = game_settings(plugin, context.args, defaults)
    spec = plugin.spec(settings)
    if seat >= spec.seats:
        raise InputError(f"--seat {seat}: {game} has seats 0 to {spec.seats - 1}")
    if "human" not in plugin.players:
        raise InputError(f"{game} cannot be played in the terminal")
    human = built_in(plugin, spec, "human", seed=seed)
    rival = entrant.seat(
        plugin, spec, matches=1, device=Device.pick(), temperature=temperature, seed=seed, simulations=simulations
    )
    arena = plugin.arena(settings, matches=1, seed=seed)
    try:
        outcome = play_one([human if number == seat else rival for number in range(spec.seats)], arena)
    except EOFError:
        say("match left unfinished")
        return
    finally:
        arena.close()
    print({1: "You won.", 0: "A draw.", -1: "You lost."}[int(outcome[seat])])
