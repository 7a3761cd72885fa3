"""Plays a number of live battles with one player and sums them up."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import numpy as np

from sparring.core import Attending, InputError, Player, Score
from sparring.core.files import make_folder, safe_name, write_file
from sparring.games.pokemon.arena import log_folder
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.human import HumanPlayer
from sparring.games.pokemon.live.arena import LiveArena
from sparring.games.pokemon.live.battle import LiveBattle
from sparring.games.pokemon.live.connection import Account, page_address
from sparring.games.pokemon.live.server import Wish
from sparring.games.pokemon.records import save_replay, save_text
from sparring.games.pokemon.settings import PokemonSettings

_TICK_SECONDS = 0.5
_MOST_REASONS = 100
_WAITING = {
    "ladder": "looking for an opponent",
    "challenge": "waiting for an answer to a challenge",
    "accept": "waiting for a challenge",
}
"""What is going on while no battle is, by `Wish.how`."""


@dataclass
class LadderReport:
    """What came of the battles so far."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    failed: int = 0
    """Battles that a server broke off, or that could not be played on: they count for nothing."""
    failures: Counter[str] = field(default_factory=Counter)
    """Why battles failed, and how often."""
    forfeited: int = 0
    """Battles given up because we were stopped: no measure of strength, though the ladder counts them as lost."""
    invalid_choices: int = 0
    unavailable_choices: int = 0
    late_choices: int = 0
    time_outs: int = 0
    timer_warnings: int = 0
    decisions: int = 0
    batches: int = 0
    seconds: float = 0.0
    opponents: dict[str, list[int]] = field(default_factory=dict)
    """Wins, draws and losses by name."""
    battles: list[dict[str, Any]] = field(default_factory=list)
    logs: int = 0
    """Logs that were kept to find faults by."""

    @property
    def score(self) -> Score:
        """The battles that were played out, against all opponents together."""
        return Score(self.wins, self.draws, self.losses, failed=self.failed)

    @property
    def matches(self) -> int:
        """Battles that were played out."""
        return self.score.matches

    def text(self, running: int, wish: Wish) -> str:
        """How it stands, in one line: `running` battles are under way, or what `wish` waits for."""
        return (
            f"{f'{running} running' if running else _WAITING[wish.how]}: "
            f"{self.wins} won, {self.draws} drawn, {self.losses} lost, "
            f"{self.invalid_choices} invalid, {self.time_outs} timed out"
        )

    def to_json(self, arena: LiveArena) -> dict[str, Any]:
        """Everything, JSON-ready, with what the connections went through."""
        servers = [*arena.servers, *arena.gone]
        answers = np.percentile(arena.answer_seconds, (50, 95, 99)).tolist() if arena.answer_seconds else [0.0] * 3
        return {
            "matches": self.matches,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "win_rate": self.score.win_rate,
            "interval": list(self.score.interval),
            "failed": self.failed,
            "failures": dict(self.failures.most_common()),
            "forfeited": self.forfeited,
            "invalid_choices": self.invalid_choices,
            "unavailable_choices": self.unavailable_choices,
            "late_choices": self.late_choices,
            "time_outs": self.time_outs,
            "timer_warnings": self.timer_warnings,
            "reconnects": sum(server.connection.reconnects for server in servers),
            "throttled": sum(server.connection.throttled for server in servers),
            "malformed_messages": sum(server.connection.malformed for server in servers),
            "refused_rooms": sum(server.refused_rooms for server in servers),
            "unknown_lines": dict(arena.unknown_lines),
            "decisions": self.decisions,
            "mean_batch": self.decisions / max(1, self.batches),
            "answer_ms": {f"p{share}": 1000 * value for share, value in zip((50, 95, 99), answers, strict=True)},
            "seconds": self.seconds,
            "matches_per_hour": 3600 * self.matches / max(self.seconds, 1e-9),
            "ratings": {server.connection.address: server.rating for server in servers},
            "opponents": {
                name: dict(zip(("wins", "draws", "losses"), counts, strict=True))
                for name, counts in sorted(self.opponents.items())
            },
            "battles": self.battles,
        }


def play_ladder(
    arena: LiveArena,
    player: Player,
    *,
    total: int,
    save: Path | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[LadderReport], None] = lambda report: None,
    report: LadderReport | None = None,
) -> LadderReport:
    """Plays until `total` battles are done, or `stop()`: then what is running is forfeited.

    With `save`, every battle's replay (HTML and log) goes to that folder. A `report` of the caller's is filled as
    battles end, and is there even if the last server is lost.
    """
    report, started = report if report is not None else LadderReport(), monotonic()
    if isinstance(player, Attending):
        player.attend(arena)
    while report.matches < total and not stop():
        decisions, results = arena.wait(_TICK_SECONDS)
        for battle in arena.ended if len(results) else ():
            _note(report, battle, save, logs=arena.limits.logs)
        if len(decisions):
            arena.act(decisions, player.act(decisions).action)
            report.decisions += len(decisions)
            report.batches += 1
        report.seconds = monotonic() - started
        progress(report)
    if report.matches < total or arena.running:
        report.forfeited = arena.forfeit()
    return report


