"""Self-play by name: players into an episode store, with a progress line and a summary."""

import json
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from sparring.core import Episodes, InputError, Interrupts, Player, gather
from sparring.core.files import write_file
from sparring.core.game import check_workers
from sparring.league.entrants import Style
from sparring.league.seating import Seating
from sparring.report.progress import ProgressLine
from sparring.rollout.selfplay import Matches, MatchesHere, Played, play_into_store
from sparring.rollout.store import EpisodeStore
from sparring.search import SearchPlayer
from sparring.serving import RemotePlayer
from sparring.serving.statistics import percentiles

SIMULATIONS = 16
"""Simulations per move, if the game has a forward model and the user does not say."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much to play, and how it is spread out."""

    matches: int
    """How many the store should hold in the end."""
    parallel: int = 512
    """Matches played at the same time."""
    workers: int = 0
    """Processes that play; 0 plays in this one."""
    batch_size: int = 1
    """Rows a forward pass waits for, where they trickle in, ..."""
    batch_seconds: float = 0.05
    """... but no longer than this after the first."""
    shard: int = 1000
    """Matches per file."""
    cluster: str | None = None
    """The address of a Ray cluster that plays, on all but one of its CPUs; None: this machine."""
    seed: int = 0


def self_play(
    seating: Seating,
    folder: Path,
    plan: Plan,
    *,
    style: Style,
    simulations: int | None = None,
    say: Callable[[str], None],
) -> dict[str, Any] | None:
    """Plays one entrant against itself, or two against each other, until the store in `folder` holds `plan.matches`.

    A folder that holds some already is continued. Returns the summary, which is also in summary.json; None if there
    was nothing to do. With `simulations` None the number depends on what the players can do.
    """
    check_workers(seating.game, plan.workers)
    names = [entrant.name for entrant in seating.entrants]
    style = replace(style, simulations=_default_simulations(seating) if simulations is None else simulations)
    with EpisodeStore(folder, seating.spec, about={"models": names, "simulations": style.simulations}) as store:
        _check_players(store, names, style.simulations)
        if store.matches >= plan.matches:
            say(f"{folder} holds {store.matches:,} matches already")
            return None
        return _play(seating, store, plan, style, say)


def _check_players(store: EpisodeStore, names: Sequence[str], simulations: int) -> None:
    """Raises `InputError` if the matches in the store are of other players, or of players that look ahead otherwise."""
    for about in store.abouts:
        there = about.get("models", names), about.get("simulations", simulations)
        if (sorted(there[0]), there[1]) != (sorted(names), simulations):
            raise InputError(
                f"{store.path} holds matches of {_described(*there)}, not of {_described(names, simulations)}; "
                "choose another folder"
            )


def _described(names: Sequence[str], simulations: int) -> str:
    return " against ".join(names) + (f" with {simulations} simulations" if simulations else "")


def _play(
    seating: Seating, store: EpisodeStore, plan: Plan, style: Style, say: Callable[[str], None]
) -> dict[str, Any]:
    """Plays what the store still lacks."""
    # a continued run must not repeat the matches that are on disk
    seed = plan.seed + 1_000_003 * store.matches
    parallel = min(plan.parallel, plan.matches)
    started = monotonic()
    with _playing(seating, plan, plan.matches - store.matches, parallel, seed, style, say) as (source, seats):
        with Interrupts() as interrupts, ProgressLine("self-play", total=plan.matches, done=store.matches) as bar:
            played = play_into_store(
                store,
                _BrokenOff(source, interrupts),
                matches=plan.matches,
                shard=plan.shard,
                stop=lambda: interrupts.asked,
                progress=lambda done: bar.update(
                    done, f"{done:,} of {plan.matches:,} matches  {bar.per_second:.1f} matches/s"
                ),
            )
        names = [entrant.name for entrant in seating.entrants]
        summary = _summary(played, names, seats, seconds=monotonic() - started, stored=store.matches)
    write_file(store.path / "summary.json", (json.dumps(summary, indent=2) + "\n").encode())
    _tell(summary, store, names, seats, parallel, say)
    if store.matches < plan.matches:
        say(f"stopped at {store.matches:,} of {plan.matches:,} matches; the same command continues")
    return summary


