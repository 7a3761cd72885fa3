"""The options of Pokémon: the format and how it is simulated and seen, and the size of the network that plays it."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class PokemonSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is played and what a seat sees of it."""

    format: str = "gen1randombattle"
    """Any Showdown format of two seats, by id or name."""
    team_set: str = ""
    """A folder of Showdown exports, a file of packed teams, or `built-in`; empty: the format's own."""
    observation: Literal["raw", "full"] = "raw"
    """`raw`: the state only; `full`: expected damage, knock-out chances and speed order besides."""
    open_team_sheets: bool = False
    """Both seats see both teams' sets in team preview, in formats that allow it."""
    shaping: Annotated[float, Meta(ge=0.0, le=10.0)] = 0.0
    """Weight of a potential (own minus foe team HP, in teams) paid as reward while a match goes on.

    What was paid is taken back at the end, so that a match's rewards still sum to its outcome.
    """
    simulators: Annotated[int, Meta(ge=1, le=256)] = 1
    """Node processes the matches are spread over."""
    replays: str = ""
    """A folder for a replay (HTML and .log) of finished matches; empty: none are kept."""
    replay_every: Annotated[int, Meta(ge=1)] = 1
    """Keep the replay of every n-th match only."""
    showdown: Literal["0.11.11"] = "0.11.11"
    """The pinned simulator, whose dex numbers observations are made of: kept with weights and episodes, not chosen."""


class PokemonNetwork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The network: one encoder for every Pokémon, attention over all of them, logits from moves and switches."""

    width: Annotated[int, Meta(ge=16, le=1024)] = 96
    """Length of the vector that stands for a Pokémon, and of the features that memory carries."""
    layers: Annotated[int, Meta(ge=0, le=12)] = 1
    """Attention layers; 0 only pools, faster and weaker."""
    heads: Annotated[int, Meta(ge=1, le=16)] = 4
    """Attention heads; they must divide the width."""
    memory: Literal["none", "lstm"] = "none"
    """What is carried from one of a seat's decisions to the next."""

    def __post_init__(self) -> None:
        """Refuses heads that do not divide the width."""
        if self.width % self.heads:
            raise ValueError(f"`heads` must divide `width` = {self.width}, got {self.heads}")
