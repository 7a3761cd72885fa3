"""`sparring selfplay`."""

from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, say
from sparring.cli.options import EXTRA, game_settings
from sparring.core import InputError, load_game


@app.command(
    context_settings=EXTRA,
    epilog="Example: sparring selfplay hex --model hex-7x7 --games 10000 --save games/hex",
)
def selfplay(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help="The game.")],
    model: Annotated[str, typer.Option(help="A checkpoint or run folder, shipped weights, or a built-in player.")],
    games: Annotated[int, typer.Option(min=1, help="Matches the folder shall hold in the end.")],
    save: Annotated[Path, typer.Option(help="Folder of the episode store; continued if it exists.")],
    simulations: Annotated[int, typer.Option(min=0, help="Look-ahead a move; 0: the network alone.")] = 16,
    temperature: Annotated[float, typer.Option(min=0, help="Of a seat's first moves.")] = 1.0,
    temperature_moves: Annotated[int, typer.Option(min=0, help="How many first moves that are.")] = 4,
    resign: Annotated[float, typer.Option(min=0, max=1, help="Matches this clear are played out fast; 0: none.")] = 0.0,
    parallel: Annotated[int, typer.Option(min=1, help="Matches played at the same time.")] = 512,
    shard: Annotated[int, typer.Option(min=1, help="Matches a file.")] = 1000,
    threads: Annotated[int, typer.Option(min=0, help="CPU threads of the network; 0: all cores.")] = 0,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Play a model against itself and keep the episodes; killed or stopped, the same command goes on.

    Game settings follow as --key value: --size 9 --swap true.
    """
    import torch

    from sparring.inference import Device
    from sparring.league import Entrant
    from sparring.learn.interrupts import Interrupts
    from sparring.report.progress import ProgressLine
    from sparring.rollout.selfplay import play_into_store
    from sparring.rollout.store import EpisodeStore
    from sparring.search import GumbelSettings, PlaySettings, SearchPlayer

    torch.set_num_threads(threads or torch.get_num_threads())
    plugin = load_game(game)
    entrant = Entrant.parse(model)
    trained = entrant.checkpoint.spec if entrant.checkpoint is not None else None
    defaults = dict(trained.settings) if trained is not None and trained.game == game else {}
    settings = game_settings(plugin, context.args, defaults)
    spec = plugin.spec(settings)
    if entrant.checkpoint is None:
        raise InputError(f"--model {model}: self-play needs a checkpoint, a run folder or shipped weights")
    about = {"model": entrant.name, "version": entrant.checkpoint.version, "simulations": simulations}
    store = EpisodeStore(save, spec, about=about)
    if store.matches >= games:
        say(f"{save} holds {store.matches:,} matches already")
        return
    # a continued run must not play the matches that are on disk again
    seed = seed + 1_000_003 * store.matches
    player = entrant.seat_for_selfplay(
        spec,
        matches=parallel,
        device=Device.pick(),
        search=GumbelSettings(simulations=simulations, noise=1.0, reuse=False) if simulations else None,
        play=PlaySettings(temperature=temperature, temperature_moves=temperature_moves, resign=resign),
        seed=seed,
        say=say,
    )
    arena = plugin.arena(settings, matches=parallel, seed=seed)
    try:
        with Interrupts() as interrupts, ProgressLine("self-play", total=games, done=store.matches) as bar:
            rate = bar.rate
            play_into_store(
                store,
                arena,
                player,
                name=entrant.name,
                matches=games,
                shard=shard,
                stop=lambda: interrupts.asked,
                progress=lambda done: bar.update(done, f"{done:,} matches  {rate(done):.1f} matches/s"),
            )
    finally:
        arena.close()
    say(f"{save}: {store.matches:,} matches, {store.rows:,} decisions in {store.episodes:,} episodes")
    if isinstance(player, SearchPlayer):
        report = player.report()
        say(
            f"{report['calls_per_move']:.1f} network calls a move for {parallel} matches, "
            f"mean batch {report['search_batch']:.0f}, {report['cache_hits']:.0%} cache hits"
        )
    if store.matches < games:
        say(f"stopped at {store.matches:,} of {games:,} matches; the same command continues")
