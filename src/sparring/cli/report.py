"""`sparring report`."""

from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, say


@app.command(rich_help_panel="Look up", epilog="Example: sparring report runs/hex-quick")
def report(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    page: Annotated[Path | None, typer.Option(help="File to write.  [default: report.html in the folder]")] = None,
) -> None:
    """Write a page with a run's curves, win rates, calibration and accuracy by turn, which needs no network."""
    from sparring.core.files import check_page, write_page

    output = page or run / "report.html"
    if page is not None:
        check_page(page)

    from sparring.report.run_page import run_page

    made = run_page(run)
    write_page(output, made)
    say(f"plots in {output}")
