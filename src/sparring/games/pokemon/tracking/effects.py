"""Which effect of the protocol is which column, and how long it lasts.

Effects are named by their bare id (`move: Leech Seed` is `leechseed`). Everything here is data.
"""

from sparring.games.pokemon import column_numbers as c

VOLATILES: dict[str, int] = {
    "aquaring": c.ACTIVE_AQUA_RING,
    "attract": c.ACTIVE_ATTRACT,
    "autotomize": c.ACTIVE_AUTOTOMIZE,
    "bide": c.ACTIVE_BIDE,
    "charge": c.ACTIVE_CHARGE,
    "confusion": c.ACTIVE_CONFUSION,
    "curse": c.ACTIVE_CURSE,
    "disable": c.ACTIVE_DISABLE,
    "dragoncheer": c.ACTIVE_DRAGON_CHEER,
    "dynamax": c.ACTIVE_DYNAMAXED,
    "embargo": c.ACTIVE_EMBARGO,
    "encore": c.ACTIVE_ENCORE,
    "flashfire": c.ACTIVE_FLASH_FIRE,
    "focusenergy": c.ACTIVE_FOCUS_ENERGY,
    "foresight": c.ACTIVE_FORESIGHT,
    "gmaxchistrike": c.ACTIVE_CHI_STRIKE,
    "healblock": c.ACTIVE_HEAL_BLOCK,
    "imprison": c.ACTIVE_IMPRISON,
    "ingrain": c.ACTIVE_INGRAIN,
    "laserfocus": c.ACTIVE_LASER_FOCUS,
    "leechseed": c.ACTIVE_LEECH_SEED,
    "lightscreen": c.ACTIVE_LIGHT_SCREEN_SELF,
    "magnetrise": c.ACTIVE_MAGNET_RISE,
    "mimic": c.ACTIVE_MIMIC,
    "miracleeye": c.ACTIVE_MIRACLE_EYE,
    "mist": c.ACTIVE_MIST_SELF,
    "mudsport": c.ACTIVE_MUD_SPORT,
    "nightmare": c.ACTIVE_NIGHTMARE,
    "noretreat": c.ACTIVE_NO_RETREAT,
    "octolock": c.ACTIVE_OCTOLOCK,
    "powershift": c.ACTIVE_POWER_SHIFT,
    "powertrick": c.ACTIVE_POWER_TRICK,
    "reflect": c.ACTIVE_REFLECT_SELF,
    "saltcure": c.ACTIVE_SALT_CURE,
    "skydrop": c.ACTIVE_SKY_DROP,
    "slowstart": c.ACTIVE_SLOW_START,
    "smackdown": c.ACTIVE_SMACK_DOWN,
    "stockpile": c.ACTIVE_STOCKPILE,
    "substitute": c.ACTIVE_SUBSTITUTE,
    "syrupbomb": c.ACTIVE_SYRUP_BOMB,
    "tarshot": c.ACTIVE_TAR_SHOT,
    "taunt": c.ACTIVE_TAUNT,
    "telekinesis": c.ACTIVE_TELEKINESIS,
    "throatchop": c.ACTIVE_THROAT_CHOP,
    "torment": c.ACTIVE_TORMENT,
    "uproar": c.ACTIVE_UPROAR,
    "watersport": c.ACTIVE_WATER_SPORT,
    "yawn": c.ACTIVE_YAWN,
}
"""Effects that `-start` and `-end` switch on and off."""

COUNTED: dict[str, tuple[int, float]] = {
    **{f"stockpile{n}": (c.ACTIVE_STOCKPILE, n / 3) for n in (1, 2, 3)},
    **{f"fallen{n}": (c.ACTIVE_FALLEN, n / 5) for n in range(6)},
    **{
        f"{ability}{stat}": (column, 1.0)
        for ability in ("protosynthesis", "quarkdrive")
        for stat, column in (
            ("atk", c.ACTIVE_PARADOX_ATK),
            ("def", c.ACTIVE_PARADOX_DEF),
            ("spa", c.ACTIVE_PARADOX_SPA),
            ("spd", c.ACTIVE_PARADOX_SPD),
            ("spe", c.ACTIVE_PARADOX_SPE),
        )
    },
}
"""Effects whose protocol name carries a count or a stat: column and value."""

ELAPSED: dict[int, int] = {
    c.ACTIVE_CONFUSION: c.ACTIVE_CONFUSION_TURNS,
    c.ACTIVE_TAUNT: c.ACTIVE_TAUNT_TURNS,
    c.ACTIVE_ENCORE: c.ACTIVE_ENCORE_TURNS,
    c.ACTIVE_DISABLE: c.ACTIVE_DISABLE_TURNS,
    c.ACTIVE_HEAL_BLOCK: c.ACTIVE_HEAL_BLOCK_TURNS,
    c.ACTIVE_EMBARGO: c.ACTIVE_EMBARGO_TURNS,
    c.ACTIVE_THROAT_CHOP: c.ACTIVE_THROAT_CHOP_TURNS,
    c.ACTIVE_BOUND: c.ACTIVE_BOUND_TURNS,
    c.ACTIVE_MAGNET_RISE: c.ACTIVE_MAGNET_RISE_TURNS,
}
"""Effects whose turns since they began are counted."""