@dataclass(frozen=True, kw_only=True)
class LadderPlan:
    """Whom to play, where and how much."""

    servers: Sequence[str]
    account: Account
    wish: Wish
    matches: int
    parallel: int
    """Battles at the same time, over all servers."""
    patience: float = 600.0
    save: Path | None = None
    """A folder for replays, logs and summary.json."""
    seed: int = 0


def run_ladder(
    settings: PokemonSettings,
    player: Player,
    plan: LadderPlan,
    *,
    about: dict[str, Any],
    stop: Callable[[], bool],
    progress: Callable[[LadderReport, int], None],
    say: Callable[[str], None],
) -> tuple[dict[str, Any], Exception | None]:
    """Plays `plan` and sums it up after `about`, JSON-ready.

    If something ends it early, what was played before still counts: the error is returned beside the summary.
    `progress` is told the report and how many battles are running.
    """
    if isinstance(player, HumanPlayer):
        raise InputError("human: a person plays on a server in a browser; `sparring play pokemon` needs no server")
    if plan.save is not None:
        make_folder(plan.save)
    arena = LiveArena(
        settings,
        plan.wish,
        servers=plan.servers,
        account=plan.account,
        matches=plan.parallel,
        seed=plan.seed,
        total=plan.matches,
        patience=plan.patience,
        say=say,
    )
    report = LadderReport()
    lost: Exception | None = None
    if plan.wish.how == "accept":
        for server in plan.servers:
            say(_invitation(plan, server))
    try:
        play_ladder(
            arena,
            player,
            total=plan.matches,
            save=plan.save,
            stop=stop,
            progress=lambda report: progress(report, arena.running),
            report=report,
        )
    except Exception as error:  # whatever ended it, what was played still counts
        lost = error
    finally:
        arena.close()
    summary = {**about, **report.to_json(arena)}
    if plan.save is not None:
        say(f"wrote {save_summary(plan.save, summary)}")
    return summary, lost


def _invitation(plan: LadderPlan, server: str) -> str:
    """How people challenge us on `server`."""
    name, format, page = plan.account.name, plan.wish.format.id, page_address(server)
    browser = f"; in a browser: {page}, then type /challenge {name}, {format}" if page else ""
    return f"{name} waits for challenges in {format} on {server}{browser}"


def save_summary(folder: Path, summary: dict[str, Any]) -> Path:
    """Writes `summary.json` beside the replays."""
    path = folder / "summary.json"
    write_file(path, msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    return path


def wish_for(
    settings: PokemonSettings, *, challenge: str | None, accept: bool, accept_from: str | None, timer: bool
) -> Wish:
    """Battles of the settings' format: on the ladder, or against those we challenge or accept."""
    if challenge and (accept or accept_from):
        raise InputError("--challenge and --accept: one of them")
    return Wish(
        format=find_format(settings.format, settings.showdown),
        how="challenge" if challenge else "accept" if accept or accept_from else "ladder",
        opponent=challenge or accept_from or "",
        timer=timer,
        open_sheets=settings.open_team_sheets,
    )


def _note(report: LadderReport, battle: LiveBattle, save: Path | None, *, logs: int) -> None:
    report.invalid_choices += battle.invalid
    report.unavailable_choices += battle.unavailable
    report.late_choices += battle.late
    report.timer_warnings += battle.warnings
    report.time_outs += battle.timed_out
    if (battle.invalid or battle.fault) and report.logs < logs:  # perhaps a fault of ours: keep what helps to find it
        report.logs += 1
        kind = "refused" if battle.invalid else "failed"
        text = "\n".join([*battle.log, battle.fault])
        save_text(log_folder() / f"{kind}-{safe_name(battle.room)}-{time.time_ns()}.log", text + "\n")
    if not battle.over:
        report.failed += 1
        known = battle.reason in report.failures or len(report.failures) < _MOST_REASONS
        report.failures[battle.reason if known else "others"] += 1
        return
    won, lost = battle.outcome > 0, battle.outcome < 0
    report.wins += won
    report.losses += lost
    report.draws += not won and not lost
    counts = report.opponents.setdefault(battle.opponent, [0, 0, 0])
    counts[0 if won else 2 if lost else 1] += 1
    report.battles.append(
        {
            "room": battle.room,
            "opponent": battle.opponent,
            "outcome": battle.outcome,
            "turns": battle.turn,
            "decisions": battle.rows,
            "invalid_choices": battle.invalid,
            "timed_out": battle.timed_out,
        }
    )
    if save is not None:
        save_replay(save, battle.room, "\n".join(battle.log))
