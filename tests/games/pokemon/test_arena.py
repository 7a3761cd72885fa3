"""The arena keeps the protocol in every family of formats, and a failing process disturbs nobody else."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from sparring.core import Decisions, IllegalAction, InputError, RandomPlayer, Results, check_arena
from sparring.games.pokemon import PokemonArena, PokemonSettings, pokemon_spec
from sparring.games.pokemon.columns import PokemonColumn, PokemonId, Status
from sparring.games.pokemon.rewards import Shaping
from sparring.games.pokemon.settings import ShapingWeights
from sparring.games.pokemon.simulator import Refused
from sparring.games.pokemon.tracker import Tracker

FAMILIES = [
    "gen1randombattle",
    "gen4randombattle",
    "gen7randombattle",
    "gen8randombattle",
    "gen9randombattle",
    "gen9randomdoublesbattle",
    "gen1ou",
    "gen9ou",
    "gen9nationaldex",
    "gen9vgc2025regi",
    "gen9championsrandombattle",
    "gen9championsvgc2026regma",
    "gen9championsvgc2026regmb",
]
NOW = ["gen9ou", "gen9nationaldex", "gen9vgc2025regi", "gen9championsvgc2026regma", "gen9championsvgc2026regmb"]
"""What people play these days."""


@contextmanager
def arena_of(settings: PokemonSettings, *, matches: int, seed: int = 0) -> Iterator[PokemonArena]:
    arena = PokemonArena(settings, matches=matches, seed=seed)
    try:
        yield arena
    finally:
        arena.close()


def play(arena: PokemonArena, matches: int) -> list[tuple[Decisions, Results]]:
    """Random play until `matches` have ended; rows are copied."""
    player, batches, ended = RandomPlayer(1), [], 0
    while ended < matches:
        decisions, results = arena.wait()
        batches.append((decisions.take(np.arange(len(decisions))), results))
        ended += len(results)
        if len(decisions):
            arena.act(decisions, player.act(decisions).action)
    return batches


@pytest.mark.parametrize("format", ["gen1randombattle", "gen7randombattle", "gen9randomdoublesbattle", *NOW])
def test_random_play_keeps_the_protocol_and_no_choice_is_refused(format: str) -> None:
    with arena_of(PokemonSettings(format=format), matches=6) as arena:
        report = check_arena(arena, matches=4)
        assert report.failed == 0
        assert report.decisions > 40
        assert not arena.unknown_lines


@pytest.mark.slow
@pytest.mark.parametrize("format", FAMILIES)
def test_no_choice_is_refused_in_two_thousand_battles(format: str) -> None:
    with arena_of(PokemonSettings(format=format, simulators=2), matches=64) as arena:
        report = check_arena(arena, matches=2000, most_waits=10_000_000)
        assert report.failed == 0
        assert not arena.unknown_lines


def test_told_to_gather_it_waits_for_rows_that_can_still_come_and_no_longer() -> None:
    with arena_of(PokemonSettings(), matches=8) as arena:
        arena.gather(1000, 60.0)
        for _ in range(20):
            decisions, results = arena.wait()
            assert len(results) or not arena.simulator.owes
            arena.act(decisions, RandomPlayer(0).act(decisions).action)


def test_gathering_keeps_the_protocol() -> None:
    with arena_of(PokemonSettings(), matches=6) as arena:
        arena.gather(4, 0.05)
        assert check_arena(arena, matches=6).failed == 0


def test_matches_are_fixed_by_the_seed() -> None:
    def story(seed: int) -> list[tuple[int, ...]]:
        """Legal actions of the first decisions of one match in one slot, which nothing else can interleave with."""
        with arena_of(PokemonSettings(), matches=1, seed=seed) as arena:
            player, told = RandomPlayer(1), []
            for _ in range(15):
                decisions, _ = arena.wait()
                told.append(tuple(np.flatnonzero(decisions.legal).tolist()))
                arena.act(decisions, player.act(decisions).action)
        return told

    assert story(3) == story(3) != story(4)


def test_every_slot_plays_and_its_outcomes_are_those_of_two_opposed_seats() -> None:
    with arena_of(PokemonSettings(), matches=5) as arena:
        batches = play(arena, 5)
    assert {slot for decisions, _ in batches for slot in decisions.match.tolist()} == {0, 1, 2, 3, 4}
    outcome = np.concatenate([results.outcome for _, results in batches])
    reward = np.concatenate([results.reward for _, results in batches])
    np.testing.assert_array_equal(outcome.sum(axis=1), 0)
    np.testing.assert_array_equal(outcome, reward)
    assert (np.abs(outcome) == 1).any()


@pytest.mark.parametrize(
    "weights", [ShapingWeights(), ShapingWeights(damage=0.0, faint=2.0), ShapingWeights(faint=0.5, status=0.5)]
)
def test_shaped_rewards_of_a_match_still_sum_to_its_outcome(weights: ShapingWeights) -> None:
    gained = np.zeros((4, 2))
    checked = paid = 0
    with arena_of(PokemonSettings(shaping=2.0, shaping_weights=weights), matches=4) as arena:
        for decisions, results in play(arena, 8):
            gained[results.match] += results.reward
            np.testing.assert_allclose(gained[results.match], results.outcome, atol=1e-5)
            gained[results.match] = 0.0
            checked += len(results)
            np.add.at(gained, (decisions.match, decisions.seat), decisions.reward)
            paid += np.count_nonzero(decisions.reward)
        figures = arena.report()
    assert checked >= 8
    assert paid > 20
    for name in ("damage", "faint", "status"):
        assert (figures[f"reward/{name}"] > 0) == (getattr(weights, name) > 0), name
    assert 0 < figures["reward/outcome"] <= 1


def test_each_component_of_the_shaped_reward_is_the_change_of_its_lead() -> None:
    """Seat 0 takes a third of a foe's HP and paralyses it; then the foe faints. Worked by hand, in teams of 6."""
    weights = ShapingWeights(damage=1.0, faint=0.5, status=0.25)
    shaping = Shaping(PokemonSettings(shaping=6.0, shaping_weights=weights), team_size=6, matches=1)
    pokemon = np.zeros((1, 12, len(PokemonColumn)), np.float32)
    ids = np.zeros((1, 12, len(PokemonId)), np.int16)
    pokemon[:, :, PokemonColumn.HP] = 1.0
    pokemon[:, (0, 6), PokemonColumn.SEEN] = 1.0
    slot = np.zeros(1, np.int32)

    def paid(first: bool = False) -> float:
        rows = {"pokemon": pokemon, "pokemon_ids": ids}
        return float(shaping.reward(slot, slot, np.array([first]), rows)[0])

    assert paid(first=True) == 0.0
    pokemon[0, 6, PokemonColumn.HP] = 2 / 3
    ids[0, 6, PokemonId.STATUS] = Status.PARALYSIS
    assert paid() == pytest.approx(1 / 3 + 0.25)
    pokemon[0, 6, PokemonColumn.HP] = 0.0
    pokemon[0, 6, PokemonColumn.FAINTED] = 1.0
    assert paid() == pytest.approx(2 / 3 + 0.5 - 0.25)
    end = shaping.settle(slot, np.array([[1.0, -1.0]], np.float32), np.array([False]))
    assert end[0].tolist() == pytest.approx([1.0 - 1.5, -1.0])
    report = shaping.report()
    assert report["reward/damage"] == pytest.approx(1.0 / 3)  # by row
    assert report["reward/status"] == pytest.approx(0.5 / 3)
    assert report["reward/outcome"] == 1.0


