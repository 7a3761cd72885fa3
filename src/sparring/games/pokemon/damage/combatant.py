"""One side of an attack as two short rows of numbers, and the field around it."""

from enum import IntEnum, auto
from typing import Any, TypeAlias

Ints: TypeAlias = Any
"""`int64[len(I)]` of a combatant or `int64[len(G)]` of the field; numba knows the type."""
Floats: TypeAlias = Any
"""`float64[len(F)]` of a combatant."""
Number: TypeAlias = Any
"""A number as numba types it."""


class ZeroEnum(IntEnum):
    """Members count from 0 under `auto()`, so that they index arrays."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count


class I(ZeroEnum):  # noqa: E742 (the two rows are indexed everywhere; a long name would bury the formula)
    """Columns of a combatant's `int64` row."""

    ABILITY = auto()  # code, `effects.Ability`
    ITEM = auto()  # code, `effects.Item`
    HOLDS = auto()  # 1 if it holds something (unknown items count)
    STUCK = auto()  # Knock Off cannot take the item
    SUITED = auto()  # the item serves only some species, and it is one of them
    RAISED = auto()  # bit n: the item raises moves of type n
    PERCENT_RAISED = auto()
    RESISTED = auto()  # type that its berry halves
    PLATE = auto()  # type that Judgment or Multi-Attack takes from the item
    EVOLVES = auto()
    BASE_SPEED = auto()
    STATUS = auto()  # `columns.Status`
    TYPE_1 = auto()  # types that count now
    TYPE_2 = auto()
    TYPE_3 = auto()
    OWN_1 = auto()  # types before terastallizing
    OWN_2 = auto()
    TERA = auto()  # type it has terastallized into, else 0
    LEVEL = auto()
    ATK = auto()  # boost stages
    DEF = auto()
    SPA = auto()
    SPD = auto()
    SPE = auto()
    BOOSTS = auto()  # sum of its positive stages, accuracy and evasion included
    AFLOAT = auto()  # Magnet Rise, Telekinesis
    GROUNDED = auto()  # Smack Down, Ingrain
    FLASH_FIRE = auto()
    CHARGED = auto()
    HELPED = auto()
    SLOW_START = auto()
    DYNAMAXED = auto()
    GLAIVE_RUSH = auto()
    FORESIGHT = auto()
    PARADOX = auto()  # 1 + place of the raised stat in atk, def, spa, spd, spe; 0 none
    FALLEN = auto()  # Supreme Overlord's count
    REFLECT = auto()  # screens that protect it
    LIGHT_SCREEN = auto()
    AURORA_VEIL = auto()
    TAILWIND = auto()


class F(ZeroEnum):
    """Columns of a combatant's `float64` row."""

    HP = auto()  # max HP as a number
    ATK = auto()  # stats without boosts
    DEF = auto()
    SPA = auto()
    SPD = auto()
    SPE = auto()
    LEFT = auto()  # fraction of HP left
    WEIGHT = auto()


class G(ZeroEnum):
    """Columns of the field's `int64` row."""

    DOUBLES = auto()
    WEATHER = auto()
    TERRAIN = auto()
    GRAVITY = auto()
    TRICK_ROOM = auto()
    MAGIC_ROOM = auto()
    WONDER_ROOM = auto()
    TARGETS = auto()  # foes a spread move would hit
    ALLIES = auto()  # allies that a move around the user would hit
    SWORD = auto()  # 1 if someone on the field has the ability of ruin; its owner is spared
    BEADS = auto()
    TABLETS = auto()
    VESSEL = auto()
    DARK_AURA = auto()
    FAIRY_AURA = auto()
    AURA_BREAK = auto()


class Weather(IntEnum):
    """Values of `G.WEATHER`; 0 for none, or weather that an ability silences."""

    SUN = auto()
    RAIN = auto()
    SAND = auto()
    HAIL = auto()
    SNOW = auto()
    HARSH_SUN = auto()
    HEAVY_RAIN = auto()
    STRONG_WINDS = auto()


class Terrain(IntEnum):
    """Values of `G.TERRAIN`; 0 for none."""

    ELECTRIC = auto()
    GRASSY = auto()
    MISTY = auto()
    PSYCHIC = auto()
