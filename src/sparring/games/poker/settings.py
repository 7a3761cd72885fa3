"""Options of the small games, and of the network that plays them."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sparring.core.settings import GameSettings


class PokerSettings(GameSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Kuhn and Leduc have no options."""


class RpsSettings(GameSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a win pays."""

    wins: tuple[
        Annotated[float, Meta(gt=0, le=100)],
        Annotated[float, Meta(gt=0, le=100)],
        Annotated[float, Meta(gt=0, le=100)],
    ] = (1.0, 2.0, 3.0)
    """Won by rock over scissors, by paper over rock, by scissors over paper."""


class PokerNetwork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A perceptron over the information state."""

    width: Annotated[int, Meta(ge=4, le=1024)] = 64
    layers: Annotated[int, Meta(ge=1, le=8)] = 2
    """Hidden layers before the heads."""
    memory: Literal["none", "lstm", "transformer"] = "none"
    """What is carried from one decision to the next. Rows show everything a seat knows: "none" is enough."""
    value: Literal["scalar", "categorical"] = "scalar"
    """Whether the value is one number, or a distribution over 51 bins from the largest loss to the largest win."""
