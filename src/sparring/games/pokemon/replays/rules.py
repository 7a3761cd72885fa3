"""Whether a battle was played by other rules than its format's, as far as its log tells.

Showdown says at the start how many custom rules there are. Logs that lack this may still tell by the rules that battles
name as they begin. Formats gain and lose clauses over the years, so those that only say which teams are allowed prove
nothing; a rule that changes how battles go, and that the format does not have, does.
"""

import re

from sparring.games.pokemon.formats import Format

_NOTICE = re.compile(r"^\|(?:raw|-message|message|html)\|(?:[^\n]*>)?\s*(\d{1,4} custom rules?)\b", re.MULTILINE)
_RULE = re.compile(r"^\|rule\|([^\n|:]+)", re.MULTILINE)
_CHANGING_CLAUSES = frozenset(("Dynamax Clause", "Terastal Clause", "Z-Move Clause"))
_SHOWING = frozenset(
    (
        *("HP Percentage Mod", "Exact HP Mod", "Beat Up Nicknames Mod", "Illusion Level Mod", "Tera Type Preview"),
        *("Blitz", "Pokemon of the Day", "Team Preview", "Cancel Mod"),
    )
)
"""Rules about what players are shown, and how fast they must be."""


def custom_rules(log: str, format: Format) -> str:
    """What shows that a battle had custom rules; "" if nothing does."""
    head = log.split("\n|start", 1)[0]
    notice = _NOTICE.search(head)
    if notice is not None:
        return notice[1]
    for name in _RULE.findall(head) if format.rules else ():
        only_teams = name.endswith(("Clause", "Clause Mod")) and name not in _CHANGING_CLAUSES
        if not only_teams and name not in _SHOWING and name not in format.rules:
            return str(name)
    return ""
