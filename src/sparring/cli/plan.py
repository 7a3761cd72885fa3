"""`sparring plan`."""

from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, say, show
from sparring.cli.options import AsJson, Overrides


@app.command(rich_help_panel="This machine", epilog="Example: sparring plan hex-quick --nodes 4 --hours 6")
def plan(
    preset: Annotated[str, typer.Argument(help="A preset's name, or the path of a YAML file.")],
    overrides: Overrides = None,
    nodes: Annotated[int, typer.Option(min=1, max=4096, help="Machines.")] = 1,
    gpus: Annotated[int, typer.Option(min=0, max=64, help="Of each; one process each, without any one process.")] = 0,
    hours: Annotated[float, typer.Option(min=0.01, max=100_000, help="How long to train.")] = 1.0,
    collectors: Annotated[
        int, typer.Option(min=0, max=65536, help="Processes on Ray that play for one that learns; 0: none.")
    ] = 0,
    cores: Annotated[
        int | None, typer.Option(min=1, max=4096, help="Of each machine.  [default: as where it was measured]")
    ] = None,
    link_gbit: Annotated[float, typer.Option(min=0.001, max=10_000, help="Gbit/s between machines.")] = 10.0,
    rates: Annotated[
        Path | None, typer.Option(help="What diagnose --save kept.  [default: this machine is measured now]")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, max=3600, help="How long to measure, without --rates.")] = 20.0,
    epochs: Annotated[
        float | None, typer.Option(min=0.1, max=1000, help="loss/epochs of a run whose updates end early.")
    ] = None,
    whatif: Annotated[
        list[str] | None, typer.Option(metavar="STAGE=2x", help="If a stage were this much faster; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict a training run on machines that are not here: updates, matches, memory, storage, bottleneck.

    It simulates the pipeline at rates that sparring diagnose has measured; see docs/cluster.md for its errors so far.
    """
    from sparring.training.presets import check_preset

    check_preset(preset, overrides or [])

    from sparring.bench.diagnose import baseline
    from sparring.bench.diagnose.model import parse_whatif
    from sparring.bench.diagnose.run import diagnose
    from sparring.bench.diagnose.subject import find_subject
    from sparring.bench.plan.forecast import forecast
    from sparring.bench.plan.simulation import Layout
    from sparring.bench.plan.tables import forecast_table

    speeds = parse_whatif(whatif or [])
    subject = find_subject(preset, None, overrides or [])
    if rates is None:
        measured = diagnose(subject, ["learner"], seconds=seconds, say=say)
    else:
        measured = baseline.load_baseline(rates)
        baseline.check_comparable(rates, measured, subject.game.name)
    layout = Layout(
        nodes=nodes,
        processes=max(1, gpus),
        collectors=collectors,
        cores=cores or measured.machine.cores,
        link=link_gbit * 1e9 / 8,
    )
    found = forecast(
        preset, subject.config, subject.game, measured, layout, hours=hours, gpus=gpus, epochs=epochs, speeds=speeds
    )
    if as_json:
        import msgspec

        print(msgspec.json.encode(found).decode())
    else:
        show(forecast_table(found))
