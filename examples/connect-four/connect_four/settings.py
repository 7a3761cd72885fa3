"""The options of a match and of the network, with their limits; a wrong value is refused with one clear line."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sparring.core.settings import GameSettings


class Settings(GameSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules: four in a row wins, across, upright or diagonally; a full board is a draw."""

    rows: Annotated[int, Meta(ge=4, le=12)] = 6
    columns: Annotated[int, Meta(ge=4, le=12)] = 7
    opening: Annotated[int, Meta(ge=0, le=4)] = 0
    """Random stones dropped in turns before the seats play, so that training meets many kinds of positions."""


class Network(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The size of the network."""

    channels: Annotated[int, Meta(ge=4, le=512)] = 64
    """What the convolution may look for in each square of 4x4 cells."""
    width: Annotated[int, Meta(ge=8, le=1024)] = 128
    """Features of the whole board, from which policy and value are read."""
