"""Playing a run's matches on a Ray cluster: for the loop, playing like that of this process.

Each process of the fleet sets a table as the run itself would, with a part of its matches, and plays at it on one CPU,
with a network of its own or by asking the run, which then serves its policy. Every process draws by the same lot who
meets whom, from serial numbers that no two share, so that the run knows of each episode whom it was played against.
"""

from collections import ChainMap, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Adaptive, Episodes, Game, GameSpec, InputError, Resumable, RunError
from sparring.core.settings import convert
from sparring.inference import Device
from sparring.league import Entrant
from sparring.policy.checkpoint import parse_tensors, tensor_bytes
from sparring.policy.network import build_network
from sparring.report.progress import announced
from sparring.rollout import Meetings
from sparring.rollout.collector import Counters
from sparring.rollout.fleet import AHEAD, Fleet, Piece, Stream
from sparring.rollout.joining import cluster_cpus, connect, disconnect
from sparring.training.algorithms import Algorithm, build_algorithm
from sparring.training.config import TrainConfig
from sparring.training.league.away import MET, ROSTER, PoolAway
from sparring.training.league.league import POOL
from sparring.training.opponents import POLICY
from sparring.training.opposition import Opposition
from sparring.training.playing import fresh, make_engine, set_table
from sparring.training.rating import Standing
from sparring.training.served import Access, ServedPolicy

_BATCHES = 3
"""The batch that is learned from, the one before, and the one that is collected meanwhile."""
_ALL_TOO_OLD = 20
"""Batches in a row of which every episode is too old."""


