"""A row of the observation in names instead of numbers, for people who write players and look at data.

    view = BattleView(decisions.observation, 0)    # row 0: what that seat sees
    view.own.active[0].boosts["atk"]               # 2
    view.foe.team[2].moves                         # the moves it has shown, with their PP
    view.field.weather, view.field.weather_turns   # "rain", 3

Everything is read from the columns when it is asked for, so a view is as cheap as what is looked at, and as short-lived
as the arrays it reads. Species, moves, abilities, items and types are Showdown ids; effects are called as their columns
are, in small letters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from sparring.core import InputError
from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.battle_effects import OF_ACTIVE, OF_FIELD, OF_SIDE, Effect, effects, turns_of
from sparring.games.pokemon.columns import (
    BASE_STAT_SCALE,
    BOOST_SCALE,
    LEVEL_SCALE,
    PP_SCALE,
    SLOTS,
    STAT_SCALE,
    TEAM,
    ActiveColumn,
    FieldColumn,
)
from sparring.games.pokemon.dex import CATEGORIES, STATS, STATUSES, Dex, load_dex

_BOOSTS = {
    ActiveColumn(column).name.removeprefix("BOOST_").lower(): column
    for column in range(c.ACTIVE_BOOST_ATK, c.ACTIVE_BOOST_EVASION + 1)
}


@dataclass(frozen=True, slots=True)
class Move:
    """A move that a Pokémon has or was seen to have."""

    id: str
    pp: int
    max_pp: int
    revealed: bool
    """The opponent has seen it."""
    disabled: bool
    """It may not be used now (own Pokémon on the field)."""
    type: str
    """As the generation's tables say, like what follows: abilities and effects that change it are not counted."""
    category: str
    """`Physical`, `Special` or `Status`."""
    power: int
    """Base power; 0 for status moves and for those whose power varies."""
    accuracy: float
    """From 0 to 1; 1 for moves that cannot miss."""


_WEATHERS = range(c.FIELD_SUN, c.FIELD_STRONG_WINDS + 1)
_TERRAINS = range(c.FIELD_ELECTRIC_TERRAIN, c.FIELD_PSYCHIC_TERRAIN + 1)
_ASKED = range(c.ACTIVE_MUST_SWITCH, c.ACTIVE_REVIVING + 1)
_USED = {"mega": c.SIDE_MEGA_USED, "zmove": c.SIDE_Z_USED, "dynamax": c.SIDE_DYNAMAX_USED, "tera": c.SIDE_TERA_USED}


class BattleView:
    """What one seat sees: its `own` side, the `foe`'s, and the `field`."""

    def __init__(self, observation: Mapping[str, Array], row: int | None = None) -> None:
        """`observation` has the fields of `raw` (and perhaps more), of one row or, with `row`, of many."""
        _check_rows(observation, row)
        fields = observation if row is None else {name: values[row] for name, values in observation.items()}
        self.field = FieldView(fields["field"])
        dex, places = load_dex(self.field.generation), 2 if self.field.doubles else 1
        self.own, self.foe = (SideView(fields, dex, side, places) for side in (0, 1))

    def __repr__(self) -> str:
        return f"BattleView(turn={self.field.turn}, own={self.own}, foe={self.foe})"


def _check_rows(observation: Mapping[str, Array], row: int | None) -> None:
    """Raises `InputError` unless `observation` are rows of Pokémon, of which `row` is one."""
    if not isinstance(observation, Mapping):
        kind = type(observation).__name__
        raise InputError(f"observation: of type {kind}; allowed: arrays by name, such as decisions.observation")
    if "field" not in observation:
        raise InputError(f"observation: not of Pokémon; its fields are {', '.join(observation)}")
    shape = observation["field"].shape[:-1]
    if not shape and row is not None:
        raise InputError(f"row = {row!r}: the observation is of one row; leave it out")
    if shape and (not isinstance(row, int | np.integer) or not -shape[0] <= row < shape[0]):
        raise InputError(
            f"row = {row!r}: allowed: one of the rows 0 to {shape[0] - 1}, as in BattleView(observation, 0)"
        )


