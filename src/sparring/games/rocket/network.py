"""The size options of the network; `net` builds it, and only that module needs torch."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class RocketNetwork(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An MLP over everything a seat sees, or attention over the cars first; with an LSTM or without."""

    kind: Literal["mlp", "attention"] = "mlp"
    """`attention` treats team mates and opponents as sets: slower, better with more than one car a team."""
    width: Annotated[int, Meta(ge=16, le=4096)] = 256
    layers: Annotated[int, Meta(ge=1, le=12)] = 3
    memory: Literal["none", "lstm"] = "none"
    separate: bool = True
    """Actor and critic have layers of their own (what bots of this game do); without, they share all but the last."""
