"""Stats: from base stats, under boosts, and what makes a Pokémon faster or keeps it off the ground."""

from math import floor

from numba import njit

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.damage.combatant import F, Floats, G, I, Ints, Terrain, Weather
from sparring.games.pokemon.damage.effects import Ability, Item, Type
from sparring.games.pokemon.damage.tables import Rules


@njit(cache=True, nogil=True)
def stat(base: int, level: int, effort: int, individual: int) -> float:
    """A stat other than HP without nature; generations 1 and 2 have `effort` 252 and `individual` 30."""
    return floor((2 * base + individual + effort // 4) * level / 100) + 5.0


@njit(cache=True, nogil=True)
def hp_stat(base: int, level: int, effort: int, individual: int) -> float:
    """Max HP; a base of 1 is Shedinja's."""
    if base == 1:
        return 1.0
    return floor((2 * base + individual + effort // 4) * level / 100) + level + 10.0


@njit(cache=True, nogil=True)
def boosted(value: float, stage: int, generation: int) -> float:
    """A stat under a boost of `stage`; generations 1 and 2 cap it at 999 and round the factor to hundredths."""
    if stage == 0:
        return value
    if generation <= 2:
        factor = floor((2 + stage) * 50) / 100 if stage > 0 else floor(200 / (2 - stage)) / 100
        return min(999.0, max(1.0, floor(value * factor)))
    return floor(value * (2 + stage) / 2) if stage > 0 else floor(value * 2 / (2 - stage))


@njit(cache=True, nogil=True)
def grounded(t: Rules, ints: Ints, field: Ints) -> bool:
    """Whether Ground moves, terrains and Spikes reach it (its item and ability included)."""
    code = ints[I.ITEM]
    if field[G.GRAVITY] == 1 or ints[I.GROUNDED] == 1 or code == Item.IRON_BALL:
        return True
    afloat = ints[I.AFLOAT] == 1 or ints[I.ABILITY] in (Ability.LEVITATE, Ability.EELEVATE)
    if afloat or code == Item.AIR_BALLOON:
        return False
    return not (ints[I.TYPE_1] == Type.FLYING or ints[I.TYPE_2] == Type.FLYING)


@njit(cache=True, nogil=True)
def effective_speed(t: Rules, ints: Ints, floats: Floats, field: Ints) -> float:
    """Speed with boosts, status, item, ability and Tailwind; Trick Room left out."""
    speed = boosted(floats[F.SPE], ints[I.SPE], t.generation)
    ability, weather = ints[I.ABILITY], field[G.WEATHER]
    code = ints[I.ITEM]
    if (
        (ability == Ability.CHLOROPHYLL and weather in (Weather.SUN, Weather.HARSH_SUN))
        or (ability == Ability.SWIFT_SWIM and weather in (Weather.RAIN, Weather.HEAVY_RAIN))
        or (ability == Ability.SAND_RUSH and weather == Weather.SAND)
        or (ability == Ability.SLUSH_RUSH and weather in (Weather.HAIL, Weather.SNOW))
        or (ability == Ability.SURGE_SURFER and field[G.TERRAIN] == Terrain.ELECTRIC)
    ):
        speed *= 2.0
    if ability == Ability.QUICK_FEET and ints[I.STATUS] != 0:
        speed *= 1.5
    elif ints[I.STATUS] == c.STATUS_PARALYSIS:
        speed *= 0.5 if t.generation >= 7 else 0.25
    if field[G.MAGIC_ROOM] == 0 and ability != Ability.KLUTZ:
        if code == Item.CHOICE_SCARF:
            speed *= 1.5
        elif code in (Item.IRON_BALL, Item.MACHO_BRACE):
            speed *= 0.5
    if ints[I.SLOW_START] == 1:
        speed *= 0.5
    if ints[I.PARADOX] == 5:
        speed *= 1.5
    if ints[I.TAILWIND] == 1:
        speed *= 2.0
    return floor(speed)


@njit(cache=True, nogil=True)
def has(bits: int, bit: int) -> bool:
    """Whether `bit` is set."""
    return (bits >> bit) & 1 == 1


@njit(cache=True, nogil=True)
def has_type(ints: Ints, type_number: int) -> bool:
    """Whether the Pokémon has that type now."""
    return bool(ints[I.TYPE_1] == type_number or ints[I.TYPE_2] == type_number or ints[I.TYPE_3] == type_number)