def test_an_action_outside_the_mask_is_refused_before_showdown_sees_it() -> None:
    with arena_of(PokemonSettings(format="gen9randombattle"), matches=1) as arena:
        decisions, _ = arena.wait()
        illegal = (~decisions.legal).argmax(axis=1).astype(np.int32)
        with pytest.raises(IllegalAction, match=r"match 0, seat \d: action \d+ \(.+\) is not legal; legal: "):
            arena.act(decisions, illegal)
        for number in (-1, arena.spec.actions):
            with pytest.raises(IllegalAction, match=rf"match 0, seat \d: action {number} is not legal; legal: "):
                arena.act(decisions, np.full(len(decisions), number, np.int32))


def test_a_choice_that_showdown_refuses_is_an_error_with_the_log_saved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with arena_of(PokemonSettings(), matches=1) as arena:
        decisions, _ = arena.wait()
        monkeypatch.setenv("SPARRING_CACHE", str(tmp_path))
        refused = Refused(0, int(decisions.seat[0]), "move 9: no such move", "|turn|1")
        monkeypatch.setattr(arena.simulator, "wait", lambda timeout=None: [refused])
        with pytest.raises(IllegalAction, match="Showdown refused 'move 9: no such move'") as error:
            arena.wait()
    path = Path(re.findall(r"the log is in (.+)$", str(error.value))[0])
    assert path.is_relative_to(tmp_path)
    assert "|turn|1" in path.read_text()


