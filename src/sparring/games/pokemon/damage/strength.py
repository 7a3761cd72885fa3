"""The stats an attack is made and met with: boosts, abilities, items and weather included."""

from math import floor

from numba import njit

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.damage.combatant import F, Floats, G, I, Ints, Terrain, Weather
from sparring.games.pokemon.damage.effects import Ability, Item, Kind, Type
from sparring.games.pokemon.damage.stats import boosted, has, has_type
from sparring.games.pokemon.damage.tables import DEFENCE_HIT, IGNORES_BOOSTS, Rules


@njit(cache=True, nogil=True)
def attack_stat(
    t: Rules,
    ai: Ints,
    af: Floats,
    di: Ints,
    df: Floats,
    kind: int,
    now: int,
    physical: bool,
    shield: int,
    crit: bool,
    field: Ints,
) -> float:
    """The stat the move strikes with."""
    generation, ability, status = t.generation, ai[I.ABILITY], ai[I.STATUS]
    if kind == Kind.FOUL_PLAY:
        value, stage = df[F.ATK], di[I.ATK]
    elif kind == Kind.BODY_PRESS:
        value, stage = af[F.DEF], ai[I.DEF]
    elif physical:
        value, stage = af[F.ATK], ai[I.ATK]
    else:
        value, stage = af[F.SPA], ai[I.SPA]
    if shield == Ability.UNAWARE or (crit and stage < 0):
        stage = 0
    value = boosted(value, stage, generation)
    if generation <= 2:
        if physical and status == c.STATUS_BURN:
            value = max(1.0, floor(value / 2))
        code, suited = ai[I.ITEM], ai[I.SUITED] == 1
        if (code == Item.THICK_CLUB and physical and suited) or (code == Item.LIGHT_BALL and not physical and suited):
            value *= 2.0
        return float(value)
    factor = 1.0
    if physical and ability in (Ability.HUGE_POWER, Ability.PURE_POWER):
        factor *= 2.0
    elif (
        (physical and ability in (Ability.HUSTLE, Ability.GORILLA_TACTICS))
        or (physical and ability == Ability.GUTS and status != 0)
        or (ability == Ability.SOLAR_POWER and not physical and field[G.WEATHER] in (Weather.SUN, Weather.HARSH_SUN))
    ):
        factor *= 1.5
    elif ability == Ability.DEFEATIST and af[F.LEFT] <= 0.5:
        factor *= 0.5
    elif (
        af[F.LEFT] <= 1 / 3
        and (
            (ability == Ability.BLAZE and now == Type.FIRE)
            or (ability == Ability.TORRENT and now == Type.WATER)
            or (ability == Ability.OVERGROW and now == Type.GRASS)
            or (ability == Ability.SWARM and now == Type.BUG)
        )
    ) or (
        (ability == Ability.DRAGONS_MAW and now == Type.DRAGON)
        or (ability == Ability.FIRE_MANE and now == Type.FIRE)
        or (ability == Ability.STEELWORKER and now == Type.STEEL)
        or (ability == Ability.ROCKY_PAYLOAD and now == Type.ROCK)
    ):
        factor *= 1.5
    elif ability == Ability.TRANSISTOR and now == Type.ELECTRIC:
        factor *= 1.3 if generation >= 9 else 1.5
    elif ability == Ability.WATER_BUBBLE and now == Type.WATER:
        factor *= 2.0
    elif (ability == Ability.HADRON_ENGINE and not physical and field[G.TERRAIN] == Terrain.ELECTRIC) or (
        ability == Ability.ORICHALCUM_PULSE and physical and field[G.WEATHER] in (Weather.SUN, Weather.HARSH_SUN)
    ):
        factor *= 5461 / 4096
    if ai[I.FLASH_FIRE] == 1 and now == Type.FIRE:
        factor *= 1.5
    if ai[I.SLOW_START] == 1 and physical:
        factor *= 0.5
    if (ai[I.PARADOX] == 1 and physical) or (ai[I.PARADOX] == 3 and not physical):
        factor *= 1.3
    if (
        (shield == Ability.THICK_FAT and now in (Type.FIRE, Type.ICE))
        or (shield == Ability.HEATPROOF and now == Type.FIRE and (generation >= 9 or generation <= 4))
        or (shield == Ability.WATER_BUBBLE and now == Type.FIRE)
        or (shield == Ability.PURIFYING_SALT and now == Type.GHOST)
    ):
        factor *= 0.5
    if (physical and field[G.TABLETS] & ~_own_ruin(ability, Ability.TABLETS_OF_RUIN)) or (
        not physical and field[G.VESSEL] & ~_own_ruin(ability, Ability.VESSEL_OF_RUIN)
    ):
        factor *= 0.75
    if field[G.MAGIC_ROOM] == 0 and ability != Ability.KLUTZ:
        factor *= _attack_item(t, ai, now, physical)
    return float(floor(value * factor))


