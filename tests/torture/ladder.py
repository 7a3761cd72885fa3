"""The live client against a server that sends nonsense: `python -m tests.torture.ladder --messages 100000`.

Two real WebSocket servers. One is honest. The other plays some battles honestly, and others damaged: their messages
reach us with faults in them, and notices that make no sense in between; it also begins battles that nobody asked for.
Whatever it does, every honest battle must be played to its end, nothing may raise, and the summary must be written.
"""

import argparse
import asyncio
import json
import logging
import random
import sys
import tempfile
import threading
import time
from collections.abc import Coroutine
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from sparring.core import RandomPlayer
from sparring.games.pokemon import PokemonSettings
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.live import Account, LadderReport, Limits, LiveArena, play_ladder
from sparring.games.pokemon.live.ladder import save_summary
from sparring.games.pokemon.setup import setup_pokemon
from sparring.games.pokemon.simulator import Asked, Ended, Simulator
from sparring.games.pokemon.teams import team_source
from tests.torture.mutate import hostile_notice, mutated

FORMAT = "gen9randombattle"
ME, RIVAL = "Ourbot", "Rival"
_UNASKED = 2


@dataclass
class Script:
    """One side's course of a battle: what it was told before each request, and the last lines."""

    turns: list[tuple[list[str], str]]
    end: list[str]
    won: bool

    def messages(self) -> list[str]:
        """In the order a server sends them."""
        told = [text for lines, request in self.turns for text in ("\n".join(lines), f"|request|{request}")]
        return [*told, "\n".join(self.end)]


def record(format: str, battles: int, seed: int) -> list[Script]:
    """Battles of the real simulator in which both sides take the first choice there is."""
    import numpy as np

    simulator, teams, rng = Simulator(processes=1), team_source(find_format(format), ""), np.random.default_rng(seed)
    turns: list[list[tuple[list[str], str]]] = [[] for _ in range(battles)]
    scripts: list[Script] = []
    try:
        for battle in range(battles):
            simulator.start(
                battle, format=format, seed=seed + battle, teams=teams.draw(rng), names=(ME, RIVAL), log=True
            )
        simulator.flush()
        while len(scripts) < battles:
            for event in simulator.wait(timeout=120):
                if isinstance(event, Asked):
                    if event.side == 0:
                        told = turns[event.battle]
                        told.append((event.lines.split("\n"), json.dumps(event.request | {"rqid": 2 + len(told)})))
                    simulator.choose(event.battle, event.side, "default")
                elif isinstance(event, Ended):
                    lines = event.log.split("\n")
                    won = f"|win|{ME}" in lines
                    end = [f"|win|{ME if won else RIVAL}"]
                    scripts.append(Script(turns[event.battle], end, won))
            simulator.flush()
    finally:
        simulator.close()
        teams.close()
    return scripts


@dataclass
class Room:
    """One battle on the fake server."""

    name: str
    script: Script
    honest: bool
    at: int = 0
    """Turns told so far."""
    left: bool = False
    over: bool = False


