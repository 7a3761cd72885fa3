"""An arena of battles on live Showdown servers: the same rows, masks and results as without a server.

One connection a server carries all battles there. Battles that wait for us are handed out together, whatever server
they are on, so that one forward pass answers all of them. We are always seat 0; what the other seat sees is not ours.

Everything runs in the caller's thread: sockets are served while `wait` waits.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from sparring.core import ClosingArena, Decisions, GameSpec, InputError, Results, RunError, check_actions
from sparring.core.text import printable
from sparring.games.pokemon.arena import SEATS, AskListener, pokemon_spec
from sparring.games.pokemon.belief.seat import Believing
from sparring.games.pokemon.damage import DAMAGE_FIELDS, DamageEstimate
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.live.battle import LiveBattle
from sparring.games.pokemon.live.connection import Account, server_address
from sparring.games.pokemon.live.limits import Limits
from sparring.games.pokemon.live.server import LiveServer, Wish
from sparring.games.pokemon.observation import ObservationRows
from sparring.games.pokemon.settings import PokemonSettings
from sparring.games.pokemon.teams import team_source
from sparring.games.pokemon.tracker import Tracker

_GATHER_SECONDS = 0.003
"""After the first battle that waits, others are given so long to join its batch."""
_POLL_SECONDS = 0.25
_LEAVE_SECONDS = 5.0
_LATE_SECONDS = 0.5
"""A battle may begin just as its search is taken back; it is given up as well."""
_UNKNOWN_KINDS = 200
_UNKNOWN_LENGTH = 60


class LiveArena(ClosingArena):
    """At most `matches` battles at the same time over all `servers`; see `sparring.core.Arena`."""

    def __init__(
        self,
        settings: PokemonSettings,
        wish: Wish | None = None,
        *,
        servers: Sequence[str],
        account: Account,
        matches: int,
        seed: int,
        total: int | None = None,
        patience: float = 600.0,
        reconnect_seconds: float = 120.0,
        limits: Limits | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        """Connects and logs in to all servers; raises `InputError` if one of them can't be reached or refuses us.

        `wish`: how battles are found; the ladder of the settings' format by default. `total`: no battle beyond it is
        asked for. `patience`: seconds without any battle after which `wait` gives up. `reconnect_seconds`: how long a
        lost server is tried before its battles count as failed. `limits`: what a server may do to us.
        """
        format = find_format(settings.format, settings.showdown)
        if format.id.endswith("bo3"):
            raise InputError(f"--format {format.id}: a series of three is not played live; leave bo3 out")
        wish = wish or Wish(format=format, open_sheets=settings.open_team_sheets)
        limits = limits or Limits()
        self.limits = limits
        """What a server may do to us."""
        self._spec = pokemon_spec(settings)
        self._rng = np.random.default_rng(seed)
        needs_team = not format.random_teams or settings.team_set
        self._teams = team_source(format, settings.team_set) if needs_team else None
        self._rows = ObservationRows(matches, belief=settings.belief)
        believing = Believing(format) if settings.belief else None
        self._estimate = DamageEstimate(format) if settings.observation == "full" else None
        self._damage = {name: field.zeros(matches) for name, field in DAMAGE_FIELDS.items()}
        self._legal = np.zeros((matches, self._spec.actions), np.bool_)
        self._slots: list[LiveBattle | None] = [None] * matches
        self._unseated: deque[LiveBattle] = deque()
        self._handed: dict[int, tuple[LiveBattle, int]] = {}
        self._total = total
        self._listeners: list[AskListener] = []
        self._say: Callable[[str], None] = lambda text: say(printable(text))
        self._quiet_since = monotonic()
        self._news = asyncio.Event()
        self.patience = patience
        """Seconds without any battle after which `wait` gives up."""
        self.started = 0
        """Battles that have begun, without those that failed."""
        self.ended: list[LiveBattle] = []
        """The battles of the last `wait`'s results, in their order."""
        self.answer_seconds: deque[float] = deque(maxlen=100_000)
        """From a request's arrival to our choice on its way."""
        self.unknown_lines: Counter[str] = Counter()
        """Protocol lines that the trackers do not know, or that made no sense."""
        self.servers = [
            LiveServer(
                address,
                account,
                wish,
                team=self._team,
                news=self._news.set,
                say=self._say,
                believing=believing,
                limits=limits,
                reconnect_seconds=reconnect_seconds,
            )
            for address in dict.fromkeys(map(server_address, servers))
        ]
        """Those that have not given up, in the order they were named."""
        self.gone: list[LiveServer] = []
        """Those that have."""
        self._gone_why: BaseException = RunError("no server is left")
        if not self.servers:
            raise InputError("--server: no server was named")
        self._runner = asyncio.Runner()
        try:
            self._runner.run(self._open())
        except BaseException:
            self.close()
            raise

    @property
    def spec(self) -> GameSpec:
        """What the rows look like."""
        return self._spec

    @property
    def matches(self) -> int:
        """How many battles are played at the same time."""
        return len(self._slots)

    @property
    def running(self) -> int:
        """Battles being played now."""
        return sum(len(server.battles) for server in self.servers)

    def wait(self, seconds: float | None = None) -> tuple[Decisions, Results]:
        """Rows of the battles that wait for us and results of those that ended; both empty only after `seconds`."""
        self._check_open()
        while True:
            # The rows are made out here: the runner describes in words, array by array, whatever a coroutine returns.
            ready, ended = self._runner.run(self._wait(seconds))
            told = [slot for slot in ready if self._battle(slot).tell(slot, self._listeners)]
            if told or ended or not ready:
                return self._decisions(told), self._results(ended)

    def act(self, decisions: Decisions, actions: NDArray[np.int32]) -> None:
        """Sends the choices; one whose battle has ended or gone on meanwhile is left out."""
        self._check_open()
        check_actions(decisions, actions)
        now = monotonic()
        for slot, action in zip(decisions.match.tolist(), actions.tolist(), strict=True):
            battle, number = self._handed.pop(slot, (None, 0))
            if battle is not None and battle.number == number:
                battle.choose(action)
                self.answer_seconds.append(now - battle.asked_at)
        for server in self.servers:
            server.flush()

    def listen(self, asked: AskListener) -> None:
        """Calls `asked` for every row from now on; a battle in which it raises fails, and no other."""
        self._listeners.append(asked)

    def tracker(self, match: int, seat: int) -> Tracker:
        """What we know and are offered in a slot whose row waits: to read and not to write; `seat` is 0."""
        tracker = self._battle(match).tracker
        assert tracker is not None, "a battle without a row"
        return tracker

    def forfeit(self) -> int:
        """Takes back searches, gives up every running battle and waits a moment for their ends; how many those were."""
        return self._runner.run(self._forfeit())

    def close(self) -> None:
        """Leaves all rooms and closes the connections; may be called twice."""
        if not self._closed:
            super().close()
            self._runner.run(self._close())
            self._runner.close()
            if self._teams is not None:
                self._teams.close()

    def _battle(self, slot: int) -> LiveBattle:
        battle = self._slots[slot]
        assert battle is not None, "a slot without a battle"
        return battle

    def _team(self) -> str:
        return "null" if self._teams is None else self._teams.draw(self._rng)[0]

    async def _open(self) -> None:
        for server in self.servers:
            server.start()
        while not all(server.connection.up for server in self.servers):
            self._check_servers(at_start=True)
            await asyncio.sleep(0.02)

    async def _wait(self, seconds: float | None) -> tuple[list[int], list[tuple[int, LiveBattle]]]:
        """Slots that wait for us, and slots that are free again with the battles that ended there."""
        deadline = None if seconds is None else monotonic() + seconds
        while True:
            self._check_servers()
            ended, ready = self._take_ended(), self._ready()
            if not self.servers and not ended:
                raise self._gone_why
            if not ended:
                self._ask_for_battles()
            if ready and not ended:
                await asyncio.sleep(_GATHER_SECONDS)
                ended, ready = self._take_ended(), self._ready()
            if ended or ready or (deadline is not None and monotonic() >= deadline):
                return ready, ended
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._news.wait()

    def _check_servers(self, *, at_start: bool = False) -> None:
        """A server that has given up loses its battles; the run ends with the last of them."""
        for server in list(self.servers):
            server.watch(monotonic())
            error: BaseException | None = server.failure
            if error is None and server.task is not None and server.task.done():
                error = server.task.exception()
            if error is None:
                continue
            if at_start:
                raise error
            self._gone_why = error
            if len(self.servers) > 1:
                self._say(str(error))
            server.lose(f"the server is gone: {error}")
            self._collect(server)
            self.servers.remove(server)
            self.gone.append(server)

    def _ask_for_battles(self) -> None:
        """Spreads the battles still wanted over the servers, the emptiest first."""
        asked = sum(server.matchmaker.waiting for server in self.servers)
        wanted = self.matches - self.running - asked
        if self._total is not None:
            wanted = min(wanted, self._total - self.started - asked)
        if self.running or wanted + asked <= 0:
            self._quiet_since = monotonic()
        elif monotonic() - self._quiet_since > self.patience:
            heard = [server.matchmaker.heard for server in self.servers if server.matchmaker.heard]
            why = f"; the server says: {heard[-1]}" if heard else ""
            raise RunError(f"no battle began within {self.patience:.0f} s{why}")
        for server in sorted(self.servers, key=lambda server: len(server.battles)):
            if server.connection.up and not server.matchmaker.waiting:
                server.matchmaker.poll(len(server.battles), wanted)
                wanted -= server.matchmaker.waiting

    def _take_ended(self) -> list[tuple[int, LiveBattle]]:
        """Seats battles that began, and frees the slots of those that ended."""
        for server in self.servers:
            self._collect(server)
        ended = []
        for slot, battle in enumerate(self._slots):
            if battle is None and self._unseated:
                battle = self._slots[slot] = self._unseated.popleft()
            if battle is not None and battle.ended:
                ended.append((slot, battle))
                self._slots[slot] = None
                self._handed.pop(slot, None)
                self._count_unknown(battle)
        return ended

    def _count_unknown(self, battle: LiveBattle) -> None:
        unknown = Counter() if battle.tracker is None else battle.tracker.unknown
        for kind, times in [("too long", battle.long_lines), *unknown.most_common(_UNKNOWN_KINDS)]:
            name = printable(kind, _UNKNOWN_LENGTH)
            known = name in self.unknown_lines or len(self.unknown_lines) < _UNKNOWN_KINDS
            if times:
                self.unknown_lines[name if known else "others"] += times

    def _collect(self, server: LiveServer) -> None:
        """Takes up what began on a server and strikes off what ended."""
        self.started += len(server.begun)
        self._unseated.extend(server.begun)
        server.begun.clear()
        self.started -= sum(not battle.over for battle in server.take_ended())

    def _ready(self) -> list[int]:
        now = monotonic()
        return [
            slot
            for slot, battle in enumerate(self._slots)
            if battle is not None and slot not in self._handed and battle.ready(now)
        ]

    def _decisions(self, slots: list[int]) -> Decisions:
        k = len(slots)
        first = np.empty(k, np.bool_)
        for row, slot in enumerate(slots):
            battle = self._battle(slot)
            self.tracker(slot, 0).write(self._rows, row)
            battle.mask(self._legal[row])
            first[row] = battle.rows == 0
            battle.rows += 1
            self._handed[slot] = (battle, battle.number)
        observation = self._rows.first(k)
        if self._estimate is not None:
            self._estimate.write(observation, self._damage)
            observation |= {name: field[:k] for name, field in self._damage.items()}
        return Decisions(
            match=np.array(slots, np.int32),
            seat=np.zeros(k, np.int32),
            observation=observation,
            legal=self._legal[:k],
            reward=np.zeros(k, np.float32),
            first=first,
        )

    def _results(self, ended: list[tuple[int, LiveBattle]]) -> Results:
        self.ended = [battle for _, battle in ended]
        mine = np.array([battle.outcome for battle in self.ended], np.float32)
        outcome = np.stack([mine, -mine], axis=1).reshape(-1, SEATS)
        return Results(
            match=np.array([slot for slot, _ in ended], np.int32),
            outcome=outcome,
            reward=outcome,
            failed=np.array([not battle.over for battle in self.ended], np.bool_),
        )

    async def _forfeit(self) -> int:
        started, given_up = monotonic(), 0
        for server in self.servers:
            server.matchmaker.withdraw()
        while self.running or monotonic() < started + _LATE_SECONDS:
            given_up += sum(server.give_up() for server in self.servers)
            if monotonic() > started + _LEAVE_SECONDS:
                break
            await asyncio.sleep(0.05)
            self._take_ended()
        return given_up

    async def _close(self) -> None:
        await asyncio.gather(*(server.close() for server in (*self.servers, *self.gone)))