@njit(cache=True, nogil=True)
def _own_ruin(ability: int, ruin: int) -> int:
    """All bits if the Pokémon itself has the ability of ruin, which spares its owner."""
    return -1 if ability == ruin else 0


@njit(cache=True, nogil=True)
def _attack_item(t: Rules, ai: Ints, now: int, physical: bool) -> float:
    code = ai[I.ITEM]
    if (code == Item.CHOICE_BAND and physical) or (code == Item.CHOICE_SPECS and not physical):
        return 1.0 if ai[I.DYNAMAXED] == 1 else 1.5
    if t.generation == 3 and has(ai[I.RAISED], now):
        return float(ai[I.PERCENT_RAISED] / 100)
    if code in (Item.LIGHT_BALL, Item.THICK_CLUB, Item.DEEP_SEA_TOOTH):
        if ai[I.SUITED] == 0:
            return 1.0
        if code == Item.LIGHT_BALL:
            return 2.0 if not physical or t.generation >= 4 else 1.0
        return 2.0 if physical == (code == Item.THICK_CLUB) else 1.0
    return 1.0


@njit(cache=True, nogil=True)
def defence_stat(
    t: Rules,
    ai: Ints,
    di: Ints,
    df: Floats,
    kind: int,
    bits: int,
    physical: bool,
    shield: int,
    crit: bool,
    field: Ints,
) -> float:
    """The stat the defender meets the move with."""
    generation = t.generation
    low = physical or has(bits, DEFENCE_HIT)
    if field[G.WONDER_ROOM] == 1:
        low = not low
    value, stage = (df[F.DEF], di[I.DEF]) if low else (df[F.SPD], di[I.SPD])
    if ai[I.ABILITY] == Ability.UNAWARE or has(bits, IGNORES_BOOSTS) or (crit and stage > 0):
        stage = 0
    value = boosted(value, stage, generation)
    factor = 1.0
    code = di[I.ITEM]
    if generation <= 2 and ((low and di[I.REFLECT] == 1) or (not low and di[I.LIGHT_SCREEN] == 1)):
        factor *= 2.0
    if generation <= 4 and kind in (Kind.EXPLOSION, Kind.SELF_DESTRUCT):
        factor *= 0.5
    weather = field[G.WEATHER]
    if generation >= 4 and not low and weather == Weather.SAND and has_type(di, Type.ROCK):
        factor *= 1.5
    if low and weather == Weather.SNOW and has_type(di, Type.ICE):
        factor *= 1.5
    if low and shield == Ability.FUR_COAT:
        factor *= 2.0
    elif low and (
        (shield == Ability.MARVEL_SCALE and di[I.STATUS] != 0)
        or (shield == Ability.GRASS_PELT and field[G.TERRAIN] == Terrain.GRASSY)
    ):
        factor *= 1.5
    if (di[I.PARADOX] == 2 and low) or (di[I.PARADOX] == 4 and not low):
        factor *= 1.3
    if (low and field[G.SWORD] & ~_own_ruin(di[I.ABILITY], Ability.SWORD_OF_RUIN)) or (
        not low and field[G.BEADS] & ~_own_ruin(di[I.ABILITY], Ability.BEADS_OF_RUIN)
    ):
        factor *= 0.75
    if field[G.MAGIC_ROOM] == 0 and di[I.ABILITY] != Ability.KLUTZ:
        if (code == Item.EVIOLITE and di[I.EVOLVES] == 1) or (code == Item.ASSAULT_VEST and not low):
            factor *= 1.5
        elif code == Item.METAL_POWDER and low and di[I.SUITED] == 1:
            factor *= 1.5 if generation == 2 else 2.0
        elif code == Item.DEEP_SEA_SCALE and not low and di[I.SUITED] == 1:
            factor *= 2.0
    return max(1.0, floor(value * factor))
