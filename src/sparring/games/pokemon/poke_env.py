"""Seats any `poke_env.Player` in a Pokémon arena, by feeding it the protocol lines and requests its seat is sent.

    player = PokeEnvPlayer(SimpleHeuristicsPlayer(battle_format="gen1randombattle", start_listening=False))
    sparring.evaluate("pokemon-gen1", player, matches=20)

No server and no socket: poke-env's own `Battle` reads the lines, its `choose_move` answers, and the answer is turned
into an action number. For honest comparison, not for speed: poke-env plays one battle at a time in Python.
"""

import asyncio
import inspect
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import Answers, Arena, Decisions, InputError, optional
from sparring.games.pokemon.actions import TEAM, ActionSpace, TeamSlots, action_space
from sparring.games.pokemon.actions.moves import GIMMICKS, is_locked, locked_place
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.formats import Format, find_format

with optional("PokeEnvPlayer", extra="poke-env"):
    from poke_env.battle import AbstractBattle, Battle, DoubleBattle
    from poke_env.player import Player as TheirPlayer

_UNREAD = {*TheirPlayer.MESSAGES_TO_IGNORE, "error", "bigerror"}
"""Lines that poke-env's own message loop keeps from its battles."""
_WORDS = {**{gimmick: gimmick for gimmick in GIMMICKS}, "max": "dynamax", "ultra": "mega", "megax": "mega"}


