"""Seats any `poke_env.Player` in a Pokémon arena, by feeding it the protocol lines and requests its seat is sent.

The arena may be that of battles on live servers: then the server and its throttles, accounts and reconnects are ours,
and the choices the player's.

    player = PokeEnvPlayer(SimpleHeuristicsPlayer(battle_format="gen1randombattle", start_listening=False))
    sparring.evaluate("pokemon-gen1", player, matches=20)

poke-env opens no socket: its own `Battle` reads the lines, its `choose_move` answers, and the answer is turned
into an action number. For honest comparison, not for speed: poke-env plays one battle at a time in Python.
"""

import asyncio
import inspect
import logging
from typing import Any

import numpy as np

from sparring.core import Answers, Arena, Decisions, Guest, InputError, did_you_mean, optional
from sparring.core.code import is_code, load_code
from sparring.games.pokemon.actions import ActionSpace, action_space, fits_text
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.formats import Format, find_format
from sparring.games.pokemon.live import LiveArena
from sparring.games.pokemon.settings import PokemonSettings

with optional("a player of poke-env", extra="poke-env"):
    from poke_env import player
    from poke_env.battle import AbstractBattle, Battle, DoubleBattle
    from poke_env.player import Player as TheirPlayer

_UNREAD = {*TheirPlayer.MESSAGES_TO_IGNORE, "error", "bigerror", "showteam"}
"""Lines that poke-env's own message loop keeps from its battles; open team sheets are not passed on."""


class PokeEnvPlayer:
    """A player of `sparring` whose answers are a poke-env player's."""

    def __init__(self, player: TheirPlayer) -> None:
        if not isinstance(player, TheirPlayer):
            raise InputError(f"player = {player!r:.60}: allowed: a Player object of poke-env, such as RandomPlayer()")
        self._player = player
        self._arena: PokemonArena | LiveArena
        self._format: Format
        self._space: ActionSpace
        self._battles: dict[tuple[int, int], AbstractBattle] = {}
        self._begun = 0
        self._logger = logging.getLogger("sparring.poke_env")
        self.answered = 0
        """Rows answered so far."""
        self.replaced = 0
        """Answers that were not legal; the first legal action was played, as Showdown's `default` would."""

    def __repr__(self) -> str:
        return f"<PokeEnvPlayer: {type(self._player).__name__}, {self.answered:,} answers>"

    def attend(self, arena: Arena) -> None:
        """See `sparring.core.Attending`: rows do not say what happened, the arena's protocol lines do."""
        if not isinstance(arena, PokemonArena | LiveArena):
            raise InputError("a player of poke-env needs a Pokémon arena in this process: no workers")
        settings = arena.spec.settings
        self._arena = arena
        self._format = find_format(str(settings["format"]), str(settings["showdown"]))
        self._space = action_space(self._format)
        arena.listen(self._hear)

    def act(self, decisions: Decisions) -> Answers:
        """Asks the poke-env player about each row in turn."""
        action = np.empty(len(decisions), np.int32)
        for row, (match, seat) in enumerate(zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True)):
            message = self._ask(self._battles[match, seat])
            tracker = self._arena.tracker(match, seat)
            fits = fits_text(self._space, tracker.offer, message, tracker.called) & decisions.legal[row]
            self.answered += 1
            if not fits.any():
                self.replaced += 1
                fits = decisions.legal[row]
            action[row] = fits.argmax()
        return Answers(action=action)

    def _hear(self, match: int, seat: int, first: bool, lines: str, request: dict[str, Any]) -> None:
        """Brings the seat's poke-env battle up to date."""
        if first:
            kind = DoubleBattle if self._format.active == 2 else Battle
            self._begun += 1
            tag, side = f"battle-{self._format.id}-{self._begun}", request["side"]
            battle = kind(tag, side["name"], self._logger, self._format.generation)
            battle.player_role = side["id"]
            self._battles[match, seat] = battle
        _tell(self._battles[match, seat], lines, request)

    def _ask(self, battle: AbstractBattle) -> str:
        """What the player would send to a server."""
        if battle.teampreview:
            answer: Any = self._player.teampreview(battle)
        else:
            answer = self._player.choose_move(battle)
        if inspect.isawaitable(answer):
            answer = asyncio.run_coroutine_threadsafe(_awaited(answer), self._player.ps_client.loop).result()
        return answer if isinstance(answer, str) else answer.message


def named_player(settings: PokemonSettings, name: str, guest: Guest) -> PokeEnvPlayer:
    """A player class of poke-env by its name, or one of the user's own as `package.module:name`."""
    if is_code(name):
        kind: Any = load_code(name, what="a player class of poke-env")
    else:
        kind = getattr(player, name, None)
    if not (inspect.isclass(kind) and issubclass(kind, TheirPlayer)) or inspect.isabstract(kind):
        known = [word for word in dir(player) if word.endswith("Player") and word != "Player"]
        raise InputError(
            f"poke-env:{name}: no player of poke-env{did_you_mean(name, known)}; it has: {', '.join(known)}; "
            "or name a class of your own as package.module:name"
        )
    format = find_format(settings.format, settings.showdown)
    return PokeEnvPlayer(kind(battle_format=format.id, start_listening=False))


def _tell(battle: AbstractBattle, lines: str, request: dict[str, Any]) -> None:
    """Reads new lines, then the request that ends them, as a server would send them."""
    for line in lines.split("\n"):
        split = line.split("|")
        if len(split) > 1 and split[1] not in _UNREAD:
            battle.parse_message(split)
    battle.parse_request(request)


async def _awaited(answer: Any) -> Any:
    return await answer
