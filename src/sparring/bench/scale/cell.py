"""One cell, played in a process of its own: as training plays, without learning."""

import copy
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

from sparring.core import Arena, Game, InputError, Online, RunError, load_game
from sparring.core.settings import convert
from sparring.core.text import printable
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.inference.threads import set_threads
from sparring.rollout import Collector, everyone
from sparring.training.config import TrainConfig
from sparring.training.opponents import POLICY
from sparring.training.playing import LocalPlay
from sparring.training.self_play import SelfPlay
from sparring.training.trainee import first_policy

_WARM_UP = 1.5
"""Seconds that do not count: kernels are loaded, simulators compile what they run often."""


def play_cell(config: TrainConfig, servers: int, seconds: float, line: "Connection[Any, Any]") -> None:
    """Plays for so long and sends "playing" when it begins to count, then the counts; or what went wrong.

    Ends early when the other end of `line` is closed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us
    try:
        with _collector(config, servers) as collector:
            _play(collector, _WARM_UP, line)
            before = copy.copy(collector.counters)
            line.send("playing")
            spent = _play(collector, seconds, line)
            now = collector.counters
        line.send(
            {
                "seconds": spent,
                "decisions": (now.decisions - before.decisions) * (2 if servers else 1),  # the rival's are as many
                "ended": now.matches - before.matches,
                "failed": now.failed - before.failed,
                "batches": now.batches - before.batches,
            }
        )
    except (InputError, RunError, MemoryError) as error:
        line.send({"error": printable(str(error) or type(error).__name__, 300)})


def match_length(config: TrainConfig, matches: int) -> float:
    """The mean decisions of so many whole matches; which ones count is settled before they are played."""
    with _collector(config, 0) as collector:
        rows, missing = 0, set(range(matches))
        while missing and collector.counters.failed < matches:
            headers = collector.collect(1).headers
            rows += int(headers.lengths[headers.serial < matches].sum())
            missing -= set(headers.serial[headers.complete].tolist())
        return rows / max(1, matches - len(missing))


def send_match_length(config: TrainConfig, matches: int, line: "Connection[Any, Any]") -> None:
    """`match_length`, or what went wrong, over `line`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        line.send({"decisions": match_length(config, matches)})
    except (InputError, RunError, MemoryError) as error:
        line.send({"error": printable(str(error) or type(error).__name__, 300)})


def _play(collector: Collector, seconds: float, line: "Connection[Any, Any]") -> float:
    """Plays for at least `seconds`, lets finished episodes go, and returns how long it took."""
    start = perf_counter()
    while perf_counter() - start < seconds:
        collector.advance()
        collector.take_ended()
        if line.poll():
            raise RunError("stopped")
    return perf_counter() - start


@contextmanager
def _collector(config: TrainConfig, servers: int) -> Iterator[Collector]:
    """What plays: training's own collector, or one whose matches go over servers."""
    game = load_game(config.game)
    set_threads(config.threads)
    if servers:
        with _over_servers(config, game, servers) as collector:
            yield collector
        return
    with closing(SelfPlay(config, game, {}, say=_silent)) as training:
        training.start()
        assert isinstance(training.playing, LocalPlay)
        yield training.playing.collector


@contextmanager
def _over_servers(config: TrainConfig, game: Game, servers: int) -> Iterator[Collector]:
    """The policy against itself on servers of this machine; its rival sits in another process."""
    if not isinstance(game, Online):
        raise InputError(f"--servers: {game.name} has no servers")
    context = get_context("spawn")
    with game.local_servers(servers) as addresses:
        names = f"a{os.getpid()}", f"b{os.getpid()}"
        rival = context.Process(target=_accept, args=(config, addresses, *names[::-1]), daemon=True)
        rival.start()
        try:
            with closing(_online(config, game, addresses, *names, asks=True)) as arena:
                yield Collector(arena, {POLICY: _player(config, game, arena)}, everyone(0, arena.spec.seats))
        finally:
            rival.kill()
            rival.join()


def _accept(config: TrainConfig, addresses: Sequence[str], name: str, opponent: str) -> None:
    """The rival: takes every challenge, until it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_threads(config.threads)
    game = load_game(config.game)
    assert isinstance(game, Online)
    arena = _online(config, game, addresses, name, opponent, asks=False)
    collector = Collector(arena, {POLICY: _player(config, game, arena)}, everyone(0, arena.spec.seats))
    while True:
        collector.advance()


def _online(
    config: TrainConfig, game: Online, addresses: Sequence[str], name: str, opponent: str, *, asks: bool
) -> Arena:
    return game.online(
        convert(config.settings, load_game(config.game).settings, where="settings"),
        addresses,
        name=name,
        opponent=opponent,
        asks=asks,
        matches=config.matches,
        seed=config.seed,
    )


def _player(config: TrainConfig, game: Game, arena: Arena) -> NetworkPlayer:
    """The network of the configuration, untrained."""
    engine = InferenceEngine(
        arena.spec,
        slots=config.matches * arena.spec.seats,
        device=Device.pick(config.device, config.dtype).acting_in(config.actor_dtype),
        seed=config.seed,
        backend=config.backend,
    )
    engine.add(POLICY, first_policy(config, game, arena.spec, _silent))
    return NetworkPlayer(engine, POLICY)


def _silent(text: str) -> None:
    """Nobody reads what a cell says."""