class PokeEnvPlayer:
    """A player of `sparring` whose answers are a poke-env player's."""

    def __init__(self, player: TheirPlayer) -> None:
        self._player = player
        self._format: Format
        self._space: ActionSpace
        self._battles: dict[tuple[int, int], _Seated] = {}
        self._logger = logging.getLogger("sparring.poke_env")
        self.answered = 0
        """Rows answered so far."""
        self.replaced = 0
        """Answers that were not legal; the first legal action was played, as Showdown's `default` would."""

    def attend(self, arena: Arena) -> None:
        """See `sparring.core.Attending`: rows do not say what happened, the arena's protocol lines do."""
        if not isinstance(arena, PokemonArena):
            raise InputError("a player of poke-env needs a Pokémon arena in this process: no workers, no live server")
        self._format = find_format(str(arena.spec.settings["format"]))
        self._space = action_space(self._format)
        arena.listen(self._hear)

    def act(self, decisions: Decisions) -> Answers:
        """Asks the poke-env player about each row in turn."""
        action = np.empty(len(decisions), np.int32)
        for row, key in enumerate(zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True)):
            seated = self._battles[key]
            chosen = self._number(self._ask(seated.battle), seated.request, seated.order, decisions.legal[row])
            self.answered += 1
            if chosen is None or not decisions.legal[row, chosen]:
                self.replaced += 1
                chosen = int(decisions.legal[row].argmax())
            action[row] = chosen
        return Answers(action=action)

    def _hear(self, match: int, seat: int, first: bool, lines: str, request: dict[str, Any]) -> None:
        """Brings the seat's poke-env battle up to date."""
        if first:
            kind = DoubleBattle if self._format.active == 2 else Battle
            tag = f"battle-{self._format.id}-{match}-{seat}"
            battle = kind(tag, request["side"]["name"], self._logger, self._format.generation)
            battle.player_role = f"p{seat + 1}"
            self._battles[match, seat] = _Seated(battle)
        self._battles[match, seat].hear(lines, request)

    def _ask(self, battle: AbstractBattle) -> str:
        """What the player would send to a server."""
        if battle.teampreview:
            answer: Any = self._player.teampreview(battle)
        else:
            answer = self._player.choose_move(battle)
        if inspect.isawaitable(answer):
            answer = asyncio.run_coroutine_threadsafe(_awaited(answer), self._player.ps_client.loop).result()
        return answer if isinstance(answer, str) else answer.message

    def _number(
        self, message: str, request: dict[str, Any], order: Sequence[int], legal: NDArray[np.bool_]
    ) -> int | None:
        """The action number of a message such as `/choose move surf 1, switch Mew`; None if it names no action.

        Of the actions that fit a message with `default` in it, the first legal one.
        """
        kind, _, rest = message.removeprefix("/").partition(" ")
        if kind == "team":
            return self._preview_number(rest)
        parts = [part.strip() for part in rest.split(",")]
        if len(parts) != self._space.active:
            return None
        orders = self._space.orders.count
        fits = legal[: orders**self._space.active].reshape((orders,) * self._space.active).copy()
        for place, part in enumerate(parts):
            number = self._order_number(part, request, order, place)
            if number is not None:
                others = np.arange(orders) != number
                fits[(slice(None),) * place + (others,)] = False
            elif part != "default":
                return None
        return int(fits.argmax()) if fits.any() else None

    def _order_number(self, text: str, request: dict[str, Any], order: Sequence[int], place: int) -> int | None:
        kind, _, rest = text.partition(" ")
        orders = self._space.orders
        pokemon = request["side"]["pokemon"]
        if kind == "pass":
            return orders.names.index("pass") if "pass" in orders.names else None
        if kind == "switch":
            place_of = [at for at, entry in enumerate(pokemon) if entry["ident"].split(": ", 1)[1] == rest]
            return orders.first_switch + order[place_of[0]] if place_of else None
        if kind != "move" or "active" not in request:
            return None
        words = rest.split()
        active = request["active"][place]
        move = self._move_place(words[0], active, pokemon[place]["moves"])
        gimmick, target = 0, 0
        for word in words[1:]:
            if word in _WORDS:
                if _WORDS[word] not in self._space.gimmicks:
                    return None
                gimmick = 1 + self._space.gimmicks.index(_WORDS[word])
            elif self._space.active == 2:
                # -1 is the left slot, -2 the right: the user itself is target 0, its ally target 3.
                target = int(word) if int(word) > 0 else 0 if int(word) == -1 - place else 3
        match = (orders.move == move) & (orders.gimmick == gimmick) & (orders.target == target)
        found = np.flatnonzero(match)
        return int(found[0]) if move is not None and len(found) else None

    def _move_place(self, id: str, active: dict[str, Any], own: Sequence[str]) -> int | None:
        if is_locked(active):
            return locked_place(active["moves"][0]["id"], own)
        if id.startswith("hiddenpower"):
            id = "hiddenpower"
        for offered in (active["moves"], (active.get("maxMoves") or {}).get("maxMoves", ())):
            for place, move in enumerate(offered):
                if id in (move.get("id"), move.get("move")):
                    return place
        return int(id) - 1 if id.isdigit() else None

    def _preview_number(self, text: str) -> int | None:
        """The preview action of `/team 3142`: leads and those brought, their order left out."""
        slots = [int(digit) - 1 for digit in text.replace(",", "").replace(" ", "")]
        space = self._space
        if space.preview is not None:
            brought = len(space.preview.picks[0])
            leads, behind = sorted(slots[: space.active]), sorted(slots[space.active : brought])
            pick = (*leads, *behind)
            start = space.orders.count**space.active
            return start + space.preview.picks.index(pick) if pick in space.preview.picks else None
        total = 0
        for slot in sorted(slots[: space.active]):
            if not 0 <= slot < TEAM:
                return None
            total = total * space.orders.count + space.orders.first_switch + slot
        return total


class _Seated:
    """One seat's poke-env battle."""

    def __init__(self, battle: AbstractBattle) -> None:
        self.battle = battle
        self.request: dict[str, Any] = {}
        self.order: list[int] = []
        self._slots = TeamSlots()

    def hear(self, lines: str, request: dict[str, Any]) -> None:
        """Reads new lines, then the request that ends them, as a server would send them."""
        for line in lines.split("\n"):
            split = line.split("|")
            if len(split) > 1 and split[1] not in _UNREAD:
                self.battle.parse_message(split)
        self.battle.parse_request(request)
        self.request = request
        self.order = self._slots.order(request)


async def _awaited(answer: Any) -> Any:
    return await answer
