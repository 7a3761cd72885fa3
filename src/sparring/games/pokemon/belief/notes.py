"""What is kept of each Pokémon, each stay on the field and each move while a log is read for facts."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from sparring.games.pokemon.belief.facts import Fact
from sparring.games.pokemon.belief.sets import PokemonSet


class Known(NamedTuple):
    """What has shown of a Pokémon, in the numbers of the dex."""

    species: int
    """As it first came in; before that, as the preview shows it."""
    seen: bool
    level: int
    item: int
    """0 for none; -1 while it has not shown."""
    ability: int
    """0 while it has not shown."""
    moves: tuple[int, ...]
    tera: int


@dataclass(slots=True)
class Notes:
    """What was noted of one Pokémon beside what the tracker keeps."""

    items: dict[int, frozenset[int]] = field(default_factory=dict)
    """Items that should have shown and did not, with the abilities under which they do not show."""
    abilities: set[int] = field(default_factory=set)
    """Abilities likewise."""
    facts: dict[Fact, None] = field(default_factory=dict)
    weighed: dict[PokemonSet, float] = field(default_factory=dict)
    """Logarithms of likelihoods that damage and move order gave."""
    repeats: int = 0

    def content(self) -> tuple[object, ...]:
        """Equal as long as nothing more was noted."""
        return (
            tuple(self.items.items()),
            tuple(self.abilities),
            tuple(self.facts),
            tuple(self.weighed.values()),
            self.repeats,
        )

    def copy(self) -> "Notes":
        """The same, to be noted in apart."""
        return Notes(dict(self.items), set(self.abilities), dict(self.facts), dict(self.weighed), self.repeats)


@dataclass(slots=True)
class Stay:
    """One stay of a Pokémon on the field."""

    row: int
    before: Notes
    """What was noted when it came in: an illusion may end."""
    rocks: bool
    """Stealth Rock should hurt it, and has not yet."""
    announced: frozenset[int]
    """Abilities that would tell of themselves on coming in."""
    entering: bool = True
    last_move: str = ""
    turns: int = 0
    below_full: bool = False
    """As the end of the turn began."""
    healthy: bool = False
    healed: bool = False


@dataclass(slots=True)
class Attack:
    """A move that is being made."""

    place: int
    """Of its user."""
    row: int
    move: int
    plain: bool = True
    """No critical hit and no item that is used up changes what it does."""
    hit: set[int] = field(default_factory=set)
    """Rows that lost HP."""


class Listener(Protocol):
    """Is told of moves as they are made, before the tracker has read their lines."""

    def moved(self, place: int, row: int, move: int) -> None:
        """A Pokémon makes the move that was chosen for it."""
        ...

    def hit(self, attack: Attack, place: int, row: int, after: float) -> None:
        """A move takes HP from the Pokémon at `place`, which has the fraction `after` left."""
        ...

    def turn(self) -> None:
        """A turn begins."""
        ...
