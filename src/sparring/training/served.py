"""The policy of a run, served to those who play it elsewhere: a policy server in a thread of the learner's process.

New weights are swapped in between two forwards, and every answer says the version that it was given by, so that what
all collectors play is as new as it can be and its age is known. Nobody else is answered: each run makes keys of its
own, which travel to its collectors alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event, Thread

from torch import Tensor, nn

from sparring.core import GameSpec, RunError
from sparring.inference import Device
from sparring.serving import RemotePlayer
from sparring.serving.keys import ClientKey, new_keys
from sparring.serving.models import ModelSource
from sparring.serving.server import PolicyServer, ServerSettings
from sparring.training.algorithms import Algorithm
from sparring.training.opponents import POLICY

_PATIENCE = 300.0
"""Seconds without any answer after which a collector gives up."""
_ANY_GROWTH = 1 << 62
"""The process is the learner's too, and grows with it: no connection is cut for that."""


@dataclass(frozen=True)
class Access:
    """What a collector needs to ask: can be sent to it."""

    address: str
    key: ClientKey

    def player(self, algorithm: Algorithm, spec: GameSpec, *, matches: int, seed: int) -> RemotePlayer:
        """The run's policy, as `algorithm` wants it played."""
        return RemotePlayer(
            self.address,
            POLICY,
            spec,
            matches=matches,
            temperature=algorithm.temperature,
            keep_policy=algorithm.keep_policy,
            seed=seed,
            key=self.key,
            timeout=_PATIENCE,
        )


class ServedPolicy:
    """Serves `policy`, which belongs to it from now on, at `tcp://HOST:PORT` for at most `matches` at a time."""

    def __init__(
        self,
        policy: nn.Module,
        spec: GameSpec,
        address: str,
        *,
        matches: int,
        device: Device,
        timeout: float,
        say: Callable[[str], None],
    ) -> None:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        key, client_key = new_keys()
        rows = matches * spec.seats
        # a collector that has died keeps its slots for a while, beside the one in its place
        settings = ServerSettings(batch_size=rows, timeout=timeout, slots=2 * rows, growth=_ANY_GROWTH)
        self._server = PolicyServer(
            [ModelSource(POLICY, spec, policy, 0)],
            device=device,
            settings=settings,
            host=host,
            port=int(port),
            key=key,
            say=say,
        )
        self.access = Access(self._server.address, client_key)
        self._failure: Exception | None = None
        self._stop = Event()
        self._thread = Thread(target=self._serve, name="serve", daemon=True)
        self._thread.start()

    @property
    def mean_batch(self) -> float:
        """Rows a forward pass."""
        return self._server.models[POLICY].engine.counters.mean_batch

    def swap(self, weights: Mapping[str, Tensor], version: int) -> None:
        """Answers with these weights from now on."""
        self._server.models[POLICY].engine.swap(POLICY, weights, version=version)

    def check(self) -> None:
        """Raises `RunError` if nobody is answered any more."""
        if self._failure is not None:
            raise RunError(f"the policy is served no more: {self._failure}") from self._failure

    def close(self) -> None:
        """Ends serving; may be called twice."""
        self._stop.set()
        self._thread.join()
        self._server.close()

    def _serve(self) -> None:
        try:
            self._server.run(self._stop.is_set)
        except Exception as error:  # told where the run looks: see `check`
            self._failure = error
