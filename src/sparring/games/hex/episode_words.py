"""Matches on disk in words: the board that a seat saw, with the last stone marked, and its moves by name."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Episodes, GameSpec, InputError
from sparring.core.settings import convert
from sparring.games.hex.settings import HexSettings
from sparring.games.hex.text import SIGNS, cell_name, draw_board, mirrored

_SIDES = ("top and bottom", "left and right")
_MOST_NAMES = 8
"""More cells than this are counted instead of named."""


class HexWords:
    """The words for matches on boards of one size; see `sparring.core.words`."""

    def __init__(self, spec: GameSpec) -> None:
        settings = convert(spec.settings, HexSettings, where="hex settings")
        self._size, self._swap = settings.size, settings.swap
        if spec.observation["planes"].shape != (2, self._size, self._size):
            raise InputError(f"hex: rows of another shape than a board of {self._size}x{self._size}")

    def position(
        self, row: Mapping[str, Array], *, seat: int = 0, before: Mapping[str, Array] | None = None
    ) -> list[str]:
        """Whose turn it is, and the board as it lies for both seats, the rival's last stone in brackets."""
        mine, others = row["planes"]
        black, white = (mine, others) if seat == 0 else (others.T, mine.T)
        stones = (black + 2 * white).astype(int).ravel().tolist()
        last = _last_stone(row, before)
        if last is not None and seat == 1:
            last = mirrored(self._size, last)
        turn = f"{SIGNS[1 + seat]} to move, connects {_SIDES[seat]}"
        return [turn, *draw_board(self._size, stones, last=last).split("\n")]

    def actions(
        self, row: Mapping[str, Array], legal: NDArray[np.bool_], among: NDArray[np.bool_], *, seat: int = 0
    ) -> list[str]:
        """Cells as the board names them, and `swap`; many cells are only counted."""
        numbers = np.flatnonzero(among).tolist()
        cells = [number for number in numbers if number != self._size**2]
        if len(cells) <= _MOST_NAMES:
            return [self._name(number, seat) for number in numbers]
        free = "every free cell" if len(cells) == int(legal[: self._size**2].sum()) else f"{len(cells)} cells"
        return [free, *(["swap"] if len(numbers) > len(cells) else [])]

    def kinds(self, episodes: Episodes) -> Counter[str]:
        """Stones laid, and swaps."""
        action = episodes.steps.action
        swaps = int((action == self._size**2).sum())
        counts = Counter({"stone": int((action >= 0).sum()) - swaps, "swap": swaps})
        return Counter({kind: count for kind, count in counts.items() if count})

    @property
    def choices(self) -> Sequence[str]:
        """With the swap rule a choice is a stone or a swap; without it there is only one kind."""
        return ("stone", "swap") if self._swap else ()

    def choice_kinds(self, observation: Mapping[str, Array], chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """`intp[r]` 1 for a swap, 0 for a stone, -1 where it may have been either."""
        stone = chosen[:, : self._size**2].any(axis=1)
        swap = chosen[:, self._size**2 :].any(axis=1)
        return np.where(stone & swap, -1, np.where(swap, 1, 0)).astype(np.intp)

    def named(self, episodes: Episodes) -> Mapping[str, Counter[str]]:
        """In how many episodes each cell was the seat's first move, and any of its moves."""
        first, moves = Counter[str](), Counter[str]()
        headers, starts = episodes.headers, episodes.starts
        ends = (starts + headers.lengths).tolist()
        for seat, start, end in zip(headers.seat.tolist(), starts.tolist(), ends, strict=True):
            names = [self._name(action, seat) for action in episodes.steps.action[start:end].tolist() if action >= 0]
            first.update(names[:1])
            moves.update(set(names))
        return {"first move": first, "move": moves}

    def _name(self, action: int, seat: int) -> str:
        return cell_name(self._size, action if seat == 0 else mirrored(self._size, action))


def _last_stone(row: Mapping[str, Array], before: Mapping[str, Array] | None) -> int | None:
    """The cell of the rival's last stone, in the mover's frame; None if that cannot be told."""
    mine, others = row["planes"]
    if before is None and mine.any():  # opening stones, or a piece of a longer episode
        return None
    laid = np.flatnonzero(others if before is None else others.astype(bool) & ~before["planes"][1].astype(bool))
    return int(laid[0]) if len(laid) == 1 else None
