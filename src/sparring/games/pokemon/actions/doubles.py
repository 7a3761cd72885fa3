"""Doubles: one flat action is a pair of slot orders, left slot * orders + right slot.

A slot order is a move with its target, a switch, or pass. The joint mask is the outer product of the two slots'
masks and a constant table of pairs that may go together; forced switches add who may pass.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.actions.moves import MOVES, gimmick_word, is_locked, offered
from sparring.games.pokemon.actions.orders import TARGETS, make_orders
from sparring.games.pokemon.actions.preview import Preview, team_choice, team_size
from sparring.games.pokemon.actions.slots import TEAM, Request

AIMS = len(TARGETS)
SWITCH = MOVES * AIMS
PASS = SWITCH + TEAM
GIMMICK = PASS + 1

_AIMS_OF = {
    "normal": b"\0\1\1\1",
    "any": b"\0\1\1\1",
    "adjacentFoe": b"\0\1\1\0",
    "adjacentAlly": b"\0\0\0\1",
    "adjacentAllyOrSelf": b"\1\0\0\1",
}
"""Target type to the aims it may be chosen with; every other type takes no target."""
_NO_AIM = b"\1\0\0\0"


class DoublesActions:
    """The action space of a doubles format.

    `bring` is how many of the team are brought: None for all, when the pair (switch a, switch b) with a < b
    chooses the leads in team preview; else a block of preview actions follows the pairs.
    """

    active = 2

    def __init__(self, gimmicks: Sequence[str], *, bring: int | None = None) -> None:
        self.gimmicks = tuple(gimmicks)
        self.orders = make_orders(self.gimmicks, targets=AIMS, passes=True)
        self.pairs = self.orders.count**2
        self.preview = None if bring is None or bring >= TEAM else Preview(leads=2, bring=bring)
        self.actions = self.pairs + (self.preview.count if self.preview else 0)
        self._megas = "mega" in self.gimmicks
        self._together = self._compatible(self.gimmicks)
        self._together_with_burst = self._compatible([name for name in self.gimmicks if name != "mega"])
        self._leads = np.zeros((TEAM + 1, self.pairs), np.bool_)
        for size in range(TEAM + 1):
            for left in range(size):
                for right in range(left + 1, size):
                    self._leads[size, (SWITCH + left) * self.orders.count + SWITCH + right] = True

    def mask(self, request: Request, slots: Sequence[int], row: NDArray[np.bool_]) -> None:
        """Writes `row: bool[actions]`; `slots` is what `TeamSlots.order` said of this request."""
        if self.preview:
            row[self.pairs :] = False
        joint = row[: self.pairs].reshape(self.orders.count, self.orders.count)
        if "active" in request:
            left, right = self._move_orders(request, slots, 0), self._move_orders(request, slots, 1)
            together = self._together_with_burst if self._megas and _mega_beside_burst(request) else self._together
            np.logical_and(together, right, out=joint)
            np.logical_and(joint, left[:, None], out=joint)
        elif "forceSwitch" in request:
            self._forced_switches(request, slots, joint)
        elif "teamPreview" in request:
            if self.preview:
                row[: self.pairs] = False
                row[self.pairs :] = self.preview.legal(team_size(request))
            else:
                row[: self.pairs] = self._leads[team_size(request)]
        else:
            raise ValueError("a request to wait has no legal actions")

    def choice(self, request: Request, slots: Sequence[int], action: int) -> str:
        """The string that makes Showdown do `action`, which must be legal."""
        if action >= self.pairs:
            assert self.preview is not None
            return self.preview.choice(action - self.pairs, team_size(request))
        left, right = divmod(action, self.orders.count)
        if "teamPreview" in request:
            leads = [left - SWITCH, right - SWITCH]
            return team_choice(leads + [slot for slot in range(team_size(request)) if slot not in leads])
        return f"{self._order(request, slots, 0, left)}, {self._order(request, slots, 1, right)}"

    def describe(self, action: int) -> str:
        """The human name of `action`."""
        if action >= self.pairs:
            assert self.preview is not None
            return self.preview.name(action - self.pairs, leads=2)
        left, right = divmod(action, self.orders.count)
        return f"{self.orders.names[left]}; {self.orders.names[right]}"

    def _move_orders(self, request: Request, slots: Sequence[int], place: int) -> NDArray[np.bool_]:
        """`bool[orders]` what the Pokémon in active place `place` may be told on its own."""
        legal = bytearray(self.orders.count)
        pokemon = request["side"]["pokemon"]
        if place >= len(pokemon) or pokemon[place]["condition"].endswith(" fnt") or pokemon[place].get("commanding"):
            legal[PASS] = 1
            return np.frombuffer(legal, np.bool_)
        active = request["active"][place]
        first = 0
        for number, target in enumerate(offered(active, pokemon[place]["moves"], self.gimmicks)):
            if number == MOVES:
                first = GIMMICK - SWITCH
            if target is not None:
                start = first + number * AIMS
                legal[start : start + AIMS] = _AIMS_OF.get(target, _NO_AIM)
        if not active.get("trapped"):
            for other in range(2, len(pokemon)):
                if not pokemon[other]["condition"].endswith(" fnt"):
                    legal[SWITCH + slots[other]] = 1
        return np.frombuffer(legal, np.bool_)

    def _forced_switches(self, request: Request, slots: Sequence[int], joint: NDArray[np.bool_]) -> None:
        """As many switches as there are slots to fill and reserves to fill them; the other slots pass."""
        pokemon = request["side"]["pokemon"]
        forced = request["forceSwitch"]
        fainted = [entry["condition"].endswith(" fnt") for entry in pokemon]
        passes = max(0, sum(forced) - (len(pokemon) - 2 - sum(fainted[2:])))
        sides = []
        for place in range(2):
            legal = bytearray(self.orders.count)
            if not forced[place]:
                legal[PASS] = 1
            else:
                legal[PASS] = passes > 0
                reviving = bool(pokemon[place].get("reviving"))
                for other in range(0 if reviving else 2, len(pokemon)):
                    if fainted[other] == reviving:
                        legal[SWITCH + slots[other]] = 1
            sides.append(np.frombuffer(legal, np.bool_))
        np.logical_and(sides[0][:, None], sides[1][None, :], out=joint)
        np.logical_and(joint, self._together, out=joint)
        if all(forced) and passes == 1:
            joint[PASS, PASS] = False
            joint[SWITCH:PASS, SWITCH:PASS] = False

    def _order(self, request: Request, slots: Sequence[int], place: int, order: int) -> str:
        if order == PASS:
            return "pass"
        if SWITCH <= order < PASS:
            return f"switch {slots.index(order - SWITCH) + 1}"
        active: Mapping[str, Any] = request["active"][place]
        gimmick, rest = (0, order) if order < SWITCH else divmod(order - GIMMICK + SWITCH, SWITCH)
        move, aim = divmod(rest, AIMS)
        if is_locked(active):
            return "move 1"
        words = ["move", str(move + 1)]
        if aim in (1, 2):
            words.append(f"+{aim}")
        elif aim == 3:
            words.append("-2" if place == 0 else "-1")
        elif offered(active, (), self.gimmicks)[gimmick * MOVES + move] == "adjacentAllyOrSelf":
            words.append("-1" if place == 0 else "-2")
        if gimmick:
            words.append(gimmick_word(active, self.gimmicks[gimmick - 1]))
        return " ".join(words)

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


def _mega_beside_burst(request: Request) -> bool:
    """Whether one slot may mega evolve and the other ultra burst: two gimmicks to Showdown, one number here."""
    first, second = (active or {} for active in request["active"])
    return bool(
        (first.get("canMegaEvo") and second.get("canUltraBurst"))
        or (first.get("canUltraBurst") and second.get("canMegaEvo"))
    )
