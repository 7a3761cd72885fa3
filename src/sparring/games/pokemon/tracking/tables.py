"""What protocol text means in numbers: details, HP conditions, names, each worked out once and remembered."""

from array import array
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import BASE_STAT_SCALE, MOVES, STAT_SCALE, TEAM
from sparring.games.pokemon.dex import Dex, load_dex
from sparring.games.pokemon.formats import to_id
from sparring.games.pokemon.settings import PINNED
from sparring.games.pokemon.tracking.effects import SIDE_GUARDS, STALLING_MOVES

STATUSES: dict[str, int] = {
    "brn": c.STATUS_BURN,
    "par": c.STATUS_PARALYSIS,
    "slp": c.STATUS_SLEEP,
    "frz": c.STATUS_FREEZE,
    "psn": c.STATUS_POISON,
    "tox": c.STATUS_TOXIC,
}
"""Status numbers by Showdown id."""

FAINTED = "0 fnt"
"""The condition of a Pokémon that has fainted."""
_MOST_HP = 99_999
_MOST_LEVEL = 9_999
"""What Showdown's own rules allow."""
_MOST_SPELLINGS = 65_536
"""Texts whose meaning is remembered; those beyond are worked out each time."""

_LETTERS = str.maketrans({"é": "e", "♀": "-F", "♂": "-M"})
"""Letters of species' names (Flabébé, once Nidoran♀) that are in no id."""

STATS = ("atk", "def", "spa", "spd", "spe")
"""Stats of a request, in the order of their columns."""


class Tables:
    """A dex in the shapes that a tracker reads number by number (plain Python, no array scalars)."""

    def __init__(self, dex: Dex) -> None:
        self.dex = dex
        self.base_stats: list[array[float]] = [
            array("f", (stats / BASE_STAT_SCALE).tolist()) for stats in dex.species_stats
        ]
        self.types: list[tuple[int, int]] = [(int(first), int(second)) for first, second in dex.species_types]
        self.base_species: list[int] = dex.species_base.tolist()
        self.only_ability: list[int] = [
            first if dex.generation > 2 and not any(others) else 0 for first, *others in dex.species_abilities.tolist()
        ]
        """The ability of species that have but one."""
        self.max_pp: list[int] = dex.move_pp.tolist()
        self.base_pp: list[int] = [0, *(dex.raw["moves"][id]["pp"] for id in dex.moves.ids[1:])]
        self.move_targets: list[int] = dex.move_target.tolist()
        raw_moves = dex.raw["moves"]
        self.borrowed: set[int] = {
            dex.moves[id]
            for id, move in raw_moves.items()
            if move.get("isZ") or move.get("isMax") or id in ("struggle", "recharge")
        }
        """Moves that never belong to a Pokémon's own list."""
        self.stalling: set[int] = {dex.moves[id] for id in STALLING_MOVES} - {0}
        self.side_guards: set[int] = {dex.moves[id] for id in SIDE_GUARDS} - {0}
        self.binding: set[int] = {dex.moves[id] for id in ("bind", "clamp", "firespin", "wrap")}
        self.passing: set[int] = {dex.moves["batonpass"], dex.moves["shedtail"]}
        self.slot_effects: set[int] = {dex.moves["wish"], dex.moves["healingwish"], dex.moves["lunardance"]}
        self.neutralizing_gas: int = dex.abilities["neutralizinggas"]
        self.pressure: int = dex.abilities["pressure"]
        self.hidden_powers: set[int] = {number for id, number in dex.moves.numbers.items() if id.startswith("hiddenp")}
        self.must_pressure: set[int] = {
            dex.moves[id] for id, move in raw_moves.items() if "mustpressure" in move["flags"]
        }
        self.two_turn: set[int] = {dex.moves[id] for id, move in raw_moves.items() if "charge" in move["flags"]}
        self._moves: dict[str, int] = {}
        self._details: dict[str, tuple[int, float, float, float, int]] = {}

    def move(self, name: str) -> int:
        """The number of a move by protocol name or request id (`return102`, `hiddenpowerfire70`, `Z-Toxic`)."""
        number = self._moves.get(name)
        if number is None:
            number = self.dex.moves[name] or self.dex.moves[name.rstrip("0123456789").removeprefix("Z-")]
            if len(self._moves) < _MOST_SPELLINGS:
                self._moves[name] = number
        return number

    def by_id(self, moves: Sequence[int]) -> list[int]:
        """The places of a list of moves in the order of their ids, which tells nothing of when each was used; those
        of moves that nobody knows (0) come last."""
        return sorted(range(len(moves)), key=lambda place: (not moves[place], self.dex.moves.ids[moves[place]]))

    def details(self, text: str) -> tuple[int, float, float, float, int]:
        """`Rotom-Wash, L84, M, shiny, tera:Water` as (species, level, male, female, tera type)."""
        found = self._details.get(text)
        if found is None:
            name, *marks = text.split(", ")
            level, male, female, tera = 100.0, 0.0, 0.0, 0
            for mark in marks:
                if mark == "M":
                    male = 1.0
                elif mark == "F":
                    female = 1.0
                elif mark.startswith("tera:"):
                    tera = self.dex.types[mark[5:]]
                elif mark[:1] == "L" and mark[1:].isdigit():
                    level = float(mark[1:])
                    if level > _MOST_LEVEL:
                        raise ValueError(f"{text!r}: levels end at {_MOST_LEVEL}")
            found = (self.dex.species[name.removesuffix("-*").translate(_LETTERS)], level, male, female, tera)
            if len(self._details) < _MOST_SPELLINGS:
                self._details[text] = found
        return found


