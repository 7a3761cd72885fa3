"""What a seat sees, as text for a person: the field, both sides, and what each order would do."""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core.rows import Array
from sparring.games.pokemon.actions import ActionSpace
from sparring.games.pokemon.actions.moves import is_locked
from sparring.games.pokemon.columns import (
    BOOST_SCALE,
    LEVEL_SCALE,
    SLOTS,
    TEAM,
    ActiveColumn,
    ActiveId,
    FieldColumn,
    PokemonColumn,
    PokemonId,
    SideColumn,
)
from sparring.games.pokemon.dex import CATEGORIES, STATUSES, Dex

Request = Mapping[str, Any]
Row = Mapping[str, Array]
"""The observation of one row."""

_LAYERS: Mapping[int, int] = {SideColumn.SPIKES: 3, SideColumn.TOXIC_SPIKES: 2}
_ABOUT_SIDES = range(SideColumn.STEALTH_ROCK, SideColumn.MEGA_USED)
_ABOUT_FIELD = range(FieldColumn.SUN, FieldColumn.NEUTRALIZING_GAS + 1)
_ABOUT_ACTIVE = (ActiveColumn.TRANSFORMED, ActiveColumn.DYNAMAXED, *range(ActiveColumn.RECHARGING, len(ActiveColumn)))


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
            left = round(float(row["side"][side, SideColumn.REMAINING]) * TEAM)
            lies = [
                f"{name} x{round(value * _LAYERS[column])}" if column in _LAYERS else name
                for column, name, value in _named(SideColumn, row["side"][side], _ABOUT_SIDES)
            ]
            lines.append(f"{who}, {left} left{': ' if lies else ''}{', '.join(lies)}")
            places = range(side * SLOTS, side * SLOTS + self._space.active)
            lines += [f"  {self._active(row, place)}" for place in places if row["active"][place, ActiveColumn.PRESENT]]
        return lines

    def name_at(self, row: Row, place: int) -> str:
        """The species at a place on the field (own left, own right, foe left, foe right)."""
        return self._species(int(row["active_ids"][place, ActiveId.SPECIES]))

    def order(
        self, row: Row, ranges: NDArray[np.float64], request: Request, slots: Sequence[int], place: int, order: int
    ) -> str:
        """What order `order` of own place `place` does; `ranges`: see `DamageEstimate.ranges`."""
        orders = self._space.orders
        move, switch = int(orders.move[order]), int(orders.switch[order])
        if switch >= 0:
            return self.member(request["side"]["pokemon"][slots.index(switch)], "switch to ")
        if move < 0:
            return "pass"
        gimmick, target = int(orders.gimmick[order]), int(orders.target[order])
        name = self._move_name(request["active"][place], move, self._space.gimmicks[gimmick - 1] if gimmick else "")
        if target in (1, 2):
            name += f" at {self.name_at(row, SLOTS + target - 1)}"
        elif target == 3:
            name += f" at your {self.name_at(row, 1 - place)}"
        if gimmick:
            return name
        about = self._about_move(row, ranges, request["active"][place], place, move, target)
        return f"{name:<24}  {about}" if about else name

    def member(self, entry: Mapping[str, Any], what: str = "") -> str:
        """A Pokémon of the own team, by its entry in a request, after `what` is done with it."""
        species = entry["details"].split(", ")[0]
        moves = ", ".join(self._move(str(move)) for move in entry["moves"])
        left, status = _condition(entry["condition"])
        return f"{what + species:<24}  {left:>4} {status:<3}  {moves}".rstrip()

    def _active(self, row: Row, place: int) -> str:
        at = int(row["active_ids"][place, ActiveId.POKEMON]) - 1
        numbers, ids, active = row["pokemon"][at], row["pokemon_ids"][at], row["active"][place]
        types = [int(row["active_ids"][place, column]) for column in (ActiveId.TYPE_1, ActiveId.TYPE_2)]
        kind = "/".join(self._dex.types.ids[number].title() for number in types if number)
        level = round(float(numbers[PokemonColumn.LEVEL]) * LEVEL_SCALE)
        parts = [f"{self.name_at(row, place)} L{level} ({kind}) {_percent(float(numbers[PokemonColumn.HP]))}"]
        if ids[PokemonId.STATUS]:
            parts.append(STATUSES[ids[PokemonId.STATUS]].upper())
        if numbers[PokemonColumn.TERASTALLIZED]:
            parts.append("terastallized")
        for boost in range(ActiveColumn.BOOST_ATK, ActiveColumn.BOOST_EVASION + 1):
            stages = round(float(active[boost]) * BOOST_SCALE)
            if stages:
                parts.append(f"{ActiveColumn(boost).name.removeprefix('BOOST_').title()} {stages:+d}")
        parts += _effects(ActiveColumn, active, _ABOUT_ACTIVE)
        if place >= SLOTS:
            seen = [self._move(self._dex.moves.ids[number]) for number in row["move_ids"][at].tolist() if number]
            parts += [f"has shown {', '.join(seen)}"] if seen else []
        return ", ".join(parts)

    def _about_move(
        self, row: Row, ranges: NDArray[np.float64], active: Mapping[str, Any], place: int, move: int, target: int
    ) -> str:
        """Type, PP, accuracy, and the damage to each foe it may hit."""
        number = int(row["active_move_ids"][place, move])
        if is_locked(active) or not number:
            return ""
        offered = active["moves"][move]
        category = CATEGORIES[self._dex.move_category[number]]
        parts = [f"{self._dex.types.ids[self._dex.move_type[number]].title()} {category.lower()}"]
        if "pp" in offered:
            parts.append(f"PP {offered['pp']}/{offered['maxpp']}")
        if not self._dex.move_sure[number] and self._dex.move_accuracy[number] < 1:
            parts.append(f"hits {self._dex.move_accuracy[number]:.0%}")
        if category in ("", "Status") or target == 3:
            return ", ".join(parts)
        foes = [target - 1] if target else range(self._space.active)
        for foe in foes:
            if row["active"][SLOTS + foe, ActiveColumn.PRESENT]:
                of = f" of {self.name_at(row, SLOTS + foe)}" if len(foes) > 1 else ""
                parts.append(self._damage(row, ranges[place, move, foe], foe, of))
        return ", ".join(parts)

    def _damage(self, row: Row, damage: NDArray[np.float64], foe: int, of: str) -> str:
        low, high = float(damage[0]), float(damage[1])
        if high <= 0:
            return f"0%{of}"
        left = float(row["pokemon"][int(row["active_ids"][SLOTS + foe, ActiveId.POKEMON]) - 1, PokemonColumn.HP])
        ending = " (knocks it out)" if low >= left else " (may knock it out)" if high >= left else ""
        return f"{100 * low:.0f}-{100 * high:.0f}%{of}{ending}"

    def _move_name(self, active: Mapping[str, Any], move: int, gimmick: str) -> str:
        if is_locked(active):
            return str(active["moves"][0]["move"])
        if gimmick == "zmove":
            return f"Z-move {active['canZMove'][move]['move']}"
        max_moves = active.get("maxMoves")
        if max_moves and (gimmick == "dynamax" or not active.get("canDynamax")):
            return f"{'dynamax: ' if gimmick else ''}{self._move(max_moves['maxMoves'][move]['move'])}"
        return f"{active['moves'][move]['move']}{f' and {gimmick}' if gimmick else ''}"

    def _move(self, id: str) -> str:
        """A move's name by the id in a request, which may have its power at the end (`hiddenpowerice60`)."""
        moves = self._dex.raw["moves"]
        return str(moves.get(id, moves.get(id.rstrip("0123456789"), {})).get("name", id))

    def _species(self, number: int) -> str:
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


def _condition(text: str) -> tuple[str, str]:
    """HP and status of a request's condition such as `120/300 par`."""
    hp, _, status = text.partition(" ")
    left, _, most = hp.partition("/")
    return _percent(float(left) / float(most) if most else 0.0), status.upper()
