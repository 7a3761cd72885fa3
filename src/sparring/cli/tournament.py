"""`sparring tournament`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sparring.cli.app import app, show_result
from sparring.cli.options import (
    EXTRA,
    PLAYER,
    AsJson,
    Cluster,
    DeviceOption,
    Key,
    Patience,
    PolicyThreshold,
    Seed,
    Simulations,
    Temperature,
    Threads,
    Workers,
    check_people,
    split_settings,
)

if TYPE_CHECKING:
    from sparring.league.tournament import Progress


@app.command(
    rich_help_panel="Train and play",
    context_settings=EXTRA,
    epilog="Example: sparring tournament path random hex-7x7 --size 7 --ledger hex.ledger",
)
def tournament(
    context: typer.Context,
    players: Annotated[list[str], typer.Argument(help=PLAYER, metavar="PLAYERS")],
    game: Annotated[str | None, typer.Option(help="The game.  [default: the first checkpoint's]")] = None,
    ledger: Annotated[Path, typer.Option(help="Where matches are kept; the same command goes on from there.")] = Path(
        "tournament.ledger"
    ),
    schedule: Annotated[
        Literal["active", "round-robin", "swiss", "gauntlet"],
        typer.Option(help="Who meets whom; active: where a match tells most. gauntlet: the first against all."),
    ] = "active",
    matches: Annotated[int, typer.Option(min=2, help="Per pair that meets; active: at most, on average.")] = 100,
    rounds: Annotated[int, typer.Option(min=0, help="Of swiss.  [default: enough for a winner, and one]")] = 0,
    elo_width: Annotated[
        float | None, typer.Option(min=1, help="Active: until no rating's interval is wider.  [default: 100]")
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(min=0.5, max=0.9999, help="Active: until every order is this certain. SPRT: its own.  [0.95]"),
    ] = None,
    sprt: Annotated[
        str | None, typer.Option(help="elo0,elo1: is the first of two players stronger? 0,20 to see if it gained 20.")
    ] = None,
    anchor: Annotated[str | None, typer.Option(help="Whose rating is 0.  [default: the first built-in player]")] = None,
    workers: Workers = 0,
    cluster: Cluster = None,
    temperature: Temperature = 1.0,
    simulations: Simulations = 0,
    policy_threshold: PolicyThreshold = 0.0,
    patience: Patience = 60.0,
    device: DeviceOption = "auto",
    threads: Threads = 0,
    key: Key = None,
    seed: Seed = 0,
    page: Annotated[Path | None, typer.Option(help="Write a page that needs no network.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the closest, longest and most surprising matches in this folder.")
    ] = None,
    kept: Annotated[int, typer.Option(min=1, max=1000, help="How many of each kind.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Let players meet, and rate them: as a table with 95% intervals, as JSON, or as a page.

    Players meet in pairs of matches from the same start with seats swapped. Game settings follow as --key value.
    """
    from sparring.core.files import check_page, write_page
    from sparring.league import Style
    from sparring.league.seating import find_entrants

    names, settings = split_settings(players, context)
    check_people(*names)
    if page is not None:
        check_page(page)
    find_entrants(names, game)

    from sparring.core import Interrupts
    from sparring.league.tournament import Rules, play_tournament
    from sparring.report.tournament import TournamentScreen, tournament_table
    from sparring.report.tournament_page import tournament_page

    style = Style(
        temperature=temperature,
        policy_threshold=policy_threshold,
        simulations=simulations,
        device=device,
        threads=threads,
        key=key,
        patience=patience,
    )
    rules = Rules(
        schedule=schedule,
        matches=matches,
        rounds=rounds,
        elo_width=elo_width,
        confidence=confidence,
        sprt=sprt,
        anchor=anchor,
        seed=seed,
        workers=workers,
        cluster=cluster,
        keep=keep,
        kept=kept,
    )
    with Interrupts() as interrupts, interrupts.at_once(), TournamentScreen() as screen:

        def on_progress(progress: "Progress") -> None:
            screen.update(progress.matches, progress.total, progress.detail, progress.rows())

        summary = play_tournament(
            names, ledger, rules, game=game, settings=settings, style=style, on_progress=on_progress, say=screen.say
        )
    if not summary["complete"]:
        screen.say(f"stopped; the same command goes on from {ledger}")
    if page is not None:
        write_page(page, tournament_page(summary, page.parent))
        screen.say(f"{page} has the same as a page")
    show_result(summary, tournament_table, as_json=as_json)
