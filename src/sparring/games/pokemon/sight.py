"""What a seat sees, as text for a person: the field, both sides, and what each order would do."""

from collections.abc import Iterable, Mapping
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions import ActionSpace
from sparring.games.pokemon.actions.offer import FIGHT, LOCKED, PLACE_AT, RECHARGE, STRUGGLE
from sparring.games.pokemon.actions.powered import max_move, z_move
from sparring.games.pokemon.columns import (
    BOOST_SCALE,
    LEVEL_SCALE,
    MOVES,
    PP_SCALE,
    SLOTS,
    TEAM,
    ActiveColumn,
    FieldColumn,
    SideColumn,
)
from sparring.games.pokemon.dex import CATEGORIES, STATUSES, Dex

Row = Mapping[str, Array]
"""The observation of one row."""

_OUTSIDE = {RECHARGE: "Recharge", STRUGGLE: "Struggle", FIGHT: "Fight"}
_LAYERS: Mapping[int, int] = {c.SIDE_SPIKES: 3, c.SIDE_TOXIC_SPIKES: 2}
_ABOUT_SIDES = range(c.SIDE_STEALTH_ROCK, c.SIDE_MEGA_USED)
_ABOUT_FIELD = range(c.FIELD_SUN, c.FIELD_NEUTRALIZING_GAS + 1)
_ABOUT_ACTIVE = (c.ACTIVE_TRANSFORMED, c.ACTIVE_DYNAMAXED, *range(c.ACTIVE_RECHARGING, len(ActiveColumn)))


