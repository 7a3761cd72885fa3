"""A replay as one HTML page that needs no network: teams, HP, field and the battle in words, turn by turn.

The page holds the protocol lines, each with its words from `words.Narrator`; the script of `pages/replay.html` follows
the lines and draws what they come to. Nothing in a log can run as HTML: the lines are JSON without `<`, `>` and `&`,
and the script shows text as text only.
"""

import html
import json
import re
from functools import cache
from importlib.resources import files
from string import Template

from sparring.games.pokemon.words import Narrator

_UNSHOWN = re.compile(r"\|(t:|j|J|l|L|n|N|inactive|inactiveoff|raw|html|uhtml|uhtmlchange|rule|upkeep|debug)?(\||$)")
"""Lines that a replay has no use for: time stamps, comings and goings, timers, a server's own HTML."""


def replay_page(log: str) -> str:
    """The page of a battle's log, as spectators see it."""
    names, tier = players(log), format_name(log)
    narrator = Narrator(names)
    lines = [line for line in log.split("\n") if line.startswith("|") and not _UNSHOWN.match(line)]
    battle = {"names": names, "tier": tier, "steps": [[line, narrator.tell(line)] for line in lines]}
    return _template().substitute(
        title=html.escape(f"{tier}: {names['p1']} vs. {names['p2']}"), battle=_script_json(battle)
    )


def players(log: str) -> dict[str, str]:
    """The players' names by side."""
    found = dict(re.findall(r"^\|player\|(p[12])\|([^|\n]+)", log, re.MULTILINE))
    return {side: found.get(side, side) for side in ("p1", "p2")}


def format_name(log: str) -> str:
    """What the log calls its format."""
    tier = re.search(r"^\|tier\|(.+)$", log, re.MULTILINE)
    return tier.group(1) if tier else "Pokémon"


def _script_json(value: object) -> str:
    """JSON for the inside of a script element, which nothing in it can end or hide the end of."""
    text = json.dumps(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _template() -> Template:
    return Template((files("sparring.games.pokemon") / "pages" / "replay.html").read_text("utf-8"))
