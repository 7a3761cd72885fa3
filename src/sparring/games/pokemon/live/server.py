"""Our presence on one live server: a connection, how battles are found there, and the battles being played."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from sparring.core import InputError
from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.live.battle import LiveBattle, rating_told
from sparring.games.pokemon.live.connection import Account, Connection
from sparring.games.pokemon.live.matchmaking import Matchmaker

_REPEAT_SECONDS = 1.0
"""A choice that a throttle swallowed is sent again after so long."""
_RATING_SECONDS = 1.0


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What we are looking for on a server."""

    format: Format
    how: Literal["ladder", "challenge", "accept"] = "ladder"
    opponent: str = ""
    """Whom to challenge; for `accept`, whose challenges alone to take, or empty for anyone's."""
    timer: bool = True
    """Turn on the clock of every battle."""
    open_sheets: bool = False
    """What to answer when asked to show team sheets."""


class LiveServer:
    """All that goes on between us and one server. `news` is called whenever something has changed."""

    def __init__(
        self,
        address: str,
        account: Account,
        wish: Wish,
        *,
        team: Callable[[], str],
        news: Callable[[], None],
        say: Callable[[str], None],
        reconnect_seconds: float,
    ) -> None:
        """`team()` gives the packed team of the next battle, or `null`."""
        self.battles: dict[str, LiveBattle] = {}
        """By room."""
        self.begun: list[LiveBattle] = []
        """Battles that began and were not yet taken up by the arena."""
        self.rating: int | None = None
        """What the server's ladder gave us last."""
        self.rooms_left = 0
        """Rooms of ended battles that the server has let us go from."""
        self.failure: InputError | None = None
        """Why this server will never do what we want."""
        self.task: asyncio.Task[None] | None = None
        self._wish, self._account = wish, account
        self._actions = action_space(wish.format)
        self._rated = 0
        self._news, self._say = news, say
        self.connection = Connection(
            address, account, hear=self._hear, online=self._online, say=say, patience=reconnect_seconds
        )
        self.matchmaker = Matchmaker(
            wish.format.id,
            how=wish.how,
            opponent=wish.opponent,
            me=account.id,
            team=team,
            send=lambda text: self.connection.send("", text),
            say=lambda text: say(f"{self.connection.address}: {text}"),
        )

    def start(self) -> None:
        """Connects, and stays connected, in a task of the running loop."""
        self.task = asyncio.create_task(self.connection.run())
        self.task.add_done_callback(lambda task: self._news())

    def flush(self) -> None:
        """Sends what the battles have to say."""
        for battle in self.battles.values():
            if self.connection.up:
                for text in battle.outbox:
                    self.connection.send(battle.room, text, urgent=text.startswith("/choose"))
            battle.outbox.clear()

    def take_ended(self) -> Iterator[LiveBattle]:
        """Battles that are over or lost; their rooms are left."""
        for room, battle in list(self.battles.items()):
            if battle.over or battle.lost_room:
                del self.battles[room]
                if battle.over and battle.rated:  # the new rating is told a moment after the end
                    self._rated += 1
                    asyncio.get_running_loop().call_later(_RATING_SECONDS, self._leave_rated, room)
                elif battle.over:
                    self._leave(room)
                yield battle

    def give_up(self) -> int:
        """Forfeits every battle that has not been given up before; how many those are."""
        running = [battle for battle in self.battles.values() if not battle.over and not battle.given_up]
        for battle in running:
            battle.given_up = True
            self.connection.send(battle.room, "/forfeit", urgent=True)
        return len(running)

    async def close(self) -> None:
        """Leaves all rooms and disconnects."""
        if self._rated and self.connection.up:
            await asyncio.sleep(_RATING_SECONDS)
        for room in self.battles:
            self._leave(room)
        await self.connection.close()
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)

    def _online(self) -> None:
        """Logged in, perhaps again: what was open on the old connection is gone, but the rooms are not."""
        self.matchmaker.forget()
        for room in self.battles:
            self.connection.send("", f"/join {room}", urgent=True)
        self._news()

    def _hear(self, room: str, lines: list[str]) -> None:
        if room.startswith("battle-"):
            self._hear_battle(room, lines)
        elif not room:
            try:
                for line in lines:
                    self.matchmaker.read(line, len(self.battles))
            except InputError as error:
                self.failure = InputError(f"{self.connection.address}: {error}")
        self._news()

    def _leave(self, room: str) -> None:
        self.connection.send("", f"/leave {room}")

    def _leave_rated(self, room: str) -> None:
        self._rated -= 1
        self._leave(room)

    def _hear_battle(self, room: str, lines: list[str]) -> None:
        for line in lines:
            if line.startswith("|raw|"):
                self.rating = rating_told(line, self._account.id) or self.rating
        battle = self.battles.get(room)
        if battle is None:
            if not any(line.startswith("|init|battle") for line in lines):
                self.rooms_left += any(line.startswith("|deinit") for line in lines)
                return  # the last words of a room that we have left
            if room.split("-")[1] != self._wish.format.id:
                self._say(f"{self.connection.address}: {room} is of another format; it is left alone")
                return
            battle = self._begin(room)
        battle.read(lines)
        if any("message-throttle-notice" in line for line in lines):
            asyncio.get_running_loop().call_later(_REPEAT_SECONDS, self._repeat, battle)
        self.flush()

    def _begin(self, room: str) -> LiveBattle:
        battle = LiveBattle(
            room,
            self._account.id,
            generation=self._wish.format.generation,
            actions=self._actions,
            open_sheets=self._wish.open_sheets,
        )
        if self._wish.timer:
            battle.outbox.append("/timer on")
        self.battles[room] = battle
        self.begun.append(battle)
        self.matchmaker.begun()
        return battle

    def _repeat(self, battle: LiveBattle) -> None:
        battle.repeat()
        self.flush()
