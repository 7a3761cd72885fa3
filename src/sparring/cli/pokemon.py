"""The commands Pokémon adds: play on live Showdown servers, and start one."""

import os
from pathlib import Path
from typing import Annotated

import typer

from sparring.cli.app import app, say, show_result
from sparring.cli.options import PLAYER, AsJson, DeviceOption, Key, Parallel, Seed, Temperature, Threads

_PASSWORD = "SPARRING_PASSWORD"


@app.command(
    rich_help_panel="Pokémon",
    epilog="Example: sparring ladder --server ws://localhost:8000 --format gen1ou --username MyBot "
    "--model runs/pokemon-gen1 --matches 100 --parallel 8",
)
def ladder(
    server: Annotated[
        list[str],
        typer.Option(
            metavar="ADDRESS", help="ws://host:port, or the whole WebSocket address. Repeat to spread over several."
        ),
    ],
    username: Annotated[str, typer.Option(help="The name to play under.")],
    model: Annotated[str, typer.Option(help=PLAYER)],
    format: Annotated[str | None, typer.Option(help="Showdown format.  [default: the checkpoint's]")] = None,
    matches: Annotated[int, typer.Option(min=1, help="Battles to play.")] = 100,
    parallel: Parallel = 8,
    challenge: Annotated[str | None, typer.Option(metavar="USER", help="Challenge this user instead.")] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Wait for challenges and accept them instead.")] = False,
    accept_from: Annotated[str | None, typer.Option(metavar="USER", help="Accept those of this user only.")] = None,
    password: Annotated[
        bool, typer.Option("--password", help=f"Log in with the password in ${_PASSWORD}, or ask for it.")
    ] = False,
    login: Annotated[
        str, typer.Option(help="Where the password is checked.")
    ] = "https://play.pokemonshowdown.com/action.php",
    team_set: Annotated[str, typer.Option(help="File or folder of teams, pasted or packed.  [default: built-in]")] = "",
    open_team_sheets: Annotated[bool, typer.Option(help="Agree to open team sheets when asked.")] = False,
    timer: Annotated[bool, typer.Option(help="Turn on the clock of every battle.")] = True,
    temperature: Temperature = 0.0,
    device: DeviceOption = "auto",
    threads: Threads = 0,
    key: Key = None,
    save: Annotated[Path | None, typer.Option(help="Folder for replays, logs and summary.json.")] = None,
    patience: Annotated[float, typer.Option(min=1, help="Give up after this many seconds without a battle.")] = 600.0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Play battles on live Showdown servers: the ladder, challenges, or whoever challenges you.

    All battles that wait are answered in one batch. Ctrl-C forfeits what is running and leaves.
    """
    from sparring.core import InputError, Interrupts
    from sparring.games.pokemon.formats import find_format
    from sparring.games.pokemon.live.connection import Account
    from sparring.games.pokemon.live.ladder import LadderPlan, run_ladder, wish_for
    from sparring.league import Entrant, Seating, Style
    from sparring.report.progress import ProgressLine
    from sparring.report.tables import ladder_table

    entrant = Entrant.parse(model, game="pokemon")
    if format is None and entrant.folder is None:
        raise InputError("--format: say which Showdown format, e.g. gen1randombattle or gen9ou")
    chosen = {} if format is None else {"format": find_format(format).id}
    options = {**chosen, "team_set": team_set, "open_team_sheets": open_team_sheets}
    seating = Seating.of(entrant, game="pokemon", settings=options)
    settings = seating.settings
    plan = LadderPlan(
        servers=server,
        account=Account(username, password=_password(username) if password else None, login=login),
        wish=wish_for(settings, challenge=challenge, accept=accept, accept_from=accept_from, timer=timer),
        matches=matches,
        parallel=min(parallel, matches),
        patience=patience,
        save=save,
        seed=seed,
    )
    style = Style(temperature=temperature, device=device, threads=threads, key=key)
    player = seating.player(matches=plan.parallel, seed=seed, style=style, say=say)
    about = {"username": username, "model": model, "format": settings.format, "servers": server, "how": plan.wish.how}
    with Interrupts() as interrupts, ProgressLine("ladder", total=matches) as bar:
        summary, lost = run_ladder(
            settings,
            player,
            plan,
            about=about,
            stop=lambda: interrupts.asked,
            progress=lambda report, running: bar.update(report.matches, report.text(running, plan.wish)),
            say=bar.say,
        )
    if as_json or summary["matches"] or lost is None:
        show_result(summary, ladder_table, as_json=as_json)
    if lost is not None:
        raise lost


@app.command(rich_help_panel="Pokémon", epilog="Example: sparring showdown --port 8000")
def showdown(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = 8000,
    throttle: Annotated[bool, typer.Option(help="Keep the limits of a public server.")] = False,
) -> None:
    """Start a Showdown server on this machine: for trying players out against each other, or by hand in a browser."""
    from time import sleep

    from sparring.core import Interrupts
    from sparring.games.pokemon.live import LocalServer
    from sparring.games.pokemon.live.connection import page_address
    from sparring.report.progress import announced

    with announced("starting the Showdown server", say):
        started = LocalServer(port=port, config={"nothrottle": not throttle})
    with started as server, Interrupts() as interrupts:
        print(f"Ready on {server.address}; any name may log in; Ctrl-C ends it")
        print(f"In a browser: {page_address(server.address)} (Showdown's own page, which needs the internet);")
        print("choose a name there and challenge a bot that waits here: `sparring ladder --accept`", flush=True)
        while not interrupts.asked and server.process.poll() is None:
            sleep(0.2)


def _password(username: str) -> str:
    given = os.environ.get(_PASSWORD)
    return given if given else str(typer.prompt(f"Password of {username}", hide_input=True, err=True))
