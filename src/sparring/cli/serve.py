"""`sparring serve` and `sparring keys`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sparring.cli.app import app, say, show
from sparring.cli.options import EXTRA, AsJson, BatchSize, DeviceOption, Profile, TimeoutMs, game_settings


@app.command(
    rich_help_panel="Serve",
    context_settings=EXTRA,
    epilog="Example: sparring serve --model main=runs/hex-quick --watch",
)
def serve(
    context: typer.Context,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PLAYER",
            help="PLAYER is a run, checkpoint folder, shipped weights or package.module:function. Repeat for several.",
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = 5555,
    bind: Annotated[str, typer.Option(help="The interface; all but loopback need --key.")] = "127.0.0.1",
    batch_size: BatchSize = 32,
    timeout_ms: TimeoutMs = 50.0,
    device: DeviceOption = "auto",
    dtype: Annotated[Literal["float32", "bfloat16", "float16"], typer.Option(help="Precision.")] = "float32",
    threads: Annotated[int, typer.Option(min=1, help="CPU threads of a network.")] = 1,
    slots: Annotated[int, typer.Option(min=1, help="Memory slots per model: matches x seats of all clients.")] = 8192,
    silence: Annotated[float, typer.Option(min=1, help="Seconds until a lost client's memory is freed.")] = 30.0,
    watch: Annotated[bool, typer.Option(help="Take over new checkpoints of the folders as they appear.")] = False,
    key: Annotated[Path | None, typer.Option(help="server.key of `sparring keys`; for --status, client.key.")] = None,
    metrics_port: Annotated[int, typer.Option(help="Prometheus text on 127.0.0.1 at this port; 0: none.")] = 0,
    game: Annotated[str | None, typer.Option(help="The game a factory builds for; settings follow.")] = None,
    status: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Ask a running server how it is.")] = None,
    reload: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Make it read --model NAME again.")] = None,
    profile: Profile = None,
    as_json: AsJson = False,
) -> None:
    """Serve networks to players in other processes and on other machines, in true batches.

    With --status or --reload it asks a running server instead of starting one.
    """
    from sparring.core import InputError

    if status is not None:
        return _status(status, key, as_json)
    if not model:
        raise InputError("nothing to serve: give --model NAME=PLAYER, as in main=runs/hex-quick")
    if reload is not None:
        return _reload(reload, model, key)
    from sparring.bench.profiling import profiled
    from sparring.inference import Device
    from sparring.league.serve import serve_models
    from sparring.serving.server import ServerSettings

    with profiled(profile, say):
        serve_models(
            model,
            ServerSettings(batch_size=batch_size, timeout=timeout_ms / 1000, slots=slots, silence=silence, watch=watch),
            game=game,
            settings=game_settings(context),
            device=Device.pick(device, dtype),
            threads=threads,
            host=bind,
            port=port,
            key=key,
            metrics_port=metrics_port,
            say=say,
            ready=lambda text: print(text, flush=True),
        )


@app.command(
    rich_help_panel="Serve",
    epilog="Example: sparring keys keys && sparring serve --bind 0.0.0.0 --key keys/server.key --model ...",
)
def keys(
    folder: Annotated[Path, typer.Argument(help="Where to write server.key and client.key.")],
) -> None:
    """Make the keys of a policy server that other machines may reach, and of its clients."""
    from sparring.serving.keys import make_keys

    server, client = make_keys(folder)
    print(f"{server}: for `sparring serve --key`; keep it on the server")
    print(f"{client}: for clients; copy it to the machines that may ask")


def _status(address: str, key: Path | None, as_json: bool) -> None:
    import msgspec

    from sparring.report.progress import announced
    from sparring.report.tables import status_table
    from sparring.serving.client import server_status
    from sparring.serving.keys import read_client_key

    with announced(f"waiting for the policy server at {address}", say):
        report = server_status(address, key=None if key is None else read_client_key(key))
    if as_json:
        print(msgspec.json.encode(report).decode())
    else:
        show(status_table(address, report))


def _reload(address: str, models: list[str], key: Path | None) -> None:
    from sparring.report.progress import announced
    from sparring.serving.client import reload_model
    from sparring.serving.keys import read_client_key

    for name in models:
        with announced(f"waiting for the policy server at {address}", say):
            version = reload_model(address, name, key=None if key is None else read_client_key(key))
        print(f"{name}: version {version}")
