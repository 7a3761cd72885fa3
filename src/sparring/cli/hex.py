"""`sparring gtp`, `sparring analyse` and `sparring sgf`: Hex for other programs."""

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from sparring.cli.app import app, say
from sparring.cli.options import EXTRA, NETWORK, DeviceOption, Seed, Threads, game_settings


@app.command(
    rich_help_panel="Hex",
    context_settings=EXTRA,
    epilog="Example: sparring gtp hex hex-7x7 --simulations 256",
)
def gtp(
    context: typer.Context,
    game: Annotated[Literal["hex"], typer.Argument(help="The game; hex is the one that speaks GTP.")],
    player: Annotated[str, typer.Argument(help=NETWORK)],
    simulations: Annotated[int, typer.Option(min=1, help="Simulations per move, when the clock allows.")] = 64,
    device: DeviceOption = "auto",
    threads: Threads = 0,
    seed: Seed = 0,
) -> None:
    """Play over the Go Text Protocol on standard input and output, as HexGUI and tournament managers speak it."""
    from sparring import __version__
    from sparring.core.lines import Lines
    from sparring.games.hex.gtp import GtpSession, serve
    from sparring.league import Seating, Style
    from sparring.report.progress import announced

    seating = Seating.of(player, game=game, settings=game_settings(context), networks=True)
    session = GtpSession(
        seating.settings,
        lambda board, looks: seating.searcher(
            board, seed=seed, style=Style(simulations=looks, device=device, threads=threads)
        ),
        simulations=simulations,
        name=f"Sparring {player}",
        version=__version__,
        thinking=lambda: announced(f"{player} is thinking", say),
    )
    for answer in serve(session, Lines(sys.stdin.fileno())):
        print(answer, end="", flush=True)


@app.command(
    rich_help_panel="Hex",
    context_settings=EXTRA,
    epilog="Example: sparring analyse hex hex-7x7 game.sgf --simulations 256 --page game.html > analysis.jsonl",
)
def analyse(
    context: typer.Context,
    game: Annotated[Literal["hex"], typer.Argument(help="The game; hex is the one that can be analysed.")],
    player: Annotated[str, typer.Argument(help=NETWORK)],
    record: Annotated[Path, typer.Argument(help="An SGF game record.")],
    simulations: Annotated[int, typer.Option(min=1, help="Simulations at each position.")] = 64,
    page: Annotated[Path | None, typer.Option(help="A page to write that shows the game and its analysis.")] = None,
    device: DeviceOption = "auto",
    threads: Threads = 0,
    seed: Seed = 0,
) -> None:
    """Look at every position of a game record: JSON lines with value and principal variation for each move."""
    from sparring.core.files import check_page, write_page

    if page is not None:
        check_page(page)

    from sparring.games.hex.analysis import analyse_record
    from sparring.games.hex.page import game_page
    from sparring.games.hex.text import load_sgf
    from sparring.league import Seating, Style
    from sparring.report.progress import ProgressLine

    seating = Seating.of(player, game=game, settings=game_settings(context), networks=True)
    style = Style(simulations=simulations, device=device, threads=threads)
    game_record, analyses = load_sgf(record), []
    with ProgressLine("analysis", total=1) as line:

        def tell(done: int, total: int) -> None:
            line.update(done / total, f"{done:,} of {total:,} simulations, {line.per_second * total:,.0f} per second")

        for found in analyse_record(
            game_record,
            lambda board: seating.searcher(board, seed=seed, style=style),
            simulations=simulations,
            seed=seed,
            tell=tell,
        ):
            print(json.dumps(found), flush=True)
            analyses.append(found)
    if page is not None:
        write_page(page, game_page(game_record, analyses=analyses))
        say(f"the analysed game is in {page}")


@app.command(rich_help_panel="Hex", epilog="Example: sparring sgf games/hex > games.sgf")
def sgf(
    store: Annotated[Path, typer.Argument(help="A folder that sparring selfplay hex has saved.")],
) -> None:
    """Print the Hex matches of an episode store as SGF, one per line."""
    from sparring.games.hex.records import records
    from sparring.games.hex.text import write_sgf
    from sparring.rollout.store import read_episodes

    for episodes in read_episodes(store, game="hex"):
        for record in records(episodes):
            print(write_sgf(record), end="")
