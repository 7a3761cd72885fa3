"""A policy server in a thread of the test, and an LSTM Hex network to serve."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic, sleep

import torch
import zmq

from sparring.core import Answers, Decisions, GameSpec
from sparring.games.hex import GAME
from sparring.inference import Device
from sparring.serving.keys import ServerKey
from sparring.serving.models import ModelSource
from sparring.serving.protocol import Probe, read_server
from sparring.serving.server import PolicyServer, ServerSettings

torch.set_num_threads(1)  # more threads than free cores make small forwards a hundred times slower

SETTINGS = GAME.settings(size=5, opening=2)
SPEC: GameSpec = GAME.spec(SETTINGS)
CPU = Device("cpu", "float32")


def lstm_policy(seed: int = 1) -> torch.nn.Module:
    """An untrained network whose memory matters: its head is scaled up so that distributions are far from flat."""
    torch.manual_seed(seed)
    policy = GAME.policy(SPEC, GAME.network(channels=16, blocks=1, memory="lstm"))
    with torch.no_grad():
        policy.head.policy.weight.mul_(100)
    return policy


def source(name: str = "main", seed: int = 1) -> ModelSource:
    return ModelSource(name, SPEC, lstm_policy(seed), 1)


@contextmanager
def running(
    *sources: ModelSource,
    port: int = 0,
    key: ServerKey | None = None,
    say: Callable[[str], None] = lambda text: None,
    **settings: object,
) -> Iterator[PolicyServer]:
    """Serves `sources` until the block ends; a server that died fails the test.

    It shares this process, and would take what other tests leave behind for messages that pile up, and cut connections:
    its own growth is watched only where a test says so.
    """
    limits = ServerSettings(**{"growth": 1 << 40, **settings})
    server = PolicyServer(sources, device=CPU, settings=limits, port=port, key=key, say=say)
    stop = Event()
    failure: list[BaseException] = []

    def serve() -> None:
        try:
            server.run(stop.is_set)
        except BaseException as error:
            failure.append(error)

    thread = Thread(target=serve)
    thread.start()
    try:
        yield server
    finally:
        stop.set()
        thread.join(10)
        server.close()
    if failure:
        raise failure[0]


def rows(matches=4, seed=0):
    return GAME.arena(SETTINGS, matches=matches, seed=seed).wait()[0]


def raw_socket(address):
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(address)
    return socket


def reply(socket):
    """The server's next answer; on a busy machine it may have looked before whether the client is still there."""
    assert socket.poll(60_000), "the server says nothing"
    header = read_server(socket.recv_multipart()[0])
    return reply(socket) if isinstance(header, Probe) else header


def until(condition, seconds=10.0):
    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end, "it did not happen"
        sleep(0.02)


class Watched:
    """A player that notes what another one says, by match and seat."""

    def __init__(self, player: object) -> None:
        self.player = player
        self.said: list[tuple[Decisions, Answers]] = []

    def act(self, decisions: Decisions) -> Answers:
        answers = self.player.act(decisions)
        self.said.append((decisions.take(torch.arange(len(decisions)).numpy()), answers))
        return answers
