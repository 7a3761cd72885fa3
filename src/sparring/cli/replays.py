"""`sparring replays`: battles that people played, read into episodes to learn from."""

from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import typer

from sparring.cli.app import app, say, show_result
from sparring.cli.help import App
from sparring.cli.options import PLAYER, AsJson, DeviceOption, Parallel, Seed, Threads

replays = App(help="Battles that people played, to learn from.")
app.add_typer(replays, name="replays", rich_help_panel="Pokémon")


Since = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Keep battles from this day on.")]
MinElo = Annotated[float, typer.Option(min=0, help="Keep battles in which both players were rated at least this.")]


@replays.command(epilog="Example: sparring replays download showdown --format gen9ou --output battles --max-games 1000")
def download(
    source: Annotated[
        str,
        typer.Argument(help="showdown, a data set of Hugging Face (owner/name), or a folder with a copy of one."),
    ],
    output: Annotated[Path, typer.Option(help="Folder for the replays; continued if it exists.")],
    format: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMAT", help="Keep only this format; may be repeated. Showdown needs one."),
    ] = None,
    min_elo: MinElo = 0.0,
    since: Since = None,
    max_games: Annotated[int | None, typer.Option(min=1, help="Stop when the folder has this many.")] = None,
    compress: Annotated[
        bool, typer.Option("--compress", help="Write .jsonl.zst, about a seventh of the size.")
    ] = False,
    workers: Annotated[
        int, typer.Option(min=1, max=32, help="Requests under way at the same time; files, of a data set.")
    ] = 1,
    delay: Annotated[
        float, typer.Option(min=0, help="Seconds between two requests to Showdown, of all workers.")
    ] = 1.0,
    url: Annotated[str, typer.Option(help="Where Showdown keeps its replays.")] = "https://replay.pokemonshowdown.com",
    as_json: AsJson = False,
) -> None:
    """Fetch battles that people played, as files that `sparring replays parse` reads.

    Killed or stopped, the same command goes on, and no battle is fetched twice. Data sets of Hugging Face are read as
    they come, without a copy on this machine.
    """
    from sparring.core import Interrupts
    from sparring.core.replays import Filters
    from sparring.games.pokemon.formats import to_id
    from sparring.games.pokemon.replays.download import Source
    from sparring.games.pokemon.replays.download import download as fetch
    from sparring.report.replays import DownloadLine, download_table

    formats = tuple(dict.fromkeys(filter(None, map(to_id, format or ()))))
    place: Source
    if source == "showdown":
        from sparring.games.pokemon.replays.site import ReplaySite

        place = ReplaySite(formats, url=url, delay=delay, workers=workers)
    else:
        from sparring.games.pokemon.replays.sets import DataSet

        place = DataSet(source, workers=workers)
    filters = Filters(formats=formats, min_rating=min_elo, since=_seconds(since))
    with Interrupts(lambda: say("stopping; again to stop now")) as interrupts, DownloadLine() as line:
        report = fetch(
            place,
            output,
            filters=filters,
            most=max_games,
            packed=compress,
            on_progress=line.show,
            stopped=lambda: interrupts.asked,
        )
    show_result(report.to_json(), lambda _: download_table(report), as_json=as_json)
    if not as_json:
        say(f"replays in {output}; next: sparring replays parse {output} --output EPISODES")


