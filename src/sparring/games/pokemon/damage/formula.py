"""The damage formula of generations 1 to 9 for one attack: lowest and highest damage and expected hits.

Follows the order of the games where rounding is felt (base damage) and multiplies the rest; tests hold it against
@smogon/calc. Secret rolls are summed up: a move that hits two to five times counts its expected hits.
"""

from math import floor

from numba import njit

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.damage.combatant import F, Floats, G, I, Ints, Number, Terrain, Weather
from sparring.games.pokemon.damage.effects import Ability, Item, Kind, Type
from sparring.games.pokemon.damage.power import (
    current_type,
    is_physical,
    power_factor,
    variable_power,
)
from sparring.games.pokemon.damage.stats import grounded, has, has_type
from sparring.games.pokemon.damage.strength import attack_stat, defence_stat
from sparring.games.pokemon.damage.tables import (
    ALWAYS_CRIT,
    BULLET,
    CONTACT,
    OHKO,
    SOUND,
    SPREAD_ALL,
    SPREAD_FOES,
    WIND,
    M,
    Rules,
)


@njit(cache=True, nogil=True)
def strike(t: Rules, ai: Ints, af: Floats, di: Ints, df: Floats, move: int, field: Ints) -> tuple[float, float, float]:
    """(lowest, highest damage in HP over all hits, expected hits); zeros for a move that does no damage.

    `ai, di: int64[len(I)]`, `af, df: float64[len(F)]` attacker and defender, `field: int64[len(G)]`.
    Critical hits are left out except for moves that always land one.
    """
    weather = field[G.WEATHER]
    if ai[I.ABILITY] == Ability.MEGA_SOL:  # its own moves are used as in sunlight
        field[G.WEATHER] = Weather.SUN
    outcome = _strike(t, ai, af, di, df, move, field)
    field[G.WEATHER] = weather
    return outcome


@njit(cache=True, nogil=True)
def _strike(t: Rules, ai: Ints, af: Floats, di: Ints, df: Floats, move: int, field: Ints) -> tuple[float, float, float]:
    if move == 0 or t.moves[move, M.CATEGORY] < 2:
        return 0.0, 0.0, 0.0
    generation, kind, bits = t.generation, t.moves[move, M.KIND], t.moves[move, M.BITS]
    shield = di[I.ABILITY]
    if ai[I.ABILITY] in (Ability.MOLD_BREAKER, Ability.TERAVOLT, Ability.TURBOBLAZE) and shield not in (
        Ability.PRISM_ARMOR,
        Ability.SHADOW_SHIELD,
    ):
        shield = 0
    now, changed = current_type(t, ai, kind, move, field)
    effect = effectiveness(t, ai, di, kind, now, shield, field)
    if generation == 1 and kind in (Kind.SEISMIC_TOSS, Kind.NIGHT_SHADE, Kind.SONIC_BOOM, Kind.DRAGON_RAGE):
        effect = 1.0
    if effect == 0.0 or immune(t, ai, di, move, now, shield, effect, field):
        return 0.0, 0.0, 0.0
    fixed = fixed_damage(t, ai, af, di, df, kind, bits)
    if fixed >= 0.0:
        return fixed, fixed, 1.0
    base = variable_power(t, ai, af, di, df, move, kind, field)
    if base <= 0.0:
        return 0.0, 0.0, 0.0
    factor = power_factor(t, ai, af, di, move, kind, now, base, field) * changed
    power = max(1.0, floor(base * factor + 0.4999)) if factor != 1.0 else base
    single = t.moves[move, M.MOST_HITS] == 1
    if ai[I.TERA] == now and now != 0 and power < 60 and t.moves[move, M.PRIORITY] <= 0 and single:
        power = 60.0
    physical = is_physical(t, ai, af, move, kind, now)
    crit = has(bits, ALWAYS_CRIT) and generation >= 3
    attack = attack_stat(t, ai, af, di, df, kind, now, physical, shield, crit, field)
    defence = defence_stat(t, ai, di, df, kind, bits, physical, shield, crit, field)
    if generation <= 2 and (attack > 255 or defence > 255):
        attack, defence = max(1.0, floor(attack / 4) % 256), max(1.0, floor(defence / 4) % 256)
    damage = floor(floor(floor(2 * ai[I.LEVEL] / 5 + 2) * power * max(1.0, attack) / max(1.0, defence)) / 50)
    if generation == 1:
        damage = min(997.0, damage)
    damage = final_damage(t, ai, di, df, move, kind, now, physical, shield, effect, crit, damage, field)
    hits = t.moves[move, M.TENTHS_OF_HITS] / 10
    if t.moves[move, M.MOST_HITS] == 5 and hits < 5:
        if ai[I.ABILITY] == Ability.SKILL_LINK:
            hits = 5.0
        elif ai[I.ITEM] == Item.LOADED_DICE:
            hits = 4.5
    low = 217.0 / 255.0 if generation <= 2 else 0.85
    return max(1.0, floor(damage * low)) * hits, max(1.0, floor(damage)) * hits, hits