class Stats(dict[str, int]):
    """Numbers by stat; a name that is not there is told with those that are."""

    def __missing__(self, name: str) -> int:
        raise KeyError(f"{name}; there are: {', '.join(self) or 'none, as a foe keeps them hidden'}")


class FieldView:
    """The whole field, the turn, and what is asked."""

    def __init__(self, columns: Array) -> None:
        self._columns = columns
        self.doubles = bool(columns[c.FIELD_DOUBLES])
        self.generation = round(float(columns[c.FIELD_GENERATION]) * 9)
        self.turn = round(float(columns[c.FIELD_TURN]) * 100)
        """At most 100."""
        self.preview = bool(columns[c.FIELD_PREVIEW])
        """The team's order is asked for."""
        self.forced = bool(columns[c.FIELD_FORCED])
        """Replacements are asked for, nothing else."""

    @property
    def weather(self) -> str:
        """`sun`, `rain`, `sand`, `hail`, `snow`, `harsh_sun`, `heavy_rain`, `strong_winds` or ""."""
        return self._first(_WEATHERS)

    @property
    def weather_turns(self) -> int:
        """Turns left; 0 without weather or end."""
        return turns_of(self._columns[c.FIELD_WEATHER_TURNS])

    @property
    def terrain(self) -> str:
        """`electric_terrain`, `grassy_terrain`, `misty_terrain`, `psychic_terrain` or ""."""
        return self._first(_TERRAINS)

    @property
    def terrain_turns(self) -> int:
        """Turns left."""
        return turns_of(self._columns[c.FIELD_TERRAIN_TURNS])

    @property
    def effects(self) -> dict[str, Effect]:
        """Everything else, such as `trick_room`."""
        return effects(self._columns, OF_FIELD)

    def _first(self, columns: range) -> str:
        return next((FieldColumn(column).name.lower() for column in columns if self._columns[column]), "")


class SideView:
    """A side: its team, its places on the field, and what lies there."""

    def __init__(self, row: Mapping[str, Array], dex: Dex, side: int, places: int) -> None:
        self._columns = row["side"][side]
        self.team = tuple(PokemonView(row, dex, side * TEAM + index) for index in range(TEAM))
        """Six, the own in the order that switch actions count in; those never seen are not `known`."""
        self.active = tuple(ActiveView(row, dex, side * SLOTS + place) for place in range(places))
        """One place in singles, two in doubles; one where nobody stands is not `present`."""

    def __repr__(self) -> str:
        known = ", ".join(repr(pokemon) for pokemon in self.team if pokemon.known)
        return f"SideView(active={list(self.active)}, team=[{known}])"

    @property
    def size(self) -> int:
        """Pokémon brought."""
        return round(float(self._columns[c.SIDE_TEAM_SIZE]) * TEAM)

    @property
    def remaining(self) -> int:
        """Pokémon not fainted."""
        return round(float(self._columns[c.SIDE_REMAINING]) * TEAM)

    @property
    def effects(self) -> dict[str, Effect]:
        """Hazards, screens and the like: `effects["reflect"].turns`, `effects["spikes"].count`."""
        return effects(self._columns, OF_SIDE)

    @property
    def used(self) -> frozenset[str]:
        """Which of `mega`, `zmove`, `dynamax` and `tera` it has used up."""
        return frozenset(name for name, column in _USED.items() if self._columns[column])