class OwnMoves:
    """The moves of an own Pokémon as a request lists them, in numbers."""

    __slots__ = ("listed", "moves", "numbers")

    def __init__(self, tables: Tables, moves: list[str]) -> None:
        self.moves = moves
        self.numbers: tuple[int, ...] = tuple(tables.move(name) for name in moves[:MOVES])
        self.listed = array("h", [*self.numbers, *[0] * (MOVES - len(self.numbers))])


class OwnSet(OwnMoves):
    """What a request says of an own Pokémon that seldom changes, in numbers."""

    __slots__ = ("ability", "base_ability", "stat_columns", "stats", "tera", "tera_type")

    def __init__(self, tables: Tables, entry: dict[str, Any]) -> None:
        super().__init__(tables, entry["moves"])
        self.stats: dict[str, int] = entry["stats"]
        self.base_ability: str = entry["baseAbility"]
        self.tera_type: str | None = entry.get("teraType")
        self.stat_columns = array("f", [self.stats[stat] / STAT_SCALE for stat in STATS])
        self.ability: int = tables.dex.abilities[self.base_ability]
        self.tera: int = tables.dex.types[self.tera_type] if self.tera_type is not None else 0

    def tells(self, entry: dict[str, Any]) -> bool:
        """Whether `entry` has the very parts that these numbers were made from."""
        return (
            entry["stats"] is self.stats
            and entry["moves"] is self.moves
            and entry["baseAbility"] == self.base_ability
            and entry.get("teraType") == self.tera_type
        )


@cache
def load_tables(tables: int | str, showdown: str = PINNED) -> Tables:
    """The tables of a generation, or of `Format.tables`, in a version of Showdown, shared by all trackers."""
    return Tables(load_dex(tables, showdown))


@lru_cache(maxsize=65536)
def parse_condition(text: str) -> tuple[float, int, int]:
    """`214/300 par`, `57/100`, `24/48y slp` or `0 fnt` as (fraction left, maximum as written, status).

    Raises `ValueError` for what is none of these, or not between nothing and all.
    """
    health, _, status = text.partition(" ")
    if status == "fnt" or health == "0":
        return 0.0, 0, 0
    left, _, most = health.partition("/")
    if not most:
        most = "100"
    maximum = int(most.rstrip("ygr"))
    if not 0 < maximum <= _MOST_HP or not 0.0 <= float(left) <= maximum:
        raise ValueError(f"{text!r} is no state of health")
    return float(left) / maximum, maximum, STATUSES.get(status, 0)


@lru_cache(maxsize=65536)
def effect_id(text: str) -> str:
    """`move: Stealth Rock`, `ability: Flash Fire` or `Reflect` as a bare id."""
    _, colon, name = text.partition(": ")
    return to_id(name if colon else text)


@lru_cache(maxsize=16384)
def parse_sheet(packed: str) -> tuple[tuple[str, str, str, tuple[str, ...], str], ...]:
    """A packed team of open team sheets as (species, item, ability, moves, tera type) a Pokémon."""
    team = []
    for one in packed.split("]")[:TEAM]:
        name, species, item, ability, moves, *rest = one.split("|")
        extras = rest[6].split(",") if len(rest) > 6 else []
        tera = extras[5] if len(extras) > 5 else ""
        team.append((species or name, item, ability, tuple(moves.split(",")[:MOVES]), tera))
    return tuple(team)