@njit(cache=True, nogil=True)
def effectiveness(t: Rules, ai: Ints, di: Ints, kind: int, now: int, shield: int, field: Ints) -> float:
    """The type chart's factor over the defender's types, with the moves and abilities that bend it."""
    if t.generation <= 4 and kind in (Kind.FUTURE_SIGHT, Kind.DOOM_DESIRE):
        return 1.0
    if now == Type.STELLAR:
        return 2.0 if di[I.TERA] != 0 else 1.0
    total = 1.0
    for column in (I.TYPE_1, I.TYPE_2, I.TYPE_3):
        other = di[column]
        if other == 0:
            continue
        factor = float(t.chart[now, other])
        if kind == Kind.FREEZE_DRY and other == Type.WATER:
            factor = 2.0
        elif kind == Kind.FLYING_PRESS:
            factor *= t.chart[Type.FLYING, other]
        if factor == 0.0:
            seen = ai[I.ABILITY] in (Ability.SCRAPPY, Ability.MINDS_EYE) or di[I.FORESIGHT] == 1
            # A Flying type brought down to the ground is hit as its other type is.
            fallen = now == Type.GROUND and (kind == Kind.THOUSAND_ARROWS or grounded(t, di, field))
            if (other == Type.GHOST and seen) or (other == Type.FLYING and fallen):
                factor = 1.0
        if field[G.WEATHER] == Weather.STRONG_WINDS and other == Type.FLYING and factor == 2.0:
            factor = 1.0
        total *= factor
    if kind == Kind.THOUSAND_ARROWS and not grounded(t, di, field):
        return 1.0
    if shield == Ability.TERA_SHELL and total >= 1.0:
        return 0.5
    return total


@njit(cache=True, nogil=True)
def immune(t: Rules, ai: Ints, di: Ints, move: int, now: int, shield: int, effect: float, field: Ints) -> bool:
    """Whether an ability, item or the ground keeps the move away from the defender."""
    bits, kind = t.moves[move, M.BITS], t.moves[move, M.KIND]
    if now == Type.GROUND and kind != Kind.THOUSAND_ARROWS:
        code = di[I.ITEM]
        held_down = field[G.GRAVITY] == 1 or di[I.GROUNDED] == 1 or code == Item.IRON_BALL
        afloat = di[I.AFLOAT] == 1 or shield in (Ability.LEVITATE, Ability.EELEVATE)
        if not held_down and (afloat or code == Item.AIR_BALLOON):
            return True
    if field[G.WEATHER] == Weather.HARSH_SUN and now == Type.WATER:
        return True
    if field[G.WEATHER] == Weather.HEAVY_RAIN and now == Type.FIRE:
        return True
    priority = t.moves[move, M.PRIORITY] > 0
    if priority and field[G.TERRAIN] == Terrain.PSYCHIC and grounded(t, di, field):
        return True
    if kind == Kind.STEEL_ROLLER and field[G.TERRAIN] == 0:
        return True
    if has(bits, OHKO) and di[I.DYNAMAXED] == 1:
        return True
    if shield == 0:
        return False
    return (
        (shield == Ability.WONDER_GUARD and effect <= 1.0)
        or (now == Type.ELECTRIC and shield in (Ability.VOLT_ABSORB, Ability.MOTOR_DRIVE))
        or (now == Type.ELECTRIC and shield == Ability.LIGHTNING_ROD and t.generation >= 5)
        or (now == Type.WATER and shield in (Ability.WATER_ABSORB, Ability.DRY_SKIN))
        or (now == Type.WATER and shield == Ability.STORM_DRAIN and t.generation >= 5)
        or (now == Type.FIRE and shield in (Ability.FLASH_FIRE, Ability.WELL_BAKED_BODY))
        or (now == Type.GRASS and shield == Ability.SAP_SIPPER)
        or (now == Type.GROUND and shield == Ability.EARTH_EATER)
        or (has(bits, SOUND) and shield == Ability.SOUNDPROOF)
        or (has(bits, BULLET) and shield == Ability.BULLETPROOF)
        or (has(bits, WIND) and shield == Ability.WIND_RIDER)
        or (priority and shield in (Ability.DAZZLING, Ability.QUEENLY_MAJESTY, Ability.ARMOR_TAIL))
    )


