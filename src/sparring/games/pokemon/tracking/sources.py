"""What a line says of where something came from: its `[from]` effect, its `[of]` Pokémon, and what that shows."""

from collections.abc import Callable

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.tracking.layout import (
    POKEMON_IDS_START,
    POKEMON_START,
)
from sparring.games.pokemon.tracking.view import View

_CLINGING = "item: Sticky Barb"
"""It goes over to who touches its holder, and no line says so: who has it need not have begun with it."""

Handler = Callable[[View, list[str]], None]
"""Takes the view and a line split at `|` (`["", kind, ...]`), and writes what the line says."""


def tags(parts: list[str], start: int) -> tuple[str, str]:
    """The `[from]` effect and the `[of]` Pokémon of a line, each "" if not there."""
    source = other = ""
    for part in parts[start:]:
        if part.startswith("[from]"):
            source = part[6:].strip()
        elif part.startswith("[of]"):
            other = part[4:].strip()
    return source, other


def reveal(view: View, source: str, holder: int) -> None:
    """`ability: X` or `item: X` shows what `holder` has (an item it has just used up is gone before it works)."""
    if source.startswith("ability: "):
        view.reveal_ability(holder, view.tables.dex.abilities[source[9:]])
    elif source.startswith("item: ") and holder >= 0:
        item = view.tables.dex.items[source[6:]]
        lost = view.floats[POKEMON_START[holder] + c.POKEMON_ITEM_LOST]
        if item != view.stolen and not (lost and view.ids[POKEMON_IDS_START[holder] + c.POKEMON_ID_LAST_ITEM] == item):
            began_with = view.first_items[holder]
            view.reveal_item(holder, item)
            if source == _CLINGING:
                view.first_items[holder] = began_with
