"""`sparring gtp`, `sparring analyse` and `sparring sgf`: Hex for other programs."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sparring.cli.app import app
from sparring.cli.options import EXTRA, game_settings
from sparring.core import InputError, load_game

if TYPE_CHECKING:
    from sparring.games.hex.settings import HexSettings
    from sparring.league import Entrant
    from sparring.search import SearchPlayer


@app.command(
    context_settings=EXTRA,
    epilog="Example: sparring gtp hex hex-7x7 --simulations 256",
)
def gtp(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help="The game; hex is the one that speaks GTP.")],
    checkpoint: Annotated[str, typer.Argument(help="A checkpoint or run folder, or shipped weights.")],
    simulations: Annotated[int, typer.Option(min=1, help="Look-ahead a move, when the clock allows.")] = 64,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Play over the Go Text Protocol on standard input and output, as HexGUI and tournament managers speak it."""
    from sparring import __version__
    from sparring.games.hex.analysis import Position
    from sparring.games.hex.gtp import GtpSession, Mover, serve

    settings, entrant = _hex_player(game, checkpoint, context)

    def make_mover(board: "HexSettings", looks: int) -> Mover:
        player = _seat(entrant, board, looks, seed)

        def mover(here: Position) -> int:
            return here.move(int(player.act(here.decisions()).action[0]))

        return mover

    session = GtpSession(
        settings, make_mover, simulations=simulations, name=f"Sparring {entrant.name}", version=__version__
    )
    for answer in serve(session, sys.stdin):
        print(answer, end="", flush=True)


@app.command(
    context_settings=EXTRA,
    epilog="Example: sparring analyse hex hex-7x7 game.sgf --simulations 256 > analysis.jsonl",
)
def analyse(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help="The game; hex is the one that can be analysed.")],
    checkpoint: Annotated[str, typer.Argument(help="A checkpoint or run folder, or shipped weights.")],
    record: Annotated[Path, typer.Argument(help="An SGF game record.")],
    simulations: Annotated[int, typer.Option(min=1, help="Look-ahead at each position.")] = 64,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Look at every position of a game record: one JSON object a line with value, policy and visits per move."""
    import numpy as np

    from sparring.games.hex.analysis import describe_search, position
    from sparring.games.hex.settings import HexSettings
    from sparring.games.hex.text import read_sgf

    _, entrant = _hex_player(game, checkpoint, context)
    try:
        read = read_sgf(record.read_text())
    except OSError as error:
        raise InputError(f"cannot read {record}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{record}: not a text file") from error
    except InputError as error:
        raise InputError(f"{record}: {error}") from error
    settings = HexSettings(size=read.size, swap=read.size**2 in read.moves)
    player = _seat(entrant, settings, simulations, seed)
    here = position(settings, ())
    for move in [*read.moves, None]:
        if here.winner is not None:
            break
        found = player.look(here.decisions(), np.random.default_rng(seed))
        analysis = describe_search(
            here,
            action=int(found.action[0]),
            value=float(found.value[0]),
            policy=found.policy[0],
            visits=found.visits[0],
        )
        print(json.dumps(analysis), flush=True)
        if move is not None:
            here = here.after(move)


@app.command(epilog="Example: sparring sgf games/hex > games.sgf")
def sgf(
    store: Annotated[Path, typer.Argument(help="A folder that sparring selfplay hex has saved.")],
) -> None:
    """Print the Hex matches of an episode store as SGF, one a line."""
    from sparring.games.hex.records import records
    from sparring.games.hex.text import write_sgf
    from sparring.rollout.store import read_shard, shards

    if not shards(store):
        raise InputError(f"{store}: no episodes here")
    for path in shards(store):
        episodes = read_shard(path)
        if episodes.spec.game != "hex":
            raise InputError(f"{path}: episodes of {episodes.spec.game}, not of hex")
        for record in records(episodes):
            print(write_sgf(record), end="")


def _hex_player(game: str, checkpoint: str, context: typer.Context) -> "tuple[HexSettings, Entrant]":
    from sparring.league import Entrant

    if game != "hex":
        raise InputError(f"{game}: only hex is supported here")
    entrant = Entrant.parse(checkpoint)
    if entrant.checkpoint is None:
        raise InputError(f"{checkpoint}: not a checkpoint, a run folder or shipped weights")
    settings: HexSettings = game_settings(load_game(game), context.args, dict(entrant.checkpoint.spec.settings))
    return settings, entrant


def _seat(entrant: "Entrant", settings: "HexSettings", simulations: int, seed: int) -> "SearchPlayer":
    from sparring.inference import Device
    from sparring.search import SearchPlayer

    game = load_game("hex")
    player = entrant.seat(
        game,
        game.spec(settings),
        matches=1,
        device=Device.pick(),
        temperature=0.0,
        seed=seed,
        simulations=simulations,
    )
    assert isinstance(player, SearchPlayer)
    return player