@njit(cache=True, nogil=True)
def fixed_damage(t: Rules, ai: Ints, af: Floats, di: Ints, df: Floats, kind: int, bits: int) -> Number:
    """Damage of a move that ignores stats, or -1."""
    if has(bits, OHKO):
        return float(df[F.HP])
    if kind == 0:
        return -1.0
    if kind in (Kind.SEISMIC_TOSS, Kind.NIGHT_SHADE):
        return float(ai[I.LEVEL])
    if kind == Kind.PSYWAVE:
        return 0.75 * ai[I.LEVEL] if t.generation <= 1 else float(ai[I.LEVEL])
    if kind == Kind.DRAGON_RAGE:
        return 40.0
    if kind == Kind.SONIC_BOOM:
        return 20.0
    if kind in (Kind.SUPER_FANG, Kind.NATURES_MADNESS, Kind.RUINATION):
        return max(1.0, floor(df[F.HP] * df[F.LEFT] / 2))
    if kind == Kind.FINAL_GAMBIT:
        return float(af[F.HP] * af[F.LEFT])
    if kind == Kind.ENDEAVOR:
        return max(0.0, df[F.HP] * df[F.LEFT] - af[F.HP] * af[F.LEFT])
    return -1.0


@njit(cache=True, nogil=True)
def same_type_bonus(t: Rules, ai: Ints, now: int) -> float:
    """STAB, terastallized or not."""
    adaptable = ai[I.ABILITY] == Ability.ADAPTABILITY
    own = ai[I.OWN_1] == now or ai[I.OWN_2] == now
    if ai[I.TERA] == Type.STELLAR:
        return 2.0 if own else 1.2
    if ai[I.TERA] != 0:
        if ai[I.TERA] == now:
            return (2.25 if adaptable else 2.0) if own else (2.0 if adaptable else 1.5)
        return 1.5 if own else 1.0
    if now != 0 and (has_type(ai, now) or ai[I.ABILITY] in (Ability.PROTEAN, Ability.LIBERO)):
        return 2.0 if adaptable else 1.5
    return 1.0


