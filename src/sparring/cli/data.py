"""`sparring data`: what is in episode stores."""

from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, say, show_result
from sparring.cli.help import App
from sparring.cli.options import AsJson

data = App(help="What is in episode stores: counts, and single decisions.")
app.add_typer(data, name="data", rich_help_panel="Look up")


@data.command(epilog="Example: sparring data stats data/people --page people.html")
def stats(
    stores: Annotated[list[Path], typer.Argument(help="Episode stores, or folders of stores.")],
    page: Annotated[Path | None, typer.Option(help="Write a page with plots that needs no network.")] = None,
    as_json: AsJson = False,
) -> None:
    """Count what is in episode stores: lengths, results, ratings, dates, actions, and what the game has names for."""
    from sparring.core.files import check_page, write_page

    if page is not None:
        check_page(page)

    from sparring.data.statistics import store_statistics
    from sparring.report.data import statistics_page, statistics_table

    found = store_statistics(stores, say=say)
    if page is not None:
        write_page(page, statistics_page(found))
        say(f"plots in {page}")
    show_result(found, statistics_table, as_json=as_json)


@data.command("show", epilog="Example: sparring data show data/people/gen8ou --episode 3 --step 12")
def show_decisions(
    store: Annotated[Path, typer.Argument(help="An episode store.")],
    episode: Annotated[int, typer.Option(min=0, help="Which, from 0 in the order of the files.")] = 0,
    step: Annotated[int | None, typer.Option(min=0, help="Only this decision of it.")] = None,
    arrays: Annotated[bool, typer.Option("--arrays", help="The numbers too.")] = False,
) -> None:
    """Print the decisions of an episode: what was seen, what was allowed, and what was chosen."""
    from sparring.core.text import printable_lines
    from sparring.data.showing import show_episode

    for line in show_episode(store, episode, step=step, arrays=arrays, say=say):
        print(printable_lines(line))
