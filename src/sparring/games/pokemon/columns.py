"""The named columns of the `raw` observation: what each number of a row means.

Every enum is the last axis of one field in `observation.py`. Shapes are the same in every generation, in singles
and in doubles; a column that a format never uses is 0 there. docs/pokemon-observation.md lists them all.

`column_numbers.py` has the same numbers as plain integers, for code that runs often: after a change here write it anew
with `python -m sparring.games.pokemon.number_columns`.
"""

from enum import IntEnum, auto

TEAM = 6
"""Pokémon of one side."""
POKEMON = 2 * TEAM
"""Rows of both teams: 0..5 the own team in the order it was given at the start, 6..11 the foes as they appeared."""
SLOTS = 2
"""Places on the field of one side (singles uses the first)."""
ACTIVES = 2 * SLOTS
"""Places on the field: own left, own right, foe left, foe right."""
MOVES = 4
"""Moves of one Pokémon."""
BELIEVED_MOVES, BELIEVED_ITEMS, BELIEVED_ABILITIES, BELIEVED_TERAS = 8, 4, 3, 3
"""The likeliest of each kind that the `belief` group names, of one Pokémon."""

LEVEL_SCALE = 100.0
"""`PokemonColumn.LEVEL` is level / LEVEL_SCALE."""
STAT_SCALE = 500.0
"""`MAX_HP` and `STAT_*` are the stat's number / STAT_SCALE."""
BASE_STAT_SCALE = 200.0
"""`BASE_*` are the species' base stats / BASE_STAT_SCALE."""
BOOST_SCALE = 6.0
"""`BOOST_*` are stages / BOOST_SCALE, in [-1, 1]."""
TURN_SCALE = 8.0
"""Every `*_TURNS` column is turns / TURN_SCALE."""
PP_SCALE = 64.0
"""`MoveColumn.MAX_PP` is PP / PP_SCALE."""