@replays.command(epilog="Example: sparring replays parse battles/ --output data/gen8ou --workers 2")
def parse(
    inputs: Annotated[
        list[Path], typer.Argument(help="Files or folders of .log, .html, .json, .jsonl, .parquet; also .zst, .gz.")
    ],
    output: Annotated[Path, typer.Option(help="Folder for the episodes; continued if it exists.")],
    workers: Annotated[int | None, typer.Option(min=0, help="Processes that read; 0: this one.  [default: 1]")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Read on a Ray cluster: ray://HOST:PORT, HOST:PORT, or auto for this machine's.")
    ] = None,
    format: Annotated[str, typer.Option(help="Read all as this format.  [default: what each says]")] = "",
    only: Annotated[
        list[str] | None, typer.Option(metavar="FORMAT", help="Keep only this format; may be repeated.")
    ] = None,
    min_elo: MinElo = 0.0,
    since: Since = None,
    own_team: Annotated[
        Literal["seen", "usage", "infer"],
        typer.Option(help="What a battle never shows of the own team: left open, as often used, or inferred."),
    ] = "seen",
    corpus: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Battles to count from how often sets are used.  [default: the inputs]"),
    ] = None,
    belief: Annotated[
        bool, typer.Option("--belief", help="Also what both teams probably have, as the game's setting belief adds it.")
    ] = False,
    min_turns: Annotated[int, typer.Option(min=0, help="Keep battles of at least this many turns.")] = 0,
    forfeits: Annotated[bool, typer.Option(help="Keep battles that a player gave up.")] = True,
    custom_rules: Annotated[
        bool, typer.Option("--custom-rules", help="Keep battles with other rules than their format's.")
    ] = False,
    max_games: Annotated[int | None, typer.Option(min=1, help="Stop after this many.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read spectators' logs into episodes: what each player saw, may have done, and did.

    One store per format below the output folder; rejected.jsonl there says why a battle was not read. Killed or
    stopped, the same command goes on, and no battle is read twice.
    """
    from sparring.core import InputError, Interrupts
    from sparring.core.replays import Filters
    from sparring.data.importing import ImportPlan, import_replays
    from sparring.games.pokemon.formats import find_format
    from sparring.games.pokemon.replays.episodes import reading_options
    from sparring.report.replays import ImportLine, import_table

    filters = Filters(
        formats=tuple(find_format(name).id for name in only or ()),
        min_rating=min_elo,
        since=_seconds(since),
        min_turns=min_turns,
        forfeits=forfeits,
        custom_rules=custom_rules,
    )
    plan = ImportPlan(
        game="pokemon",
        inputs=inputs,
        output=output,
        workers=(0 if cluster else 1) if workers is None else workers,
        cluster=cluster,
        most=max_games,
        filters=filters,
        options=reading_options(find_format(format).id if format else "", own_team, corpus or inputs, belief=belief),
    )
    stopping = "stopping after the battles that are being read; again to stop now"
    with Interrupts(lambda: say(stopping)) as interrupts, ImportLine() as line:
        report = import_replays(plan, on_progress=line.show, stopped=lambda: interrupts.asked, say=say)
    show_result(report.to_json(), lambda _: import_table(report), as_json=as_json)
    rejected = output / "rejected.jsonl"
    if not interrupts.asked and not any(output.glob("*/*.arrow")):
        raise InputError(f"{', '.join(map(str, inputs))}: no battle there could be read; {rejected} says why")
    if not as_json:
        say(f"episodes in {output}" + (f"; why battles were not read: {rejected}" if rejected.exists() else ""))


@replays.command(epilog="Example: sparring replays generate gen9ou battles.jsonl --model heuristic --matches 100")
def generate(
    format: Annotated[str, typer.Argument(help="Showdown format.")],
    output: Annotated[Path, typer.Argument(help="File to write, one battle per line.")],
    model: Annotated[str, typer.Option(help=PLAYER)] = "random",
    opponent: Annotated[str | None, typer.Option(help="Likewise.  [default: the model itself]")] = None,
    matches: Annotated[int, typer.Option(min=1, help="Battles to play.")] = 100,
    parallel: Parallel = 16,
    device: DeviceOption = "auto",
    threads: Threads = 0,
    seed: Seed = 0,
) -> None:
    """Play battles and write what spectators saw of them, with the truth beside it: to try `replays parse` on.

    The truth is what each player was told and asked, and chose.
    """
    from sparring.league import Seating, Style
    from sparring.league.recording import record_matches
    from sparring.report.progress import ProgressLine

    players = [model, opponent or model]
    seating = Seating.of(*players, game="pokemon", settings={"format": format})
    style = Style(device=device, threads=threads)
    with ProgressLine("playing", total=matches) as line:
        written = record_matches(
            seating,
            output,
            matches=matches,
            parallel=parallel,
            seed=seed,
            style=style,
            pulse=lambda ended: line.update(ended, f"{ended:,} battles  {line.per_second:.1f} a second"),
            say=say,
        )
    say(f"{output}: {written:,} battles of {format}")


@replays.command(epilog="Example: sparring replays teams battle.log --turn 5")
def teams(
    log: Annotated[Path, typer.Argument(help="File of battles: .log, .html, .json, .jsonl, .parquet; also .zst, .gz.")],
    battle: Annotated[
        int | None, typer.Option(min=0, help="Which battle of the file, counted from 0.  [default: its only one]")
    ] = None,
    turn: Annotated[
        int | None, typer.Option(min=1, help="As it was at the start of this turn.  [default: the end]")
    ] = None,
    format: Annotated[str, typer.Option(help="Read it as this format.  [default: what it says]")] = "",
    corpus: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Battles to count from how often sets are used; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What both teams of a battle probably are: items, abilities and moves, shown and not shown, with probabilities.

    Candidates are Smogon's sets, or those that random teams are made of; damage, the order of moves, and what should
    have shown and did not narrow them down.
    """
    from rich.console import Group

    from sparring.core import InputError
    from sparring.core.replays import Rejected, Replay
    from sparring.games.pokemon.belief.summary import believed_teams
    from sparring.games.pokemon.formats import find_format
    from sparring.games.pokemon.replays.sources import ReplayFiles
    from sparring.report.beliefs import belief_tables

    found = list(islice(ReplayFiles([log]), battle or 0, (battle or 0) + 2))
    if not found:
        raise InputError(f"{log}: it has no battle {battle or 0}")
    if battle is None and len(found) > 1:
        raise InputError(f"{log}: it has several battles; --battle 0 is the first")
    if not isinstance(found[0], Replay):
        raise InputError(f"{log}: {found[0]}")
    battles = ReplayFiles(corpus) if corpus else ()
    try:
        believed = believed_teams(found[0], format=find_format(format).id if format else "", corpus=battles, turn=turn)
    except Rejected as rejected:
        raise InputError(f"{log}: {rejected}") from rejected
    show_result(believed, lambda found: Group(*belief_tables(found)), as_json=as_json)


def _seconds(day: datetime | None) -> int:
    """Since 1970; 0 if there is no day."""
    return int(day.replace(tzinfo=UTC).timestamp()) if day else 0
