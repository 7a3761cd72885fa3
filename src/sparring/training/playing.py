"""Who plays in a run: engine, arena, the policy and its opponents, and the collector that joins them.

In this process (`LocalPlay`), or in those of a cluster (`training.cluster.ClusterPlay`), each of which plays with its
own seeds, on the CPU, with weights that it is sent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from sparring.core import Adaptive, Arena, Closing, Episodes, Game, GameSpec, Player, Resumable, gather
from sparring.core.settings import convert
from sparring.inference import Device, InferenceEngine
from sparring.league import Entrant
from sparring.report.progress import announced
from sparring.rollout import Collector, Lineup, WorkerArena
from sparring.rollout.collector import Counters
from sparring.training.algorithms import Algorithm, Reporting
from sparring.training.config import TrainConfig
from sparring.training.opponents import POLICY, opponent_style
from sparring.training.opposition import Opposition
from sparring.training.rating import Standing


class Playing(Protocol):
    """Whatever plays the matches of a run."""

    @property
    def counters(self) -> Counters:
        """What has been played so far."""
        ...

    @property
    def standing(self) -> Standing:
        """Where the arena's curriculum stands; None without one."""
        ...

    def start(self) -> None:
        """Waits until matches can be played; raises `InputError` if they cannot."""
        ...

    def collect(self, rows: int) -> Episodes:
        """Plays until ended episodes have at least `rows` steps, and returns those episodes."""
        ...

    def between(self) -> None:
        """Called before every `collect`, while nothing is played: updates who is met from now on."""
        ...

    def opponents(self, episodes: Episodes) -> NDArray[np.int64]:
        """`int64[n]` whom the `episodes` that `collect` returned were played against; 0 for the policy itself."""
        ...

    def take_dropped(self) -> int:
        """How many episodes `collect` has left out since the last call because their weights were too old."""
        ...

    def publish(self, weights: Mapping[str, Tensor], version: int) -> None:
        """Called when the run's engine has new `weights`: passes them on to those who play elsewhere."""
        ...

    def adapt(self, metrics: Mapping[str, float]) -> str | None:
        """Lets a curriculum see an update's metrics; says in words what that changed, if anything."""
        ...

    def go_on_after(self, decisions: int) -> None:
        """Begins with weights that were trained on so many decisions: a curriculum may take that into account."""
        ...

    def stand_at(self, standing: Standing) -> None:
        """Goes back to where a curriculum stood."""
        ...

    def report(self) -> dict[str, float]:
        """Metrics of those who play."""
        ...

    def resumable(self) -> dict[str, Resumable]:
        """The parts that hold matches in play; none if a resumed run begins with fresh ones."""
        ...

    def close(self) -> None:
        """Ends playing."""
        ...


@dataclass(frozen=True)
class Table:
    """An arena with the policy and its opponents at it, whose networks one engine answers for."""

    engine: InferenceEngine
    arena: Arena
    player: Player
    opponents: Mapping[str, Player]
    """Those of the configuration, by tag."""

    def collector(
        self, algorithm: Algorithm, lineup: Lineup, *, others: Mapping[str, Player] | None = None, first_serial: int = 0
    ) -> Collector:
        """Plays and records the policy; `others` are numbered after its opponents."""
        return Collector(
            self.arena,
            {POLICY: self.player, **self.opponents, **(others or {})},
            lineup,
            record=[POLICY],
            segment=algorithm.segment_length,
            truncate_after=algorithm.truncate_after,
            keep_policy=algorithm.keep_policy,
            first_serial=first_serial,
        )

    def close(self) -> None:
        """Lets players go that hold connections, and frees the arena."""
        for player in (self.player, *self.opponents.values()):
            if isinstance(player, Closing):
                player.close()
        self.arena.close()


