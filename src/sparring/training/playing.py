"""Who plays in a run: engine, arena, the policy and its opponents, and the collector that joins them.

In this process, or in one of a cluster, which plays with its own seeds, on the CPU, with weights that it is sent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from sparring.core import Arena, Game, GameSpec, Player, gather
from sparring.core.settings import convert
from sparring.inference import Device, InferenceEngine
from sparring.league import Entrant
from sparring.report.progress import announced
from sparring.rollout import Collector, Lineup, WorkerArena
from sparring.serving import RemotePlayer
from sparring.training.algorithms import Algorithm
from sparring.training.config import TrainConfig
from sparring.training.opponents import POLICY, opponent_style


@dataclass(frozen=True)
class Table:
    """An arena with the policy and its opponents at it, all answered by one engine."""

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
        """Lets remote players go and frees the arena."""
        for player in self.opponents.values():
            if isinstance(player, RemotePlayer):
                player.close()
        self.arena.close()


def make_engine(
    config: TrainConfig,
    spec: GameSpec,
    policy: nn.Module,
    *,
    algorithm: Algorithm,
    device: Device,
    say: Callable[[str], None],
) -> InferenceEngine:
    """The engine of a run, with room for all its matches; `policy` belongs to it from now on."""
    engine = InferenceEngine(
        spec,
        slots=config.matches * spec.seats,
        device=device.acting_in(config.actor_dtype),
        seed=config.seed,
        backend="torch" if algorithm.exact and config.backend == "auto" else config.backend,
        compiled=config.compile,
        say=say,
    )
    engine.add(POLICY, policy)
    return engine


def set_table(
    config: TrainConfig,
    game: Game,
    opponents: Mapping[str, Entrant],
    *,
    engine: InferenceEngine,
    algorithm: Algorithm,
    say: Callable[[str], None],
) -> Table:
    """The arena that `config` asks for, with everybody seated."""
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
        player=algorithm.player(engine, POLICY),
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
