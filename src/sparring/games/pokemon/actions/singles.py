"""Singles: 4 moves, 6 switches, then 4 moves for each gimmick of the format."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.actions.moves import MOVES, gimmick_word, is_locked, offered
from sparring.games.pokemon.actions.orders import make_orders
from sparring.games.pokemon.actions.preview import Preview, team_choice, team_size
from sparring.games.pokemon.actions.slots import TEAM, Request

SWITCH = MOVES
GIMMICK = MOVES + TEAM


class SinglesActions:
    """The action space of a singles format; in team preview the switch orders choose who leads.

    `bring` is how many of the team are brought, None for all.
    """

    active = 1

    def __init__(self, gimmicks: Sequence[str], *, bring: int | None = None) -> None:
        self.gimmicks = tuple(gimmicks)
        self.orders = make_orders(self.gimmicks, targets=1, passes=False)
        self._move_orders = [order for order in range(self.orders.count) if not SWITCH <= order < GIMMICK]
        self.preview = None if bring is None or bring >= TEAM else Preview(leads=1, bring=bring)
        self.actions = self.orders.count + (self.preview.count if self.preview else 0)

    def mask(self, request: Request, slots: Sequence[int], row: NDArray[np.bool_]) -> None:
        """Writes `row: bool[actions]`; `slots` is what `TeamSlots.order` said of this request."""
        legal = bytearray(self.orders.count)
        pokemon = request["side"]["pokemon"]
        if "active" in request:
            active = request["active"][0]
            targets = offered(active, pokemon[0]["moves"], self.gimmicks)
            for order, target in zip(self._move_orders, targets, strict=True):
                if target is not None:
                    legal[order] = 1
            if not active.get("trapped"):
                for slot, entry in zip(slots[1:], pokemon[1:], strict=True):
                    if not entry["condition"].endswith(" fnt"):
                        legal[SWITCH + slot] = 1
        elif "forceSwitch" in request:
            if pokemon[0].get("reviving"):
                for place, entry in enumerate(pokemon):
                    legal[SWITCH + slots[place]] = entry["condition"].endswith(" fnt")
            else:
                for place in range(1, len(pokemon)):
                    legal[SWITCH + slots[place]] = not pokemon[place]["condition"].endswith(" fnt")
        elif "teamPreview" in request:
            if self.preview:
                row[: self.orders.count] = False
                row[self.orders.count :] = self.preview.legal(len(pokemon))
                return
            legal[SWITCH : SWITCH + len(pokemon)] = b"\1" * len(pokemon)
        else:
            raise ValueError("a request to wait has no legal actions")
        if self.preview:
            row[self.orders.count :] = False
            row = row[: self.orders.count]
        row[:] = np.frombuffer(legal, np.bool_)

    def choice(self, request: Request, slots: Sequence[int], action: int) -> str:
        """The string that makes Showdown do `action`, which must be legal."""
        if action >= self.orders.count:
            assert self.preview is not None
            return self.preview.choice(action - self.orders.count, team_size(request))
        if SWITCH <= action < GIMMICK:
            slot = action - SWITCH
            if "teamPreview" in request:
                return team_choice([slot] + [other for other in range(team_size(request)) if other != slot])
            return f"switch {slots.index(slot) + 1}"
        active = request["active"][0]
        if is_locked(active):
            return "move 1"
        move = action if action < MOVES else (action - GIMMICK) % MOVES
        if action < MOVES:
            return f"move {move + 1}"
        return f"move {move + 1} {gimmick_word(active, self.gimmicks[(action - GIMMICK) // MOVES])}"

    def describe(self, action: int) -> str:
        """The human name of `action`."""
        if action < self.orders.count:
            return self.orders.names[action]
        assert self.preview is not None
        return self.preview.name(action - self.orders.count, leads=1)