class ClusterPlay:
    """The matches of a run, played by the processes of a Ray cluster."""

    def __init__(
        self,
        config: TrainConfig,
        game: Game,
        opponents: Mapping[str, Entrant],
        *,
        spec: GameSpec,
        algorithm: Algorithm,
        opposition: Opposition,
        device: Device,
        say: Callable[[str], None],
    ) -> None:
        """`device` is where the policy is served, if the run does that."""
        assert config.cluster.address is not None
        if config.cluster.server is not None and algorithm.segment_length:
            raise InputError("cluster.server: learning needs the network's memory, which stays there; allowed: null")
        self.counters = Counters()
        self.standing = None
        """Arenas that change with how they are played are refused."""
        self._opposition = opposition
        self._met: deque[dict[int, int]] = deque(maxlen=_BATCHES)
        """With a league: the opponent of each match in the newest batches, by serial number."""
        self._told: set[str] = set()
        """The members whose weights were sent."""
        self._dropped = 0
        self._spec = spec
        self._max_lag = config.max_policy_lag
        self._version = 0
        self._say = say
        self._served: ServedPolicy | None = None
        connect(config.cluster.address)
        count = config.cluster.collectors or max(1, cluster_cpus() - 1)
        count = min(count, config.matches)
        each = max(1, config.matches // count)
        piece = -(-algorithm.batch_size // (AHEAD * count))
        seated = {name: opponents[name] for name in config.opponents}
        if config.cluster.server is not None:
            self._served = ServedPolicy(
                build_network(config.network, game, spec),
                spec,
                config.cluster.server,
                matches=count * each,
                device=device.acting_in(config.actor_dtype),
                timeout=config.inference_timeout_ms / 1000,
                say=say,
            )
        access = None if self._served is None else self._served.access
        make = partial(RunPlaying, config, game, seated, each, access)
        self._fleet = Fleet(make, count=count, ask=lambda stream: (piece,), say=say)
        asked = "" if access is None else f", that ask {access.address}"
        say(f"{count} collectors on the cluster, each with {each} matches{asked}")

    def start(self) -> None:
        """Waits until somebody can play."""
        with announced("waiting for the cluster to start", self._say):
            self._fleet.start()

    def publish(self, weights: Mapping[str, Tensor], version: int) -> None:
        """Has everybody play with these weights from now on."""
        self._version = version
        if self._served is not None:
            self._served.swap(weights, version)
        else:
            self._fleet.publish(tensor_bytes(weights), version)

    def between(self) -> None:
        """Sends the members that have joined the league since, and who is met how often from now on."""
        league = self._opposition.league
        if league is None:
            return
        roster = self._opposition.roster()
        policies = {member.policy for member in roster.members}
        for policy in self._told - policies:
            self._fleet.retract(policy)
        for policy in sorted(policies - self._told):
            self._fleet.tell(policy, tensor_bytes(league.weights(policy)))
        self._told = policies
        self._fleet.tell(ROSTER, msgspec.json.encode(roster))

    def opponents(self, episodes: Episodes) -> NDArray[np.int64]:
        """As the collectors say; without a league all draw by the same lot as this process would."""
        serials = episodes.headers.serial
        if self._opposition.league is None:
            return self._opposition.opponents(serials)
        met = ChainMap(*self._met)
        return np.fromiter((met[serial] for serial in serials.tolist()), np.int64, len(serials))

    def adapt(self, metrics: Mapping[str, float]) -> str | None:
        """Nothing changes."""
        return None

    def go_on_after(self, decisions: int) -> None:
        """Nothing changes."""

    def stand_at(self, standing: Standing) -> None:
        """Nothing changes."""

    def resumable(self) -> dict[str, Resumable]:
        """Matches in play are lost: a resumed run begins with fresh ones."""
        return {}

    def collect(self, rows: int) -> Episodes:
        """Waits until episodes that are not too old hold at least `rows` steps, and returns those episodes."""
        parts: list[Episodes] = []
        self._met.append({})
        found = old = 0
        while found < rows:
            if self._served is not None:
                self._served.check()
            _, piece = self._fleet.take()
            self.counters.add(piece.counters)
            episodes = piece.episodes(self._spec)
            if episodes is None:
                continue
            if MET in piece.columns:
                self._met[-1].update(zip(episodes.headers.serial.tolist(), piece.columns[MET].tolist(), strict=True))
            kept = np.arange(len(episodes))
            if self._max_lag:
                kept = fresh(episodes, version=self._version, max_policy_lag=self._max_lag)
            self._dropped += len(episodes) - len(kept)
            old += episodes.rows
            if len(kept):
                # a copy of its own: what has crossed is read-only
                parts.append(episodes.take(kept))
                found, old = found + parts[-1].rows, 0
            elif old > _ALL_TOO_OLD * rows:
                raise RunError(
                    f"every episode began more than max_policy_lag = {self._max_lag} updates ago; lower matches"
                )
        self._fleet.go_on()  # while these are learned from
        return Episodes.join(parts)

    def take_dropped(self) -> int:
        """Episodes that were too old when they came, since the last call."""
        dropped, self._dropped = self._dropped, 0
        return dropped

    def report(self) -> dict[str, float]:
        """Who plays, how busy they are, and what they have lost."""
        hosts = self._fleet.hosts
        return {
            "collectors": float(sum(hosts.values())),
            "hosts": float(len(hosts)),
            "replaced_collectors": float(self._fleet.replaced),
            **({} if self._served is None else {"served_batch": self._served.mean_batch}),
            **{f"collector_{stage}": share for stage, share in self.counters.stages.shares().items()},
        }

    @property
    def hosts(self) -> dict[str, int]:
        """How many collectors play on each host."""
        return self._fleet.hosts

    @property
    def busy_seconds(self) -> float:
        """How long collectors have played, all of them together."""
        return self._fleet.played_seconds

    def close(self) -> None:
        """Ends the processes and leaves the cluster."""
        self._fleet.close()
        if self._served is not None:
            self._served.close()
        disconnect()


class RunPlaying:
    """A part of a run's matches, played in a process of a cluster; see `rollout.fleet.Playable`."""

    def __init__(
        self,
        config: TrainConfig,
        game: Game,
        opponents: Mapping[str, Entrant],
        matches: int,
        access: Access | None,
        stream: Stream,
    ) -> None:
        """`access` is where the policy is asked for; without one it is played here, by weights that are swapped in."""
        torch.set_num_threads(1)
        dtype = "float32" if config.dtype == "float16" else config.dtype
        own = msgspec.structs.replace(
            config, matches=matches, seed=stream.seed(config.seed), workers=0, device="cpu", dtype=dtype
        )
        settings: Any = convert(own.settings, game.settings, where="settings")
        spec, device = game.spec(settings), Device.pick("cpu", dtype)
        learner = build_algorithm(
            own.learner, build_network(own.network, game, spec), spec=spec, device=device, seed=own.seed
        )
        policy = build_network(own.network, game, spec) if access is None else None
        engine = make_engine(own, spec, policy, algorithm=learner, device=device, say=_silent)
        player = (
            learner.player(engine, POLICY)
            if access is None
            else access.player(learner, spec, matches=matches, seed=own.seed)
        )
        table = set_table(own, game, opponents, engine=engine, player=player, say=_silent)
        if isinstance(table.arena, Adaptive):
            raise InputError(f"--cluster: {game.name} changes with how it is played, as one arena; leave it out")
        meetings = fixed_meetings(config, spec)
        self._engine, self._table = engine, table
        self._pool: PoolAway | None = None
        if config.league is not None:
            self._pool = PoolAway(
                engine,
                meetings,
                matches=matches,
                seat=learner.player,
                build=lambda network: build_network(network, game, spec),
                beside=POLICY if access is None else None,
            )
        others = {} if self._pool is None else {POOL: self._pool.player}
        self._collector = table.collector(learner, meetings, others=others, first_serial=stream.first_serial)

    def collect(self, seconds: float, rows: int) -> Piece:
        """Plays until finished episodes hold `rows` steps, or for so long."""
        if self._pool is not None:
            self._pool.take_up(self._collector)
        episodes = self._collector.collect_within(rows, seconds)
        piece = Piece.of(episodes, self._collector.counters.take())
        if self._pool is None or episodes is None:
            return piece
        return replace(piece, columns={**piece.columns, **self._pool.met(episodes)})

    def hear(self, about: str, content: bytes) -> None:
        """Takes note of the league's pool."""
        assert self._pool is not None, "without a league nothing is told"
        self._pool.hear(about, content)

    def swap(self, weights: bytes, version: int) -> None:
        """Takes up new weights between two forward passes."""
        self._engine.swap(POLICY, parse_tensors(weights, where="weights of the run"), version=version)

    def close(self) -> None:
        """Frees the arena."""
        self._table.close()


def fixed_meetings(config: TrainConfig, spec: GameSpec) -> Meetings:
    """Who meets whom as long as nobody is in a league's pool."""
    last = len(config.opponents) + (config.league is not None)
    meetings = Meetings(spec.seats, seed=config.seed, last=last)
    meetings.change(dict(enumerate(config.opponents.values(), 1)), at=0)
    return meetings


def _silent(text: str) -> None:
    """What a process of the cluster says about itself: nobody is there to hear it."""