class _Zero(IntEnum):
    """Members count from 0 under `auto()`, so that they index arrays."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count


class Status(_Zero):
    """Values of `PokemonId.STATUS`."""

    NONE = auto()
    BURN = auto()
    PARALYSIS = auto()
    SLEEP = auto()
    FREEZE = auto()
    POISON = auto()
    TOXIC = auto()


class PokemonId(_Zero):
    """Last axis of `pokemon_ids`, numbers of the dex tables (0: unknown or none)."""

    SPECIES = auto()  # forme as last seen; a transformed Pokémon keeps its own here
    ABILITY = auto()
    ITEM = auto()
    LAST_ITEM = auto()  # the item it no longer has
    STATUS = auto()
    TYPE_1 = auto()  # types of the species, without what changed them on the field
    TYPE_2 = auto()
    TERA_TYPE = auto()


class ActiveId(_Zero):
    """Last axis of `active_ids`."""

    POKEMON = auto()  # 1 + row of `pokemon_ids`; 0 for an empty place
    SPECIES = auto()  # what it is now: differs from its row's after Transform
    ABILITY = auto()  # what works now: differs from its row's after Skill Swap, Transform, Worry Seed, ...
    TYPE_1 = auto()  # types that count now: tera, Soak, Conversion, Transform included
    TYPE_2 = auto()
    TYPE_3 = auto()  # added by Forest's Curse or Trick-or-Treat
    LAST_MOVE = auto()
    DISABLED_MOVE = auto()
    ENCORED_MOVE = auto()
    PREPARED_MOVE = auto()  # the two-turn move it is in the middle of


class PokemonColumn(_Zero):
    """Last axis of `pokemon`."""

    KNOWN = auto()  # there is a Pokémon in this row and it has been seen (or is own)
    SEEN = auto()  # it has been on the field
    ACTIVE = auto()  # it is on the field
    FAINTED = auto()
    ABSENT = auto()  # left at home after team preview (foes: once all places are accounted for)
    HP = auto()  # fraction left, as precise as this side is told
    MAX_HP = auto()  # own only
    LEVEL = auto()
    MALE = auto()
    FEMALE = auto()
    ABILITY_KNOWN = auto()
    ITEM_KNOWN = auto()  # ITEM says what it holds (0: nothing)
    ITEM_HELD = auto()  # it surely holds something, known or not
    ITEM_LOST = auto()  # it had an item and has it no longer; LAST_ITEM says which
    SLEEP_TURNS = auto()  # turns it has slept
    TOXIC_TURNS = auto()  # turns the poison has grown
    TERASTALLIZED = auto()
    MOVES_KNOWN = auto()  # known moves / 4
    STAT_ATK = auto()  # own only, as the request gives them
    STAT_DEF = auto()
    STAT_SPA = auto()
    STAT_SPD = auto()
    STAT_SPE = auto()
    BASE_HP = auto()
    BASE_ATK = auto()
    BASE_DEF = auto()
    BASE_SPA = auto()
    BASE_SPD = auto()
    BASE_SPE = auto()


class MoveColumn(_Zero):
    """Last axis of `moves` and `active_moves`."""

    KNOWN = auto()
    PP = auto()  # fraction left; of foes counted from the uses seen
    MAX_PP = auto()
    REVEALED = auto()  # the opponent has seen it
    DISABLED = auto()  # the request forbids it now (own active only)


class ActiveColumn(_Zero):
    """Last axis of `active`. A flag is 1 while the effect lasts; everything is 0 for an empty place."""

    PRESENT = auto()
    BOOST_ATK = auto()
    BOOST_DEF = auto()
    BOOST_SPA = auto()
    BOOST_SPD = auto()
    BOOST_SPE = auto()
    BOOST_ACCURACY = auto()
    BOOST_EVASION = auto()
    ACTIVE_TURNS = auto()  # turns on the field; 0 on the turn it came in
    PROTECT_TURNS = auto()  # protecting moves in a row that worked
    # What the request says; own places only.
    MUST_SWITCH = auto()
    TRAPPED = auto()
    MAYBE_TRAPPED = auto()
    CAN_MEGA = auto()
    CAN_Z = auto()
    CAN_DYNAMAX = auto()
    CAN_TERA = auto()
    COMMANDING = auto()
    REVIVING = auto()
    # Changes of the whole Pokémon.
    TRANSFORMED = auto()
    DYNAMAXED = auto()
    DYNAMAX_TURNS = auto()  # left
    TYPES_CHANGED = auto()
    ABILITY_SUPPRESSED = auto()
    # Effects that end a turn or a move later.
    PROTECTED = auto()  # this turn (matters when a switch is forced in the middle of one)
    ENDURING = auto()
    REDIRECTING = auto()  # Follow Me, Rage Powder, Spotlight
    HELPED = auto()
    FLINCH_RISK = auto()  # Focus Punch, Shell Trap, Beak Blast being charged
    ROOSTING = auto()
    MAGIC_COAT = auto()
    DESTINY_BOND = auto()
    GRUDGE = auto()
    RAGE = auto()
    GLAIVE_RUSH = auto()
    RECHARGING = auto()
    PREPARING = auto()
    # Volatile effects.
    SUBSTITUTE = auto()
    CONFUSION = auto()
    CONFUSION_TURNS = auto()  # since it began
    LEECH_SEED = auto()
    CURSE = auto()
    NIGHTMARE = auto()
    ATTRACT = auto()
    TAUNT = auto()
    TAUNT_TURNS = auto()  # since it began, as for the effects below
    ENCORE = auto()
    ENCORE_TURNS = auto()
    DISABLE = auto()
    DISABLE_TURNS = auto()
    TORMENT = auto()
    HEAL_BLOCK = auto()
    HEAL_BLOCK_TURNS = auto()
    EMBARGO = auto()
    EMBARGO_TURNS = auto()
    THROAT_CHOP = auto()
    THROAT_CHOP_TURNS = auto()
    YAWN = auto()
    PERISH = auto()
    PERISH_TURNS = auto()  # left
    BOUND = auto()  # Bind, Wrap, Fire Spin, ...
    BOUND_TURNS = auto()
    BLOCKED = auto()  # Mean Look, Block, Spider Web, Spirit Shackle, ...
    NO_RETREAT = auto()
    OCTOLOCK = auto()
    INGRAIN = auto()
    AQUA_RING = auto()
    FOCUS_ENERGY = auto()
    DRAGON_CHEER = auto()
    CHI_STRIKE = auto()  # layers / 3
    LASER_FOCUS = auto()
    LOCK_ON = auto()  # it has been aimed at, this turn or the last: the next move of the aimer hits
    CHARGE = auto()
    STOCKPILE = auto()  # layers / 3
    FLASH_FIRE = auto()
    SLOW_START = auto()
    MAGNET_RISE = auto()
    MAGNET_RISE_TURNS = auto()
    TELEKINESIS = auto()
    SMACK_DOWN = auto()
    FORESIGHT = auto()
    MIRACLE_EYE = auto()
    IMPRISON = auto()
    UPROAR = auto()
    BIDE = auto()
    SALT_CURE = auto()
    SYRUP_BOMB = auto()
    TAR_SHOT = auto()
    POWER_TRICK = auto()
    POWER_SHIFT = auto()
    MIMIC = auto()
    AUTOTOMIZE = auto()
    PARADOX_ATK = auto()  # Protosynthesis or Quark Drive raises this stat
    PARADOX_DEF = auto()
    PARADOX_SPA = auto()
    PARADOX_SPD = auto()
    PARADOX_SPE = auto()
    FALLEN = auto()  # Supreme Overlord's count / 5
    SKY_DROP = auto()
    MUD_SPORT = auto()  # generations 3 to 5: while the user stays
    WATER_SPORT = auto()
    REFLECT_SELF = auto()  # generation 1: screens and mist belong to the Pokémon
    LIGHT_SCREEN_SELF = auto()
    MIST_SELF = auto()


class SideColumn(_Zero):
    """Last axis of `side`: what lies on one side of the field, and what is left of its team."""

    TEAM_SIZE = auto()  # Pokémon brought / 6
    REMAINING = auto()  # Pokémon not fainted / 6
    STEALTH_ROCK = auto()
    SPIKES = auto()  # layers / 3
    TOXIC_SPIKES = auto()  # layers / 2
    STICKY_WEB = auto()
    STEELSURGE = auto()
    REFLECT = auto()
    REFLECT_TURNS = auto()  # left, the shorter span until it proves longer; so for all below
    LIGHT_SCREEN = auto()
    LIGHT_SCREEN_TURNS = auto()
    AURORA_VEIL = auto()
    AURORA_VEIL_TURNS = auto()
    SAFEGUARD = auto()
    SAFEGUARD_TURNS = auto()
    MIST = auto()
    MIST_TURNS = auto()
    TAILWIND = auto()
    TAILWIND_TURNS = auto()
    LUCKY_CHANT = auto()
    LUCKY_CHANT_TURNS = auto()
    FIRE_PLEDGE = auto()
    FIRE_PLEDGE_TURNS = auto()
    WATER_PLEDGE = auto()
    WATER_PLEDGE_TURNS = auto()
    GRASS_PLEDGE = auto()
    GRASS_PLEDGE_TURNS = auto()
    GMAX_DAMAGE = auto()  # Cannonade, Vine Lash, Volcalith or Wildfire
    GMAX_DAMAGE_TURNS = auto()
    FUTURE_SIGHT_LEFT = auto()  # a Future Sight or Doom Desire will hit the left place
    FUTURE_SIGHT_LEFT_TURNS = auto()
    FUTURE_SIGHT_RIGHT = auto()
    FUTURE_SIGHT_RIGHT_TURNS = auto()
    WISH_LEFT = auto()  # 1 on the turn it is made, 1/2 on the turn it comes true
    WISH_RIGHT = auto()
    HEAL_NEXT_LEFT = auto()  # Healing Wish or Lunar Dance waits for the next one in
    HEAL_NEXT_RIGHT = auto()
    SIDE_PROTECTED = auto()  # Quick Guard, Wide Guard, Mat Block or Crafty Shield, this turn
    MEGA_USED = auto()
    Z_USED = auto()
    DYNAMAX_USED = auto()
    TERA_USED = auto()


class FieldColumn(_Zero):
    """The only axis of `field`: the whole field, the turn, and what is asked."""

    TURN = auto()  # turn / 100, at most 1
    PREVIEW = auto()  # the request asks for the team's order
    FORCED = auto()  # the request asks for replacements only
    DOUBLES = auto()
    GENERATION = auto()  # / 9
    SUN = auto()
    RAIN = auto()
    SAND = auto()
    HAIL = auto()
    SNOW = auto()
    HARSH_SUN = auto()
    HEAVY_RAIN = auto()
    STRONG_WINDS = auto()
    WEATHER_TURNS = auto()  # left, the shorter span until it proves longer; 0 if without end
    ELECTRIC_TERRAIN = auto()
    GRASSY_TERRAIN = auto()
    MISTY_TERRAIN = auto()
    PSYCHIC_TERRAIN = auto()
    TERRAIN_TURNS = auto()
    TRICK_ROOM = auto()
    TRICK_ROOM_TURNS = auto()
    GRAVITY = auto()
    GRAVITY_TURNS = auto()
    MAGIC_ROOM = auto()
    MAGIC_ROOM_TURNS = auto()
    WONDER_ROOM = auto()
    WONDER_ROOM_TURNS = auto()
    MUD_SPORT = auto()
    MUD_SPORT_TURNS = auto()
    WATER_SPORT = auto()
    WATER_SPORT_TURNS = auto()
    FAIRY_LOCK = auto()  # 1 on the turn it is made, 1/2 on the turn nobody may leave
    NEUTRALIZING_GAS = auto()


class BeliefColumn(_Zero):
    """The last axis of `belief`: what one Pokémon's candidate sets come to, weighed by how likely each is."""

    MAX_HP = auto()  # expected maximum HP / 500
    STAT_ATK = auto()  # expected stat / 500, without boosts and items
    STAT_DEF = auto()
    STAT_SPA = auto()
    STAT_SPD = auto()
    STAT_SPE = auto()
    SPEED_SPREAD = auto()  # standard deviation of the Speed stat / 500
    OTHER = auto()  # the chance that its set is none of the candidates
