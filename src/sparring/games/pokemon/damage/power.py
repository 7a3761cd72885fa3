"""Base power, type and category of a move as it is used now."""

from math import floor

import numpy as np
from numba import njit

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.damage.combatant import F, Floats, G, I, Ints, Number, Terrain, Weather
from sparring.games.pokemon.damage.effects import Ability, Item, Kind, Type
from sparring.games.pokemon.damage.stats import boosted, effective_speed, grounded, has
from sparring.games.pokemon.damage.tables import (
    BITE,
    CONTACT,
    PULSE,
    PUNCH,
    RECOIL,
    SECONDARY,
    SLICING,
    SOUND,
    M,
    Rules,
)

_WEIGHT_STEPS = ((200.0, 120.0), (100.0, 100.0), (50.0, 80.0), (25.0, 60.0), (10.0, 40.0))

_WEATHER_TYPE = np.zeros(len(Weather) + 1, np.int64)
_WEATHER_TYPE[[Weather.SUN, Weather.HARSH_SUN]] = Type.FIRE
_WEATHER_TYPE[[Weather.RAIN, Weather.HEAVY_RAIN]] = Type.WATER
_WEATHER_TYPE[Weather.SAND] = Type.ROCK
_WEATHER_TYPE[[Weather.HAIL, Weather.SNOW]] = Type.ICE
_TERRAIN_TYPE = np.array([0, Type.ELECTRIC, Type.GRASS, Type.FAIRY, Type.PSYCHIC], np.int64)
_ABILITY_TYPE = np.zeros(len(Ability) + 1, np.int64)
_ABILITY_TYPE[Ability.AERILATE] = Type.FLYING
_ABILITY_TYPE[Ability.PIXILATE] = Type.FAIRY
_ABILITY_TYPE[Ability.REFRIGERATE] = Type.ICE
_ABILITY_TYPE[Ability.GALVANIZE] = Type.ELECTRIC
_ABILITY_TYPE[Ability.DRAGONIZE] = Type.DRAGON


@njit(cache=True, nogil=True)
def current_type(t: Rules, ai: Ints, kind: int, move: int, field: Ints) -> tuple[Number, float]:
    """The move's type now, and the power factor of an ability that changed it."""
    now = np.int64(t.moves[move, M.TYPE])
    if kind == Kind.WEATHER_BALL:
        ball = _WEATHER_TYPE[field[G.WEATHER]]
        return ball if ball != 0 else now, 1.0
    if kind == Kind.TERRAIN_PULSE and field[G.TERRAIN] != 0 and grounded(t, ai, field):
        return _TERRAIN_TYPE[field[G.TERRAIN]], 1.0
    if kind == Kind.JUDGMENT or kind == Kind.MULTI_ATTACK:
        plate = ai[I.PLATE]
        return plate if plate != 0 else now, 1.0
    if kind == Kind.REVELATION_DANCE:
        return ai[I.TYPE_1], 1.0
    if kind == Kind.HIDDEN_POWER or kind == Kind.TERRAIN_PULSE:
        return now, 1.0
    if (kind == Kind.TERA_BLAST or kind == Kind.TERA_STARSTORM) and ai[I.TERA] != 0:
        return ai[I.TERA] if kind == Kind.TERA_BLAST else now, 1.0
    if (kind == Kind.RAGING_BULL or kind == Kind.IVY_CUDGEL) and ai[I.OWN_2] != 0:
        return ai[I.OWN_2], 1.0
    ability = ai[I.ABILITY]
    if now == Type.NORMAL and _ABILITY_TYPE[ability] != 0:
        return _ABILITY_TYPE[ability], 1.3 if t.generation == 6 else 1.2
    if ability == Ability.NORMALIZE:
        return np.int64(Type.NORMAL), 1.2 if t.generation >= 7 else 1.0
    if ability == Ability.LIQUID_VOICE and has(t.moves[move, M.BITS], SOUND):
        return np.int64(Type.WATER), 1.0
    return now, 1.0