class LocalPlay:
    """The matches of a run played by this process, or by its workers."""

    def __init__(
        self, table: Table, algorithm: Algorithm, opposition: Opposition, *, say: Callable[[str], None]
    ) -> None:
        self.table = table
        self.collector = table.collector(algorithm, opposition.lineup, others=opposition.players)
        self._opposition = opposition
        self._say = say

    @property
    def counters(self) -> Counters:
        """What has been played so far."""
        return self.collector.counters

    @property
    def standing(self) -> Standing:
        """Where the arena's curriculum stands; None without one."""
        arena = self.table.arena
        return arena.standing() if isinstance(arena, Adaptive) else None

    def start(self) -> None:
        """Waits for worker processes, if there are any."""
        if isinstance(self.table.arena, WorkerArena):
            with announced(f"waiting for {self.table.arena.helpers().count} workers to start", self._say):
                self.table.arena.start()

    def collect(self, rows: int) -> Episodes:
        """Plays until ended episodes have at least `rows` steps."""
        return self.collector.collect(rows)

    def between(self) -> None:
        """Matches that begin from now on are drawn by the present shares."""
        self._opposition.renew(oldest=int(self.collector.serials.min()), upcoming=self.collector.next_serial)

    def opponents(self, episodes: Episodes) -> NDArray[np.int64]:
        """As they were drawn."""
        return self._opposition.opponents(episodes.headers.serial)

    def take_dropped(self) -> int:
        """Nothing is left out here."""
        return 0

    def publish(self, weights: Mapping[str, Tensor], version: int) -> None:
        """Nothing to do: everyone here plays with the run's engine."""

    def adapt(self, metrics: Mapping[str, float]) -> str | None:
        """Lets the arena's curriculum see an update's metrics."""
        return self.table.arena.adapt(metrics) if isinstance(self.table.arena, Adaptive) else None

    def go_on_after(self, decisions: int) -> None:
        """Tells the arena's curriculum."""
        changed = self.table.arena.go_on_after(decisions) if isinstance(self.table.arena, Adaptive) else None
        if changed is not None:
            self._say(changed)

    def stand_at(self, standing: Standing) -> None:
        """Goes back to where the arena's curriculum stood."""
        if isinstance(self.table.arena, Adaptive) and standing is not None:
            self.table.arena.stand_at(standing)

    def report(self) -> dict[str, float]:
        """Metrics of the policy's player and of the arena."""
        found: dict[str, float] = {}
        for part in (self.table.player, self.table.arena):
            if isinstance(part, Reporting):
                found |= part.report()
        return found

    def resumable(self) -> dict[str, Resumable]:
        """Arena, collector, engine and players, if the arena can keep its matches."""
        table = self.table
        if not isinstance(table.arena, Resumable):
            return {}
        parts: dict[str, Resumable] = {"arena": table.arena, "collector": self.collector, "engine": table.engine}
        opponents = {f"opponent-{tag}": player for tag, player in table.opponents.items()}
        players = {"player": table.player, **opponents, **self._opposition.players}
        return parts | {name: player for name, player in players.items() if isinstance(player, Resumable)}

    def close(self) -> None:
        """Ends playing and frees the arena."""
        self.table.close()


def fresh(episodes: Episodes, *, version: int, max_policy_lag: int) -> NDArray[np.intp]:
    """`intp[k]` the episodes of matches that no seat began with weights older than `max_policy_lag` updates."""
    headers = episodes.headers
    old = headers.serial[version - headers.version > max_policy_lag]
    return np.flatnonzero(~np.isin(headers.serial, old))


def make_engine(
    config: TrainConfig,
    spec: GameSpec,
    policy: nn.Module | None,
    *,
    algorithm: Algorithm,
    device: Device,
    say: Callable[[str], None],
) -> InferenceEngine:
    """The engine of a run, with room for all its matches; `policy` belongs to it from now on.

    None plays elsewhere: then the engine is for those opponents that are networks.
    """
    engine = InferenceEngine(
        spec,
        slots=config.matches * spec.seats,
        device=device.acting_in(config.actor_dtype),
        seed=config.seed,
        backend="torch" if algorithm.exact and config.backend == "auto" else config.backend,
        compiled=config.compile,
        say=say,
    )
    if policy is not None:
        engine.add(POLICY, policy)
    return engine


def set_table(
    config: TrainConfig,
    game: Game,
    opponents: Mapping[str, Entrant],
    *,
    engine: InferenceEngine,
    player: Player,
    say: Callable[[str], None],
) -> Table:
    """The arena that `config` asks for, with everybody seated: the policy's `player`, and opponents by `engine`."""
    settings: Any = convert(config.settings, game.settings, where="settings")
    with announced(f"starting {config.game}", say):
        arena: Arena = (
            WorkerArena(game, settings, matches=config.matches, seed=config.seed, workers=config.workers, say=say)
            if config.workers
            else game.arena(settings, matches=config.matches, seed=config.seed)
        )
    return Table(
        engine=engine,
        arena=gather(arena, config.inference_batch_size, config.inference_timeout_ms / 1000),
        player=player,
        opponents={
            opponents[name].tag: opponents[name].seat(
                game,
                engine.spec,
                matches=config.matches,
                seed=config.seed + 13_000_003 * number,
                style=opponent_style(config),
                engine=engine,
                say=say,
            )
            for number, name in enumerate(config.opponents, 1)
        },
    )