@njit(cache=True, nogil=True)
def final_damage(
    t: Rules,
    ai: Ints,
    di: Ints,
    df: Floats,
    move: int,
    kind: int,
    now: int,
    physical: bool,
    shield: int,
    effect: float,
    crit: bool,
    damage: float,
    field: Ints,
) -> float:
    """Everything after base damage: spread, weather, STAB, types, burn, screens, abilities, items."""
    generation, bits = t.generation, t.moves[move, M.BITS]
    burnt = (
        physical
        and ai[I.STATUS] == c.STATUS_BURN
        and generation >= 3
        and ai[I.ABILITY] != Ability.GUTS
        and not (kind == Kind.FACADE and generation >= 6)
    )
    screened = (physical and di[I.REFLECT] == 1) or (not physical and di[I.LIGHT_SCREEN] == 1) or di[I.AURORA_VEIL] == 1
    screen = 1.0
    through = kind in (Kind.BRICK_BREAK, Kind.PSYCHIC_FANGS, Kind.RAGING_BULL) or (
        ai[I.ABILITY] == Ability.INFILTRATOR and generation >= 5
    )
    if screened and generation >= 3 and not crit and not through:
        screen = 2 / 3 if field[G.DOUBLES] == 1 else 0.5
    if generation == 3 or generation == 4:  # these two come before the 2 is added
        damage = floor(damage * 0.5) if burnt else damage
        damage = floor(damage * screen)
    else:
        damage += 2.0
    around = has(bits, SPREAD_ALL) and generation >= 4
    spread = has(bits, SPREAD_FOES) or around
    if kind == Kind.EXPANDING_FORCE and field[G.TERRAIN] == Terrain.PSYCHIC and grounded(t, ai, field):
        spread = True
    if field[G.DOUBLES] == 1 and spread and field[G.TARGETS] + (field[G.ALLIES] if around else 0) >= 2:
        damage = floor(damage * (0.5 if generation == 3 else 0.75))
    if ai[I.ABILITY] == Ability.PARENTAL_BOND and t.moves[move, M.MOST_HITS] == 1:
        damage *= 1.5 if generation == 6 else 1.25
    weather = field[G.WEATHER]
    sunny = weather in (Weather.SUN, Weather.HARSH_SUN)
    rainy = weather in (Weather.RAIN, Weather.HEAVY_RAIN)
    if di[I.ITEM] != Item.UTILITY_UMBRELLA:
        if (sunny and now == Type.FIRE) or (rainy and now == Type.WATER) or (sunny and kind == Kind.HYDRO_STEAM):
            damage = floor(damage * 1.5)
        elif (sunny and now == Type.WATER) or (rainy and now == Type.FIRE):
            damage = floor(damage * 0.5)
    if generation == 3 or generation == 4:
        damage += 2.0
    if crit:
        damage = floor(damage * (1.5 if generation >= 6 else 2.0))
    if di[I.GLAIVE_RUSH] == 1:
        damage *= 2.0
    if generation == 2 and has(ai[I.RAISED], now):
        damage = floor(damage * ai[I.PERCENT_RAISED] / 100)
    bonus = same_type_bonus(t, ai, now)
    if generation <= 4 and kind in (Kind.FUTURE_SIGHT, Kind.DOOM_DESIRE):
        bonus = 1.0
    damage = damage * bonus * effect
    if generation >= 5:
        damage *= (0.5 if burnt else 1.0) * screen
    contact = has(bits, CONTACT) and ai[I.ITEM] != Item.PUNCHING_GLOVE
    if (shield in (Ability.MULTISCALE, Ability.SHADOW_SHIELD) and df[F.LEFT] >= 0.9999) or (
        (shield == Ability.ICE_SCALES and not physical) or (shield == Ability.PUNK_ROCK and has(bits, SOUND))
    ):
        damage *= 0.5
    elif effect > 1.0 and shield in (Ability.FILTER, Ability.SOLID_ROCK, Ability.PRISM_ARMOR):
        damage *= 0.75
    elif shield == Ability.DRY_SKIN and now == Type.FIRE:
        damage *= 1.25
    elif shield == Ability.HEATPROOF and now == Type.FIRE and 5 <= generation <= 8:
        damage *= 0.5
    elif shield == Ability.FLUFFY:
        damage *= (0.5 if contact else 1.0) * (2.0 if now == Type.FIRE else 1.0)
    if ai[I.ABILITY] == Ability.TINTED_LENS and effect < 1.0:
        damage *= 2.0
    elif ai[I.ABILITY] == Ability.NEUROFORCE and effect > 1.0:
        damage *= 1.25
    if effect > 1.0 and kind in (Kind.COLLISION_COURSE, Kind.ELECTRO_DRIFT):
        damage *= 5461 / 4096
    if field[G.MAGIC_ROOM] == 0 and ai[I.ABILITY] != Ability.KLUTZ:
        if ai[I.ITEM] == Item.LIFE_ORB:
            damage *= 1.3
        elif ai[I.ITEM] == Item.EXPERT_BELT and effect > 1.0:
            damage *= 1.2
    berry = di[I.RESISTED]
    if berry != 0 and berry == now and (effect > 1.0 or now == Type.NORMAL) and generation >= 4:
        damage *= 0.5
    return float(damage)
