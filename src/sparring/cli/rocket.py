"""The commands Rocket League adds: see a match, look into rewards, take a policy elsewhere."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparring.cli.app import app, console, say
from sparring.cli.options import EXTRA, game_settings
from sparring.core import InputError, load_game

if TYPE_CHECKING:
    from sparring.league import Entrant

watch = typer.Typer(help="See a match.", no_args_is_help=True)
app.add_typer(watch, name="watch")


@watch.command(
    "rocket",
    context_settings=EXTRA,
    epilog="Example: sparring watch rocket runs/rocket-1v1 --vs rule --out match.html --picture match.gif",
)
def watch_rocket(
    context: typer.Context,
    player: Annotated[
        str, typer.Argument(help="Blue: a checkpoint or run folder, shipped weights, a built-in player.")
    ],
    vs: Annotated[str, typer.Option(help="The orange team, likewise.")] = "rule",
    out: Annotated[Path, typer.Option(help="The replay page to write.")] = Path("match.html"),
    picture: Annotated[
        Path | None, typer.Option(help="A moving picture to write as well: .gif, .png or .webp.")
    ] = None,
    stream: Annotated[str | None, typer.Option(help="rocketsimvis, rocketsimvis:HOST:PORT or rlviser: live.")] = None,
    matches: Annotated[int, typer.Option(min=1, help="Play so many and keep the one that paid blue most.")] = 1,
    temperature: Annotated[float, typer.Option(min=0, help="0 plays a network's likeliest action.")] = 0.0,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Play a Rocket League match and write a page that shows it in any browser.

    Game settings follow as --key value: --end clock --seconds 60 --modes [2v2] --room 2.
    """
    from sparring.games.rocket.stream import open_stream
    from sparring.games.rocket.watch import best_for_blue, picture_kind, record, summary, write_recording
    from sparring.inference import Device
    from sparring.league import Entrant

    game = load_game("rocket")
    if picture is not None:
        picture_kind(picture)
    entrants = [Entrant.parse(player), Entrant.parse(vs)]
    trained = [entrant.checkpoint.spec for entrant in entrants if entrant.checkpoint is not None]
    for entrant in entrants:
        _check_game(entrant)
    settings = game_settings(game, context.args, dict(trained[0].settings) if trained else {})
    spec = game.spec(settings)
    device = Device.pick("cpu")
    blue, orange = (
        entrant.seat(game, spec, matches=1, device=device, temperature=temperature, seed=seed + number)
        for number, entrant in enumerate(entrants)
    )
    each = open_stream(stream, seconds_a_frame=settings.tick_skip / 120) if stream is not None else None
    arena: Any = game.arena(settings, matches=1, seed=seed)
    try:
        recordings = record(arena, blue, orange, names=(player, vs), matches=matches, each=each)
    finally:
        arena.close()
    recording = best_for_blue(recordings)
    for path in write_recording(recording, out, picture):
        say(f"wrote {path}")
    print(summary(recording))


def _check_game(entrant: "Entrant") -> None:
    """Raises `InputError` for a checkpoint of another game."""
    if entrant.checkpoint is not None and entrant.checkpoint.spec.game != "rocket":
        raise InputError(f"{entrant.name}: a checkpoint of {entrant.checkpoint.spec.game}, not of rocket")


export = typer.Typer(help="Write a trained policy for use without Sparring.", no_args_is_help=True)
app.add_typer(export, name="export")


@export.command("rocket", epilog="Example: sparring export rocket runs/rocket-1v1 bot/")
def export_rocket(
    checkpoint: Annotated[str, typer.Argument(help="A checkpoint or run folder, or shipped weights.")],
    folder: Annotated[Path, typer.Argument(help="The bundle's folder.")],
) -> None:
    """Write a bundle for an RLBot agent: policy (torch.export), observation, actions, tick skip and delay."""
    from sparring.games.rocket.export import export_bundle
    from sparring.league import Entrant

    entrant = Entrant.parse(checkpoint)
    loaded = entrant.checkpoint
    if loaded is None:
        raise InputError(f"{checkpoint}: not a checkpoint, a run folder or shipped weights")
    _check_game(entrant)
    policy: Any = loaded.policy(loaded.spec)
    export_bundle(policy, loaded.spec, folder)
    say(f"wrote {folder}")


rewards = typer.Typer(help="Look into the rewards of a Rocket League run.", no_args_is_help=True)
app.add_typer(rewards, name="rewards")


@rewards.command("inspect", epilog="Example: sparring rewards inspect runs/rocket-1v1 --out rewards.svg")
def inspect_rewards(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path | None, typer.Option(help="Plot to write.  [default: RUN/rewards.svg]")] = None,
) -> None:
    """Plot what a row was paid by each component over the run, and print the first and last values."""
    from sparring.games.rocket.reward_study import inspect_run

    table, path = inspect_run(run, out or run / "rewards.svg")
    console.print(table)
    say(f"wrote {path}")


@rewards.command("ablate", epilog="Example: sparring rewards ablate rocket-1v1 --decisions 500000")
def ablate_rewards(
    preset: Annotated[str, typer.Argument(help="A preset's name, or the path of a YAML file.")],
    overrides: Annotated[list[str] | None, typer.Argument(help="key=value settings laid over the preset.")] = None,
    decisions: Annotated[int, typer.Option(min=1, help="Decisions of each short run.")] = 300_000,
    folder: Annotated[Path, typer.Option(help="Where the runs go.")] = Path("runs/ablate"),
) -> None:
    """Train short runs, one with all components and one without each, and compare them."""
    from sparring.games.rocket.reward_study import compare, variants
    from sparring.training.config import load_config
    from sparring.training.run import RunFolder
    from sparring.training.training import train

    config, _ = load_config(preset, overrides or [])
    scores = {}
    for name, change in variants(config.game, config.settings).items():
        changed, game = load_config(preset, [*(overrides or []), f"decisions={decisions}", *change])
        path = folder / name.replace(" ", "-")
        say(f"{name}: {decisions:,} decisions in {path}")
        outcome = train(changed, game, RunFolder(path), say=say)
        scores[name] = {f"vs {rival}": score.win_rate for rival, score in outcome.scores.items()}
    console.print(compare(folder, scores))
