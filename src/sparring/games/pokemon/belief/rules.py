"""Which items and abilities show themselves when: what it means that they did not."""

from collections.abc import Iterable
from functools import cache

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.dex import Dex, Names
from sparring.games.pokemon.tracking.tables import Tables, load_tables

_ANNOUNCED = {
    3: "intimidate drizzle drought sandstream",
    4: "pressure moldbreaker snowwarning",
    5: "teravolt turboblaze unnerve airlock cloudnine",
    6: "darkaura fairyaura aurabreak",
    7: "comatose electricsurge psychicsurge grassysurge mistysurge",
    8: "intrepidsword dauntlessshield neutralizinggas screencleaner asonespectrier asoneglastrier",
    9: "swordofruin beadsofruin tabletsofruin vesselofruin supersweetsyrup hadronengine orichalcumpulse",
}
"""Abilities that are told as their Pokémon comes in, by the generation from which on."""
_PRIMAL = (c.FIELD_HARSH_SUN, c.FIELD_HEAVY_RAIN, c.FIELD_STRONG_WINDS)
_SETTERS = {
    "drizzle": (c.FIELD_RAIN, *_PRIMAL),
    "drought": (c.FIELD_SUN, *_PRIMAL),
    "orichalcumpulse": (c.FIELD_SUN, *_PRIMAL),
    "sandstream": (c.FIELD_SAND, *_PRIMAL),
    "snowwarning": (c.FIELD_HAIL, c.FIELD_SNOW, *_PRIMAL),
    "electricsurge": (c.FIELD_ELECTRIC_TERRAIN,),
    "hadronengine": (c.FIELD_ELECTRIC_TERRAIN,),
    "grassysurge": (c.FIELD_GRASSY_TERRAIN,),
    "mistysurge": (c.FIELD_MISTY_TERRAIN,),
    "psychicsurge": (c.FIELD_PSYCHIC_TERRAIN,),
}
"""Abilities that set weather or terrain, and the columns of the field under which they have nothing to do."""
_ABSORBING = {
    "Water": "waterabsorb dryskin stormdrain",
    "Electric": "voltabsorb lightningrod motordrive",
    "Fire": "flashfire wellbakedbody",
    "Grass": "sapsipper",
    "Ground": "levitate eartheater",
}
"""Abilities that let no move of a type do damage."""
_PINCH_BERRIES = "figyberry wikiberry magoberry aguavberry iapapaberry liechiberry petayaberry salacberry apicotberry"

_OUT_OF_ORDER = "prankster galewings triage myceliummight stall quickdraw"
"""Abilities that change when a Pokémon moves, whatever its speed."""


class Showing:
    """The numbers of a generation's items and abilities that show themselves."""

    def __init__(self, tables: Tables) -> None:
        dex = tables.dex
        self.dex: Dex = dex
        generation = dex.generation
        self.announced = _numbers(
            dex.abilities,
            (name for since, names in _ANNOUNCED.items() if generation >= since for name in names.split()),
        )
        """Told on coming in, if there is something to do: a foe for Intimidate, other weather or terrain to replace."""
        self.intimidate = dex.abilities["intimidate"]
        self.setters = {dex.abilities[ability]: columns for ability, columns in _SETTERS.items()}
        self.booster = _numbers(dex.items, ("boosterenergy",))
        self.balloon = _numbers(dex.items, ("airballoon",))
        self.boots = _numbers(dex.items, ("heavydutyboots",))
        self.magic_guard = _numbers(dex.abilities, ("magicguard",))
        self.floating = _numbers(dex.abilities, ("levitate", "magicguard"))
        self.sheer_force = _numbers(dex.abilities, ("sheerforce",))
        self.life_orb = _numbers(dex.items, ("lifeorb",)) if generation >= 4 else frozenset()
        self.choice = _numbers(dex.items, ("choiceband", "choicespecs", "choicescarf"))
        self.gorilla = _numbers(dex.abilities, ("gorillatactics",))
        self.vest = _numbers(dex.items, ("assaultvest",))
        self.leftovers = _numbers(dex.items, ("leftovers", "blacksludge"))
        self.klutz = _numbers(dex.abilities, ("klutz",))
        self.flame_orb, self.toxic_orb = (_numbers(dex.items, (name,)) for name in ("flameorb", "toxicorb"))
        self.sash = _numbers(dex.items, ("focussash",)) if generation >= 4 else frozenset()
        self.sitrus = _numbers(dex.items, ("sitrusberry",))
        self.pinch = _numbers(dex.items, _PINCH_BERRIES.split())
        self.lum = _numbers(dex.items, ("lumberry",))
        self.helmet = _numbers(dex.items, ("rockyhelmet",))
        self.barbs = _numbers(dex.abilities, ("roughskin", "ironbarbs"))
        self.untouched = _numbers(dex.abilities, ("magicguard", "longreach"))
        self.unnerving = _numbers(dex.abilities, ("unnerve", "asonespectrier", "asoneglastrier"))
        self.mold_breaking = _numbers(dex.abilities, ("moldbreaker", "teravolt", "turboblaze"))
        self.moves_out_of_order = _numbers(dex.moves, ("pursuit", "grassyglide"))
        self.abilities_out_of_order = _numbers(dex.abilities, _OUT_OF_ORDER.split())
        self.regenerator = dex.abilities["regenerator"] if generation >= 5 else 0
        self.natural_cure = dex.abilities["naturalcure"]
        self.speed_boost = _numbers(dex.abilities, ("speedboost",)) if generation >= 3 else frozenset()
        self.absorbing = {dex.types[type]: _numbers(dex.abilities, names.split()) for type, names in _ABSORBING.items()}
        self.fire, self.poison, self.steel = (dex.types[name] for name in ("Fire", "Poison", "Steel"))
        self.flying = dex.types["Flying"]

    def may_have(self, species: int, abilities: frozenset[int]) -> bool:
        """Whether a species can have one of `abilities`."""
        return not abilities.isdisjoint(self.dex.species_abilities[species].tolist())


@cache
def showing(tables: int | str, showdown: str) -> Showing:
    """What shows in a generation."""
    return Showing(load_tables(tables, showdown))


def _numbers(names: Names, wanted: Iterable[str]) -> frozenset[int]:
    return frozenset(names[name] for name in wanted) - {0}
