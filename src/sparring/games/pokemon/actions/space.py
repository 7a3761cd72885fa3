"""The action space of a format: fixed numbers, the mask of what is offered, and Showdown's words for a choice."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sparring.core import InputError
from sparring.games.pokemon.actions.gimmicks import GIMMICKS, gimmicks_of
from sparring.games.pokemon.actions.mask import write_masks
from sparring.games.pokemon.actions.offer import (
    AIM_ALLY,
    AIM_NONE,
    AIMS,
    KIND,
    LOCKED,
    MEGA,
    MEGA_WORDS,
    PLACE_AT,
    POSITION,
    PREVIEW,
    SIZE,
    WIDTH,
)
from sparring.games.pokemon.actions.orders import TARGETS, Orders, make_orders
from sparring.games.pokemon.actions.preview import Preview, team_choice
from sparring.games.pokemon.columns import MOVES, SLOTS, TEAM
from sparring.games.pokemon.formats import Format

_SWITCHES = tuple(f"switch {position}" for position in range(TEAM + 1))
_OWN_PLACES = ("-1", "-2")
"""What a choice calls the own left and right place."""
_SELF_OR_ALLY = AIM_NONE | AIM_ALLY


class ActionSpace:
    """Action numbers of a format with `active` Pokémon a side, 1 or 2.

    In singles an action is an order to the one active Pokémon, in doubles a pair of orders, left * orders + right.
    `bring` is how many of the team are brought: None for all, when the switch orders (in doubles the pairs of switches
    a < b) choose the leads in team preview; else a block of preview actions follows at the end.
    """

    def __init__(self, active: int, gimmicks: Sequence[str], *, bring: int | None = None) -> None:
        self.active = active
        self.gimmicks = tuple(gimmicks)
        self._targets = 1 if active == 1 else len(TARGETS)
        self.orders: Orders = make_orders(self.gimmicks, targets=self._targets, passes=active > 1)
        """What the orders of one place mean."""
        self.joint = self.orders.count**active
        """Actions that are orders; those of the preview block follow."""
        self.preview = None if bring is None or bring >= TEAM else Preview(leads=active, bring=bring)
        self.actions = self.joint + (self.preview.count if self.preview else 0)
        self._blocks = np.array([0, *(1 + GIMMICKS.index(name) for name in self.gimmicks)], np.int64)
        without_mega = [name for name in self.gimmicks if name != "mega"]
        self._together = np.stack([self._compatible(once) for once in (self.gimmicks, without_mega)])
        self._preview_masks = np.stack([self._preview_mask(size) for size in range(TEAM + 1)])
        # Plain lists: choices are made one by one, and reading a number of an array costs more.
        self._switch: list[int] = self.orders.switch.tolist()
        self._mega: list[bool] = [
            gimmick > 0 and self.gimmicks[gimmick - 1] == "mega" for gimmick in self.orders.gimmick
        ]
        self._aims_at: list[int] = (AIMS + self._blocks[self.orders.gimmick] * MOVES + self.orders.move).tolist()
        """By order that is a move: where a place's aims for it lie."""
        self._texts = [[self._text(place, order) for order in range(self.orders.count)] for place in range(SLOTS)]

    def __repr__(self) -> str:
        kind = "singles" if self.active == 1 else "doubles"
        gimmicks = f" with {', '.join(self.gimmicks)}" if self.gimmicks else ""
        return f"<ActionSpace: {self.actions:,} actions of {kind}{gimmicks}>"

    def mask(self, offers: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """`bool[k, actions]` what is legal under `offers: uint8[k, WIDTH]`."""
        if offers.shape[1:] != (WIDTH,):
            raise ValueError(f"offers of shape {offers.shape}; [k, {WIDTH}] is wanted")
        legal = np.empty((len(offers), self.actions), np.bool_)
        offers = offers.view()
        offers.flags.writeable = False  # the loop is compiled once, for offers that are not written to
        write_masks(offers, self._blocks, self._targets, self._together, self._preview_masks, legal)
        return legal

    def legal(self, offer: bytes | bytearray) -> NDArray[np.bool_]:
        """`bool[actions]` what is legal under one offer."""
        row: NDArray[np.bool_] = self.mask(np.frombuffer(offer, np.uint8)[None])[0]
        return row

    def choice(self, offer: bytes | bytearray, action: int) -> str:
        """What to send Showdown for `action`, which must be legal under `offer: uint8[WIDTH]`."""
        if offer[KIND] == PREVIEW:
            return self._preview_choice(action, offer[SIZE])
        if self.active == 1:
            return self._order_choice(offer, 0, action)
        left, right = divmod(action, self.orders.count)
        return f"{self._order_choice(offer, 0, left)}, {self._order_choice(offer, 1, right)}"

    def describe(self, action: int) -> str:
        """The human name of an action."""
        if not 0 <= action < self.actions:
            raise InputError(f"action = {action}: allowed: a whole number, 0 to {self.actions - 1:,}")
        if action >= self.joint:
            assert self.preview is not None
            return self.preview.name(action - self.joint, leads=self.active)
        return "; ".join(self.orders.names[order] for order in self.orders_of(action))

    def orders_of(self, action: int) -> tuple[int, ...]:
        """The order of each place in an action below `joint`."""
        return (action,) if self.active == 1 else divmod(action, self.orders.count)

    def preview_action(self, picked: Sequence[int], size: int) -> int | None:
        """The action that brings the team slots `picked`, leads first, of a team of `size`; None if there is none.

        The order within the leads and within the rest does not matter, nor whom a format that brings all has behind.
        """
        leads = sorted(picked[: self.active])
        if self.preview is None:
            action = 0
            for slot in leads:
                action = action * self.orders.count + self.orders.first_switch + slot
            fits = len(leads) == self.active and leads[0] >= 0 and leads[-1] < size
            return action if fits and len(set(leads)) == len(leads) else None
        brought = len(self.preview.picks[0])
        missing = range(size, brought)  # a small team brings all it has
        pick = (*leads, *sorted([*picked[self.active : brought], *missing]))
        return self.joint + self.preview.picks.index(pick) if pick in self.preview.picks else None

    def _order_choice(self, offer: bytes | bytearray, place: int, order: int) -> str:
        """The part of a choice that is for one place."""
        slot = self._switch[order]
        if slot >= 0:
            return _SWITCHES[offer[POSITION + slot]]
        at = PLACE_AT[place]
        if offer[at + LOCKED]:
            return "move 1"
        own = offer[at + self._aims_at[order]] == _SELF_OR_ALLY
        if own or self._mega[order]:
            return self._text(place, order, own=own, mega=MEGA_WORDS[offer[at + MEGA]])
        return self._texts[place][order]

    def _text(self, place: int, order: int, *, own: bool = False, mega: str = "mega") -> str:
        """An order other than a switch in Showdown's words; `own`: a move with target 0 must name its user's place."""
        orders = self.orders
        if orders.move[order] < 0:
            return "pass"
        words = ["move", str(orders.move[order] + 1)]
        target = int(orders.target[order])
        if target in (1, 2):
            words.append(f"+{target}")
        elif target == 3:
            words.append(_OWN_PLACES[1 - place])
        elif own and self.active > 1:
            words.append(_OWN_PLACES[place])
        if orders.gimmick[order]:
            gimmick = self.gimmicks[orders.gimmick[order] - 1]
            words.append(mega if gimmick == "mega" else gimmick)
        return " ".join(words)

    def _preview_choice(self, action: int, size: int) -> str:
        if action >= self.joint:
            assert self.preview is not None
            return self.preview.choice(action - self.joint, size)
        leads = [self._switch[order] for order in self.orders_of(action)]
        return team_choice(leads + [slot for slot in range(size) if slot not in leads])

    def _preview_mask(self, size: int) -> NDArray[np.bool_]:
        """`bool[actions]` what a team of `size` may choose in team preview."""
        legal = np.zeros(self.actions, np.bool_)
        if self.preview:
            legal[self.joint :] = self.preview.legal(size)
        else:
            for leads in combinations(range(size), self.active):
                legal[self.preview_action(leads, size)] = True
        return legal

    def _compatible(self, once: Sequence[str]) -> NDArray[np.bool_]:
        """`bool[orders, orders]` pairs that may be ordered together: no switch twice, no gimmick of `once` twice."""
        orders = self.orders
        same_switch = (orders.switch[:, None] == orders.switch[None, :]) & (orders.switch[:, None] >= 0)
        # Both stones of Let's Go are one mega evolution.
        kinds = ["", *("mega" if name == "megay" else name for name in self.gimmicks)]
        kind = np.array([kinds.index(kinds[gimmick]) for gimmick in orders.gimmick])
        limited = np.array([kinds[gimmick] in once for gimmick in orders.gimmick])
        same_gimmick = (kind[:, None] == kind[None, :]) & limited[:, None]
        together: NDArray[np.bool_] = ~(same_switch | same_gimmick)
        return together


@lru_cache(maxsize=64)
def action_space(format: Format) -> ActionSpace:
    """The action space of a format."""
    bring = format.picked_team_size if format.team_preview else None
    return ActionSpace(format.active, gimmicks_of(format.id), bring=bring)