SINGLE_TURN: dict[str, int] = {
    "protect": c.ACTIVE_PROTECTED,
    "maxguard": c.ACTIVE_PROTECTED,
    "endure": c.ACTIVE_ENDURING,
    "followme": c.ACTIVE_REDIRECTING,
    "ragepowder": c.ACTIVE_REDIRECTING,
    "spotlight": c.ACTIVE_REDIRECTING,
    "helpinghand": c.ACTIVE_HELPED,
    "focuspunch": c.ACTIVE_FLINCH_RISK,
    "shelltrap": c.ACTIVE_FLINCH_RISK,
    "beakblast": c.ACTIVE_FLINCH_RISK,
    "roost": c.ACTIVE_ROOSTING,
    "magiccoat": c.ACTIVE_MAGIC_COAT,
}
"""Effects of `-singleturn` on a Pokémon, over when the turn is."""

SIDE_SINGLE_TURN: dict[str, int] = dict.fromkeys(
    ("quickguard", "wideguard", "craftyshield", "matblock"), c.SIDE_SIDE_PROTECTED
)
"""Effects of `-singleturn` on a whole side."""

STALLING = frozenset({"protect", "maxguard", "endure"})
"""Effects of `-singleturn` after which protecting moves fail more often."""

STALLING_MOVES = frozenset(
    {
        "protect",
        "detect",
        "endure",
        "kingsshield",
        "spikyshield",
        "banefulbunker",
        "obstruct",
        "silktrap",
        "burningbulwark",
        "maxguard",
    }
)
"""Moves that fail more often after protecting moves."""

SIDE_GUARDS = frozenset({"quickguard", "wideguard"})
"""Moves after which protecting moves fail more often; since generation 6 even if their side is guarded already."""

SINGLE_TURN_UNSEEN = frozenset({"snatch", "powder", "electrify", "instruct"})
"""Effects of `-singleturn` that no decision can ever see at work."""