@contextmanager
def _playing(
    seating: Seating,
    plan: Plan,
    matches: int,
    parallel: int,
    seed: int,
    style: Style,
    say: Callable[[str], None],
) -> Iterator[tuple[Matches, Mapping[str, Player]]]:
    """Where matches are played, and the players if that is here."""
    keep_policy = all(entrant.is_network or entrant.server for entrant in seating.entrants)
    if plan.cluster is not None:
        from sparring.league.cluster import MatchesOnCluster  # needs Ray

        if plan.workers:
            raise InputError("--workers: with --cluster its processes play; allowed: 0")
        there = MatchesOnCluster(
            seating,
            matches,
            address=plan.cluster,
            parallel=parallel,
            seed=seed,
            style=style,
            keep_policy=keep_policy,
            say=say,
        )
        with closing(there):
            yield there, {}
        return
    with seating.seated(matches=parallel, seed=seed, style=style, workers=plan.workers, say=say) as (players, arena):
        seats = dict(zip([entrant.name for entrant in seating.entrants], players, strict=True))
        gather(arena, plan.batch_size, plan.batch_seconds)
        yield MatchesHere(arena, seats, matches, keep_policy=keep_policy), seats


class _BrokenOff:
    """A source of matches that a signal breaks off in the middle of a move; what has ended before counts."""

    def __init__(self, source: Matches, interrupts: Interrupts) -> None:
        self._source = source
        self._interrupts = interrupts
        self.counters = source.counters

    def more(self) -> Episodes | None:
        """See `Matches`."""
        with suppress(KeyboardInterrupt), self._interrupts.at_once():
            return self._source.more()
        return None


def _default_simulations(seating: Seating) -> int:
    served = any(entrant.server for entrant in seating.entrants)
    networks = any(entrant.is_network for entrant in seating.entrants)
    return SIMULATIONS if networks and not served and seating.game.model(seating.spec) is not None else 0


def _tell(
    summary: Mapping[str, Any],
    store: EpisodeStore,
    names: Sequence[str],
    players: Mapping[str, Player],
    parallel: int,
    say: Callable[[str], None],
) -> None:
    say(f"{store.path}: {store.matches:,} matches, {store.rows:,} decisions in {store.episodes:,} episodes")
    if "win_rate" in summary:
        low, high = summary["interval"]
        say(f"{' against '.join(names)}: {summary['win_rate']:.1%} (95% interval {low:.1%} - {high:.1%})")
    for player in players.values():
        if isinstance(player, SearchPlayer):
            report = player.report()
            say(
                f"{report['calls_per_move']:.1f} network calls a move for {parallel} matches, "
                f"mean batch {report['search_batch']:.0f}, {report['cache_hits']:.0%} cache hits"
            )


def _summary(
    played: Played, names: Sequence[str], players: Mapping[str, Player], *, seconds: float, stored: int
) -> dict[str, Any]:
    """How this call of self-play went, JSON-ready."""
    counters, score = played.counters, played.score
    used = resource.getrusage(resource.RUSAGE_SELF)
    summary: dict[str, Any] = {
        "players": list(names),
        "matches_stored": stored,
        "matches": score.matches,
        "failed_matches": score.failed,
        "seconds": seconds,
        "matches_per_hour": 3600 * score.matches / seconds,
        "decisions_per_second": counters.decisions / seconds,
        "mean_batch": counters.mean_batch,
        "stages": counters.stages.shares(),
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_memory_mb": used.ru_maxrss / 1024,
    }
    if len(names) == 2:
        summary |= {"win_rate": score.win_rate, "interval": list(score.interval)}
    remote = [player for player in players.values() if isinstance(player, RemotePlayer)]
    if remote:
        waits = [wait for player in remote for wait in player.counters.waits]
        summary["latency_ms"] = {f"p{share}": 1000 * value for share, value in percentiles(waits, 50, 95, 99).items()}
        summary["repeated_requests"] = sum(player.counters.repeated for player in remote)
        summary["lost_memory_rows"] = sum(player.counters.lost for player in remote)
    return summary
