"""The options of Hex: the rules a match is played by, and the size of the network that plays it."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sparring.core import InputError
from sparring.core.settings import GameSettings


class HexSettings(GameSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules: seat 0 connects top and bottom, seat 1 left and right, in turns."""

    size: Annotated[int, Meta(ge=3, le=19)] = 7
    """Cells along one edge of the board."""
    swap: bool = False
    """The second move of a match may be a swap: the stone changes colour and is mirrored across the diagonal."""
    opening: Annotated[int, Meta(ge=0, le=36)] = 0
    """Random stones laid in turns before the seats play, at most 2 * size - 2; for varied evaluation."""

    def __post_init__(self) -> None:
        """Refuses an opening that could already decide the match."""
        super().__post_init__()
        if self.opening > 2 * self.size - 2:
            raise InputError(f"opening = {self.opening}: allowed: at most 2 * size - 2 = {2 * self.size - 2}")


class HexNetwork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The network: a residual tower that plays any board size with the same weights."""

    channels: Annotated[int, Meta(ge=8, le=256)] = 32
    """Channels of the tower and width of the features that memory carries."""
    blocks: Annotated[int, Meta(ge=1, le=20)] = 4
    """Residual blocks of two 3x3 convolutions; each sees two cells further."""
    memory: Literal["none", "lstm", "transformer"] = "none"
    """What is carried from one of a seat's decisions to the next. Hex hides nothing: "none" is enough to play it."""
