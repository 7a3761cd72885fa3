"""Which effect of the protocol is which column, and how long it lasts.

Effects are named by their bare id (`move: Leech Seed` is `leechseed`). Everything here is data.
"""

from sparring.games.pokemon.columns import ActiveColumn as A
from sparring.games.pokemon.columns import FieldColumn as F
from sparring.games.pokemon.columns import SideColumn as S

VOLATILES: dict[str, A] = {
    "aquaring": A.AQUA_RING,
    "attract": A.ATTRACT,
    "autotomize": A.AUTOTOMIZE,
    "bide": A.BIDE,
    "charge": A.CHARGE,
    "confusion": A.CONFUSION,
    "curse": A.CURSE,
    "disable": A.DISABLE,
    "dragoncheer": A.DRAGON_CHEER,
    "dynamax": A.DYNAMAXED,
    "embargo": A.EMBARGO,
    "encore": A.ENCORE,
    "flashfire": A.FLASH_FIRE,
    "focusenergy": A.FOCUS_ENERGY,
    "foresight": A.FORESIGHT,
    "gmaxchistrike": A.CHI_STRIKE,
    "healblock": A.HEAL_BLOCK,
    "imprison": A.IMPRISON,
    "ingrain": A.INGRAIN,
    "laserfocus": A.LASER_FOCUS,
    "leechseed": A.LEECH_SEED,
    "lightscreen": A.LIGHT_SCREEN_SELF,
    "magnetrise": A.MAGNET_RISE,
    "mimic": A.MIMIC,
    "miracleeye": A.MIRACLE_EYE,
    "mist": A.MIST_SELF,
    "mudsport": A.MUD_SPORT,
    "nightmare": A.NIGHTMARE,
    "noretreat": A.NO_RETREAT,
    "octolock": A.OCTOLOCK,
    "powershift": A.POWER_SHIFT,
    "powertrick": A.POWER_TRICK,
    "reflect": A.REFLECT_SELF,
    "saltcure": A.SALT_CURE,
    "skydrop": A.SKY_DROP,
    "slowstart": A.SLOW_START,
    "smackdown": A.SMACK_DOWN,
    "stockpile": A.STOCKPILE,
    "substitute": A.SUBSTITUTE,
    "syrupbomb": A.SYRUP_BOMB,
    "tarshot": A.TAR_SHOT,
    "taunt": A.TAUNT,
    "telekinesis": A.TELEKINESIS,
    "throatchop": A.THROAT_CHOP,
    "torment": A.TORMENT,
    "uproar": A.UPROAR,
    "watersport": A.WATER_SPORT,
    "yawn": A.YAWN,
}
"""Effects that `-start` and `-end` switch on and off."""

COUNTED: dict[str, tuple[A, float]] = {
    **{f"stockpile{n}": (A.STOCKPILE, n / 3) for n in (1, 2, 3)},
    **{f"fallen{n}": (A.FALLEN, n / 5) for n in range(6)},
    **{
        f"{ability}{stat}": (column, 1.0)
        for ability in ("protosynthesis", "quarkdrive")
        for stat, column in (
            ("atk", A.PARADOX_ATK),
            ("def", A.PARADOX_DEF),
            ("spa", A.PARADOX_SPA),
            ("spd", A.PARADOX_SPD),
            ("spe", A.PARADOX_SPE),
        )
    },
}
"""Effects whose protocol name carries a count or a stat: column and value."""

ELAPSED: dict[A, A] = {
    A.CONFUSION: A.CONFUSION_TURNS,
    A.TAUNT: A.TAUNT_TURNS,
    A.ENCORE: A.ENCORE_TURNS,
    A.DISABLE: A.DISABLE_TURNS,
    A.HEAL_BLOCK: A.HEAL_BLOCK_TURNS,
    A.EMBARGO: A.EMBARGO_TURNS,
    A.THROAT_CHOP: A.THROAT_CHOP_TURNS,
    A.BOUND: A.BOUND_TURNS,
    A.MAGNET_RISE: A.MAGNET_RISE_TURNS,
}
"""Effects whose turns since they began are counted."""

