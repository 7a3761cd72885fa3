"""`sparring evaluate`."""

import json
from typing import Annotated

import typer

from sparring.cli.app import app, console
from sparring.cli.options import EXTRA, game_settings
from sparring.core import InputError, Rated, load_game
from sparring.report.tables import score_json, score_table


@app.command(
    context_settings=EXTRA,
    epilog="Example: sparring evaluate runs/hex-quick path --size 5 --matches 400",
)
def evaluate(
    context: typer.Context,
    first: Annotated[str, typer.Argument(help="A checkpoint or run folder, or a built-in player.")],
    second: Annotated[str, typer.Argument(help="The opponent, likewise.")],
    game: Annotated[str | None, typer.Option(help="The game.  [default: the checkpoint's]")] = None,
    matches: Annotated[
        int | None,
        typer.Option(min=1, help="Matches, seats changing from one to the next.  [default: 400; Rocket League: 64]"),
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, help="Matches played at the same time.")] = 256,
    temperature: Annotated[float, typer.Option(min=0, help="0 plays a network's likeliest action.")] = 1.0,
    simulations: Annotated[int, typer.Option(min=0, help="Look-ahead of checkpoints, a move; 0: none.")] = 0,
    least: Annotated[
        float, typer.Option(min=0, max=1, help="A network's actions less likely than this are left out.")
    ] = 0.0,
    seed: Annotated[int, typer.Option()] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Play two players against each other and give the win rate with its 95% interval.

    Game settings follow as --key value: --size 7 --swap true.
    """
    from sparring.inference import Device
    from sparring.league import Entrant
    from sparring.league import evaluate as play_matches

    entrants = [Entrant.parse(first), Entrant.parse(second)]
    trained = [entrant.checkpoint.spec for entrant in entrants if entrant.checkpoint is not None]
    name = game or (trained[0].game if trained else None)
    if name is None:
        raise InputError("neither player is a checkpoint: say which game with --game")
    plugin = load_game(name)
    defaults = dict(trained[0].settings) if trained and trained[0].game == name else {}
    if isinstance(plugin, Rated):
        defaults |= plugin.rating
        matches = matches or plugin.rating_matches
    matches = matches or 400
    settings = game_settings(plugin, context.args, defaults)
    spec = plugin.spec(settings)
    parallel = min(parallel, matches)
    seated = [
        entrant.seat(
            plugin,
            spec,
            matches=parallel,
            device=Device.pick(),
            temperature=temperature,
            least=least,
            seed=seed + number,
            simulations=simulations,
        )
        for number, entrant in enumerate(entrants)
    ]
    arena = plugin.arena(settings, matches=parallel, seed=seed)
    try:
        score = play_matches(seated[0], seated[1], arena, matches=matches)
    finally:
        arena.close()
    if as_json:
        about = {"first": first, "second": second, "game": spec.game, "settings": dict(spec.settings)}
        print(json.dumps({**about, **score_json(score)}))
    else:
        console.print(score_table(f"{first} at {spec.game} {dict(spec.settings)}", {second: score}))
