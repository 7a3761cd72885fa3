"""A replay as one HTML page that needs no network: the battlefield, teams, HP over time and the battle in words.

The page holds the protocol lines, each with its words from `words.Narrator`, and the types of what they name. Its
script follows the lines (`pages/battle.js`) and draws what they come to (`pages/replay.js`).
"""

import re
from importlib.resources import files
from typing import Any

from sparring.core import InputError
from sparring.core.pages import match_page
from sparring.games.pokemon.dex import Dex, load_dex
from sparring.games.pokemon.words import Narrator

_PAGES = files("sparring.games.pokemon") / "pages"
_UNSHOWN = re.compile(r"\|(t:|j|J|l|L|n|N|inactive|inactiveoff|raw|html|uhtml|uhtmlchange|rule|upkeep|debug)?(\||$)")
"""Lines that a replay has no use for: time stamps, comings and goings, timers, a server's own HTML."""
_SPECIES = re.compile(r"^\|(?:poke|switch|drag|replace|detailschange|-formechange)\|[^|\n]*\|([^|,\n]+)", re.MULTILINE)
_MOVE = re.compile(r"^\|move\|[^|\n]*\|([^|\n]+)", re.MULTILINE)


def replay_page(log: str) -> str:
    """The page of a battle's log, as spectators see it."""
    names, tier = players(log), format_name(log)
    narrator = Narrator(names)
    lines = [line for line in log.split("\n") if line.startswith("|") and not _UNSHOWN.match(line)]
    steps = [[line, narrator.tell(line)] for line in lines]
    battle = {"names": names, "tier": tier, "types": _types(log), "steps": steps}
    title = f"{tier}: {names['p1']} vs. {names['p2']}"
    return match_page(_PAGES, "replay", title=title, data=battle, scripts=["battle"])


def players(log: str) -> dict[str, str]:
    """The players' names by side."""
    found = dict(re.findall(r"^\|player\|(p[12])\|([^|\n]+)", log, re.MULTILINE))
    return {side: found.get(side, side) for side in ("p1", "p2")}


def format_name(log: str) -> str:
    """What the log calls its format."""
    tier = re.search(r"^\|tier\|(.+)$", log, re.MULTILINE)
    return tier.group(1) if tier else "Pokémon"


def _types(log: str) -> dict[str, dict[str, Any]]:
    """The types of the species, and the type of the moves, that `log` names. What the dex does not know is left out."""
    dex = _dex(log)
    if dex is None:
        return {"species": {}, "moves": {}}
    species = {name: dex.species.ids[dex.species[name]] for name in dict.fromkeys(_SPECIES.findall(log))}
    moves = {name: dex.moves.ids[dex.moves[name]] for name in dict.fromkeys(_MOVE.findall(log))}
    return {
        "species": {name: dex.raw["species"][id]["types"] for name, id in species.items() if id},
        "moves": {name: dex.raw["moves"][id]["type"] for name, id in moves.items() if id},
    }


def _dex(log: str) -> Dex | None:
    """The dex of the log's generation; None if the log names none or the tables are not installed."""
    generation = re.search(r"^\|gen\|([1-9])$", log, re.MULTILINE)
    try:
        return load_dex(int(generation.group(1))) if generation else None
    except InputError:
        return None
