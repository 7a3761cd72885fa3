"""The options of Pokémon: the format and how it is simulated and seen, and the size of the network that plays it."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

PINNED = "0.11.11"
"""The version of `pokemon-showdown` that Sparring is written and tested for: that of `node/package.json`."""

_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){2}(-[0-9A-Za-z]{1,20}(\.[0-9A-Za-z]{1,20}){0,3})?")

Weight = Annotated[float, Meta(ge=0.0, le=10.0)]


class ShapingWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much each component of the shaped reward counts, per Pokémon of the team."""

    damage: Weight = 1.0
    """HP lost by the foe's team, less that lost by the own."""
    faint: Weight = 0.0
    """Fainted Pokémon, besides the HP they lost."""
    status: Weight = 0.0
    """Pokémon that are burned, paralysed, asleep, frozen or poisoned."""
    own: dict[str, Weight] = {}
    """Leads of your own, as `package.module:name` (see `rewards`), with the weight of each; not divided by the team."""


class PokemonSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is played and what a seat sees of it."""

    format: str = "gen1randombattle"
    """Any Showdown format of two seats, by id or name."""
    team_set: str = ""
    """A file of teams (pasted text or packed lines), a folder of such files, or `built-in`; empty: the format's own."""
    observation: Literal["raw", "full"] = "raw"
    """`raw`: the state only; `full`: expected damage, knock-out chances and speed order besides."""
    open_team_sheets: bool = False
    """Both seats see both teams' sets in team preview, in formats that allow it."""
    shaping: Annotated[float, Meta(ge=0.0, le=10.0)] = 0.0
    """Weight of a potential (a seat's lead, in teams) paid as reward while a match goes on; 0: win or loss only.

    What was paid is taken back at the end, so that a match's rewards still sum to its outcome.
    """
    shaping_weights: ShapingWeights = ShapingWeights()
    """What the lead is made of."""
    simulators: Annotated[int, Meta(ge=1, le=256)] = 1
    """Node processes the matches are spread over."""
    replays: str = ""
    """A folder for replays (two HTML pages and a .log each) of finished matches; empty: none are kept."""
    replay_every: Annotated[int, Meta(ge=1)] = 1
    """Keep the replay of every n-th match only."""
    showdown: str = PINNED
    """The version of `pokemon-showdown` that is played; others than the default need `sparring setup` first."""

    def __post_init__(self) -> None:
        """Refuses what is no exact version."""
        check_version(self.showdown)


def check_version(version: str) -> None:
    """Raises `ValueError` unless `version` is one exact version: it names a package to install, and a folder."""
    if not _VERSION.fullmatch(version):
        raise ValueError(f"`showdown` must be one version of pokemon-showdown such as {PINNED}, got {version!r}")


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """What a network's size stands for."""

    width: int
    layers: int
    heads: int


SIZES: Mapping[str, Size] = {
    "tiny": Size(width=64, layers=1, heads=4),
    "small": Size(width=128, layers=2, heads=4),
    "base": Size(width=256, layers=4, heads=8),
    "large": Size(width=512, layers=8, heads=16),
}
"""About 0.24, 0.78, 3.8 and 23 million weights in generation 1; `tiny` is made for CPUs, the others for GPUs."""


class PokemonNetwork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The network: one encoder for every Pokémon, attention over all of them, logits from moves and switches."""

    size: Literal["tiny", "small", "base", "large"] = "tiny"
    """Sets the three numbers below where they are not given themselves."""
    width: Annotated[int, Meta(ge=16, le=1024)] | None = None
    """Length of the vector that stands for a Pokémon, and of the features that memory carries."""
    layers: Annotated[int, Meta(ge=0, le=12)] | None = None
    """Attention layers; 0 only pools, faster and weaker."""
    heads: Annotated[int, Meta(ge=1, le=16)] | None = None
    """Attention heads; they must divide the width."""
    memory: Literal["none", "lstm", "transformer"] = "none"
    """What is carried from one of a seat's decisions to the next."""
    window: Annotated[int, Meta(ge=1, le=256)] = 16
    """Past decisions that a transformer memory attends to."""

    def __post_init__(self) -> None:
        """Refuses heads that do not divide the width."""
        shape = self.shape
        if shape.width % shape.heads:
            raise ValueError(f"`heads` must divide `width` = {shape.width}, got {shape.heads}")

    @property
    def shape(self) -> Size:
        """Width, layers and heads, be they given or the size's."""
        size = SIZES[self.size]
        return Size(
            width=size.width if self.width is None else self.width,
            layers=size.layers if self.layers is None else self.layers,
            heads=size.heads if self.heads is None else self.heads,
        )
