"""A match of Hex as one HTML page that needs no network: the board move by move, and what an analysis says of it.

The page holds the match as data; `pages/game.js` draws it. The record itself is in it as SGF, for other
programs.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from sparring.core.pages import match_page
from sparring.core.text import printable
from sparring.games.hex.text import COLOURS, Record, cell_name, parse_move, winning_chain, write_sgf

_MOST_CANDIDATES = 8
_LONGEST_LINE = 12
_LONGEST_NAME = 100


def game_page(record: Record, *, opening: int = 0, analyses: Sequence[Mapping[str, Any]] = ()) -> str:
    """The page of a match whose first `opening` moves were laid at random.

    With `analyses`, as `analysis.analyse_record` gives them, it also shows the value of every position that was
    analysed, and the moves that the search looked at there.
    """
    size = record.size
    stones = record.stones()
    chains = [winning_chain(size, stones, seat) for seat in (0, 1)]
    winner = next((seat for seat in (0, 1) if chains[seat]), record.winner)
    names = [
        printable(name, _LONGEST_NAME) or colour
        for name, colour in zip((record.black, record.white), COLOURS, strict=True)
    ]
    looks = {int(one["ply"]): _look(size, one) for one in analyses}
    data = {
        "size": size,
        "names": names,
        "moves": list(record.moves),
        "seats": [*record.seats, record.seat],
        "setup": [[cell, seat] for seat, cell in record.setup],
        "labels": [cell_name(size, move) for move in record.moves],
        "opening": opening,
        "winner": winner,
        "chain": [] if winner is None else chains[winner],
        "looks": [looks.get(ply) for ply in range(len(record.moves) + 1)] if looks else [],
        "sgf": "data:application/x-go-sgf;charset=utf-8," + quote(write_sgf(record), errors="replace"),
    }
    return match_page(files("sparring.games.hex") / "pages", "game", title=f"Hex: {names[0]} - {names[1]}", data=data)


def _look(size: int, analysis: Mapping[str, Any]) -> dict[str, Any]:
    """An analysis for the page: chances to win instead of values, black's at the position and the mover's of moves."""
    chance = _chance(analysis["value"])
    looked_at = sorted((one for one in analysis["candidates"] if "line" in one), key=lambda one: -one["policy"])
    return {
        "black": chance if analysis["to_move"] == COLOURS[0] else round(1 - chance, 4),
        "moves": [
            {
                "cell": parse_move(size, one["move"]),
                "share": one["policy"],
                "chance": _chance(one["value"]),
                "line": [parse_move(size, move) for move in one["line"][:_LONGEST_LINE]],
            }
            for one in looked_at[:_MOST_CANDIDATES]
        ],
    }


def _chance(value: float) -> float:
    """The chance to win that a value of -1 to 1 stands for, in a game without draws."""
    return round((1 + value) / 2, 4)
