"""`sparring bench`."""

from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, say, show
from sparring.cli.help import App
from sparring.cli.options import EXTRA, NETWORK, BatchSize, Parallel, Seed, TimeoutMs, game_settings

bench = App(help="Measure this machine.")
app.add_typer(bench, name="bench", rich_help_panel="This machine")


@bench.command(
    context_settings=EXTRA,
    epilog="Example: sparring bench selfplay --matches 500 --workers 10 --format gen1randombattle",
)
def selfplay(
    context: typer.Context,
    game: Annotated[str, typer.Option(help="The game; its settings follow as --key value.")] = "pokemon",
    matches: Annotated[int, typer.Option(min=1, help="Matches of each way.")] = 500,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes of baseline and server.")] = 10,
    parallel: Parallel = 80,
    model: Annotated[str | None, typer.Option(help=f"{NETWORK}  [default: an untrained network]")] = None,
    batch_size: BatchSize = 64,
    timeout_ms: TimeoutMs = 50.0,
    save: Annotated[Path | None, typer.Option(help="Write the results as JSON.")] = None,
    seed: Seed = 0,
) -> None:
    """Play the same matches four ways: one model per worker, policy server, shared memory, in process."""
    from sparring.bench.selfplay import Bench, raise_failed, run_bench, save_results
    from sparring.report.tables import bench_table

    plan = Bench(
        game=game,
        settings=game_settings(context),
        model=model,
        matches=matches,
        workers=workers,
        parallel=parallel,
        batch_size=batch_size,
        timeout=timeout_ms / 1000,
        seed=seed,
    )
    result = run_bench(plan, say=say)
    if save is not None:
        save_results(save, result)
    show(bench_table(result["ways"]))
    for check, passed in result["checks"].items():
        print(f"{'ok  ' if passed else 'FAIL'} {check}")
    raise_failed(result)
