"""Random match-ups, told to @smogon/calc by name and to the damage kernel by number."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from sparring.games.pokemon.columns import Status
from sparring.games.pokemon.damage.combatant import F, G, I, Terrain, Weather
from sparring.games.pokemon.damage.effects import Ability, Item
from sparring.games.pokemon.damage.formula import strike
from sparring.games.pokemon.damage.stats import hp_stat, stat
from sparring.games.pokemon.damage.tables import S, T, Tables, equip, load_tables
from sparring.games.pokemon.dex import STATS, Dex, load_dex
from sparring.games.pokemon.setup import Installation

WEATHERS = {"Sun": Weather.SUN, "Rain": Weather.RAIN, "Sand": Weather.SAND, "Snow": Weather.SNOW, "Hail": Weather.HAIL}
TERRAINS = {t.name.capitalize(): t for t in Terrain}
STATUSES = {"": Status.NONE, "brn": Status.BURN, "par": Status.PARALYSIS, "psn": Status.POISON, "slp": Status.SLEEP}
UNKNOWN_TO_CALC = frozenset(
    [
        "horndrill",
        "guillotine",
        "fissure",
        "sheercold",
        "superfang",
        "psywave",
        "present",
        "magnitude",
        "endeavor",
        "triplekick",
        "tripleaxel",
        "dreameater",
        "ficklebeam",
        "synchronoise",
        "fling",
        "ruination",
        "naturesmadness",
        "finalgambit",
        "meteorbeam",
        "electroshot",
        "hiddenpower",
        "struggle",
        "skydrop",
        "smellingsalts",
        "naturalgift",
        "poltergeist",
        "spectralthief",
        "shellsidearm",
        "terastarstorm",
        "razorleaf",
        "slash",
        "crabhammer",
        "karatechop",
        "counter",
        "bide",
        "veeveevolley",
        "pikapapow",
    ]
)
"""Moves it leaves out, gives as one case of several, or reads with facts a match-up here does not have."""
BOOSTED = ("atk", "def", "spa", "spd", "spe")


class Matchups:
    """Draws match-ups of one generation, or of Champions."""

    def __init__(self, tables: int | str, seed: int) -> None:
        self.champions = tables == "champions"
        self.dex: Dex = load_dex(tables)
        self.generation = generation = self.dex.generation
        self.tables: Tables = load_tables(tables)
        self._rng = random.Random(seed)
        dex = self.dex
        raw = dex.raw
        self._species = [
            id
            for id in dex.species.ids[1:]
            if raw["species"][id]["exists"]
            and raw["species"][id].get("gen", 0) <= generation
            and not (self.champions and raw["species"][id].get("tier") == "Illegal")
            and (not raw["species"][id].get("battleOnly") or (self.champions and raw["species"][id].get("isMega")))
            and "totem" not in id
            and "gmax" not in id
        ]
        self._moves = [
            id
            for id in dex.moves.ids[1:]
            if raw["moves"][id]["exists"]
            and raw["moves"][id]["gen"] <= generation
            and raw["moves"][id]["category"] != "Status"
            and not raw["moves"][id].get("isZ")
            and not raw["moves"][id].get("isMax")
            and id not in UNKNOWN_TO_CALC
            and not (self.champions and id == "ragingbull")  # Normal there, unless a Tauros uses it
        ]
        self._items = [
            id
            for id in dex.items.ids[1:]
            if raw["items"][id]["gen"] <= generation
            and generation >= 2
            and self.tables.items[dex.items[id]][[T.CODE, T.RAISED, T.RESISTED]].any()
        ]

    def draw(self) -> dict[str, Any]:
        rng, generation = self._rng, self.generation
        move = rng.choice(self._moves)
        doubles = generation >= 3 and rng.random() < 0.3
        weathers = [""] * 3
        if generation >= 2:
            weathers += ["Sun", "Rain", "Sand"]
        if generation >= 3:
            weathers += ["Snow"] if generation >= 9 else ["Hail"]
        screens = {"isReflect": rng.random() < 0.15, "isLightScreen": rng.random() < 0.15}
        return {
            "gen": 0 if self.champions else generation,  # as @smogon/calc counts them
            "attacker": self._pokemon(),
            "defender": self._pokemon(),
            "move": self.dex.raw["moves"][move]["name"],
            "move_id": move,
            "field": {
                "gameType": "Doubles" if doubles else "Singles",
                "weather": rng.choice(weathers) or None,
                "terrain": rng.choice([None, None, *TERRAINS]) if generation >= 7 else None,
                "defenderSide": screens,
            },
        }

    def _pokemon(self) -> dict[str, Any]:
        rng, dex, generation = self._rng, self.dex, self.generation
        id = rng.choice(self._species)
        raw = dex.raw["species"][id]
        old = generation <= 2
        terastallized = generation == 9 and not self.champions and rng.random() < 0.3
        boosts = {name: rng.choice([0, 0, 0, 1, 2, -1]) for name in BOOSTED}
        if generation == 1:
            boosts["spd"] = boosts["spa"]
        return {
            "species": raw["name"],
            "id": id,
            "level": 50 if self.champions else rng.randint(50, 100),
            "item": dex.raw["items"][rng.choice(self._items)]["name"] if self._items and rng.random() < 0.6 else "",
            "ability": rng.choice(list(raw["abilities"].values())) if generation >= 3 else "",
            "boosts": boosts,
            "status": rng.choice(["", "", "", *STATUSES]),
            "tera": rng.choice([t for t in dex.types.ids[1:] if t != "stellar"]).capitalize() if terastallized else "",
            "left": rng.choice([1.0, 1.0, 0.7, 0.3]),
            "evs": dict.fromkeys(STATS, 252 if old else 11 if self.champions else 85),
            "ivs": dict.fromkeys(STATS, 30 if old else 31),
        }

    def combatant(self, given: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """The kernel's rows of a drawn Pokémon."""
        dex, t = self.dex, self.tables
        number = dex.species[given["id"]]
        ints, floats = np.zeros(len(I), np.int64), np.zeros(len(F), np.float64)
        effort, individual = 85 if self.champions else given["evs"]["hp"], given["ivs"]["hp"]
        base = dex.species_stats[number]
        floats[F.HP] = hp_stat(int(base[0]), given["level"], effort, individual)
        for place in range(1, 6):
            floats[F.HP + place] = stat(int(base[place]), given["level"], effort, individual)
        floats[F.LEFT] = max(1, int(floats[F.HP] * given["left"])) / floats[F.HP]
        floats[F.WEIGHT] = dex.species_weight[number]
        ints[I.ABILITY] = t.abilities[dex.abilities[given["ability"]]]
        equip(t.items, dex.items[given["item"]], t.species[number, S.BASE], ints)
        ints[I.EVOLVES] = t.species[number, S.EVOLVES]
        ints[I.HOLDS] = bool(given["item"])
        ints[I.STATUS] = STATUSES[given["status"]]
        ints[I.OWN_1], ints[I.OWN_2] = dex.species_types[number]
        ints[I.TERA] = dex.types[given["tera"]]
        ints[I.TYPE_1], ints[I.TYPE_2] = (ints[I.TERA], 0) if given["tera"] else dex.species_types[number]
        ints[I.LEVEL] = given["level"]
        for place, name in enumerate(BOOSTED):
            ints[I.ATK + place] = given["boosts"][name]
        ints[I.BOOSTS] = sum(max(0, stage) for stage in given["boosts"].values())
        return ints, floats

    def kernel(self, match: dict[str, Any]) -> tuple[float, float, float]:
        """What our formula says of a drawn match-up."""
        ai, af = self.combatant(match["attacker"])
        di, df = self.combatant(match["defender"])
        field = np.zeros(len(G), np.int64)
        codes = (ai[I.ABILITY], di[I.ABILITY])
        field[G.DOUBLES] = match["field"]["gameType"] == "Doubles"
        field[G.TARGETS] = 2
        quiet = any(code in (Ability.CLOUD_NINE, Ability.AIR_LOCK) for code in codes)
        if match["field"]["weather"] and not quiet:
            field[G.WEATHER] = WEATHERS[match["field"]["weather"]]
        if match["field"]["terrain"]:
            field[G.TERRAIN] = TERRAINS[match["field"]["terrain"]]
        for column, ability in (
            (G.SWORD, Ability.SWORD_OF_RUIN),
            (G.BEADS, Ability.BEADS_OF_RUIN),
            (G.TABLETS, Ability.TABLETS_OF_RUIN),
            (G.VESSEL, Ability.VESSEL_OF_RUIN),
            (G.DARK_AURA, Ability.DARK_AURA),
            (G.FAIRY_AURA, Ability.FAIRY_AURA),
            (G.AURA_BREAK, Ability.AURA_BREAK),
        ):
            field[column] = ability in codes
        di[I.REFLECT] = match["field"]["defenderSide"]["isReflect"]
        di[I.LIGHT_SCREEN] = match["field"]["defenderSide"]["isLightScreen"]
        return strike(self.tables.rules, ai, af, di, df, self.dex.moves[match["move_id"]], field)  # type: ignore[no-any-return]


def smogon(found: Installation, matches: list[dict[str, Any]]) -> list[Any]:
    """What @smogon/calc says: `[min, max, hits, max HP]` each, or None for what it does not know."""
    done = subprocess.run(
        [found.node, str(Path(__file__).with_name("smogon_calc.js"))],
        input=json.dumps(matches),
        capture_output=True,
        text=True,
        check=True,
        env=found.environment(),
        timeout=200,
    )
    answers: list[Any] = json.loads(done.stdout)
    return answers


__all__ = ["Item", "Matchups", "smogon"]