SINGLE_TURN: dict[str, A | S] = {
    "protect": A.PROTECTED,
    "maxguard": A.PROTECTED,
    "endure": A.ENDURING,
    "followme": A.REDIRECTING,
    "ragepowder": A.REDIRECTING,
    "spotlight": A.REDIRECTING,
    "helpinghand": A.HELPED,
    "focuspunch": A.FLINCH_RISK,
    "shelltrap": A.FLINCH_RISK,
    "beakblast": A.FLINCH_RISK,
    "roost": A.ROOSTING,
    "magiccoat": A.MAGIC_COAT,
    "quickguard": S.SIDE_PROTECTED,
    "wideguard": S.SIDE_PROTECTED,
    "craftyshield": S.SIDE_PROTECTED,
    "matblock": S.SIDE_PROTECTED,
}
"""Effects of `-singleturn`, over when the turn is."""

STALLING = frozenset({"protect", "maxguard", "endure", "matblock"})
"""Effects of `-singleturn` that fail more often in a row; Quick and Wide Guard too before generation 6."""

SINGLE_TURN_UNSEEN = frozenset({"snatch", "powder", "electrify", "instruct"})
"""Effects of `-singleturn` that no decision can ever see at work."""

SINGLE_MOVE: dict[str, A] = {
    "destinybond": A.DESTINY_BOND,
    "grudge": A.GRUDGE,
    "rage": A.RAGE,
    "glaiverush": A.GLAIVE_RUSH,
}
"""Effects of `-singlemove`, over when their Pokémon acts again."""

BINDING = frozenset(
    {
        "bind",
        "wrap",
        "clamp",
        "firespin",
        "whirlpool",
        "sandtomb",
        "magmastorm",
        "infestation",
        "snaptrap",
        "thundercage",
        "gmaxcentiferno",
        "gmaxsandblast",
    }
)
"""Moves that `-activate` says have bound their target."""

PASSED: tuple[A, ...] = (
    A.BOOST_ATK,
    A.BOOST_DEF,
    A.BOOST_SPA,
    A.BOOST_SPD,
    A.BOOST_SPE,
    A.BOOST_ACCURACY,
    A.BOOST_EVASION,
    A.SUBSTITUTE,
    A.CONFUSION,
    A.CONFUSION_TURNS,
    A.LEECH_SEED,
    A.CURSE,
    A.FOCUS_ENERGY,
    A.DRAGON_CHEER,
    A.AQUA_RING,
    A.INGRAIN,
    A.EMBARGO,
    A.EMBARGO_TURNS,
    A.HEAL_BLOCK,
    A.HEAL_BLOCK_TURNS,
    A.MAGNET_RISE,
    A.MAGNET_RISE_TURNS,
    A.TELEKINESIS,
    A.PERISH,
    A.PERISH_TURNS,
    A.POWER_TRICK,
    A.POWER_SHIFT,
    A.TAR_SHOT,
    A.ABILITY_SUPPRESSED,
    A.LASER_FOCUS,
    A.CHARGE,
    A.NO_RETREAT,
    A.OCTOLOCK,
    A.TAUNT,
    A.TAUNT_TURNS,
    A.THROAT_CHOP,
    A.THROAT_CHOP_TURNS,
    A.MUD_SPORT,
    A.WATER_SPORT,
)
"""What Baton Pass hands on."""

SIDE_LAYERS: dict[str, tuple[S, int]] = {
    "stealthrock": (S.STEALTH_ROCK, 1),
    "spikes": (S.SPIKES, 3),
    "toxicspikes": (S.TOXIC_SPIKES, 2),
    "stickyweb": (S.STICKY_WEB, 1),
    "gmaxsteelsurge": (S.STEELSURGE, 1),
}
"""Side conditions without an end: column and most layers."""

