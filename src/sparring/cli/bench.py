"""`sparring bench`."""

from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, say, show, show_result
from sparring.cli.help import App
from sparring.cli.options import EXTRA, NETWORK, AsJson, BatchSize, Overrides, Parallel, Seed, TimeoutMs, game_settings

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


@bench.command(epilog="Example: sparring bench scale pokemon-gen1 --matches 64,128,256 --workers 0,2")
def scale(
    preset: Annotated[str, typer.Argument(help="A preset's name, or the path of a YAML file.")],
    overrides: Overrides = None,
    matches: Annotated[
        str | None, typer.Option(help="Matches in play, as 64,128.  [default: half, as many and twice the preset's]")
    ] = None,
    workers: Annotated[str | None, typer.Option(help="Likewise, processes that play.  [default: by cores]")] = None,
    simulators: Annotated[
        str | None, typer.Option(help="Likewise, the game's own processes or threads.  [default: by cores]")
    ] = None,
    servers: Annotated[str, typer.Option(help="Likewise, local servers that battles go over; 0: none.")] = "0",
    minutes: Annotated[float, typer.Option(min=0.1, max=1440, help="About how long it may take.")] = 7.0,
    save: Annotated[
        Path | None, typer.Option(help="Folder of the results; continued if it exists.  [default: bench/PRESET]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the setting of simulators, matches and workers that plays the most matches an hour on this machine.

    Ctrl-C keeps what was measured and the same command goes on. The folder then holds scale.json, a plot, a page and
    override.txt: sparring train PRESET $(cat bench/PRESET/override.txt)
    """
    from sparring.training.presets import check_preset

    given = overrides or []
    check_preset(preset, given)

    from sparring.bench.scale.grid import preset_grid
    from sparring.bench.scale.run import scale as run_scale
    from sparring.report.scale import save_plots, scale_table

    cells = preset_grid(preset, given, matches=matches, workers=workers, simulators=simulators, servers=servers)
    folder = save or Path("bench") / Path(preset).stem
    result = run_scale(preset, given, cells, folder, minutes=minutes, say=say)
    save_plots(folder, result, say)
    show_result(result, scale_table, as_json=as_json)


@bench.command(epilog="Example: sparring bench suite hex_engine collector --quick")
def suite(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks by name.  [default: all]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Their quick forms; alone, only a few: minutes.")] = False,
    output: Annotated[Path | None, typer.Option(help="Add the figures to this file, a JSON object a line.")] = None,
) -> None:
    """Run the project's own benchmarks against peers and limits; from a checkout. Figures go to standard output."""
    import json

    from sparring.bench.suite import QUICK, run_suite

    chosen = names or (list(QUICK) if quick else [])
    for figure in run_suite(chosen, quick=quick, output=output, say=say):
        print(json.dumps(figure))


@bench.command(epilog="Example: sparring bench render --check")
def render(
    check: Annotated[bool, typer.Option("--check", help="Only say which pages are not up to date.")] = False,
) -> None:
    """Write the tables of README and docs from the stored figures; from a checkout."""
    from sparring.bench.suite import render as render_pages

    changed = render_pages(check=check)
    for page in changed:
        say(f"{page.name}: {'not up to date; run: sparring bench render' if check else 'written'}")
    if check and changed:
        raise typer.Exit(1)
