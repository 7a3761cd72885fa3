"""`sparring league`: ratings from a ledger, and its matches to and from other programs' files."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sparring.cli.app import app, say, show_result
from sparring.cli.help import App
from sparring.cli.options import AsJson

league = App(name="league", help="Rated matches and how strong their players are.", rich_markup_mode=None)
app.add_typer(league, rich_help_panel="Train and play")

LedgerFile = Annotated[Path, typer.Argument(help="The ledger, as sparring evaluate --ledger writes it.")]
MatchFile = Annotated[Path, typer.Argument(help="A .csv, .jsonl, .parquet or .arrow file.")]


@league.command("show", epilog="Example: sparring league show hex.ledger --by seat")
def show_ratings(
    ledger: LedgerFile,
    game: Annotated[str | None, typer.Option(help="The game, if there are several.")] = None,
    anchor: Annotated[
        str | None, typer.Option(help="The player whose rating is 0.  [default: the built-in with most matches]")
    ] = None,
    by: Annotated[
        Literal["seat", "team_set", "opening", "opponent", "settings"] | None,
        typer.Option(help="Rate each player also by this; opponent: by their kind."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Rate all players of a ledger by one model of all its matches, with 95% intervals.

    Warns where a rating hides something: players that no match connects, a seat, team set or opening in which a
    player does much better or worse, and cycles of players who beat each other.
    """
    from sparring.league.ledger import Ledger
    from sparring.league.standings import standings
    from sparring.report.ratings import standings_table

    with Ledger(ledger) as opened:
        summary = standings(opened, game=game, anchor=anchor, by=by)
    show_result(summary, standings_table, as_json=as_json)


@league.command("import", epilog="Example: sparring league import hex.ledger results.csv")
def import_file(ledger: LedgerFile, file: MatchFile) -> None:
    """Add the matches of a file to a ledger, created if need be.

    Every row is checked before the first is added. A match whose id is there already is not added again.
    """
    from sparring.league.exchange import import_matches

    added, known = import_matches(ledger, file)
    say(f"{ledger}: {added:,} matches added, {known:,} were there")


@league.command("export", epilog="Example: sparring league export hex.ledger results.parquet")
def export_file(ledger: LedgerFile, file: MatchFile) -> None:
    """Write every match of a ledger to a file, one row per match; its ending says the format."""
    from sparring.league.exchange import export_matches
    from sparring.league.ledger import Ledger

    with Ledger(ledger) as opened:
        count = export_matches(opened, file)
    say(f"{file}: {count:,} matches")
