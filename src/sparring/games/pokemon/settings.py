"""The options of Pokémon: the format and how it is simulated and seen, and the size of the network that plays it."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sparring.core import InputError
from sparring.core.settings import GameSettings

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


class PokemonSettings(GameSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is played and what a seat sees of it."""

    format: str = "gen1randombattle"
    """Any Showdown format of two seats, by id or name."""
    team_set: str = ""
    """A file of teams (pasted text or packed lines), a folder of such files, or `built-in`; empty: the format's own."""
    observation: Literal["raw", "full"] = "raw"
    """`raw`: the state only; `full`: expected damage, knock-out chances and speed order besides."""
    belief: bool = False
    """Adds what both teams probably have: moves, items, abilities, tera types and stats, with how likely each is."""
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
        super().__post_init__()
        check_version(self.showdown)


def check_version(version: str) -> None:
    """Raises `InputError` unless `version` is one exact version: it names a package to install, and a folder."""
    if not _VERSION.fullmatch(version):
        raise InputError(f"showdown = {version!r}: allowed: one version of pokemon-showdown, such as {PINNED}")


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


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """What the size of a transformer over a battle's decisions stands for."""

    encoder: Size
    """Of one decision."""
    memory: Size
    """Over the decisions."""


TRANSFORMERS: Mapping[str, Depth] = {
    "tiny": Depth(encoder=Size(width=96, layers=2, heads=4), memory=Size(width=192, layers=4, heads=6)),
    "small": Depth(encoder=Size(width=192, layers=3, heads=6), memory=Size(width=384, layers=10, heads=6)),
    "medium": Depth(encoder=Size(width=256, layers=4, heads=8), memory=Size(width=640, layers=14, heads=10)),
    "large": Depth(encoder=Size(width=256, layers=4, heads=8), memory=Size(width=1024, layers=24, heads=16)),
}
"""About 2, 15, 50 and 207 million weights; `tiny` is made for CPUs, the others for GPUs."""


class PokemonNetwork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The network: one encoder for every Pokémon, attention over all of them, logits from moves and switches."""

    kind: Literal["entity", "transformer"] = "entity"
    """`entity` sees one decision of one format, with a small memory if wanted; `transformer` sees the whole battle, and
    one set of weights plays all formats."""
    size: Literal["tiny", "small", "base", "medium", "large"] = "tiny"
    """Sets the numbers below where they are not given themselves; `base` is an entity's, `medium` a transformer's."""
    width: Annotated[int, Meta(ge=16, le=1024)] | None = None
    """Length of the vector that stands for a Pokémon, and of the features that memory carries."""
    layers: Annotated[int, Meta(ge=0, le=12)] | None = None
    """Attention layers; 0 only pools, faster and weaker."""
    heads: Annotated[int, Meta(ge=1, le=16)] | None = None
    """Attention heads; they must divide the width."""
    memory: Literal["none", "lstm", "transformer"] = "none"
    """What an entity carries from one of a seat's decisions to the next; a transformer has a memory of its own."""
    memory_width: Annotated[int, Meta(ge=16, le=4096)] | None = None
    """Length of the vector that stands for a decision in a transformer."""
    memory_layers: Annotated[int, Meta(ge=1, le=96)] | None = None
    """A transformer's layers over decisions."""
    memory_heads: Annotated[int, Meta(ge=1, le=64)] | None = None
    """Their heads; the width must be an even number of times as many."""
    window: Annotated[int, Meta(ge=1, le=1024)] | None = None
    """Past decisions that a layer over decisions attends to; null: 16, and 64 in a transformer."""

    def __post_init__(self) -> None:
        """Refuses heads that do not divide the width, and sizes and memories of the other kind."""
        sizes = SIZES if self.kind == "entity" else TRANSFORMERS
        if self.size not in sizes:
            raise ValueError(f"`size` of kind {self.kind} must be one of {', '.join(sizes)}, got {self.size}")
        shape = self.shape
        if shape.width % shape.heads:
            raise ValueError(f"`heads` must divide `width` = {shape.width}, got {shape.heads}")
        if self.kind == "entity":
            given = [name for name in ("memory_width", "memory_layers", "memory_heads") if getattr(self, name)]
            if given:
                raise ValueError(f"`{given[0]}` is a transformer's: kind must be transformer")
            return
        if self.memory != "none":
            raise ValueError(f"`memory` of kind transformer is its own, got {self.memory}: leave it out")
        over = self.over_decisions
        if over.width % (2 * over.heads):
            raise ValueError(f"`memory_width` must be an even multiple of `memory_heads`, got {over.width}")

    @property
    def shape(self) -> Size:
        """Width, layers and heads within a decision, be they given or the size's."""
        size = SIZES[self.size] if self.kind == "entity" else TRANSFORMERS[self.size].encoder
        return _shape(size, self.width, self.layers, self.heads)

    @property
    def over_decisions(self) -> Size:
        """Width, layers and heads of a transformer over decisions."""
        return _shape(TRANSFORMERS[self.size].memory, self.memory_width, self.memory_layers, self.memory_heads)

    @property
    def reach(self) -> int:
        """The window, be it given or the kind's."""
        return self.window or (16 if self.kind == "entity" else 64)


def _shape(size: Size, width: int | None, layers: int | None, heads: int | None) -> Size:
    """`size` with the numbers that are given."""
    return Size(
        width=size.width if width is None else width,
        layers=size.layers if layers is None else layers,
        heads=size.heads if heads is None else heads,
    )