@dataclass
class FakeServer:
    """A server of one user that plays scripts; if it is `hostile`, half of its battles are damaged."""

    scripts: list[Script]
    hostile: bool
    seed: int
    silent: bool = False
    """Damaged battles say nothing at all after they began."""
    delay: float = 0.0
    """Seconds an honest battle takes for a turn."""
    greeting: tuple[str, ...] = ()
    """Sent as they are after the login."""
    sent: int = 0
    """Damaged messages."""
    finished: int = 0
    """Honest battles played to their end."""
    spoilt: list[str] = field(default_factory=list)
    """Honest battles that we left after our first choice; those before it we had not asked for."""
    ending: bool = False
    """Whoever leaves now spoils nothing."""
    rooms: dict[str, Room] = field(default_factory=dict)
    port: int = 0

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._numbers = count(1)
        self._loop = asyncio.new_event_loop()
        self._server: Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._pumps = 0
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(20)

    @property
    def address(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        self._server = await serve(self._serve, "127.0.0.1", 0, max_size=None)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        assert self._server is not None
        for task in self._tasks:
            task.cancel()
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, socket: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            await socket.send("|updateuser| Guest 1|0|1|{}")
            await socket.send("|challstr|4|abc")
            async for message in socket:
                room, _, text = str(message).partition("|")
                await self._hear(socket, room, text)

    async def _hear(self, socket: ServerConnection, name: str, text: str) -> None:
        command, _, rest = text.partition(" ")
        room = self.rooms.get(name)
        if command == "/trn":
            await socket.send(f"|updateuser| {rest.split(',')[0]}|1|1|{{}}")
            for message in self.greeting:
                await socket.send(message)
            for _ in range(_UNASKED - self._pumps if self.hostile else 0):
                await self._begin(socket, honest=False)
        elif command == "/search":
            await socket.send(f'|updatesearch|{{"searching":["{FORMAT}"],"games":null}}')
            await self._begin(socket, honest=not self.hostile or self._rng.random() < 0.5)
        elif command == "/join" and rest in self.rooms:
            await self._rejoin(socket, self.rooms[rest])
        elif command == "/leave" and rest in self.rooms:
            self._leave(self.rooms[rest])
        elif command == "/forfeit" and room is not None:
            self._leave(room)
        elif command == "/choose" and room is not None and room.honest and rest.endswith(f"|{1 + room.at}"):
            self._spawn(self._tell(socket, room))

    def _leave(self, room: Room) -> None:
        if room.honest and not room.over and not room.left and room.at > 1 and not self.ending:
            self.spoilt.append(room.name)
        room.left = True

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _begin(self, socket: ServerConnection, *, honest: bool) -> None:
        number = next(self._numbers)
        script = self.scripts[number % len(self.scripts)]
        room = Room(f"battle-{FORMAT}-{number}", script, honest=honest)
        self.rooms[room.name] = room
        await socket.send(f">{room.name}\n|init|battle\n|title|{ME} vs. {RIVAL}\n|j|☆{ME}")
        if room.honest:
            self._spawn(self._tell(socket, room))
        elif not self.silent:
            self._pumps += 1
            self._spawn(self._pump(socket, room))

    async def _tell(self, socket: ServerConnection, room: Room) -> None:
        """The next turn of an honest battle."""
        turns = room.script.turns
        if room.at == len(turns):
            room.over = True
            self.finished += 1
            await socket.send(f">{room.name}\n" + "\n".join(room.script.end))
            return
        lines, request = turns[room.at]
        room.at += 1
        if self.delay:
            await asyncio.sleep(self.delay)
        await socket.send(f">{room.name}\n" + "\n".join(lines))
        await socket.send(f">{room.name}\n|request|{request}")

    async def _rejoin(self, socket: ServerConnection, room: Room) -> None:
        log = [line for lines, _ in room.script.turns[: room.at] for line in lines]
        await socket.send(f">{room.name}\n" + "\n".join(["|init|battle", f"|title|{ME} vs. {RIVAL}", *log]))
        if room.honest and room.at:
            await socket.send(f">{room.name}\n|request|{room.script.turns[room.at - 1][1]}")

    async def _pump(self, socket: ServerConnection, room: Room) -> None:
        """A damaged battle: its messages again and again, whether we answer or not; when we leave, the next one."""
        rng = self._rng
        try:
            for message in cycle(room.script.messages()):
                if room.left:
                    break
                if rng.random() < 0.1:
                    await socket.send(b"\x00\xff" if rng.random() < 0.1 else hostile_notice(rng))
                    self.sent += 1
                if rng.random() < (0.15 if message.startswith("|request|") else 0.7):
                    message = mutated(message, rng)
                    self.sent += 1
                await socket.send(f">{room.name}\n{message}")
                await (await socket.ping())  # no faster than it is read: what follows after we left hits nobody
        finally:
            self._pumps -= 1
        await asyncio.sleep(0.02)  # it may have been one too many
        if self._pumps < _UNASKED:
            await self._begin(socket, honest=False)


@dataclass
class Outcome:
    """What came of a run against the fake servers."""

    report: LadderReport
    summary: dict[str, object]
    files: list[Path]
    spoilt: list[str]
    """Honest battles that were not played to their end."""
    honest: int
    sent: int
    seconds: float
    unhandled: list[str]
    said: list[str]


def attack(
    folder: Path,
    *,
    messages: int,
    scripts: list[Script],
    seed: int = 0,
    silent: bool = False,
    delay: float = 0.0,
    limits: Limits | None = None,
    seconds: float = 3600.0,
) -> Outcome:
    """Plays until `messages` damaged messages were sent, and then leaves."""
    limits = limits or Limits(silence=1.0, failures=10**6)
    unhandled = _Heard()
    logging.getLogger("asyncio").addHandler(unhandled)
    said: list[str] = []
    started = time.monotonic()
    with (
        closing(FakeServer(scripts, hostile=True, seed=seed, silent=silent, delay=delay)) as hostile,
        closing(FakeServer(scripts, hostile=False, seed=seed, delay=delay)) as honest,
    ):
        arena = LiveArena(
            PokemonSettings(format=FORMAT, observation="full"),
            servers=[hostile.address, honest.address],
            account=Account(ME),
            matches=8,
            seed=seed,
            limits=limits,
            say=said.append,
        )
        report = LadderReport()

        def done() -> bool:
            hostile.ending = honest.ending = hostile.sent >= messages or time.monotonic() - started > seconds
            return hostile.ending

        with closing(arena):
            play_ladder(
                arena,
                RandomPlayer(seed),
                total=10**9,
                save=folder / "saved",
                stop=done,
                progress=lambda report: None,
                report=report,
            )
    path = save_summary(folder / "saved", report.to_json(arena))
    logging.getLogger("asyncio").removeHandler(unhandled)
    return Outcome(
        report=report,
        summary=json.loads(path.read_text()),
        files=sorted(path for path in folder.rglob("*") if path.is_file()),
        spoilt=hostile.spoilt + honest.spoilt,
        honest=hostile.finished + honest.finished,
        sent=hostile.sent,
        seconds=time.monotonic() - started,
        unhandled=unhandled.records,
        said=said,
    )


async def _quietly(work: Coroutine[None, None, None]) -> None:
    with suppress(ConnectionClosed):
        await work


class _Heard(logging.Handler):
    """Keeps what asyncio complains of: exceptions that nobody took."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(self.format(record))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    setup_pokemon(say=lambda line: None)
    with tempfile.TemporaryDirectory() as folder:
        scripts = record(FORMAT, 20, options.seed)
        outcome = attack(Path(folder), messages=options.messages, scripts=scripts, seed=options.seed, delay=0.05)
        outside = [path for path in outcome.files if path.parent != Path(folder) / "saved"]
    summary = outcome.summary
    figures = {
        "damaged messages": outcome.sent,
        "seconds": round(outcome.seconds, 1),
        "battles played": summary["matches"],
        "battles failed": summary["failed"],
        "malformed messages outside battles": summary["malformed_messages"],
        "reconnects": summary["reconnects"],
        "honest battles played to their end": outcome.honest,
        "honest battles spoilt": len(outcome.spoilt),
        "files outside the folder": len(outside),
        "exceptions nobody took": len(outcome.unhandled),
    }
    for name, value in figures.items():
        print(f"{name}: {value}")
    return int(bool(outcome.spoilt or outside or outcome.unhandled))


if __name__ == "__main__":
    sys.exit(main())