SINGLE_MOVE: dict[str, int] = {
    "destinybond": c.ACTIVE_DESTINY_BOND,
    "grudge": c.ACTIVE_GRUDGE,
    "rage": c.ACTIVE_RAGE,
    "glaiverush": c.ACTIVE_GLAIVE_RUSH,
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

PASSED: tuple[int, ...] = (
    c.ACTIVE_BOOST_ATK,
    c.ACTIVE_BOOST_DEF,
    c.ACTIVE_BOOST_SPA,
    c.ACTIVE_BOOST_SPD,
    c.ACTIVE_BOOST_SPE,
    c.ACTIVE_BOOST_ACCURACY,
    c.ACTIVE_BOOST_EVASION,
    c.ACTIVE_SUBSTITUTE,
    c.ACTIVE_CONFUSION,
    c.ACTIVE_CONFUSION_TURNS,
    c.ACTIVE_LEECH_SEED,
    c.ACTIVE_CURSE,
    c.ACTIVE_FOCUS_ENERGY,
    c.ACTIVE_DRAGON_CHEER,
    c.ACTIVE_AQUA_RING,
    c.ACTIVE_INGRAIN,
    c.ACTIVE_EMBARGO,
    c.ACTIVE_EMBARGO_TURNS,
    c.ACTIVE_HEAL_BLOCK,
    c.ACTIVE_HEAL_BLOCK_TURNS,
    c.ACTIVE_MAGNET_RISE,
    c.ACTIVE_MAGNET_RISE_TURNS,
    c.ACTIVE_TELEKINESIS,
    c.ACTIVE_PERISH,
    c.ACTIVE_PERISH_TURNS,
    c.ACTIVE_POWER_TRICK,
    c.ACTIVE_POWER_SHIFT,
    c.ACTIVE_TAR_SHOT,
    c.ACTIVE_ABILITY_SUPPRESSED,
    c.ACTIVE_LASER_FOCUS,
    c.ACTIVE_CHARGE,
    c.ACTIVE_NO_RETREAT,
    c.ACTIVE_OCTOLOCK,
    c.ACTIVE_TAUNT,
    c.ACTIVE_TAUNT_TURNS,
    c.ACTIVE_THROAT_CHOP,
    c.ACTIVE_THROAT_CHOP_TURNS,
    c.ACTIVE_MUD_SPORT,
    c.ACTIVE_WATER_SPORT,
    c.ACTIVE_BOUND,
    c.ACTIVE_BOUND_TURNS,
    c.ACTIVE_PROTECT_TURNS,
    c.ACTIVE_ENDURING,
    c.ACTIVE_HELPED,
    c.ACTIVE_MAGIC_COAT,
    c.ACTIVE_PROTECTED,
    c.ACTIVE_ROOSTING,
)
"""What Baton Pass hands on."""

SIDE_LAYERS: dict[str, tuple[int, int]] = {
    "stealthrock": (c.SIDE_STEALTH_ROCK, 1),
    "spikes": (c.SIDE_SPIKES, 3),
    "toxicspikes": (c.SIDE_TOXIC_SPIKES, 2),
    "stickyweb": (c.SIDE_STICKY_WEB, 1),
    "gmaxsteelsurge": (c.SIDE_STEELSURGE, 1),
}
"""Side conditions without an end: column and most layers."""

SIDE_TIMED: dict[str, tuple[int, int, int, str]] = {
    "reflect": (c.SIDE_REFLECT, c.SIDE_REFLECT_TURNS, 5, "lightclay"),
    "lightscreen": (c.SIDE_LIGHT_SCREEN, c.SIDE_LIGHT_SCREEN_TURNS, 5, "lightclay"),
    "auroraveil": (c.SIDE_AURORA_VEIL, c.SIDE_AURORA_VEIL_TURNS, 5, "lightclay"),
    "safeguard": (c.SIDE_SAFEGUARD, c.SIDE_SAFEGUARD_TURNS, 5, ""),
    "mist": (c.SIDE_MIST, c.SIDE_MIST_TURNS, 5, ""),
    "tailwind": (c.SIDE_TAILWIND, c.SIDE_TAILWIND_TURNS, 4, ""),
    "luckychant": (c.SIDE_LUCKY_CHANT, c.SIDE_LUCKY_CHANT_TURNS, 5, ""),
    "firepledge": (c.SIDE_FIRE_PLEDGE, c.SIDE_FIRE_PLEDGE_TURNS, 4, ""),
    "waterpledge": (c.SIDE_WATER_PLEDGE, c.SIDE_WATER_PLEDGE_TURNS, 4, ""),
    "grasspledge": (c.SIDE_GRASS_PLEDGE, c.SIDE_GRASS_PLEDGE_TURNS, 4, ""),
    "gmaxcannonade": (c.SIDE_GMAX_DAMAGE, c.SIDE_GMAX_DAMAGE_TURNS, 4, ""),
    "gmaxvinelash": (c.SIDE_GMAX_DAMAGE, c.SIDE_GMAX_DAMAGE_TURNS, 4, ""),
    "gmaxvolcalith": (c.SIDE_GMAX_DAMAGE, c.SIDE_GMAX_DAMAGE_TURNS, 4, ""),
    "gmaxwildfire": (c.SIDE_GMAX_DAMAGE, c.SIDE_GMAX_DAMAGE_TURNS, 4, ""),
}
"""Side conditions that end: flag, turns left, how many turns, and the item that makes it EXTENDED."""

EXTENDED = 8
"""Turns of a screen, weather or terrain whose setter holds the item for it."""

SWAPPED_BY_COURT_CHANGE: tuple[int, ...] = (
    c.SIDE_STEALTH_ROCK,
    c.SIDE_SPIKES,
    c.SIDE_TOXIC_SPIKES,
    c.SIDE_STICKY_WEB,
    c.SIDE_STEELSURGE,
    *(column for flag, turns, _, _ in SIDE_TIMED.values() for column in (flag, turns)),
)
"""Side columns that change sides under Court Change."""

WEATHERS: dict[str, tuple[int, int, str]] = {
    "sunnyday": (c.FIELD_SUN, 5, "heatrock"),
    "raindance": (c.FIELD_RAIN, 5, "damprock"),
    "sandstorm": (c.FIELD_SAND, 5, "smoothrock"),
    "hail": (c.FIELD_HAIL, 5, "icyrock"),
    "snow": (c.FIELD_SNOW, 5, "icyrock"),
    "snowscape": (c.FIELD_SNOW, 5, "icyrock"),
    "desolateland": (c.FIELD_HARSH_SUN, 0, ""),
    "primordialsea": (c.FIELD_HEAVY_RAIN, 0, ""),
    "deltastream": (c.FIELD_STRONG_WINDS, 0, ""),
}
"""Weathers: column, turns (0: without end) and the item that makes it EXTENDED."""

TERRAINS: dict[str, int] = {
    "electricterrain": c.FIELD_ELECTRIC_TERRAIN,
    "grassyterrain": c.FIELD_GRASSY_TERRAIN,
    "mistyterrain": c.FIELD_MISTY_TERRAIN,
    "psychicterrain": c.FIELD_PSYCHIC_TERRAIN,
}
"""Terrains, 5 turns or EXTENDED by the Terrain Extender."""

ROOMS: dict[str, tuple[int, int]] = {
    "trickroom": (c.FIELD_TRICK_ROOM, c.FIELD_TRICK_ROOM_TURNS),
    "gravity": (c.FIELD_GRAVITY, c.FIELD_GRAVITY_TURNS),
    "magicroom": (c.FIELD_MAGIC_ROOM, c.FIELD_MAGIC_ROOM_TURNS),
    "wonderroom": (c.FIELD_WONDER_ROOM, c.FIELD_WONDER_ROOM_TURNS),
    "mudsport": (c.FIELD_MUD_SPORT, c.FIELD_MUD_SPORT_TURNS),
    "watersport": (c.FIELD_WATER_SPORT, c.FIELD_WATER_SPORT_TURNS),
}
"""Other conditions of the whole field, all 5 turns."""
