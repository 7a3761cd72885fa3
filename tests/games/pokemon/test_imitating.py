"""Imitation of battles, from records to a rated policy: the presets with mock data, several formats, hidden guesses."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparring.core import Episodes, InputError
from sparring.core.replays import Filters, Replay
from sparring.data.hiding import drawn, hide_guesses
from sparring.games.pokemon.replays.episodes import read_replays
from sparring.league import Seating, Style
from sparring.league.selfplay import Plan, self_play
from sparring.rollout.store import EpisodeStore, read_episodes
from sparring.training.config import game_parts, load_config
from sparring.training.datasets import Lessons
from sparring.training.loop import Outcome, train
from sparring.training.run import RunFolder
from tests.games.pokemon.numbering import in_numbers_of, more_moves
from tests.games.pokemon.replays.truth import played
from tests.runs import lines

SMALL = [
    "network.width=32", "network.layers=1", "network.heads=2", "network.memory_width=32", "network.memory_layers=1",
    "network.memory_heads=2", "learner.batch_size=200", "learner.minibatch_size=100", "threads=1",
    "validation.share=0.3", "decisions=400", "checkpoint.every=1", "evaluation={matches: 2, opponents: [random]}",
]  # fmt: skip


FEW = ["mock.matches=4", "mock.player=random", "validation.share=0.4", "evaluation.matches=1"]


def imitate(
    preset: str,
    run: Path,
    *overrides: str,
    mock_data: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> list[dict[str, Any]]:
    """The metrics of a small run."""
    config, game = load_config(preset, [*SMALL, *overrides])
    assert train(config, game, RunFolder(run), mock_data=mock_data, say=say).finished
    return lines(run)


def test_mock_battles_of_several_formats_go_through_records_into_one_model(tmp_path: Path) -> None:
    metrics = imitate("pokemon-imitate-all", tmp_path / "run", *FEW, mock_data=True)
    (made,) = (tmp_path / "run-mock-data").iterdir()
    formats = ["gen1ou", "gen9ou", "gen9vgc2025regi"]
    assert sorted(path.name for path in (made / "episodes").iterdir() if path.is_dir()) == formats
    for format in formats:
        episodes = next(read_episodes(made / "episodes" / format))
        assert episodes.steps.consistent is not None  # as a spectator's record has it, not as it was played
        assert len(episodes) == 8
    told = {name for line in metrics for name in line if name.startswith("validation/format/")}
    assert len({name.split("/")[2] for name in told}) > 1
    assert all(np.isfinite(line["loss/policy_loss"]) for line in metrics if "loss/policy_loss" in line)


@pytest.fixture(scope="module")
def battles() -> dict[str, Episodes]:
    """The same battles with own teams as they were seen, and filled in."""
    records = [Replay(one["id"], one["log"], one["format"]) for one in played("gen9ou", "random", 6, seed=3)]
    return {
        how: read_replays(records, Filters(), {} if how == "seen" else {"own_team": how}).episodes["gen9ou"]
        for how in ("seen", "usage")
    }


def store_of(path: Path, episodes: Episodes) -> Path:
    with EpisodeStore(path, episodes.spec) as store:
        store.append(episodes)
    return path


def test_some_episodes_hide_what_was_filled_in_and_no_batch_changes_which(battles: dict[str, Episodes]) -> None:
    seen, filled = battles["seen"], battles["usage"]
    chosen = drawn(filled.headers, 0.5, seed=1, epoch=2)
    assert 0 < chosen.sum() < len(chosen)
    hidden, all_hidden = (hide_guesses(filled, share, seed=1, epoch=2) for share in (0.5, 1.0))
    rows = np.repeat(chosen, filled.headers.lengths)
    own = (seen.steps.observation["move_ids"] > 0).sum(axis=2)
    np.testing.assert_array_equal((all_hidden.steps.observation["move_ids"] > 0).sum(axis=2), own)
    for name, array in hidden.steps.observation.items():
        np.testing.assert_array_equal(array[rows], all_hidden.steps.observation[name][rows], err_msg=name)
        np.testing.assert_array_equal(array[~rows], filled.steps.observation[name][~rows], err_msg=name)
    for number in range(len(filled)):
        alone = hide_guesses(filled.take(np.array([number])), 0.5, seed=1, epoch=2)
        whole = hidden.take(np.array([number]))
        for name, array in alone.steps.observation.items():
            np.testing.assert_array_equal(array, whole.steps.observation[name])
    assert hide_guesses(filled, 0.0, seed=1, epoch=2) is filled
    assert hide_guesses(seen, 0.5, seed=1, epoch=2) is seen


def test_what_a_run_draws_is_hidden_and_a_resumed_one_draws_the_same(
    tmp_path: Path, battles: dict[str, Episodes]
) -> None:
    store = store_of(tmp_path / "store", battles["usage"])

    def lessons(hide: float) -> Lessons:
        config, game = load_config("pokemon-imitate-gen9", [*SMALL, f"data={store}", f"learner.hide_filled={hide}"])
        parts = game_parts(config, game)
        spec = game.spec(parts["settings"])
        policy = game.policy(spec, parts["network"])
        return Lessons(config, spec, policy, rows=100, length=None, say=lambda text: None)

    def moves(drawn: Episodes) -> bytes:
        return drawn.steps.observation["move_ids"].tobytes()

    whole = lessons(0.5)
    expected = [moves(whole.draw()) for _ in range(12)]
    assert whole.epoch > 1
    plain = lessons(0.0)
    assert [moves(plain.draw()) for _ in range(12)] != expected
    stopped, resumed = lessons(0.5), lessons(0.5)
    for _ in range(5):
        stopped.draw()
    resumed.restore(*stopped.snapshot())
    assert [moves(resumed.draw()) for _ in range(7)] == expected[5:]
    for kind, counts in whole.frequent.items():
        np.testing.assert_array_equal(resumed.frequent[kind], counts)


@pytest.mark.parametrize(
    ("format", "line"),
    [
        ("gen9ou", None),
        (
            "gen8ou",
            "data: episodes of gen9ou, each learned as what it is; the run rates and plays gen8ou, of which the data "
            "has nothing (settings.format=gen9ou)",
        ),
    ],
)
def test_data_of_another_format_than_the_run_plays_is_told_at_the_start(
    tmp_path: Path, battles: dict[str, Episodes], format: str, line: str | None
) -> None:
    store = store_of(tmp_path / "store", battles["seen"])
    config, game = load_config("pokemon-imitate-gen9", [*SMALL, f"data={store}", f"settings.format={format}"])
    parts = game_parts(config, game)
    spec = game.spec(parts["settings"])
    told: list[str] = []
    Lessons(config, spec, game.policy(spec, parts["network"]), rows=100, length=None, say=told.append)
    assert [text for text in told if "episodes of" in text] == ([] if line is None else [line])


def test_a_store_of_another_vocabulary_is_learned_from_by_name_and_that_is_said(
    tmp_path: Path, battles: dict[str, Episodes]
) -> None:
    episodes = battles["seen"]
    now = episodes.spec.vocabulary
    assert now is not None
    was = more_moves(now)
    made = replace(
        episodes,
        spec=replace(episodes.spec, vocabulary=was),
        steps=replace(episodes.steps, observation=in_numbers_of(episodes.steps.observation, now, was)),
    )
    told = {}
    for name, one in (("now", episodes), ("was", made)):
        said: list[str] = []
        data = f"data={store_of(tmp_path / name / 'store', one)}"
        imitate("pokemon-imitate-gen9", tmp_path / "runs" / name, data, say=said.append)
        told[name] = [line for line in said if "vocabulary" in line]
    assert told["now"] == []
    assert len(told["was"]) == 1
    assert "episodes of another vocabulary, renumbered by name (moves: " in told["was"][0]
    assert lines(tmp_path / "runs" / "was") == lines(tmp_path / "runs" / "now")


def test_a_store_of_another_format_is_refused_by_a_network_of_one_format(
    tmp_path: Path, battles: dict[str, Episodes]
) -> None:
    data = f"data={store_of(tmp_path / 'store', battles['seen'])}"
    config, game = load_config("pokemon-imitate-gen1", ["network={kind: entity, size: tiny}", "threads=1", data])
    with pytest.raises(InputError, match="data: episodes of gen9ou, not of gen1ou: .* actions, not "):
        train(config, game, RunFolder(tmp_path / "run"), say=lambda text: None)
    assert not (tmp_path / "run").exists()


HEURISTIC = ["settings={format: gen1randombattle, observation: full}", "threads=1"]


@pytest.fixture(scope="module")
def heuristic_battles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of battles that the heuristic player played against itself."""
    path = tmp_path_factory.mktemp("heuristic") / "store"
    seating = Seating.of("heuristic", game="pokemon", settings={"format": "gen1randombattle", "observation": "full"})
    self_play(seating, path, Plan(matches=120, parallel=32), style=Style(), say=lambda text: None)
    return path


