"""`sparring selfplay`."""

import json
import resource
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import typer

from sparring.cli.app import app, say
from sparring.cli.options import EXTRA, game_settings
from sparring.core import Arena, InputError, Player, built_in, gather, load_game, wilson_interval


@app.command(
    context_settings=EXTRA,
    epilog="Example: sparring selfplay hex --model hex-7x7 --games 10000 --save games/hex",
)
def selfplay(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help="The game.")],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "--model-a",
            help="A checkpoint or run folder, shipped weights, a built-in player; with --server, a name served there.",
        ),
    ],
    save: Annotated[Path, typer.Option(help="Folder of the episode store; continued if it exists.")],
    games: Annotated[
        int | None, typer.Option("--games", "--total", min=1, help="Matches the folder shall hold in the end.")
    ] = None,
    model_b: Annotated[str | None, typer.Option(help="The opponent, likewise.  [default: the model itself]")] = None,
    server: Annotated[str | None, typer.Option(help="Ask the policy server at tcp://host:port.")] = None,
    key: Annotated[Path | None, typer.Option(help="client.key, where the server has keys.")] = None,
    num_workers: Annotated[int, typer.Option(min=0, help="Processes that play; 0: all in this one.")] = 0,
    battles_per_worker: Annotated[
        int | None, typer.Option(min=1, help="Instead of --games: matches of each worker.")
    ] = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Rows a forward pass waits for; with workers, or where rows trickle in.")
    ] = 1,
    timeout_ms: Annotated[float, typer.Option(min=0, help="But no longer than this after the first.")] = 50.0,
    simulations: Annotated[
        int | None, typer.Option(min=0, help="Look-ahead a move.  [default: 16 where the game offers it]")
    ] = None,
    temperature: Annotated[float, typer.Option(min=0, help="Of a seat's first moves.")] = 1.0,
    temperature_moves: Annotated[int, typer.Option(min=0, help="How many first moves that are.")] = 4,
    resign: Annotated[float, typer.Option(min=0, max=1, help="Matches this clear are played out fast; 0: none.")] = 0.0,
    parallel: Annotated[int, typer.Option(min=1, help="Matches played at the same time.")] = 512,
    shard: Annotated[int, typer.Option(min=1, help="Matches a file.")] = 1000,
    threads: Annotated[int, typer.Option(min=0, help="CPU threads of the network; 0: all cores.")] = 0,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Play a model against itself or another and keep the episodes; killed or stopped, the same command goes on.

    Beside the episodes, summary.json says how it went. Game settings follow as --key value: --size 9 --swap true.
    """
    import torch

    from sparring.core.files import write_file
    from sparring.core.interrupts import Interrupts
    from sparring.league import Entrant
    from sparring.report.progress import ProgressLine
    from sparring.rollout import WorkerArena
    from sparring.rollout.selfplay import play_into_store
    from sparring.rollout.store import EpisodeStore
    from sparring.search import PlaySettings, SearchPlayer

    torch.set_num_threads(threads or torch.get_num_threads())
    plugin = load_game(game)
    if battles_per_worker is not None and num_workers:
        games = battles_per_worker * num_workers
    if games is None:
        raise InputError("say how many matches: --games N, or --battles-per-worker N with --num-workers")
    names = [model] if model_b in (None, model) else [model, str(model_b)]
    entrants = [] if server else [Entrant.parse(name) for name in names]
    trained = [entrant.checkpoint.spec for entrant in entrants if entrant.checkpoint is not None]
    defaults = dict(trained[0].settings) if trained and trained[0].game == game else {}
    settings = game_settings(plugin, context.args, defaults)
    spec = plugin.spec(settings)
    networks = [entrant for entrant in entrants if entrant.checkpoint is not None or entrant.factory is not None]
    if not server and not networks:
        raise InputError(f"--model {model}: self-play needs a checkpoint, a run folder or shipped weights")
    if simulations is None:
        simulations = 16 if not server and plugin.model(spec) is not None else 0
    if server and simulations:
        raise InputError("--simulations: a policy server answers with the network alone")
    store = EpisodeStore(save, spec, about={"models": names, "simulations": simulations})
    context.call_on_close(store.close)
    if store.matches >= games:
        say(f"{save} holds {store.matches:,} matches already")
        return
    # a continued run must not play the matches that are on disk again
    seed = seed + 1_000_003 * store.matches
    parallel = min(parallel, games)
    play = PlaySettings(temperature=temperature, temperature_moves=temperature_moves, resign=resign)
    players: dict[str, Player] = {}
    for number, name in enumerate(names):
        if server:
            players[name] = _remote(server, name, spec, key, parallel, temperature, seed + number)
        else:
            players[name] = _seated(entrants[number], plugin, spec, parallel, simulations, play, seed + number)
    arena: Arena = (
        WorkerArena(plugin, settings, matches=parallel, seed=seed, workers=num_workers, say=say)
        if num_workers
        else plugin.arena(settings, matches=parallel, seed=seed)
    )
    started = monotonic()
    try:
        gather(arena, batch_size, timeout_ms / 1000)
        with Interrupts() as interrupts, ProgressLine("self-play", total=games, done=store.matches) as bar:
            rate = bar.rate
            played = play_into_store(
                store,
                arena,
                players,
                matches=games,
                shard=shard,
                keep_policy=bool(server) or len(networks) == len(names),
                stop=lambda: interrupts.asked,
                progress=lambda done: bar.update(done, f"{done:,} matches  {rate(done):.1f} matches/s"),
            )
    finally:
        arena.close()
    summary = _summary(played, players, seconds=monotonic() - started, stored=store.matches)
    write_file(save / "summary.json", (json.dumps(summary, indent=2) + "\n").encode())
    say(f"{save}: {store.matches:,} matches, {store.rows:,} decisions in {store.episodes:,} episodes")
    if "win_rate" in summary:
        low, high = summary["interval"]
        say(f"{names[0]} against {names[1]}: {summary['win_rate']:.1%} (95% interval {low:.1%} - {high:.1%})")
    for player in players.values():
        if isinstance(player, SearchPlayer):
            report = player.report()
            say(
                f"{report['calls_per_move']:.1f} network calls a move for {parallel} matches, "
                f"mean batch {report['search_batch']:.0f}, {report['cache_hits']:.0%} cache hits"
            )
    if store.matches < games:
        say(f"stopped at {store.matches:,} of {games:,} matches; the same command continues")


def _remote(server: str, name: str, spec: Any, key: Path | None, matches: int, temperature: float, seed: int) -> Player:
    from sparring.serving import RemotePlayer
    from sparring.serving.keys import read_client_key

    client_key = None if key is None else read_client_key(key)
    return RemotePlayer(
        server, name, spec, matches=matches, temperature=temperature, keep_policy=True, seed=seed, key=client_key
    )


def _seated(entrant: Any, plugin: Any, spec: Any, matches: int, simulations: int, play: Any, seed: int) -> Player:
    from sparring.inference import Device
    from sparring.search import GumbelSettings

    if entrant.checkpoint is None and entrant.factory is None:
        return built_in(plugin, spec, entrant.name, seed=seed)
    search = GumbelSettings(simulations=simulations, gumbel_scale=1.0, reuse_tree=False) if simulations else None
    player: Player = entrant.seat_for_selfplay(
        spec, matches=matches, device=Device.pick(), search=search, play=play, seed=seed, say=say
    )
    return player


def _summary(played: Any, players: dict[str, Player], *, seconds: float, stored: int) -> dict[str, Any]:
    """How this call of self-play went, JSON-ready."""
    from sparring.serving import RemotePlayer
    from sparring.serving.statistics import percentiles

    counters = played.counters
    used = resource.getrusage(resource.RUSAGE_SELF)
    summary: dict[str, Any] = {
        "players": list(players),
        "matches_stored": stored,
        "matches": played.matches,
        "failed_matches": counters.failed,
        "seconds": seconds,
        "matches_per_hour": 3600 * played.matches / seconds,
        "decisions_per_second": counters.decisions / seconds,
        "mean_batch": counters.mean_batch,
        "stages": counters.stages.shares(),
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_memory_mb": used.ru_maxrss / 1024,
    }
    if len(players) == 2:
        rate = (played.wins + 0.5 * played.draws) / max(1, played.matches)
        summary |= {"win_rate": rate, "interval": list(wilson_interval(rate, played.matches))}
    remote = [player for player in players.values() if isinstance(player, RemotePlayer)]
    if remote:
        waits = [wait for player in remote for wait in player.counters.waits]
        summary["latency_ms"] = {f"p{share}": 1000 * value for share, value in percentiles(waits, 50, 95, 99).items()}
        summary["repeated_requests"] = sum(player.counters.repeated for player in remote)
        summary["lost_memory_rows"] = sum(player.counters.lost for player in remote)
    return summary
