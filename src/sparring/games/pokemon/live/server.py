"""Our presence on one live server: a connection, how battles are found there, and the battles being played."""

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from sparring.core import InputError, RunError
from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.belief.seat import Believing
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.live.battle import LiveBattle, rating_told
from sparring.games.pokemon.live.connection import Account, Connection, throttles
from sparring.games.pokemon.live.limits import Limits
from sparring.games.pokemon.live.matchmaking import Matchmaker

_REPEAT_SECONDS = 1.0
"""A choice that a throttle swallowed is sent again after so long."""
_RATING_SECONDS = 1.0
_ROOM = re.compile(r"battle-([a-z0-9]{1,100})-[a-z0-9-]{1,100}")
"""What Showdown calls the rooms of battles; the group is the format."""
_ENDED_ROOMS = 10_000
"""Rooms of ended battles that are remembered, so that none of them begins again."""


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
        believing: Believing | None,
        limits: Limits,
        reconnect_seconds: float,
    ) -> None:
        """`team()` gives the packed team of the next battle, or `null`; `believing` adds `belief` to rows."""
        self.battles: dict[str, LiveBattle] = {}
        """By room."""
        self.begun: list[LiveBattle] = []
        """Battles that began and were not yet taken up by the arena."""
        self.rating: int | None = None
        """What the server's ladder gave us last."""
        self.rooms_left = 0
        """Rooms of ended battles that the server has let us go from."""
        self.refused_rooms = 0
        """Battles that began beyond those we asked for, and were left at once."""
        self.failure: InputError | RunError | None = None
        """Why this server will never do what we want."""
        self.task: asyncio.Task[None] | None = None
        self._wish, self._account = wish, account
        self._believing = believing
        self._actions = action_space(wish.format)
        self._rated = 0
        self._failures = 0
        """Battles that failed since the last one that did not."""
        self._unasked: set[str] = set()
        """Rooms of the battles that we play without having asked for them."""
        self._ended: dict[str, None] = {}
        """The rooms of ended battles, oldest first."""
        self._other_format = False
        """A battle of another format was spoken of."""
        self._repeating: set[str] = set()
        """Rooms whose last choice will be sent again."""
        self._news, self._say, self._limits = news, say, limits
        self.connection = Connection(
            address,
            account,
            hear=self._hear,
            overlong=self._hear_overlong,
            online=self._online,
            say=say,
            limits=limits,
            patience=reconnect_seconds,
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
        """Battles that are over or have failed; their rooms are left."""
        for battle in [battle for battle in self.battles.values() if battle.ended]:
            del self.battles[battle.room]
            self._unasked.discard(battle.room)
            self._ended[battle.room] = None
            if len(self._ended) > _ENDED_ROOMS:
                del self._ended[next(iter(self._ended))]
            self._count_failures(battle)
            if battle.over and battle.rated:  # the new rating is told a moment after the end
                self._rated += 1
                asyncio.get_running_loop().call_later(_RATING_SECONDS, self._leave_rated, battle.room)
            elif battle.over:
                self._leave(battle.room)
            elif not battle.closed:
                self._quit(battle.room)
            yield battle

    def give_up(self) -> int:
        """Forfeits every battle that has not been given up before; how many those are."""
        running = [battle for battle in self.battles.values() if battle.leave()]
        for battle in running:
            self.connection.send(battle.room, "/forfeit", urgent=True)
        return len(running)

    def watch(self, now: float) -> None:
        """Ends battles that have kept silent for too long."""
        for battle in self.battles.values():
            battle.check(now)

    def lose(self, reason: str) -> None:
        """Ends every battle and the connection: the server is given up."""
        for battle in self.battles.values():
            battle.fail(reason)
        self.connection.up = False
        if self.task is not None:
            self.task.cancel()

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

    def _count_failures(self, battle: LiveBattle) -> None:
        self._failures = 0 if battle.over else self._failures + 1
        if self._failures > self._limits.failures and self.failure is None:
            last = f"{self._failures} battles in a row failed; the last: {battle.reason}"
            self.failure = RunError(f"{self.connection.address}: {last}")

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
            for line in lines:
                try:
                    self.matchmaker.read(line, len(self.battles))
                except InputError as error:
                    self.failure = InputError(f"{self.connection.address}: {error}")
                except (ValueError, RecursionError) as error:
                    self.connection.skip(error)
        self._news()

    def _hear_overlong(self, room: str) -> None:
        battle = self.battles.get(room)
        if battle is not None:
            battle.fail(f"a message of more than {self._limits.message:,} characters")
            self._news()

    def _leave(self, room: str) -> None:
        self.connection.send("", f"/leave {room}")

    def _quit(self, room: str) -> None:
        """Gives up and leaves a battle of which we want no more."""
        self.connection.send(room, "/forfeit")
        self._leave(room)

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
            if not self._may_begin(room):
                return
            battle = self._begin(room)
        battle.read(lines)
        if room not in self._repeating and any(throttles(line) for line in lines):
            self._repeating.add(room)
            asyncio.get_running_loop().call_later(_REPEAT_SECONDS, self._repeat, battle)
        self.flush()

    def _may_begin(self, room: str) -> bool:
        """Whether a battle that the server says has begun is one we play."""
        name = _ROOM.fullmatch(room)
        if name is None:
            raise ValueError(f"{room!r} is no name of a battle")
        if room in self._ended:
            return False
        if name[1] != self._wish.format.id:
            if not self._other_format:
                self._other_format = True
                self._say(f"{self.connection.address}: {room} is of another format; such battles are left alone")
            return False
        if self.matchmaker.expects:
            return True
        if len(self._unasked) >= self._limits.rooms:
            self.refused_rooms += 1
            self._quit(room)
            return False
        self._unasked.add(room)
        return True

    def _begin(self, room: str) -> LiveBattle:
        battle = LiveBattle(
            room,
            self._account.id,
            format=self._wish.format,
            actions=self._actions,
            open_sheets=self._wish.open_sheets,
            believing=self._believing,
            limits=self._limits,
        )
        if self._wish.timer:
            battle.outbox.append("/timer on")
        self.battles[room] = battle
        self.begun.append(battle)
        self.matchmaker.begun()
        return battle

    def _repeat(self, battle: LiveBattle) -> None:
        self._repeating.discard(battle.room)
        battle.repeat()
        self.flush()
