"""What a log shows of a battle's choices, as records: decisions, what was done at them, who stood where."""

from dataclasses import dataclass, field
from enum import IntEnum


class Kind(IntEnum):
    """What a decision asks."""

    PREVIEW = 0
    TURN = 1
    REPLACE = 2


class Did(IntEnum):
    """What a player is known to have chosen for a place."""

    UNKNOWN = 0
    """Nothing shows: a move or a switch."""
    MOVE = 1
    """A move; `Deed.move` says which, if that shows."""
    SWITCH = 2
    """A switch; `Deed.member` says to whom, if that shows."""
    PASS = 3


@dataclass(slots=True, eq=False)
class Member:
    """A Pokémon of a team."""

    slot: int
    """Its team slot: in the order of the preview; where there is none the leads come first, then the others by id."""
    details: str
    name: str = ""
    brought: bool = False
    """It has been on the field."""
    given: set[str] = field(default_factory=set)
    """Items that came to it in the battle."""
    revived: bool = False
    """It was revived, and has not come in since."""


@dataclass(slots=True, eq=False)
class Deed:
    """What was chosen for one place at one decision, as far as the log shows."""

    did: Did = Did.UNKNOWN
    move: str = ""
    """As the line names it; "" if only that it was a move shows."""
    target: str = ""
    """`p2a`; "" if the line names none."""
    retargeted: bool = False
    """The target shown need not be the one chosen."""
    gimmick: str = ""
    locked: bool = False
    """It went on with an earlier move: there was nothing to choose."""
    by: "Stint | None" = None
    """Whom it was told."""
    stint: "Stint | None" = None
    """Who came in."""
    member: Member | None = None
    """Who was revived."""
    asked: bool = True
    """False for a place that stays empty until the turn's end, while another is filled."""


@dataclass(slots=True, eq=False)
class Stint:
    """One stay of a Pokémon on the field."""

    member: Member
    """Who it truly was, once the whole log has been read."""
    line: int
    """The line with which it came in."""
    shown: Member
    """Who it looked like."""
    deed: Deed | None = None
    """What it was told this turn."""
    out: bool = False
    """It fainted."""
    ejected: bool = False
    """An item or its ability takes it out before it acts."""
    made_to_move: bool = False
    """The next move of it is another's doing (Instruct) or its ability's (Dancer)."""


@dataclass(slots=True, eq=False)
class Decision:
    """A moment at which one side or both had to choose."""

    kind: Kind
    line: int
    """Players had seen the lines before this one."""
    deeds: list[list[Deed | None] | None]
    """By side, None where it was not asked; by place, None where nobody stood."""
    turn: int


@dataclass(slots=True, eq=False)
class Timeline:
    """A whole battle: teams, decisions in order, how it ended."""

    generation: int
    places: int
    teams: tuple[list[Member], list[Member]]
    sizes: list[int]
    """How many each side brought."""
    names: list[str]
    ratings: list[float]
    decisions: list[Decision]
    corrections: tuple[dict[int, list[str] | None], dict[int, list[str] | None]]
    """By side: lines that are wrong about it (own illusions, moves that are not its own), as it knew them; None for
    those that told it nothing."""
    transforms: bool
    """Somebody took the looks and moves of another."""
    winner: int
    """0 or 1, -1 for a tie."""
    forfeited: bool
    turns: int
