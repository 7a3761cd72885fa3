"""Checkpoints read again while a server runs: read in a separate thread, swapped in between two forwards."""

from collections.abc import Callable, Iterator, Mapping
from queue import Empty, SimpleQueue
from threading import Thread

from torch import Tensor

from sparring.serving.protocol import FromServer, Refused, Reloaded
from sparring.serving.served import ServedModel

_MOST_ASKING = 1024
"""The most clients that are told when a model was read again."""


class Reloads:
    """The models that are being read again, and who asked for it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._asking: dict[str, set[bytes]] = {}
        self._read: SimpleQueue[tuple[ServedModel, tuple[Mapping[str, Tensor], int] | Exception]] = SimpleQueue()

    def ask(self, model: ServedModel, client: bytes) -> None:
        """Reads `model` again; `client` is told the result."""
        if model.source.name not in self._asking:
            self._start(model)
        asking = self._asking[model.source.name]
        if len(asking) < _MOST_ASKING:
            asking.add(client)

    def watch(self, model: ServedModel) -> None:
        """Reads `model` again if its folder holds another checkpoint."""
        if model.source.name not in self._asking and model.source.changed():
            self._start(model)

    def finish(self) -> Iterator[tuple[set[bytes], FromServer]]:
        """Swaps in what was read; yields who asked, and what to tell them."""
        while True:
            try:
                model, found = self._read.get_nowait()
            except Empty:
                return
            name = model.source.name
            try:
                if isinstance(found, Exception):
                    raise found
                weights, version = found
                model.engine.swap(name, weights, version=version)
                reply: FromServer = Reloaded(model=name, version=version)
                self._say(f"{name}: version {version} now")
            except Exception as error:  # a checkpoint that cannot be read or does not fit
                reply = Refused(reason=f"{name} keeps version {model.version}: {error}"[:500])
                self._say(reply.reason)
            yield self._asking.pop(name), reply

    def _start(self, model: ServedModel) -> None:
        self._asking[model.source.name] = set()

        def read() -> None:
            try:
                self._read.put((model, model.source.read_again()))
            except Exception as error:  # told to the clients that asked; the old weights stay
                self._read.put((model, error))

        Thread(target=read, name=f"reload {model.source.name}", daemon=True).start()