@njit(cache=True, nogil=True)
def variable_power(t: Rules, ai: Ints, af: Floats, di: Ints, df: Floats, move: int, kind: int, field: Ints) -> Number:
    """Base power before abilities and items; 0 for a move that does nothing now."""
    power = float(t.moves[move, M.POWER])
    generation = t.generation
    if kind == 0:
        return power
    if kind in (Kind.LOW_KICK, Kind.GRASS_KNOT):
        if generation <= 2:
            return power
        for least, value in _WEIGHT_STEPS:
            if df[F.WEIGHT] >= least:
                return value
        return 20.0
    if kind in (Kind.HEAVY_SLAM, Kind.HEAT_CRASH):
        ratio = af[F.WEIGHT] / max(df[F.WEIGHT], 0.1)
        return 120.0 if ratio >= 5 else 100.0 if ratio >= 4 else 80.0 if ratio >= 3 else 60.0 if ratio >= 2 else 40.0
    if kind == Kind.GYRO_BALL:
        speed, other = effective_speed(t, ai, af, field), effective_speed(t, di, df, field)
        return min(150.0, floor(25.0 * other / max(speed, 1.0)) + 1.0)
    if kind == Kind.ELECTRO_BALL:
        ratio = effective_speed(t, ai, af, field) / max(effective_speed(t, di, df, field), 1.0)
        return 150.0 if ratio >= 4 else 120.0 if ratio >= 3 else 80.0 if ratio >= 2 else 60.0 if ratio >= 1 else 40.0
    if kind in (Kind.ERUPTION, Kind.WATER_SPOUT, Kind.DRAGON_ENERGY):
        return max(1.0, floor(150.0 * af[F.LEFT]))
    if kind in (Kind.FLAIL, Kind.REVERSAL):
        p = floor(48.0 * af[F.LEFT])
        return (
            200.0
            if p <= 1
            else 150.0
            if p <= 4
            else 100.0
            if p <= 9
            else 80.0
            if p <= 16
            else 40.0
            if p <= 32
            else 20.0
        )
    if kind in (Kind.CRUSH_GRIP, Kind.WRING_OUT):
        return max(1.0, floor(120.0 * df[F.LEFT]))
    if kind == Kind.HARD_PRESS:
        return max(1.0, floor(100.0 * df[F.LEFT]))
    if kind in (Kind.RETURN, Kind.FRUSTRATION):
        return 102.0
    if kind == Kind.HIDDEN_POWER:
        return 60.0 if generation >= 6 else 70.0
    if kind == Kind.FACADE:
        suffers = ai[I.STATUS] in (c.STATUS_BURN, c.STATUS_PARALYSIS, c.STATUS_POISON, c.STATUS_TOXIC)
        return power * 2.0 if suffers else power
    if kind in (Kind.HEX, Kind.INFERNAL_PARADE):
        return power * 2.0 if di[I.STATUS] != 0 else power
    if kind in (Kind.VENOSHOCK, Kind.BARB_BARRAGE):
        return power * 2.0 if di[I.STATUS] in (c.STATUS_POISON, c.STATUS_TOXIC) else power
    if kind == Kind.WAKE_UP_SLAP:
        return power * 2.0 if di[I.STATUS] == c.STATUS_SLEEP else power
    if kind == Kind.SMELLING_SALTS:
        return power * 2.0 if di[I.STATUS] == c.STATUS_PARALYSIS else power
    if kind == Kind.DREAM_EATER:
        return power if di[I.STATUS] == c.STATUS_SLEEP else 0.0
    if kind == Kind.BRINE:
        return power * 2.0 if df[F.LEFT] <= 0.5 else power
    if kind == Kind.KNOCK_OFF:
        stuck = di[I.STUCK] == 1
        return power * 1.5 if generation >= 6 and di[I.HOLDS] == 1 and not stuck else power
    if kind == Kind.ACROBATICS:
        return power if ai[I.HOLDS] == 1 else power * 2.0
    if kind == Kind.WEATHER_BALL:
        return power * 2.0 if _WEATHER_TYPE[field[G.WEATHER]] != 0 else power
    if kind == Kind.TERRAIN_PULSE:
        return power * 2.0 if field[G.TERRAIN] != 0 and grounded(t, ai, field) else power
    if kind == Kind.RISING_VOLTAGE:
        return power * 2.0 if field[G.TERRAIN] == Terrain.ELECTRIC and grounded(t, di, field) else power
    if kind == Kind.EXPANDING_FORCE:
        return power * 1.5 if field[G.TERRAIN] == Terrain.PSYCHIC and grounded(t, ai, field) else power
    if kind == Kind.MISTY_EXPLOSION:
        return power * 1.5 if field[G.TERRAIN] == Terrain.MISTY and grounded(t, ai, field) else power
    if kind == Kind.PSYBLADE:
        return power * 1.5 if field[G.TERRAIN] == Terrain.ELECTRIC else power
    if kind == Kind.STEEL_ROLLER:
        return power if field[G.TERRAIN] != 0 else 0.0
    if kind in (Kind.STORED_POWER, Kind.POWER_TRIP):
        return 20.0 + 20.0 * ai[I.BOOSTS]
    if kind == Kind.PUNISHMENT:
        return min(200.0, 60.0 + 20.0 * di[I.BOOSTS])
    if kind in (Kind.SOLAR_BEAM, Kind.SOLAR_BLADE):
        return power * 0.5 if field[G.WEATHER] in (Weather.RAIN, Weather.SAND, Weather.HAIL, Weather.SNOW) else power
    if kind in (Kind.BOLT_BEAK, Kind.FISHIOUS_REND):
        return power * 2.0 if effective_speed(t, ai, af, field) > effective_speed(t, di, df, field) else power
    if kind == Kind.PAYBACK:
        return power * 2.0 if effective_speed(t, ai, af, field) < effective_speed(t, di, df, field) else power
    if kind == Kind.LAST_RESPECTS:
        return power + 50.0 * ai[I.FALLEN]
    if kind == Kind.MAGNITUDE:
        return 71.0
    if kind == Kind.PRESENT:
        return 52.0
    if kind == Kind.FICKLE_BEAM:
        return 104.0
    if kind == Kind.TRIPLE_KICK:
        return 20.0
    if kind == Kind.TRIPLE_AXEL:
        return 40.0
    if kind == Kind.TERA_BLAST and ai[I.TERA] == Type.STELLAR:
        return 100.0
    return power


