"""Teams as people keep them: pasted text and packed lines, one team or many in a file.

    === [gen9ou] Rain ===        a heading, as Showdown's team builder writes them; the format may be missing

    Pelipper @ Damp Rock         a paragraph a Pokémon, as on pokepast.es
    Ability: Drizzle
    - Hurricane

A packed team is one line with bars in it. Without headings, teams end where two or more lines are empty, or else
after as many Pokémon as a team has.
"""

import re
from typing import NamedTuple

from sparring.core import InputError
from sparring.games.pokemon.formats import Format, to_id

_BRACKET = re.compile(r"\[([^\]]*)\]")
_ANY_FORMAT = re.compile(r"gen\d(champions|letsgo|bdsp)?")
"""What the team builder calls a team whose format was not chosen."""
_LONGEST_NAME = 60


class TeamText(NamedTuple):
    """One team of a file, not yet judged."""

    place: str
    """Where it stands: the file, with the line or with the team's number and name."""
    format: str
    """Id of the format its heading names; empty if none does."""
    text: str

    def suits(self, format: Format) -> bool:
        """Whether the heading leaves it to `format`: none of another one is named."""
        if self.format.removesuffix("bo3") == format.id.removesuffix("bo3"):
            return True
        return not self.format or bool(_ANY_FORMAT.fullmatch(self.format) and format.id.startswith(self.format))


def split_teams(text: str, file: str, *, most: int) -> list[TeamText]:
    """The teams of a file's text; `most` Pokémon are a full team.

    Raises `InputError` if nothing says where one team ends and the next begins.
    """
    found: list[tuple[int, str, str, str]] = []  # line of a packed team, format, name, text
    headed, format, name = False, "", ""
    lines: list[str] = []

    def close() -> None:
        teams = ["\n".join(lines)] if headed else _divide(lines, file, most)
        found.extend((0, format, name, team) for team in teams if team.strip())
        lines.clear()

    for number, line in enumerate(re.split("\r\n?|\n", text.removeprefix("\ufeff")), start=1):
        stripped = re.sub("[\t\xa0]", " ", line).strip(" ")
        if "|" in stripped:
            found.append((number, format, "", stripped))
        elif stripped.startswith("==="):
            close()
            inside = stripped.strip("= ")
            bracket = _BRACKET.match(inside)
            headed, format = True, to_id(bracket[1][:_LONGEST_NAME]) if bracket else ""
            name = inside[bracket.end() :].strip() if bracket else inside
        else:
            lines.append("" if stripped == "---" else stripped)
    close()
    return [
        TeamText(_place(file, line, index, name, alone=len(found) == 1), format, team)
        for index, (line, format, name, team) in enumerate(found, start=1)
    ]


def _divide(lines: list[str], file: str, most: int) -> list[str]:
    """Text without headings, as one text a team."""
    paragraphs = [part for part in re.split(r"\n\n+", "\n".join(lines).strip("\n")) if part]
    if len(paragraphs) <= most:
        return ["\n\n".join(paragraphs)]
    apart = [re.split(r"\n\n+", part) for part in re.split(r"\n\n\n+", "\n".join(lines).strip("\n"))]
    if any(len(team) > 1 for team in apart) and all(len(team) <= most for team in apart):
        return ["\n\n".join(team) for team in apart]
    if len(paragraphs) % most == 0:
        return ["\n\n".join(paragraphs[start : start + most]) for start in range(0, len(paragraphs), most)]
    raise InputError(
        f"{file}: it is not clear which of its {len(paragraphs)} Pokémon are a team; "
        "put a line such as `=== name ===` before each team"
    )


def _place(file: str, line: int, index: int, name: str, *, alone: bool) -> str:
    if line:
        return f"{file}:{line}"
    if alone and not name:
        return file
    shown = "".join(letter for letter in name[:_LONGEST_NAME] if letter.isprintable())
    return f"{file}, team {index} ({shown})" if shown else f"{file}, team {index}"