class PokemonView:
    """A Pokémon of a team, on the field or not. Two views are equal if they are of one row and see the same there."""

    def __init__(self, row: Mapping[str, Array], dex: Dex, number: int) -> None:
        self._dex = dex
        self.row = number
        """Its row in the arrays of twelve: 0 to 5 own, as switch actions and `damage` count them, 6 to 11 foes."""
        self._columns, self._ids = row["pokemon"][number], row["pokemon_ids"][number]
        self._moves = row["move_ids"][number], row["moves"][number]
        self.known = bool(self._columns[c.POKEMON_KNOWN])
        self.active = bool(self._columns[c.POKEMON_ACTIVE])
        self.fainted = bool(self._columns[c.POKEMON_FAINTED])
        self.seen = bool(self._columns[c.POKEMON_SEEN])
        """It has been on the field."""
        self.absent = bool(self._columns[c.POKEMON_ABSENT])
        """It was left at home."""
        self.terastallized = bool(self._columns[c.POKEMON_TERASTALLIZED])

    def __repr__(self) -> str:
        if not self.known:
            return "PokemonView(unknown)"
        ailing = f", {self.status}" if self.status else ""
        return f"PokemonView({self.species}, {'fainted' if self.fainted else f'{self.hp:.0%}'}{ailing})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PokemonView):
            return NotImplemented
        mine, theirs = ((view._columns, view._ids, *view._moves) for view in (self, other))
        return self.row == other.row and all(map(np.array_equal, mine, theirs))

    def __hash__(self) -> int:
        return hash(self.row)

    @property
    def species(self) -> str:
        """Its forme as last seen, before Transform."""
        return self._dex.species.ids[int(self._ids[c.POKEMON_ID_SPECIES])]

    @property
    def types(self) -> tuple[str, ...]:
        """Of its species."""
        return _types(self._dex, self._ids, c.POKEMON_ID_TYPE_1, c.POKEMON_ID_TYPE_2)

    @property
    def tera_type(self) -> str:
        """ "" where unknown."""
        return self._dex.types.ids[int(self._ids[c.POKEMON_ID_TERA_TYPE])]

    @property
    def level(self) -> int:
        """As its details say."""
        return round(float(self._columns[c.POKEMON_LEVEL]) * LEVEL_SCALE)

    @property
    def gender(self) -> str:
        """`M`, `F` or ""."""
        return "M" if self._columns[c.POKEMON_MALE] else "F" if self._columns[c.POKEMON_FEMALE] else ""

    @property
    def hp(self) -> float:
        """The share left, from 0 to 1, as precise as this seat is told."""
        return float(self._columns[c.POKEMON_HP])

    @property
    def status(self) -> str:
        """`brn`, `par`, `slp`, `frz`, `psn`, `tox` or ""."""
        return STATUSES[int(self._ids[c.POKEMON_ID_STATUS])]

    @property
    def status_turns(self) -> int:
        """Turns it has slept, or its poison has grown."""
        return turns_of(self._columns[c.POKEMON_SLEEP_TURNS]) or turns_of(self._columns[c.POKEMON_TOXIC_TURNS])

    @property
    def ability(self) -> str | None:
        """Its own ability; None where unknown."""
        return self._dex.abilities.ids[int(self._ids[c.POKEMON_ID_ABILITY])] or None

    @property
    def item(self) -> str | None:
        """What it holds, "" for nothing; None where unknown."""
        held = self._dex.items.ids[int(self._ids[c.POKEMON_ID_ITEM])]
        return held if self._columns[c.POKEMON_ITEM_KNOWN] else None

    @property
    def last_item(self) -> str:
        """The item it no longer has."""
        return self._dex.items.ids[int(self._ids[c.POKEMON_ID_LAST_ITEM])]

    @property
    def moves(self) -> tuple[Move, ...]:
        """Its own, or those a foe has shown."""
        return _moves(self._dex, *self._moves)

    @property
    def stats(self) -> Stats:
        """`hp`, `atk`, `def`, `spa`, `spd`, `spe` without boosts; empty for a foe, who keeps them hidden."""
        values = (self._columns[c.POKEMON_MAX_HP], *self._columns[c.POKEMON_STAT_ATK : c.POKEMON_STAT_SPE + 1])
        numbers = (round(float(value) * STAT_SCALE) for value in values)
        return Stats({stat: number for stat, number in zip(STATS, numbers, strict=True) if number})

    @property
    def base_stats(self) -> Stats:
        """Of its species."""
        values = self._columns[c.POKEMON_BASE_HP : c.POKEMON_BASE_SPE + 1]
        return Stats({stat: round(float(value) * BASE_STAT_SCALE) for stat, value in zip(STATS, values, strict=True)})