def test_a_process_killed_in_the_middle_fails_its_matches_and_play_goes_on() -> None:
    player = RandomPlayer(0)
    with arena_of(PokemonSettings(simulators=2), matches=8) as arena:
        failed = ended = 0
        killed = False
        seen: set[int] = set()
        while ended < 12:
            decisions, results = arena.wait()
            seen.update(decisions.match.tolist())
            failed += int(results.failed.sum())
            ended += int((~results.failed).sum())
            assert not results.outcome[results.failed].any()
            assert not results.reward[results.failed].any()
            if len(seen) == arena.matches and not killed:
                os.kill(arena.simulator.pids[0], signal.SIGKILL)
                killed = True
            if len(decisions):
                arena.act(decisions, player.act(decisions).action)
        assert failed == 4
        assert arena.simulator.replaced == 1
        assert len(arena.failures) == 4


def test_answers_to_rows_of_a_failed_match_are_ignored() -> None:
    with arena_of(PokemonSettings(), matches=2) as arena:
        held = []
        while sum(len(rows) for rows in held) < 4:
            decisions, _ = arena.wait()
            held.append(decisions.take(np.arange(len(decisions))))
        with pytest.raises(InputError, match="answer them with `act` first"):
            arena.wait()
        os.kill(arena.simulator.pids[0], signal.SIGKILL)
        os.waitid(os.P_PID, arena.simulator.pids[0], os.WEXITED | os.WNOWAIT)
        results = arena.wait()[1]
        assert results.failed.tolist() == [True, True]
        for rows in held:
            arena.act(rows, np.full(len(rows), -1, np.int32))
        player = RandomPlayer(0)
        for _ in range(30):
            decisions, _ = arena.wait()
            if len(decisions):
                actions = player.act(decisions).action
                arena.act(decisions, actions)
                with pytest.raises(InputError, match="no row waits for this action"):
                    arena.act(decisions, actions)


def test_finished_matches_are_saved_as_replays(tmp_path: Path) -> None:
    settings = PokemonSettings(replays=str(tmp_path / "replays"), replay_every=2)
    with arena_of(settings, matches=4) as arena:
        play(arena, 6)
    logs = sorted((tmp_path / "replays").glob("*.log"))
    assert logs
    for log in logs:
        assert int(log.stem.split("-")[1]) % 2 == 0
        text = log.read_text()
        assert "|win|" in text or "|tie" in text
        assert "|split|" not in text
        page = log.with_suffix(".html").read_text()
        showdown = log.with_suffix(".showdown.html").read_text()
        assert "battle-log-data" in showdown
        assert "|turn|1" in page
        assert "|turn|1" in showdown


def test_open_team_sheets_show_sets_and_only_where_the_format_has_them() -> None:
    def revealed(sheets: bool) -> int:
        settings = PokemonSettings(format="gen9vgc2025regi", open_team_sheets=sheets)
        with arena_of(settings, matches=1) as arena:
            decisions, _ = arena.wait()
            return int(np.count_nonzero(decisions.observation["move_ids"][:, 6:]))

    assert revealed(sheets=False) == 0
    assert revealed(sheets=True) > 20
    with pytest.raises(InputError, match="gen1ou has no open team sheets"):
        PokemonArena(PokemonSettings(format="gen1ou", open_team_sheets=True), matches=1, seed=0)


def test_an_unknown_format_is_refused_before_anything_starts() -> None:
    with pytest.raises(InputError, match="unknown Pokémon format 'gen12ou'"):
        pokemon_spec(PokemonSettings(format="gen12ou"))


def test_lines_that_nobody_knows_are_counted_for_the_metrics_and_each_kind_is_named_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Tracker.lines
    monkeypatch.setattr(
        Tracker, "lines", lambda tracker, lines: real(tracker, [*lines, "|-newthing|x", "|-damage|p1a"])
    )
    with arena_of(PokemonSettings(format="gen1randombattle"), matches=1) as arena:
        play(arena, 2)
        assert set(arena.unknown_lines) == {"-newthing", "malformed -damage"}
        assert arena.report()["unknown_lines"] == arena.unknown_lines.total() >= 8
        assert arena.report()["unknown_lines"] == 0
    named = sorted(record.getMessage().rpartition(": ")[2] for record in caplog.records)
    assert named == ["-newthing", "malformed -damage"]
    caplog.clear()
