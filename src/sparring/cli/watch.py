"""`sparring watch`: a match as a page, as a picture, and live."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sparring.cli.app import app, say
from sparring.cli.options import EXTRA, game_settings
from sparring.core import load_game

watch = typer.Typer(help="See a match.", no_args_is_help=True)
app.add_typer(watch, name="watch")


@watch.command(
    "rocket",
    context_settings=EXTRA,
    epilog="Example: sparring watch rocket runs/rocket-1v1 --vs rule --out match.html --picture match.gif",
)
def watch_rocket(
    context: typer.Context,
    player: Annotated[str, typer.Argument(help="A checkpoint or run folder, or a built-in player: blue.")],
    vs: Annotated[str, typer.Option(help="The orange team, likewise.")] = "rule",
    out: Annotated[Path, typer.Option(help="The replay page to write.")] = Path("match.html"),
    picture: Annotated[Path | None, typer.Option(help="An animated GIF to write as well.")] = None,
    stream: Annotated[str | None, typer.Option(help="rocketsimvis, rocketsimvis:HOST:PORT or rlviser: live.")] = None,
    matches: Annotated[int, typer.Option(min=1, help="Play so many and keep the one that paid blue most.")] = 1,
    temperature: Annotated[float, typer.Option(min=0, help="0 plays a network's likeliest action.")] = 0.0,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Play a Rocket League match and write a page that shows it in any browser.

    Game settings follow as --key value: --end clock --seconds 60 --modes [2v2] --room 2.
    """
    from sparring.games.rocket.stream import open_stream
    from sparring.games.rocket.watch import best_for_blue, record, summary, write_recording
    from sparring.inference import Device
    from sparring.league import Entrant

    game = load_game("rocket")
    entrants = [Entrant.parse(player), Entrant.parse(vs)]
    trained = [entrant.checkpoint.spec for entrant in entrants if entrant.checkpoint is not None]
    settings = game_settings(game, context.args, dict(trained[0].settings) if trained else {})
    spec = game.spec(settings)
    device = Device.pick("cpu")
    blue, orange = (
        entrant.seat(game, spec, matches=1, device=device, temperature=temperature, seed=seed + number)
        for number, entrant in enumerate(entrants)
    )
    each = open_stream(stream, seconds_a_frame=settings.tick_skip / 120) if stream is not None else None
    arena: Any = game.arena(settings, matches=1, seed=seed)
    try:
        recordings = record(arena, blue, orange, names=(player, vs), matches=matches, each=each)
    finally:
        arena.close()
    recording = best_for_blue(recordings)
    for path in write_recording(recording, out, picture):
        say(f"wrote {path}")
    print(summary(recording))
