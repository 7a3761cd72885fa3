"""`sparring serve` and `sparring keys`."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table

from sparring.cli.app import app, console, say
from sparring.cli.options import EXTRA, game_settings
from sparring.core import InputError, load_game


@app.command(
    context_settings=EXTRA,
    epilog="Example: sparring serve --model main=runs/hex-quick --watch",
)
def serve(
    context: typer.Context,
    model: Annotated[
        list[str] | None,
        typer.Option(help="NAME=CHECKPOINT (or run folder), or NAME=package.module:factory. Repeat for several."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = 5555,
    bind: Annotated[str, typer.Option(help="The interface; all but loopback need --key.")] = "127.0.0.1",
    batch_size: Annotated[int, typer.Option(min=1, help="Rows at which a batch is full.")] = 32,
    timeout_ms: Annotated[float, typer.Option(min=0, help="No request waits longer for others to join it.")] = 50.0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
    threads: Annotated[int, typer.Option(min=1, help="CPU threads of a forward pass.")] = 1,
    slots: Annotated[int, typer.Option(min=1, help="Memory slots per model: matches x seats of all clients.")] = 8192,
    silence: Annotated[float, typer.Option(min=1, help="Seconds until a lost client's memory is freed.")] = 30.0,
    watch: Annotated[bool, typer.Option(help="Take over new checkpoints of the folders as they appear.")] = False,
    key: Annotated[Path | None, typer.Option(help="server.key of `sparring keys`; for --status, client.key.")] = None,
    metrics_port: Annotated[int, typer.Option(help="Prometheus text on 127.0.0.1 at this port; 0: none.")] = 0,
    game: Annotated[str | None, typer.Option(help="The game a factory builds for; settings follow.")] = None,
    status: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Ask a running server how it is.")] = None,
    reload: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Make it read --model NAME again.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --status: print one JSON object.")] = False,
) -> None:
    """Serve networks to players in other processes and on other machines, in true batches.

    With --status or --reload it asks a running server instead of starting one.
    """
    if status is not None:
        return _status(status, key, as_json)
    if not model:
        raise InputError("nothing to serve: give --model NAME=CHECKPOINT")
    if reload is not None:
        return _reload(reload, model, key)
    import torch

    from sparring.core.interrupts import Interrupts
    from sparring.inference.device import Device
    from sparring.serving.keys import read_server_key
    from sparring.serving.server import PolicyServer, ServerSettings
    from sparring.serving.statistics import prometheus_text, serve_metrics

    torch.set_num_threads(threads)
    sources = [_source(text, game, context.args) for text in model]
    if len({source.name for source in sources}) < len(sources):
        raise InputError("--model: two models have the same name")
    server = PolicyServer(
        sources,
        device=Device.pick(_one_of("--device", device, "auto", "cpu", "cuda", "mps"), _dtype(dtype)),
        settings=ServerSettings(
            batch_size=batch_size, timeout=timeout_ms / 1000, slots=slots, silence=silence, watch=watch
        ),
        host=bind,
        port=port,
        key=None if key is None else read_server_key(key),
        say=say,
    )
    http = serve_metrics(metrics_port, lambda: prometheus_text(server.report())) if metrics_port else None
    try:
        with Interrupts() as interrupts:
            for source in sources:
                say(f"{source.name}: {source.spec.game} {dict(source.spec.settings)}, version {source.version}")
            print(f"Ready on {server.address}: {', '.join(server.models)}", flush=True)
            server.run(lambda: interrupts.asked)
    finally:
        if http is not None:
            http.shutdown()
        server.close()


@app.command(epilog="Example: sparring keys keys && sparring serve --bind 0.0.0.0 --key keys/server.key --model ...")
def keys(
    folder: Annotated[Path, typer.Argument(help="Where to write server.key and client.key.")] = Path("keys"),
) -> None:
    """Make the keys of a policy server that other machines may reach, and of its clients."""
    from sparring.serving.keys import make_keys

    server, client = make_keys(folder)
    print(f"{server}: for `sparring serve --key`; keep it on the server")
    print(f"{client}: for clients; copy it to the machines that may ask")


def _source(text: str, game: str | None, extra: list[str]) -> Any:
    from sparring.policy.network import load_factory
    from sparring.serving.models import ModelSource

    name, equals, origin = text.partition("=")
    if not equals or not name or not origin:
        raise InputError(f"--model {text}: not of the form NAME=CHECKPOINT or NAME=package.module:factory")
    if Path(origin).exists() or ":" not in origin:
        return ModelSource.from_checkpoint(name, Path(origin))
    own, equals, folder = origin.partition("=")
    if equals:
        return ModelSource.from_checkpoint(name, Path(folder), load_factory(own))
    if game is None:
        raise InputError(f"--model {text}: say with --game which game the factory builds for")
    plugin = load_game(game)
    return ModelSource.from_factory(name, origin, plugin.spec(game_settings(plugin, extra, {})))


def _one_of(option: str, value: str, *allowed: str) -> Any:
    if value not in allowed:
        raise InputError(f"{option} {value}: allowed: {', '.join(allowed)}")
    return value


def _dtype(value: str) -> Any:
    return _one_of("--dtype", value, "float32", "bfloat16", "float16")


def _client_key(path: Path | None) -> Any:
    from sparring.serving.keys import read_client_key

    return None if path is None else read_client_key(path)


def _status(address: str, key: Path | None, as_json: bool) -> None:
    from sparring.serving.client import server_status

    report = server_status(address, key=_client_key(key))
    if as_json:
        print(msgspec.json.encode(report).decode())
        return
    title = f"{address}: up {report.uptime:,.0f} s, {report.requests_per_second:,.0f} requests/s"
    table = Table("model", "version", "clients", "slots", "requests", "mean batch", "queue", "p50", "p95", "p99 ms")
    for name, values in report.models.items():
        latencies = [f"{1000 * seconds:.1f}" for seconds in (values.p50, values.p95, values.p99)]
        table.add_row(
            name,
            str(values.version),
            str(values.sessions),
            f"{values.slots_used}/{values.slots}",
            f"{values.requests:,}",
            f"{values.mean_batch:.1f}",
            str(values.queue),
            *latencies,
        )
    console.print(title, highlight=False)
    console.print(table)


def _reload(address: str, models: list[str], key: Path | None) -> None:
    from sparring.serving.client import reload_model

    for name in models:
        print(f"{name}: version {reload_model(address, name, key=_client_key(key))}")
