"""Team slots: the place of each Pokémon in the team as the battle began.

Showdown reorders `side.pokemon` at every switch and numbers its choices by that changing order. Actions and
observations here number Pokémon by team slot instead, which stays the same all battle long.
"""

from collections.abc import Mapping
from typing import Any

from sparring.core.errors import InputError

TEAM = 6
"""Most Pokémon a team can have."""

Request = Mapping[str, Any]
"""A Showdown request, as its JSON says."""

_TELLING = ("details", "stats", "moves", "baseAbility", "item", "pokeball", "teraType")
"""What tells two Pokémon of the same name apart."""


class TeamSlots:
    """The team slots of one side in one battle, learnt from its first request (team preview included)."""

    def __init__(self) -> None:
        self._slot_of: dict[str, int] = {}
        self._doubled: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}

    def order(self, request: Request) -> list[int]:
        """The team slot of each Pokémon in `request["side"]["pokemon"]`, in the request's order.

        After a team preview in which only some were picked, the request lists only those.
        """
        pokemon = request["side"]["pokemon"]
        if not self._slot_of and not self._doubled:
            self._learn(pokemon)
        slot_of = self._slot_of
        try:
            return [slot_of[entry["ident"]] for entry in pokemon]
        except KeyError:
            return self._order_doubled(pokemon)

    def _learn(self, pokemon: list[Mapping[str, Any]]) -> None:
        if len(pokemon) > TEAM:
            raise InputError(f"a team of {len(pokemon)} Pokémon; at most {TEAM} can be played")
        seen: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
        for slot, entry in enumerate(pokemon):
            seen.setdefault(entry["ident"], []).append((slot, entry))
        for ident, entries in seen.items():
            if len(entries) == 1:
                self._slot_of[ident] = entries[0][0]
            else:
                self._doubled[ident] = entries

    def _order_doubled(self, pokemon: list[Mapping[str, Any]]) -> list[int]:
        """The order of a team in which several share a name: each goes to the free slot it resembles most."""
        free = {ident: list(entries) for ident, entries in self._doubled.items()}
        order = []
        for entry in pokemon:
            ident = entry["ident"]
            if ident in self._slot_of:
                order.append(self._slot_of[ident])
                continue
            if not free.get(ident):
                raise InputError(f"a request names {ident!r}, which the battle's first request did not")
            best = max(free[ident], key=lambda known: _likeness(known[1], entry))
            free[ident].remove(best)
            order.append(best[0])
        return order


def _likeness(known: Mapping[str, Any], entry: Mapping[str, Any]) -> int:
    return sum(known.get(key) == entry.get(key) for key in _TELLING)
