"""`sparring selfplay`."""

from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, say
from sparring.cli.options import (
    EXTRA,
    PLAYER,
    BatchSize,
    Cluster,
    DeviceOption,
    Key,
    Parallel,
    Profile,
    Seed,
    Threads,
    TimeoutMs,
    Workers,
    check_people,
    game_settings,
)


@app.command(
    rich_help_panel="Train and play",
    context_settings=EXTRA,
    epilog="Example: sparring selfplay hex --model hex-7x7 --matches 10000 --save games/hex",
)
def selfplay(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help="The game.")],
    model: Annotated[str, typer.Option(help=PLAYER)],
    matches: Annotated[int, typer.Option(min=1, help="Matches the folder should hold in the end.")],
    save: Annotated[Path, typer.Option(help="Folder of the episode store; continued if it exists.")],
    opponent: Annotated[str | None, typer.Option(help="Likewise.  [default: the model itself]")] = None,
    workers: Workers = 0,
    batch_size: BatchSize = 1,
    timeout_ms: TimeoutMs = 50.0,
    simulations: Annotated[
        int | None, typer.Option(min=0, help="Simulations per move.  [default: 16 if the game has a forward model]")
    ] = None,
    temperature: Annotated[float, typer.Option(min=0, help="Of a network's first moves.")] = 1.0,
    temperature_moves: Annotated[int, typer.Option(min=0, help="With simulations: how many first moves.")] = 4,
    resign: Annotated[float, typer.Option(min=0, max=1, help="Matches this clear are played out fast; 0: none.")] = 0.0,
    parallel: Parallel = 512,
    shard: Annotated[int, typer.Option(min=1, help="Matches per file.")] = 1000,
    device: DeviceOption = "auto",
    threads: Threads = 0,
    key: Key = None,
    seed: Seed = 0,
    cluster: Cluster = None,
    profile: Profile = None,
) -> None:
    """Play a player against itself or another and keep the episodes; killed or stopped, the same command goes on.

    Beside the episodes, summary.json says how it went. Game settings follow as --key value: --size 9 --swap true.
    """
    from sparring.league import Seating, Style

    check_people(model, opponent)
    players = [model] if opponent in (None, model) else [model, str(opponent)]
    seating = Seating.of(*players, game=game, settings=game_settings(context))

    from sparring.bench.profiling import profiled
    from sparring.league.selfplay import Plan, self_play
    from sparring.search import PlaySettings

    moves = PlaySettings(temperature=temperature, temperature_moves=temperature_moves, resign=resign)
    style = Style(temperature=temperature, selfplay=moves, device=device, threads=threads, key=key)
    plan = Plan(
        matches=matches,
        parallel=parallel,
        workers=workers,
        batch_size=batch_size,
        batch_seconds=timeout_ms / 1000,
        shard=shard,
        cluster=cluster,
        seed=seed,
    )
    with profiled(profile, say):
        self_play(seating, save, plan, style=style, simulations=simulations, say=say)
