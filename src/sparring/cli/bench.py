"""`sparring bench`."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.table import Table

from sparring.cli.app import app, console, say
from sparring.cli.options import EXTRA, game_settings
from sparring.core import RunError, load_game
from sparring.core.files import write_file

bench = typer.Typer(help="Measure this machine.", no_args_is_help=True)
app.add_typer(bench, name="bench")


@bench.command(
    context_settings=EXTRA,
    epilog="Example: sparring bench selfplay --battles 500 --workers 10 --format gen1randombattle",
)
def selfplay(
    context: typer.Context,
    game: Annotated[str, typer.Option(help="The game; its settings follow as --key value.")] = "pokemon",
    battles: Annotated[int, typer.Option(min=1, help="Matches of each way.")] = 500,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes of baseline and server.")] = 10,
    parallel: Annotated[int, typer.Option(min=1, help="Matches in flight, all workers together.")] = 80,
    model: Annotated[
        str | None, typer.Option(help="A checkpoint, run folder or shipped weights.  [default: an untrained network]")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Of the server.")] = 64,
    timeout_ms: Annotated[float, typer.Option(min=0, help="Of the server.")] = 50.0,
    save: Annotated[Path | None, typer.Option(help="Write the results as JSON.")] = None,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Play the same matches four ways: one model per worker, policy server, shared memory, in process."""
    from sparring.bench.selfplay import Bench, fresh_checkpoint, run_bench
    from sparring.league.entrants import shipped_weights
    from sparring.policy.checkpoint import load_checkpoint

    plugin = load_game(game)
    trained = shipped_weights().get(model, Path(model)) if model else None
    settings = game_settings(plugin, context.args, dict(load_checkpoint(trained).spec.settings) if trained else {})
    with TemporaryDirectory(prefix="sparring-bench-") as folder:
        checkpoint = trained or fresh_checkpoint(plugin, settings, Path(folder) / "untrained", seed=seed)
        result = run_bench(
            Bench(
                game=plugin,
                settings=settings,
                checkpoint=checkpoint,
                matches=battles,
                workers=workers,
                parallel=parallel,
                batch_size=batch_size,
                timeout=timeout_ms / 1000,
                seed=seed,
            ),
            say=say,
        )
    if save is not None:
        write_file(save, (json.dumps(result, indent=2) + "\n").encode())
    table = Table("way", "matches/hour", "speed-up", "decisions/s", "mean batch", "win rate", "95% interval")
    for way, values in result["ways"].items():
        low, high = values["interval"]
        table.add_row(
            way,
            f"{values['matches_per_hour']:,.0f}",
            f"{values['speed_up']:.2f}",
            f"{values['decisions_per_second']:,.0f}",
            f"{values['mean_batch']:.1f}",
            f"{values['win_rate']:.1%}",
            f"{low:.1%} - {high:.1%}",
        )
    console.print(table)
    for check, passed in result["checks"].items():
        console.print(f"{'ok  ' if passed else 'FAIL'} {check}", highlight=False)
    if not all(result["checks"].values()):
        raise RunError("bench: a check failed")
