"""Named players behind a policy server: what `sparring serve` runs."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from sparring.core import InputError, Interrupts
from sparring.inference.device import Device
from sparring.league.entrants import Entrant
from sparring.league.seating import Seating
from sparring.report.settings import in_a_line
from sparring.serving.keys import read_server_key
from sparring.serving.models import ModelSource
from sparring.serving.server import PolicyServer, ServerSettings
from sparring.serving.statistics import prometheus_text, serve_metrics


def model_source(
    text: str,
    *,
    game: str | None = None,
    settings: Mapping[str, Any] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> ModelSource:
    """The model that `NAME=ENTRANT` describes; `game` and `settings` are needed where no checkpoint says them."""
    name, equals, origin = text.partition("=")
    if not equals or not name or not origin:
        raise InputError(f"--model {text}: not of the form NAME=PLAYER, as in main=runs/hex-quick or main=hex-7x7")
    entrant = Entrant.parse(origin, game=game)
    if entrant.folder is not None:
        return ModelSource.from_checkpoint(name, entrant.folder, entrant.factory, say=say)
    if entrant.factory is None:
        raise InputError(f"--model {text}: {origin} is not a network")
    if game is None:
        raise InputError(f"--model {text}: say with --game which game the factory builds for")
    seating = Seating.of(entrant, game=game, settings=settings, networks=True)
    return ModelSource(name, seating.spec, seating.network(), 0)


def serve_models(
    models: Sequence[str],
    server: ServerSettings,
    *,
    game: str | None,
    settings: Mapping[str, Any],
    device: Device,
    threads: int,
    host: str,
    port: int,
    key: Path | None,
    metrics_port: int,
    say: Callable[[str], None],
    ready: Callable[[str], None],
) -> None:
    """Serves until interrupted; `ready` is told the address and the models once requests are answered."""
    torch.set_num_threads(threads)
    sources = [model_source(text, game=game, settings=settings, say=say) for text in models]
    if len({source.name for source in sources}) < len(sources):
        raise InputError("--model: two models have the same name")
    with ExitStack() as stack:
        running = PolicyServer(
            sources,
            device=device,
            settings=server,
            host=host,
            port=port,
            key=None if key is None else read_server_key(key),
            say=say,
        )
        stack.callback(running.close)
        if metrics_port:
            http = serve_metrics(metrics_port, lambda: prometheus_text(running.report()))
            stack.callback(http.shutdown)
        interrupts = stack.enter_context(Interrupts())
        for source in sources:
            say(f"{source.name}: {source.spec.game} ({in_a_line(source.spec.settings)}), version {source.version}")
        ready(f"Ready on {running.address}: {', '.join(running.models)}")
        running.run(lambda: interrupts.asked)
