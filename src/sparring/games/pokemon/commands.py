"""The commands Pokémon adds: play on live Showdown servers, and start one."""

import json
import os
from pathlib import Path
from time import sleep
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from sparring.cli.app import app, console, say
from sparring.core import InputError, load_game

_PASSWORD = "SPARRING_PASSWORD"


@app.command(
    epilog="Example: sparring ladder --server ws://localhost:8000 --format gen1ou --username MyBot "
    "--model runs/pokemon-gen1 --total 100 --concurrent 8"
)
def ladder(
    server: Annotated[
        list[str], typer.Option(help="ws://host:port, or the whole WebSocket address. Repeat to spread over several.")
    ],
    username: Annotated[str, typer.Option(help="The name to play under.")],
    model: Annotated[str, typer.Option(help="A checkpoint or run folder, package.module:factory, a built-in player.")],
    format: Annotated[str | None, typer.Option(help="Showdown format.  [default: the checkpoint's]")] = None,
    total: Annotated[int, typer.Option(min=1, help="Battles to play.")] = 100,
    concurrent: Annotated[int, typer.Option(min=1, max=1024, help="Battles at the same time, all servers.")] = 8,
    challenge: Annotated[str | None, typer.Option(metavar="USER", help="Challenge this user instead.")] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Wait for challenges and accept them instead.")] = False,
    accept_from: Annotated[str | None, typer.Option(metavar="USER", help="Accept those of this user only.")] = None,
    password: Annotated[
        bool, typer.Option("--password", help=f"Log in with the password in ${_PASSWORD}, or ask for it.")
    ] = False,
    login: Annotated[
        str, typer.Option(help="Where the password is checked.")
    ] = "https://play.pokemonshowdown.com/action.php",
    team_set: Annotated[str, typer.Option(help="Folder of exports or file of packed teams.  [default: built-in]")] = "",
    open_team_sheets: Annotated[bool, typer.Option(help="Agree to open team sheets when asked.")] = False,
    timer: Annotated[bool, typer.Option(help="Turn on the clock of every battle.")] = True,
    temperature: Annotated[float, typer.Option(min=0, help="0 plays a network's likeliest action.")] = 0.0,
    save: Annotated[Path | None, typer.Option(help="Folder for replays, logs and summary.json.")] = None,
    patience: Annotated[float, typer.Option(min=1, help="Give up after so many seconds without a battle.")] = 600.0,
    seed: Annotated[int, typer.Option(help="Of teams and of the player's draws.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
) -> None:
    """Play battles on live Showdown servers: the ladder, challenges, or whoever challenges you.

    All battles that wait are answered in one batch. Ctrl-C forfeits what is running and leaves.
    """
    from sparring.games.pokemon.formats import find_format
    from sparring.games.pokemon.live import Account, LiveArena, Wish, play_ladder
    from sparring.games.pokemon.live.ladder import LadderReport, save_summary
    from sparring.games.pokemon.settings import PokemonSettings
    from sparring.inference import Device
    from sparring.league import Entrant, wilson_interval
    from sparring.learn.interrupts import Interrupts
    from sparring.report.progress import ProgressLine

    if challenge and (accept or accept_from):
        raise InputError("--challenge and --accept: one of them")
    how: Literal["ladder", "challenge", "accept"] = (
        "challenge" if challenge else "accept" if accept or accept_from else "ladder"
    )
    entrant = Entrant.parse(model)
    trained = entrant.checkpoint.spec if entrant.checkpoint is not None else None
    if trained is not None and trained.game != "pokemon":
        raise InputError(f"--model {model}: a checkpoint of {trained.game}, not of pokemon")
    chosen = format or (str(trained.settings["format"]) if trained else None)
    if chosen is None:
        raise InputError("--format: say which Showdown format, e.g. gen1randombattle or gen9ou")
    settings = PokemonSettings(
        format=find_format(chosen).id,
        team_set=team_set,
        observation=trained.settings["observation"] if trained else "raw",
        open_team_sheets=open_team_sheets,
    )
    game = load_game("pokemon")
    account = Account(username, password=_password(username) if password else None, login=login)
    concurrent = min(concurrent, total)
    player = entrant.seat(
        game, game.spec(settings), matches=concurrent, device=Device.pick(), temperature=temperature, seed=seed
    )
    wish = Wish(
        format=find_format(settings.format),
        how=how,
        opponent=challenge or accept_from or "",
        timer=timer,
        open_sheets=open_team_sheets,
    )
    with Interrupts() as interrupts, ProgressLine("ladder", total=total) as bar:
        arena = LiveArena(
            settings,
            wish,
            servers=server,
            account=account,
            matches=concurrent,
            seed=seed,
            total=total,
            patience=patience,
            say=bar.say,
        )

        def progress(report: LadderReport) -> None:
            bar.update(
                report.matches,
                f"{report.wins} won, {report.draws} drawn, {report.losses} lost, {arena.running} running, "
                f"{report.invalid_choices} invalid, {report.time_outs} timed out",
            )

        report, lost = LadderReport(), None
        try:
            play_ladder(
                arena,
                player,
                total=total,
                save=save,
                stop=lambda: interrupts.asked,
                progress=progress,
                report=report,
            )
        except Exception as error:  # what was played still counts
            lost = error
        finally:
            arena.close()
    about = {"username": username, "model": model, "format": settings.format, "servers": server, "how": how}
    interval = list(wilson_interval(report.win_rate, report.matches))
    summary = {**about, **report.to_json(arena), "interval": interval}
    if save is not None:
        say(f"wrote {save_summary(save, summary)}")
    if as_json:
        print(json.dumps(summary))
    else:
        console.print(_table(summary))
    if lost is not None:
        raise lost


@app.command(epilog="Example: sparring showdown --port 8000")
def showdown(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = 8000,
    throttle: Annotated[bool, typer.Option(help="Keep the limits of a public server.")] = False,
) -> None:
    """Start a Showdown server on this machine: for trying players out against each other, or by hand in a browser."""
    from sparring.games.pokemon.live import LocalServer
    from sparring.learn.interrupts import Interrupts

    with Interrupts() as interrupts, LocalServer(port=port, config={"nothrottle": not throttle}) as server:
        print(f"Ready on {server.address}; any name may log in; Ctrl-C ends it", flush=True)
        while not interrupts.asked and server.process.poll() is None:
            sleep(0.2)


def _password(username: str) -> str:
    given = os.environ.get(_PASSWORD)
    return given if given else str(typer.prompt(f"Password of {username}", hide_input=True, err=True))


def _table(summary: dict[str, Any]) -> Table:
    low, high = summary["interval"]
    title = f"{summary['username']} ({summary['model']}) at {summary['format']}: {summary['matches']} battles"
    table = Table("opponent", "wins", "draws", "losses", title=title, title_justify="left")
    for name, counts in summary["opponents"].items():
        table.add_row(name, *map(str, counts.values()))
    table.add_section()
    table.add_row("all", *(str(summary[key]) for key in ("wins", "draws", "losses")))
    faults = (
        "invalid_choices",
        "unavailable_choices",
        "late_choices",
        "time_outs",
        "forfeited",
        "failed",
        "reconnects",
    )
    known = [str(rating) for rating in summary["ratings"].values() if rating is not None]
    rating = f", rating {' and '.join(known)}" if known else ""
    answer = summary["answer_ms"]
    lines = (
        f"win rate {summary['win_rate']:.1%}, 95% interval {low:.1%} - {high:.1%}{rating}",
        ", ".join(f"{key.replace('_', ' ')} {summary[key]}" for key in faults),
        f"answers p50 {answer['p50']:.0f} ms, p99 {answer['p99']:.0f} ms, mean batch {summary['mean_batch']:.1f}, "
        f"{summary['matches_per_hour']:,.0f} battles/hour",
    )
    table.caption = "\n".join(lines)
    table.caption_justify = "left"
    return table