class Sight:
    """The words for what one row shows and offers, in one format."""

    def __init__(self, dex: Dex, space: ActionSpace) -> None:
        self._dex = dex
        self._space = space

    def position(self, row: Row) -> list[str]:
        """The field and both sides, the foe's first."""
        field = _effects(FieldColumn, row["field"], _ABOUT_FIELD)
        lines = [f"Field: {', '.join(field)}"] if field else []
        for side, who in ((1, "Foe"), (0, "You")):
            left = round(float(row["side"][side, c.SIDE_REMAINING]) * TEAM)
            lies = [
                f"{name} x{round(value * _LAYERS[column])}" if column in _LAYERS else name
                for column, name, value in _named(SideColumn, row["side"][side], _ABOUT_SIDES)
            ]
            lines.append(f"{who}, {left} left{': ' if lies else ''}{', '.join(lies)}")
            places = range(side * SLOTS, side * SLOTS + self._space.active)
            lines += [f"  {self._active(row, place)}" for place in places if row["active"][place, c.ACTIVE_PRESENT]]
        return lines

    def name_at(self, row: Row, place: int) -> str:
        """The species at a place on the field (own left, own right, foe left, foe right)."""
        return self.species_name(int(row["active_ids"][place, c.ACTIVE_ID_SPECIES]))

    def species(self, row: Row, number: int) -> str:
        """The species in row `number` of both teams; "" if it is not known."""
        return self.species_name(int(row["pokemon_ids"][number, c.POKEMON_ID_SPECIES]))

    def name(self, row: Row, place: int, order: int, *, locked: int = 0) -> str:
        """The name of order `order` of own place `place`; `locked` as in an offer."""
        orders = self._space.orders
        move, switch = int(orders.move[order]), int(orders.switch[order])
        if switch >= 0:
            return f"switch to {self.species(row, switch) or f'slot {switch + 1}'}"
        if move < 0:
            return "pass"
        if locked > MOVES:
            return self._outside(row, place, locked)
        gimmick, target = int(orders.gimmick[order]), int(orders.target[order])
        name = self._move_name(row, place, move, self._space.gimmicks[gimmick - 1] if gimmick else "")
        if target in (1, 2):
            name += f" at {self.name_at(row, SLOTS + target - 1)}"
        elif target == 3:
            name += f" at your {self.name_at(row, 1 - place)}"
        return name

    def order(self, row: Row, ranges: NDArray[np.float64], offer: bytearray, place: int, order: int) -> str:
        """What order `order` of own place `place` does; `ranges`: see `DamageEstimate.ranges`."""
        orders = self._space.orders
        move, switch = int(orders.move[order]), int(orders.switch[order])
        if switch >= 0:
            return f"switch to {self.member(row, switch)}"
        locked = offer[PLACE_AT[place] + LOCKED]
        name = self.name(row, place, order, locked=locked)
        if move < 0 or orders.gimmick[order] or locked:
            return name
        about = self._about_move(row, ranges, place, move, int(orders.target[order]))
        return f"{name:<28} {about}" if about else name

    def member(self, row: Row, slot: int) -> str:
        """The Pokémon of the own team in team slot `slot`."""
        numbers, ids = row["pokemon"][slot], row["pokemon_ids"][slot]
        moves = ", ".join(self._move(number) for number in row["move_ids"][slot].tolist() if number)
        status = "FNT" if numbers[c.POKEMON_FAINTED] else STATUSES[ids[c.POKEMON_ID_STATUS]].upper()
        left = _percent(float(numbers[c.POKEMON_HP]))
        return f"{self.species_name(int(ids[c.POKEMON_ID_SPECIES])):<14} {left:>4} {status:<4}{moves}".rstrip()

    def _active(self, row: Row, place: int) -> str:
        at = int(row["active_ids"][place, c.ACTIVE_ID_POKEMON]) - 1
        numbers, ids, active = row["pokemon"][at], row["pokemon_ids"][at], row["active"][place]
        types = [int(row["active_ids"][place, column]) for column in (c.ACTIVE_ID_TYPE_1, c.ACTIVE_ID_TYPE_2)]
        kind = "/".join(self._dex.types.ids[number].title() for number in types if number)
        level = round(float(numbers[c.POKEMON_LEVEL]) * LEVEL_SCALE)
        parts = [f"{self.name_at(row, place)} L{level} ({kind}) {_percent(float(numbers[c.POKEMON_HP]))}"]
        if ids[c.POKEMON_ID_STATUS]:
            parts.append(STATUSES[ids[c.POKEMON_ID_STATUS]].upper())
        if numbers[c.POKEMON_TERASTALLIZED]:
            parts.append("terastallized")
        for boost in range(c.ACTIVE_BOOST_ATK, c.ACTIVE_BOOST_EVASION + 1):
            stages = round(float(active[boost]) * BOOST_SCALE)
            if stages:
                parts.append(f"{ActiveColumn(boost).name.removeprefix('BOOST_').title()} {stages:+d}")
        parts += _effects(ActiveColumn, active, _ABOUT_ACTIVE)
        if place >= SLOTS:
            seen = [self._move(number) for number in row["move_ids"][at].tolist() if number]
            parts += [f"has shown {', '.join(seen)}"] if seen else []
        return ", ".join(parts)

    def _about_move(self, row: Row, ranges: NDArray[np.float64], place: int, move: int, target: int) -> str:
        """Type, PP, accuracy, and the damage to each foe it may hit."""
        number = int(row["active_move_ids"][place, move])
        if not number:
            return ""
        category = CATEGORIES[self._dex.move_category[number]]
        parts = [f"{self._dex.types.ids[self._dex.move_type[number]].title()} {category.lower()}"]
        most = float(row["active_moves"][place, move, c.MOVE_MAX_PP]) * PP_SCALE
        parts.append(f"PP {round(float(row['active_moves'][place, move, c.MOVE_PP]) * most)}/{round(most)}")
        if not self._dex.move_sure[number] and self._dex.move_accuracy[number] < 1:
            parts.append(f"hits {self._dex.move_accuracy[number]:.0%}")
        if category in ("", "Status") or target == 3:
            return ", ".join(parts)
        foes = [target - 1] if target else range(self._space.active)
        for foe in foes:
            if row["active"][SLOTS + foe, c.ACTIVE_PRESENT]:
                of = f" of {self.name_at(row, SLOTS + foe)}" if len(foes) > 1 else ""
                parts.append(self._damage(row, ranges[place, move, foe], foe, of))
        return ", ".join(parts)

    def _damage(self, row: Row, damage: NDArray[np.float64], foe: int, of: str) -> str:
        low, high = float(damage[0]), float(damage[1])
        if high <= 0:
            return f"0%{of}"
        left = float(row["pokemon"][int(row["active_ids"][SLOTS + foe, c.ACTIVE_ID_POKEMON]) - 1, c.POKEMON_HP])
        ending = " (knocks it out)" if low >= left else " (may knock it out)" if high >= left else ""
        return f"{100 * low:.0f}-{100 * high:.0f}%{of}{ending}"

    def _move_name(self, row: Row, place: int, move: int, gimmick: str) -> str:
        number = int(row["active_move_ids"][place, move])
        id = self._dex.moves.ids[number]
        at = int(row["active_ids"][place, c.ACTIVE_ID_POKEMON]) - 1
        if not number:
            return f"move {move + 1}{f' and {gimmick}' if gimmick else ''}"
        if gimmick == "zmove":
            return f"Z-move {z_move(self._dex, id, self._dex.items.ids[row['pokemon_ids'][at, c.POKEMON_ID_ITEM]])}"
        if gimmick == "dynamax" or row["active"][place, c.ACTIVE_DYNAMAXED]:
            species = self._dex.species.ids[row["active_ids"][place, c.ACTIVE_ID_SPECIES]]
            name = self._dex.raw["moves"][max_move(self._dex, id, species)]["name"]
            return f"{'dynamax: ' if gimmick else ''}{name}"
        return f"{self._move(number)}{f' and {gimmick}' if gimmick else ''}"

    def _outside(self, row: Row, place: int, locked: int) -> str:
        """The only order of a Pokémon that goes on with something outside of its list."""
        last = int(row["active_ids"][place, c.ACTIVE_ID_LAST_MOVE])
        return _OUTSIDE.get(locked) or (self._move(last) if last else "go on")

    def _move(self, number: int) -> str:
        """A move's name by its number in the dex."""
        return str(self._dex.raw["moves"][self._dex.moves.ids[number]]["name"])

    def species_name(self, number: int) -> str:
        """A species' name by its number in the dex; "" for 0."""
        id = self._dex.species.ids[number]
        return str(self._dex.raw["species"].get(id, {}).get("name", id))


def _named(columns: type[IntEnum], values: Array, wanted: Iterable[int]) -> list[tuple[int, str, float]]:
    """(column, its name for people, value) of the wanted columns that are not 0; counts of turns are left out."""
    found = [(columns(number), float(values[number])) for number in wanted if values[number]]
    return [
        (int(column), column.name.replace("_", " ").title(), value)
        for column, value in found
        if not column.name.endswith("_TURNS")
    ]


def _effects(columns: type[IntEnum], values: Array, wanted: Iterable[int]) -> list[str]:
    return [name for _, name, _ in _named(columns, values, wanted)]


def _percent(share: float) -> str:
    return f"{max(share, 0.01):.0%}" if share > 0 else "0%"
