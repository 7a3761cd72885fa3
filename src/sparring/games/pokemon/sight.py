"""What a seat sees, as text for a person: the field, both sides, and what each order would do."""

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.actions import ActionSpace
from sparring.games.pokemon.actions.offer import FIGHT, LOCKED, PLACE_AT, RECHARGE, STRUGGLE
from sparring.games.pokemon.actions.powered import max_move, z_move
from sparring.games.pokemon.battle_view import ActiveView, BattleView, PokemonView
from sparring.games.pokemon.columns import MOVES
from sparring.games.pokemon.dex import CATEGORIES, Dex

MOVE_COLUMNS = ("takes", "", "type", "power", "hits%", "PP")
"""What the columns after a move's name say; the one without a heading: how well it works on the foe."""
_OUTSIDE = {RECHARGE: "Recharge", STRUGGLE: "Struggle", FIGHT: "Fight"}
_LAYERED = frozenset(("spikes", "toxic_spikes"))
_UNSAID = frozenset(
    (
        *("types_changed", "ability_suppressed", "protected", "enduring", "redirecting", "helped", "flinch_risk"),
        *("roosting", "magic_coat", "destiny_bond", "grudge", "rage", "glaive_rush"),
    )
)
"""Effects that are over before they matter to a choice, or that the Pokémon's types and ability show."""
_RETURNING = frozenset(("bide", "comeuppance", "counter", "metalburst", "mirrorcoat"))
"""Moves that give back what the foe has dealt: nobody knows in advance how much."""


