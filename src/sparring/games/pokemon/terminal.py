"""A battle in the terminal: lines that fit its width, and colours for HP, types and how well moves work."""

import re
import textwrap

from rich.console import Console
from rich.text import Text

_COLUMNS = re.compile(r"\S  +\S")
_TYPES = {
    "Bug": "green",
    "Dark": "bright_black",
    "Dragon": "blue",
    "Electric": "yellow",
    "Fairy": "bright_magenta",
    "Fighting": "red",
    "Fire": "bright_red",
    "Flying": "bright_cyan",
    "Ghost": "magenta",
    "Grass": "bright_green",
    "Ground": "yellow",
    "Ice": "cyan",
    "Poison": "magenta",
    "Psychic": "bright_magenta",
    "Rock": "yellow",
    "Steel": "bright_black",
    "Water": "bright_blue",
}
_TYPE = re.compile(r"(?<=[(/])[A-Z][a-z]+(?=[)/])|(?<=  )[A-Z][a-z]+(?= (?:physical|special|status)\b)")
_HP = re.compile(r"(?<![-\d])(\d+)%(?! of its HP)")
_STYLES = {
    r"^(Turn \d+|Foe|You)(?=$|, \d)": "bold",
    r"(?<= )x[24]\b|\bsuper effective\b": "green",
    r"(?<= )x0\.\d+|\bnot very effective\b": "yellow",
    r"\bno effect\b|\bfainted\b|\bFNT\b": "red",
    r"\bKO\b": "bold green",
    r"\b(BRN|PAR|PSN|TOX|SLP|FRZ)\b": "magenta",
}


def print_battle(text: str) -> None:
    """Prints lines of a battle: on a terminal in colours and within its width, elsewhere plainly and whole.

    Lines in columns lose what is too long, so that each choice takes one row; other lines go on below.
    """
    console = Console(soft_wrap=True)
    for line in text.split("\n"):
        for part in _fitted(line, console.width) if console.is_terminal else [line]:
            console.print(_coloured(part), highlight=False)


def _fitted(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    if _COLUMNS.search(line):
        cut = line[: width - 2]
        if not cut.endswith(" ") and line[width - 2] != " ":  # never half a word or number
            cut = cut[: cut.rfind(" ")]
        return [cut.rstrip(" ,") + " \u2026"]
    return textwrap.wrap(line, width, subsequent_indent="    ")


def _coloured(line: str) -> Text:
    drawn = Text(line)
    for pattern, style in _STYLES.items():
        drawn.highlight_regex(pattern, style)
    for found in _TYPE.finditer(line):
        drawn.stylize(_TYPES.get(found[0], ""), *found.span())
    for found in _HP.finditer(line):
        left = int(found[1])
        drawn.stylize("green" if left > 50 else "yellow" if left > 20 else "red", *found.span())
    return drawn