@njit(cache=True, nogil=True)
def power_factor(
    t: Rules, ai: Ints, af: Floats, di: Ints, move: int, kind: int, now: int, power: float, field: Ints
) -> float:
    """What abilities, items and terrain make of the base power."""
    ability, bits, generation = ai[I.ABILITY], t.moves[move, M.BITS], t.generation
    physical = t.moves[move, M.CATEGORY] == 2
    factor = 1.0
    if (
        (ability == Ability.TECHNICIAN and power <= 60)
        or (ability == Ability.STRONG_JAW and has(bits, BITE))
        or (ability == Ability.MEGA_LAUNCHER and has(bits, PULSE))
        or (ability == Ability.SHARPNESS and has(bits, SLICING))
        or (ability == Ability.FLARE_BOOST and ai[I.STATUS] == c.STATUS_BURN and not physical)
        or (ability == Ability.TOXIC_BOOST and ai[I.STATUS] in (c.STATUS_POISON, c.STATUS_TOXIC) and physical)
        or (ability == Ability.STEELY_SPIRIT and now == Type.STEEL)
    ):
        factor *= 1.5
    elif (
        (ability == Ability.TOUGH_CLAWS and has(bits, CONTACT))
        or (ability == Ability.SHEER_FORCE and has(bits, SECONDARY))
        or (ability == Ability.PUNK_ROCK and has(bits, SOUND))
        or (
            ability == Ability.SAND_FORCE
            and field[G.WEATHER] == Weather.SAND
            and now in (Type.ROCK, Type.GROUND, Type.STEEL)
        )
    ):
        factor *= 1.3
    elif (ability == Ability.IRON_FIST and has(bits, PUNCH)) or (ability == Ability.RECKLESS and has(bits, RECOIL)):
        factor *= 1.2
    if (field[G.DARK_AURA] != 0 and now == Type.DARK) or (field[G.FAIRY_AURA] != 0 and now == Type.FAIRY):
        factor *= 0.75 if field[G.AURA_BREAK] != 0 else 1.33
    factor *= 1.0 + 0.1 * ai[I.FALLEN] if kind != Kind.LAST_RESPECTS else 1.0
    if ai[I.HELPED] == 1:
        factor *= 1.5
    if ai[I.CHARGED] == 1 and now == Type.ELECTRIC:
        factor *= 2.0
    code = ai[I.ITEM]
    if generation >= 4 and has(ai[I.RAISED], now):
        factor *= ai[I.PERCENT_RAISED] / 100
    elif (
        (code == Item.MUSCLE_BAND and physical)
        or (code == Item.WISE_GLASSES and not physical)
        or (code == Item.PUNCHING_GLOVE and has(bits, PUNCH))
    ):
        factor *= 1.1
    terrain = field[G.TERRAIN]
    if terrain != 0:
        strong = 1.5 if generation <= 7 else 1.3
        if grounded(t, ai, field) and (
            (terrain == Terrain.ELECTRIC and now == Type.ELECTRIC)
            or (terrain == Terrain.GRASSY and now == Type.GRASS)
            or (terrain == Terrain.PSYCHIC and now == Type.PSYCHIC)
        ):
            factor *= strong
        if grounded(t, di, field) and (
            (terrain == Terrain.MISTY and now == Type.DRAGON)
            or (terrain == Terrain.GRASSY and kind in (Kind.EARTHQUAKE, Kind.BULLDOZE, Kind.MAGNITUDE))
        ):
            factor *= 0.5
    return factor


@njit(cache=True, nogil=True)
def is_physical(t: Rules, ai: Ints, af: Floats, move: int, kind: int, now: int) -> bool:
    """Whether the move uses Attack: by the move, by its type before generation 4, or by the better stat."""
    if kind == Kind.PHOTON_GEYSER or (kind in (Kind.TERA_BLAST, Kind.TERA_STARSTORM) and ai[I.TERA] != 0):
        return boosted(af[F.ATK], ai[I.ATK], t.generation) > boosted(af[F.SPA], ai[I.SPA], t.generation)
    if kind in (Kind.HIDDEN_POWER, Kind.WEATHER_BALL) and t.generation <= 3:
        return now in (
            Type.NORMAL,
            Type.BUG,
            Type.FIGHTING,
            Type.FLYING,
            Type.GHOST,
            Type.GROUND,
            Type.POISON,
            Type.ROCK,
            Type.STEEL,
        )
    return bool(t.moves[move, M.CATEGORY] == 2)
