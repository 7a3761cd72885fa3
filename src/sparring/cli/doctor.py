"""`sparring doctor`."""

import json
from typing import Annotated

import typer

from sparring.cli.app import app, say, show
from sparring.cli.options import AsJson


@app.command(rich_help_panel="This machine", epilog="Example: sparring doctor pokemon --comprehensive")
def doctor(
    game: Annotated[
        list[str] | None,
        typer.Argument(help="Games that must run: what they lack is a failure, else a warning."),
    ] = None,
    comprehensive: Annotated[
        bool, typer.Option("--comprehensive", help="Also play every game and try the device: up to some minutes.")
    ] = False,
    server: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="A Showdown server that must answer; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look for what is missing, too small or in the way on this machine, and say how to fix it.

    The exit code is 1 if anything fails, else 0.
    """
    from sparring.bench.doctor.checks import check_machine, worst
    from sparring.core.checkup import CheckUp
    from sparring.report.progress import announced
    from sparring.report.tables import checks_table

    asked = CheckUp(comprehensive=comprehensive, servers=tuple(server or ()))
    with announced("looking at this machine", say):
        checks = list(check_machine(asked, needed=game or ()))
    if as_json:
        import msgspec

        print(json.dumps({"worst": worst(checks), "checks": msgspec.to_builtins(checks)}))
    else:
        show(checks_table(checks))
    raise typer.Exit(1 if worst(checks) == "fail" else 0)