def imitate_heuristic(run: Path, battles: Path, kind: str) -> Outcome:
    """A run of half a minute."""
    config, game = load_config(
        "pokemon-imitate-gen1",
        [
            *HEURISTIC, f"data={battles}", f"network={{kind: {kind}, size: tiny}}", "learner.batch_size=4096",
            "validation.share=0.15", "decisions=40_000", "evaluation={matches: 20, opponents: [random]}",
        ],
    )  # fmt: skip
    return train(config, game, RunFolder(run), say=lambda text: None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["entity", "transformer"])
def test_the_heuristic_player_is_learned_from_its_battles(tmp_path: Path, heuristic_battles: Path, kind: str) -> None:
    """The short form of what docs/learners.md tells: far above what is most frequent, after seconds."""
    outcome = imitate_heuristic(tmp_path / "run", heuristic_battles, kind)
    last = [line for line in lines(tmp_path / "run") if "validation/top1" in line][-1]
    assert last["validation/kind/move/top1"] > last["validation/kind/move/frequent_top1"] + 0.2
    assert last["validation/top3"] > 0.85
    assert outcome.scores["random"].win_rate > 0.6


@pytest.mark.slow
def test_self_play_goes_on_from_the_imitator_and_stays_near_it(tmp_path: Path, heuristic_battles: Path) -> None:
    """The short form of anchored self-play: what was imitated is not forgotten while gains are learned from."""
    imitate_heuristic(tmp_path / "imitated", heuristic_battles, "entity")
    config, game = load_config(
        "pokemon-gen1",
        [
            *HEURISTIC, f"init={tmp_path / 'imitated'}", f"anchor={{to: {tmp_path / 'imitated'}, kl: 0.05}}",
            f"data={heuristic_battles}", "data_share=0.25", "learner.batch_size=4096", "learner.learning_rate=3e-4",
            "decisions=16_000", "matches=32", "overlap=false", "evaluation={matches: 20, opponents: [random]}",
        ],
    )  # fmt: skip
    outcome = train(config, game, RunFolder(tmp_path / "run"), say=lambda text: None)
    updates = [line for line in lines(tmp_path / "run") if "loss/anchor_kl" in line]
    assert updates[0]["loss/anchor_kl"] < updates[-1]["loss/anchor_kl"] < 0.2
    assert updates[-1]["loss/imitation_top1"] > 0.6
    assert outcome.scores["random"].win_rate > 0.7
