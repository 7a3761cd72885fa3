"""The commands Rocket League adds: see a match, look into rewards, take a policy elsewhere."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sparring.cli.app import NEXT_STEPS, app, say, show
from sparring.cli.help import App
from sparring.cli.options import (
    EXTRA,
    NETWORK,
    SEATED,
    DeviceOption,
    Key,
    Overrides,
    Seed,
    Temperature,
    Threads,
    game_settings,
)

NEXT_STEPS["rocket"] = "sparring watch rocket {run}"

watch = App(help="See a match.")
app.add_typer(watch, name="watch", rich_help_panel="Rocket League")


@watch.command(
    "rocket",
    context_settings=EXTRA,
    epilog="Example: sparring watch rocket runs/rocket-1v1 --opponent rule --page match.html --picture match.gif",
)
def watch_rocket(
    context: typer.Context,
    player: Annotated[str, typer.Argument(help=f"The blue team. {SEATED}")],
    opponent: Annotated[str, typer.Option(help="The orange team, likewise.")] = "rule",
    page: Annotated[Path, typer.Option(help="The page to write.")] = Path("match.html"),
    picture: Annotated[
        Path | None, typer.Option(help="A moving picture to write as well: .gif, .png or .webp.")
    ] = None,
    stream: Annotated[str | None, typer.Option(help="rocketsimvis, rocketsimvis:HOST:PORT or rlviser: live.")] = None,
    matches: Annotated[int, typer.Option(min=1, help="Play this many and keep the one that paid blue most.")] = 1,
    temperature: Temperature = 0.0,
    device: DeviceOption = "cpu",
    threads: Threads = 0,
    key: Key = None,
    seed: Seed = 0,
) -> None:
    """Play a Rocket League match and write a page that shows it in any browser.

    Game settings follow as --key value: --end clock --seconds 60 --modes [2v2] --room 2.
    """
    from sparring.core.files import check_file, check_page
    from sparring.games.rocket.arena import RocketArena
    from sparring.games.rocket.stream import open_stream
    from sparring.games.rocket.watch import best_for_blue, picture_kind, record, summary, write_recording
    from sparring.league import Seating, Style
    from sparring.report.progress import announced

    check_page(page)
    if picture is not None:
        picture_kind(picture)
        check_file(picture)
    seating = Seating.of(player, opponent, game="rocket", settings=game_settings(context))
    each = open_stream(stream, seconds_a_frame=seating.settings.tick_skip / 120) if stream is not None else None
    style = Style(temperature=temperature, device=device, threads=threads, key=key)
    with seating.seated(matches=1, seed=seed, style=style, say=say) as ((blue, orange), arena):
        assert isinstance(arena, RocketArena)
        with announced(f"playing {matches:,} {'match' if matches == 1 else 'matches'}", say):
            recordings = record(arena, blue, orange, names=(player, opponent), matches=matches, each=each)
    recording = best_for_blue(recordings)
    with announced("drawing", say):
        written = write_recording(recording, page, picture)
    for path in written:
        say(f"wrote {path}")
    print(summary(recording))


export = App(help="Write a trained policy for use without Sparring.")
app.add_typer(export, name="export", rich_help_panel="Rocket League")


@export.command("rocket", context_settings=EXTRA, epilog="Example: sparring export rocket runs/rocket-1v1 bot/")
def export_rocket(
    context: typer.Context,
    player: Annotated[str, typer.Argument(help=NETWORK)],
    folder: Annotated[Path, typer.Argument(help="The bundle's folder.")],
) -> None:
    """Write a bundle for an RLBot agent: policy (torch.export), observation, actions, tick skip and delay.

    Game settings follow as --key value: --action-delay 7, --observation package.module:name.
    """
    from sparring.core.files import check_bundle

    check_bundle(folder, made="bundle.json")

    from sparring.games.rocket.export import export_bundle
    from sparring.league import Seating
    from sparring.report.progress import announced

    seating = Seating.of(player, game="rocket", settings=game_settings(context), networks=True)
    with announced("exporting the network", say):
        policy: Any = seating.network()
        export_bundle(policy, seating.spec, folder)
    say(f"wrote {folder}")


rewards = App(help="Look into the rewards of a Rocket League run.")
app.add_typer(rewards, name="rewards", rich_help_panel="Rocket League")


@rewards.command("inspect", epilog="Example: sparring rewards inspect runs/rocket-1v1 --out rewards.svg")
def inspect_rewards(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path | None, typer.Option(help="Plot to write.  [default: RUN/rewards.svg]")] = None,
) -> None:
    """Plot what a row was paid by each component over the run, and print the first and last values."""
    from sparring.core.files import write_file
    from sparring.games.rocket.reward_study import first_and_last, reward_series
    from sparring.report.rewards import rewards_plot, rewards_table

    series = reward_series(run)
    path, title = out or run / "rewards.svg", f"{run.resolve().name}: reward a row, by component"
    write_file(path, rewards_plot(title, series).encode())
    show(rewards_table(title, first_and_last(series)))
    say(f"wrote {path}")


@rewards.command("ablate", epilog="Example: sparring rewards ablate rocket-1v1 --decisions 500000")
def ablate_rewards(
    preset: Annotated[str, typer.Argument(help="A preset's name, or the path of a YAML file.")],
    overrides: Overrides = None,
    decisions: Annotated[int, typer.Option(min=1, help="Decisions of each short run.")] = 300_000,
    folder: Annotated[Path, typer.Option(help="Where the runs go.")] = Path("runs/ablate"),
) -> None:
    """Train short runs, one with all components and one without each, and compare them."""
    from sparring.training.presets import check_preset

    check_preset(preset, overrides or [])

    from sparring.games.rocket.reward_study import compare, variants
    from sparring.report.rewards import ablation_table
    from sparring.training.config import load_config
    from sparring.training.loop import train
    from sparring.training.run import RunFolder

    config, _ = load_config(preset, overrides or [])
    scores = {}
    for name, change in variants(config.game, config.settings).items():
        changed, game = load_config(preset, [*(overrides or []), f"decisions={decisions}", *change])
        path = folder / name.replace(" ", "-")
        say(f"{name}: {decisions:,} decisions in {path}")
        outcome = train(changed, game, RunFolder(path), say=say)
        scores[name] = {f"vs {rival}": score.win_rate for rival, score in outcome.scores.items()}
    show(ablation_table(compare(folder, scores)))