class Sight:
    """The words for what one row shows and offers, in one format."""

    def __init__(self, dex: Dex, space: ActionSpace) -> None:
        self._dex = dex
        self._space = space

    def position(self, view: BattleView) -> list[str]:
        """The field and both sides, the foe's first."""
        field = [_words(name) for name in (view.field.weather, view.field.terrain, *view.field.effects) if name]
        lines = [f"Field: {', '.join(field)}"] if field else []
        for side, who in ((view.foe, "Foe"), (view.own, "You")):
            lies = [
                f"{_words(name)} x{effect.count}" if name in _LAYERED else _words(name)
                for name, effect in side.effects.items()
            ]
            left = f"{who}, {side.remaining} left"
            there = [self._active(place, place.pokemon, who) for place in side.active if place.pokemon]
            lines.append(f"{left}: {there[0]}" if there else left)
            lines += [" " * len(f"{left}: ") + pokemon for pokemon in there[1:]]
            if lies:
                lines.append(f"  on {'your' if who == 'You' else 'their'} side: {', '.join(lies)}")
        return lines

    def name_of(self, place: ActiveView) -> str:
        """The species at a place on the field."""
        return self._species(place.species)

    def order(
        self, view: BattleView, ranges: NDArray[np.float64], offer: bytearray, place: int, order: int
    ) -> list[str]:
        """What order `order` of own place `place` does, in the columns of `member` or `MOVE_COLUMNS`.

        `ranges`: see `DamageEstimate.ranges`.
        """
        orders = self._space.orders
        move, switch = int(orders.move[order]), int(orders.switch[order])
        if switch >= 0:
            return self.member(view.own.team[switch])
        locked = offer[PLACE_AT[place] + LOCKED]
        name = self.name(view, place, order, locked=locked)
        if move < 0 or orders.gimmick[order] or locked:
            return [name]
        return [name, *self._about_move(view, ranges[place], place, move, int(orders.target[order]))]

    def name(self, view: BattleView, place: int, order: int, *, locked: int = 0) -> str:
        """The name of order `order` of own place `place`; `locked` as in an offer."""
        orders = self._space.orders
        move, switch = int(orders.move[order]), int(orders.switch[order])
        if switch >= 0:
            return f"switch to {self.species(view.own.team[switch]) or f'slot {switch + 1}'}"
        if move < 0:
            return "pass"
        if locked > MOVES:
            return self._outside(view.own.active[place], locked)
        gimmick, target = int(orders.gimmick[order]), int(orders.target[order])
        name = self._move_name(view.own.active[place], move, self._space.gimmicks[gimmick - 1] if gimmick else "")
        if target in (1, 2):
            name += f" at {self.name_of(view.foe.active[target - 1])}"
        elif target == 3:
            name += f" at your {self.name_of(view.own.active[1 - place])}"
        return name

    def species(self, pokemon: PokemonView) -> str:
        """The species of a Pokémon; "" if it is not known."""
        return self._species(pokemon.species)

    def member(self, pokemon: PokemonView) -> list[str]:
        """A Pokémon of the own team: its name, HP and status, and its moves."""
        moves = ", ".join(self._move(move.id) for move in pokemon.moves)
        status = "FNT" if pokemon.fainted else pokemon.status.upper()
        return [self._species(pokemon.species), f"{_percent(pokemon.hp):>4} {status}".rstrip(), moves]

    def named(self, number: int) -> str:
        """The species with that number in the dex."""
        return self._species(self._dex.species.ids[number])

    def _active(self, place: ActiveView, pokemon: PokemonView, who: str) -> str:
        kind = "/".join(type.title() for type in place.types[:2])
        parts = [f"{self._species(place.species)} L{pokemon.level} ({kind}) {_percent(pokemon.hp)}"]
        if pokemon.status:
            parts.append(pokemon.status.upper())
        if pokemon.terastallized:
            parts.append("terastallized")
        parts += [f"{stat.title()} {stages:+d}" for stat, stages in place.boosts.items() if stages]
        parts += [_words(name) for name in place.effects if name not in _UNSAID]
        seen = [self._move(move.id) for move in pokemon.moves]
        if seen and who == "Foe":
            parts.append(f"has shown {', '.join(seen)}")
        return ", ".join(parts)

    def _about_move(
        self, view: BattleView, ranges: NDArray[np.float64], place: int, move: int, target: int
    ) -> list[str]:
        """The `MOVE_COLUMNS` after the name; of a move that may hit both foes, what it does to each."""
        moves = view.own.active[place].moves
        if move >= len(moves):
            return []
        id = moves[move].id
        number = self._dex.moves[id]
        category = CATEGORIES[self._dex.move_category[number]]
        accuracy, power = float(self._dex.move_accuracy[number]), int(self._dex.move_power[number])
        if power <= 1:  # fixed damage, which generation 1 calls a power of 1
            power = 0
        foes = [target - 1] if target else range(self._space.active)
        hit = [] if category in ("", "Status") or target == 3 else [view.foe.active[foe] for foe in foes]
        damages, effects = [], []
        for foe, index in zip(hit, foes, strict=False):
            if id in _RETURNING:
                damages.append("?")
            elif foe.pokemon is not None:
                factor = self._factor(number, foe) if power else 1.0
                damages.append(_damage(ranges[move, index]))
                effects.append(_effect(ranges[move, index], foe.pokemon.hp, factor))
        return [
            " / ".join(damages),
            " / ".join(effect or "x1" for effect in effects) if any(effects) else "",
            f"{self._dex.types.ids[self._dex.move_type[number]].title()} {category.lower()}",
            f"{power or '':>5}",
            f"{100 * accuracy:>5.0f}" if not self._dex.move_sure[number] and accuracy < 1 else "",
            f"{moves[move].pp}/{moves[move].max_pp}",
        ]

    def _factor(self, move: int, foe: ActiveView) -> float:
        """What the types of `foe` multiply the damage of move number `move` with."""
        met = [self._dex.types[type] for type in foe.types]
        return float(self._dex.effectiveness[self._dex.move_type[move], met].prod())

    def _move_name(self, place: ActiveView, move: int, gimmick: str) -> str:
        if move >= len(place.moves):
            return f"move {move + 1}"
        id = place.moves[move].id
        if gimmick == "zmove":
            item = place.pokemon.item if place.pokemon is not None else None
            return f"Z-move {z_move(self._dex, id, item or '')}"
        if gimmick == "dynamax" or "dynamaxed" in place.effects:
            name = self._move(max_move(self._dex, id, place.species))
            return f"{'dynamax: ' if gimmick else ''}{name}"
        return f"{self._move(id)}{f' and {gimmick}' if gimmick else ''}"

    def _outside(self, place: ActiveView, locked: int) -> str:
        """The only order of a Pokémon that goes on with something outside of its list."""
        return _OUTSIDE.get(locked) or (self._move(place.last_move) if place.last_move else "go on")

    def _move(self, id: str) -> str:
        return str(self._dex.raw["moves"][id]["name"])

    def _species(self, id: str) -> str:
        return str(self._dex.raw["species"].get(id, {}).get("name", id))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of columns as lines, each column as wide as its longest entry."""
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    return ["  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=False)).rstrip() for row in rows]


def _damage(damage: NDArray[np.float64]) -> str:
    """A hit's `float64[2]` lowest and highest damage; once, if they are the same."""
    low, high = (f"{100 * share:.0f}" for share in damage)
    return f"{high}%" if low == high else f"{low}-{high}%"


def _effect(damage: NDArray[np.float64], left: float, factor: float) -> str:
    """How well a hit works on a foe that has `left`; "" for nothing special."""
    if damage[1] <= 0:
        return "no effect"
    ending = "KO" if damage[0] >= left else "may KO" if damage[1] >= left else ""
    return " ".join(filter(None, (f"x{factor:g}" if factor not in (0, 1) else "", ending)))


def _words(name: str) -> str:
    """An effect of a view as people write it."""
    return name.replace("_", " ").title()


def _percent(share: float) -> str:
    return f"{max(share, 0.01):.0%}" if share > 0 else "0%"
