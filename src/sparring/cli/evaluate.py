"""`sparring evaluate`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sparring.cli.app import app, show_result
from sparring.cli.options import (
    EXTRA,
    PLAYER,
    AsJson,
    DeviceOption,
    Key,
    Parallel,
    Patience,
    PolicyThreshold,
    Seed,
    Simulations,
    Temperature,
    Threads,
    check_people,
    game_settings,
)

if TYPE_CHECKING:
    from sparring.report.progress import ProgressLine

_LAST = 3
"""The last matches, which people wait for."""


@app.command(
    rich_help_panel="Train and play",
    context_settings=EXTRA,
    epilog="Example: sparring evaluate runs/hex-quick path --size 5 --matches 400",
)
def evaluate(
    context: typer.Context,
    first: Annotated[str, typer.Argument(help=PLAYER)],
    second: Annotated[str, typer.Argument(help="The opponent, likewise.")],
    game: Annotated[str | None, typer.Option(help="The game.  [default: the checkpoint's]")] = None,
    matches: Annotated[
        int | None,
        typer.Option(min=1, help="Matches, seats changing from one to the next.  [default: 400; Rocket League: 64]"),
    ] = None,
    parallel: Parallel = 256,
    temperature: Temperature = 1.0,
    simulations: Simulations = 0,
    policy_threshold: PolicyThreshold = 0.0,
    patience: Patience = 60.0,
    device: DeviceOption = "auto",
    threads: Threads = 0,
    key: Key = None,
    seed: Seed = 0,
    ledger: Annotated[Path | None, typer.Option(help="Keep every match in this file too; see sparring league.")] = None,
    as_json: AsJson = False,
) -> None:
    """Play two players against each other and give the win rate with its 95% interval.

    Game settings follow as --key value: --size 7 --swap true.
    """
    from sparring.league import Seating, Style

    check_people(first, second)
    style = Style(
        temperature=temperature,
        policy_threshold=policy_threshold,
        simulations=simulations,
        device=device,
        threads=threads,
        key=key,
        patience=patience,
    )
    seating = Seating.of(first, second, game=game, settings=game_settings(context), rating=True)

    from sparring.league.evaluation import evaluate_entrants, rating_matches
    from sparring.report.progress import ProgressLine
    from sparring.report.settings import rules_text
    from sparring.report.tables import score_json, score_table

    total = matches or rating_matches(seating.game)
    with ProgressLine("evaluating", total=total) as bar, interruption_told(bar, total, ledger):
        score = evaluate_entrants(
            seating,
            matches=total,
            parallel=parallel,
            seed=seed,
            style=style,
            pulse=lambda ended: bar.update(ended, _standing(ended, total, bar.per_second)),
            say=bar.say,
            ledger=ledger,
        )
    settings = dict(seating.spec.settings)
    about = {"first": first, "second": second, "game": seating.game.name, "settings": settings}
    title = f"{first} at {seating.game.name}: {rules_text(settings, seating.settings)}".removesuffix(": ")
    show_result({**about, **score_json(score)}, lambda _: score_table(title, {second: score}), as_json=as_json)


def _standing(ended: int, total: int, speed: float) -> str:
    """How far an evaluation is; the time left is no guide to its last matches, which may be the longest."""
    if 0 < total - ended <= _LAST:
        return f"{ended:,} of {total:,} matches; the last ones go on, each to its own end"
    return f"{ended:,} of {total:,} matches  {speed:.1f} matches/s"


@contextmanager
def interruption_told(bar: "ProgressLine", total: int, ledger: Path | None) -> Iterator[None]:
    """Says what becomes of matches that Ctrl-C cuts short; no win rate of them, as the short ones end first."""
    try:
        yield
    except KeyboardInterrupt:
        where = "nothing is kept; --ledger FILE would" if ledger is None else f"{ledger} has those that ended"
        bar.say(f"stopped after {bar.done:,.0f} of {total:,} matches: {where}")
        raise