SIDE_TIMED: dict[str, tuple[S, S, int, str]] = {
    "reflect": (S.REFLECT, S.REFLECT_TURNS, 5, "lightclay"),
    "lightscreen": (S.LIGHT_SCREEN, S.LIGHT_SCREEN_TURNS, 5, "lightclay"),
    "auroraveil": (S.AURORA_VEIL, S.AURORA_VEIL_TURNS, 5, "lightclay"),
    "safeguard": (S.SAFEGUARD, S.SAFEGUARD_TURNS, 5, ""),
    "mist": (S.MIST, S.MIST_TURNS, 5, ""),
    "tailwind": (S.TAILWIND, S.TAILWIND_TURNS, 4, ""),
    "luckychant": (S.LUCKY_CHANT, S.LUCKY_CHANT_TURNS, 5, ""),
    "firepledge": (S.FIRE_PLEDGE, S.FIRE_PLEDGE_TURNS, 4, ""),
    "waterpledge": (S.WATER_PLEDGE, S.WATER_PLEDGE_TURNS, 4, ""),
    "grasspledge": (S.GRASS_PLEDGE, S.GRASS_PLEDGE_TURNS, 4, ""),
    "gmaxcannonade": (S.GMAX_DAMAGE, S.GMAX_DAMAGE_TURNS, 4, ""),
    "gmaxvinelash": (S.GMAX_DAMAGE, S.GMAX_DAMAGE_TURNS, 4, ""),
    "gmaxvolcalith": (S.GMAX_DAMAGE, S.GMAX_DAMAGE_TURNS, 4, ""),
    "gmaxwildfire": (S.GMAX_DAMAGE, S.GMAX_DAMAGE_TURNS, 4, ""),
}
"""Side conditions that end: flag, turns left, how many turns, and the item that makes it EXTENDED."""

EXTENDED = 8
"""Turns of a screen, weather or terrain whose setter holds the item for it."""

SWAPPED_BY_COURT_CHANGE: tuple[S, ...] = (
    S.STEALTH_ROCK,
    S.SPIKES,
    S.TOXIC_SPIKES,
    S.STICKY_WEB,
    S.STEELSURGE,
    *(column for flag, turns, _, _ in SIDE_TIMED.values() for column in (flag, turns)),
)
"""Side columns that change sides under Court Change."""

WEATHERS: dict[str, tuple[F, int, str]] = {
    "sunnyday": (F.SUN, 5, "heatrock"),
    "raindance": (F.RAIN, 5, "damprock"),
    "sandstorm": (F.SAND, 5, "smoothrock"),
    "hail": (F.HAIL, 5, "icyrock"),
    "snow": (F.SNOW, 5, "icyrock"),
    "snowscape": (F.SNOW, 5, "icyrock"),
    "desolateland": (F.HARSH_SUN, 0, ""),
    "primordialsea": (F.HEAVY_RAIN, 0, ""),
    "deltastream": (F.STRONG_WINDS, 0, ""),
}
"""Weathers: column, turns (0: without end) and the item that makes it EXTENDED."""

TERRAINS: dict[str, F] = {
    "electricterrain": F.ELECTRIC_TERRAIN,
    "grassyterrain": F.GRASSY_TERRAIN,
    "mistyterrain": F.MISTY_TERRAIN,
    "psychicterrain": F.PSYCHIC_TERRAIN,
}
"""Terrains, 5 turns or EXTENDED by the Terrain Extender."""

ROOMS: dict[str, tuple[F, F]] = {
    "trickroom": (F.TRICK_ROOM, F.TRICK_ROOM_TURNS),
    "gravity": (F.GRAVITY, F.GRAVITY_TURNS),
    "magicroom": (F.MAGIC_ROOM, F.MAGIC_ROOM_TURNS),
    "wonderroom": (F.WONDER_ROOM, F.WONDER_ROOM_TURNS),
    "mudsport": (F.MUD_SPORT, F.MUD_SPORT_TURNS),
    "watersport": (F.WATER_SPORT, F.WATER_SPORT_TURNS),
}
"""Other conditions of the whole field, all 5 turns."""
