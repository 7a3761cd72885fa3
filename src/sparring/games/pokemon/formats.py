"""Battle formats, as Showdown's own rule tables describe them."""

import re
from functools import cache

import msgspec

from sparring.core import InputError
from sparring.games.pokemon.settings import PINNED
from sparring.games.pokemon.setup import installation


class Format(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One Showdown format of two seats."""

    id: str = ""
    """As in `gen9randombattle`."""
    name: str
    generation: int
    mod: str
    """Showdown's rule mod: `gen9`, or a special one."""
    tables: str
    """Name of the dex that holds in it (`load_dex`): its generation's, or that of a mod with other moves and items."""
    game_type: str
    """`singles` or `doubles`."""
    random_teams: bool
    """Showdown makes the teams; otherwise a team set is needed."""
    team_preview: bool
    """Both sides see the species of both teams and order theirs before the first turn."""
    open_team_sheets: bool
    """The rules allow both sides to see sets (moves, items, abilities) before the first turn."""
    picked_team_size: int
    """How many Pokémon are brought to the battle."""
    max_team_size: int
    adjust_level: int
    """All Pokémon are set to this level; 0: as the team says."""
    section: str
    rules: tuple[str, ...] = ()
    """Names of the rules that battles tell of as they begin; none are known of a format that Showdown no longer has."""
    showdown: str = PINNED
    """The version of Showdown whose format this is."""

    @property
    def active(self) -> int:
        """Pokémon of one side in battle at the same time: 1 or 2."""
        return 2 if self.game_type == "doubles" else 1


def to_id(name: str) -> str:
    """Showdown's id of a name: lower-case letters and digits only."""
    return re.sub("[^a-z0-9]+", "", name.lower())


@cache
def formats(showdown: str = PINNED) -> dict[str, Format]:
    """All formats of two seats by id. Needs the installed tables."""
    raw = msgspec.json.decode((installation(showdown).tables / "formats.json").read_bytes(), type=dict[str, Format])
    return {id: msgspec.structs.replace(format, id=id, showdown=showdown) for id, format in raw.items()}


def find_format(name: str, showdown: str = PINNED) -> Format:
    """The format with that id or name in a version of Showdown; raises `InputError` with near matches."""
    known = formats(showdown)
    id = to_id(name)
    if id in known:
        return known[id]
    rest = re.sub(r"^gen\d+", "", id)
    tier = sorted((key for key in known if rest and re.fullmatch(rf"gen\d+{rest}", key)), reverse=True)
    near = tier or sorted(key for key in known if id and (id in key or key in id))
    near = near or sorted(key for key in known if rest and key.endswith(rest))
    hint = f"; near: {', '.join(near[:9])}" if near else "; e.g. gen1randombattle, gen9ou, gen9championsvgc2026regmb"
    raise InputError(f"unknown Pokémon format {name!r}{hint}")


def random_battle_formats(showdown: str = PINNED) -> list[str]:
    """Ids of the standard random battle formats, generation 1 to 9, singles and doubles."""
    return sorted(id for id in formats(showdown) if re.fullmatch(r"gen\d(random(doubles)?battle)", id))