class ActiveView:
    """A place on the field, and what the Pokémon there is now."""

    def __init__(self, row: Mapping[str, Array], dex: Dex, place: int) -> None:
        self._dex = dex
        self._columns, self._ids = row["active"][place], row["active_ids"][place]
        self._moves = row["active_move_ids"][place], row["active_moves"][place]
        self.present = bool(self._columns[c.ACTIVE_PRESENT])
        standing = int(self._ids[c.ACTIVE_ID_POKEMON])
        self.pokemon = PokemonView(row, dex, standing - 1) if standing else None
        """The same as in `team`: HP, status, item, its `row`, ...; None for an empty place."""

    def __repr__(self) -> str:
        boosts = {stat: steps for stat, steps in self.boosts.items() if steps}
        return f"ActiveView({self.species}, boosts={boosts})" if self.present else "ActiveView(nobody)"

    def __getattr__(self, name: str) -> NoReturn:
        """Tells where the rest is: what a Pokémon keeps when it leaves is in `pokemon`."""
        known = hasattr(self.__dict__.get("pokemon") or PokemonView, name)
        where = f"; it is in .pokemon.{name}" if known else ""
        raise AttributeError(f"an ActiveView has no attribute {name!r}{where}")

    @property
    def species(self) -> str:
        """What it is now, after Transform too."""
        return self._dex.species.ids[int(self._ids[c.ACTIVE_ID_SPECIES])]

    @property
    def ability(self) -> str | None:
        """What works now; None where unknown."""
        return self._dex.abilities.ids[int(self._ids[c.ACTIVE_ID_ABILITY])] or None

    @property
    def types(self) -> tuple[str, ...]:
        """Those that count now."""
        return _types(self._dex, self._ids, c.ACTIVE_ID_TYPE_1, c.ACTIVE_ID_TYPE_2, c.ACTIVE_ID_TYPE_3)

    @property
    def boosts(self) -> Stats:
        """Stages from -6 to 6: `atk`, `def`, `spa`, `spd`, `spe`, `accuracy`, `evasion`."""
        return Stats({stat: round(float(self._columns[column]) * BOOST_SCALE) for stat, column in _BOOSTS.items()})

    @property
    def moves(self) -> tuple[Move, ...]:
        """As they are now, after Transform and Mimic too."""
        return _moves(self._dex, *self._moves)

    @property
    def last_move(self) -> str:
        """The move it used last since it came in."""
        return self._dex.moves.ids[int(self._ids[c.ACTIVE_ID_LAST_MOVE])]

    @property
    def turns(self) -> int:
        """Turns on the field, at most 8; 0 on the turn it came in."""
        return turns_of(self._columns[c.ACTIVE_ACTIVE_TURNS])

    @property
    def protect_turns(self) -> int:
        """Protecting moves in a row that worked."""
        return turns_of(self._columns[c.ACTIVE_PROTECT_TURNS])

    @property
    def effects(self) -> dict[str, Effect]:
        """What lasts on it: `effects["substitute"]`, `effects["taunt"].turns`."""
        return effects(self._columns, OF_ACTIVE)

    @property
    def asked(self) -> frozenset[str]:
        """Own places: what the request says, such as `trapped`, `must_switch`, `can_tera`."""
        return frozenset(ActiveColumn(column).name.lower() for column in _ASKED if self._columns[column])


def _types(dex: Dex, ids: Array, *columns: int) -> tuple[str, ...]:
    return tuple(dex.types.ids[int(ids[column])] for column in columns if ids[column])


def _moves(dex: Dex, ids: Array, columns: Array) -> tuple[Move, ...]:
    found = []
    for number, values in zip(ids.tolist(), columns, strict=True):
        if number:
            most = round(float(values[c.MOVE_MAX_PP]) * PP_SCALE)
            left = round(float(values[c.MOVE_PP]) * most)
            revealed, disabled = bool(values[c.MOVE_REVEALED]), bool(values[c.MOVE_DISABLED])
            found.append(
                Move(
                    id=dex.moves.ids[number],
                    pp=left,
                    max_pp=most,
                    revealed=revealed,
                    disabled=disabled,
                    type=dex.types.ids[dex.move_type[number]],
                    category=CATEGORIES[dex.move_category[number]],
                    power=int(dex.move_power[number]),
                    accuracy=round(float(dex.move_accuracy[number]), 2),
                )
            )
    return tuple(found)
