"""Another version of Showdown: weights and episodes made with other numbers are used by name."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from sparring.core import Episodes, InputError, RandomPlayer, Vocabulary, shipped_weights
from sparring.core.cache import cache_folder
from sparring.core.checkpoints import ABOUT
from sparring.core.versions import present_spec
from sparring.data import Dataset
from sparring.games.pokemon import GAME, PokemonArena, PokemonNetwork, PokemonSettings
from sparring.games.pokemon.columns import ActiveId, PokemonId
from sparring.games.pokemon.observation import ID_FIELDS
from sparring.games.pokemon.setup import installation
from sparring.games.pokemon.vocabulary import first_vocabulary
from sparring.league import Seating
from sparring.policy.checkpoint import Checkpoint, load_checkpoint, parse_tensors, save_checkpoint
from sparring.rollout import Collector, everyone
from sparring.rollout.store import EpisodeStore, read_episodes, read_shard
from sparring.serving.models import ModelSource
from tests.games.pokemon.numbering import ADDED, in_numbers_of, more_moves, probabilities, real_rows, with_moves

NET = {"width": 32, "heads": 2}


TABLES = {
    "encoder.species.weight": "species",
    "encoder.move_name.weight": "moves",
    "encoder.ability.weight": "abilities",
    "encoder.item.weight": "items",
    "encoder.kinds.weight": "types",
}


def by_hand(weights: dict[str, torch.Tensor], was: Vocabulary, now: Vocabulary) -> dict[str, torch.Tensor]:
    """The same weights, name by name, with noise for new names."""
    found = dict(weights)
    for key, kind in TABLES.items():
        found[key] = torch.randn(1 + len(now.names[kind]), weights[key].shape[1])
        found[key][0] = weights[key][0]
        for number, name in enumerate(now.names[kind], start=1):
            if name in was.names[kind]:
                found[key][number] = weights[key][1 + was.names[kind].index(name)]
    return found


def fresh(spec, seed: int = 0) -> torch.nn.Module:
    """A network whose answers depend strongly on names."""
    torch.manual_seed(seed)
    policy = GAME.policy(spec, PokemonNetwork(**NET))
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return policy


@cache
def played() -> Episodes:
    arena = PokemonArena(PokemonSettings(format="gen9randombattle"), matches=2, seed=0)
    try:
        return Collector(arena, {"ann": RandomPlayer(0)}, everyone(0, 2), record=["ann"]).collect(100)
    finally:
        arena.close()


def test_every_generation_has_the_same_vocabulary_and_the_first_is_that_of_its_showdown() -> None:
    specs = [GAME.spec(PokemonSettings(format=f"gen{number}randombattle")) for number in (1, 4, 9)]
    assert specs[0].vocabulary == specs[1].vocabulary == specs[2].vocabulary == GAME.vocabulary()
    if specs[0].settings["showdown"] == "0.11.11":
        assert specs[0].vocabulary == first_vocabulary()


def test_every_column_of_ids_numbers_names_or_is_known_not_to() -> None:
    columns = GAME.spec(PokemonSettings()).vocabulary.columns
    assert set(columns) == set(ID_FIELDS)
    for field, kinds in columns.items():
        assert len(kinds) == ID_FIELDS[field][-1]
    plain = [column.name for column, kind in zip(PokemonId, columns["pokemon_ids"], strict=True) if not kind]
    plain += [column.name for column, kind in zip(ActiveId, columns["active_ids"], strict=True) if not kind]
    assert plain == ["STATUS", "POKEMON"]


def test_episodes_of_before_count_as_made_with_the_first_vocabulary(tmp_path: Path) -> None:
    before = replace(played(), spec=replace(played().spec, vocabulary=None))
    with EpisodeStore(tmp_path, before.spec) as store:
        shard = store.append(before)
    assert b"metronome" not in shard.read_bytes()
    assert read_shard(shard).spec.vocabulary == first_vocabulary()


@pytest.mark.parametrize("name", ["pokemon-gen1", "pokemon-doubles"])
def test_weights_of_before_play_as_they_always_did(name: str) -> None:
    folder = shipped_weights()[name]
    assert "vocabulary" not in json.loads((folder / ABOUT).read_text())["spec"]
    checkpoint = load_checkpoint(folder)
    assert checkpoint.spec.vocabulary == first_vocabulary()
    spec, observation, legal = real_rows(checkpoint.spec.settings["format"], 64, see="full")
    plain = GAME.policy(spec, PokemonNetwork(**checkpoint.network))
    weights = parse_tensors((folder / "policy.safetensors").read_bytes(), where="")
    plain.load_state_dict(by_hand(weights, first_vocabulary(), spec.vocabulary))
    ours = checkpoint.policy(spec, say=lambda text: None)
    torch.testing.assert_close(
        probabilities(ours, observation, legal), probabilities(plain, observation, legal), atol=1e-6, rtol=0
    )


def test_the_same_vocabulary_moves_nothing_and_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = GAME.spec(PokemonSettings())
    policy = fresh(spec)
    save_checkpoint(tmp_path / "c", Checkpoint(spec, NET, 1, policy.state_dict(), {}))
    checkpoint = load_checkpoint(tmp_path / "c")
    assert checkpoint.spec == spec
    assert checkpoint.weights_for(policy, spec, say=print) is checkpoint.weights
    checkpoint.policy(spec)
    with EpisodeStore(tmp_path / "s", played().spec) as store:
        shard = store.append(played())
    (back,) = read_episodes(tmp_path / "s")
    for name, column in read_shard(shard).steps.columns().items():
        np.testing.assert_array_equal(back.steps.columns()[name], column)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("format", ["gen1randombattle", "gen9randomdoublesbattle"])
def test_a_checkpoint_of_another_vocabulary_plays_the_same(tmp_path: Path, format: str) -> None:
    """Its numbers are shifted by ten moves that this dex lacks, and its types are in another order."""
    spec, observation, legal = real_rows(format, 48)
    now = spec.vocabulary
    was = more_moves(replace(now, names={**now.names, "types": now.names["types"][::-1]}))
    policy = fresh(spec)
    weights = by_hand(policy.state_dict(), now, was)
    made = replace(spec, vocabulary=was, settings={**spec.settings, "showdown": "0.10.7"})
    save_checkpoint(tmp_path / "c", Checkpoint(made, NET, 1, weights, {}))
    said: list[str] = []
    found = load_checkpoint(tmp_path / "c").policy(spec, say=said.append)
    assert said == [
        f"weights of another vocabulary (moves: {len(now.names['moves'])} kept, 10 gone (metronomaa, metronomab, "
        f"metronomac, ...); types: {len(now.names['types'])} kept); a new name starts as the mean of the others"
    ]
    torch.testing.assert_close(
        probabilities(found, observation, legal), probabilities(policy, observation, legal), atol=1e-6, rtol=0
    )


def test_an_older_version_binds_neither_a_seating_nor_a_server(tmp_path: Path) -> None:
    spec = GAME.spec(PokemonSettings(format="gen2randombattle"))
    was = with_moves(spec.vocabulary, spec.vocabulary.names["moves"][5:])
    weights = dict(fresh(spec).state_dict())
    weights["encoder.move_name.weight"] = weights["encoder.move_name.weight"][5:]
    made = replace(spec, vocabulary=was, settings={**spec.settings, "showdown": "0.10.7"})
    save_checkpoint(tmp_path / "c", Checkpoint(made, NET, 1, weights, {}))
    assert Seating.of(str(tmp_path / "c")).spec == present_spec(made) == spec
    said: list[str] = []
    Seating.of(str(tmp_path / "c")).player(matches=1, seed=0, say=said.append)
    source = ModelSource.from_checkpoint("main", tmp_path / "c", say=said.append)
    assert source.spec == spec
    assert ["5 new" in line for line in said if "vocabulary" in line] == [True, True]
    weights_again, _ = source.read_again()
    assert weights_again["encoder.move_name.weight"].shape == source.policy.encoder.move_name.weight.shape


def test_episodes_of_another_vocabulary_are_renumbered_and_what_is_gone_is_unknown(tmp_path: Path) -> None:
    episodes = played()
    now = episodes.spec.vocabulary
    was = more_moves(replace(now, names={**now.names, "items": ("airmail", *now.names["items"])}))
    observation = in_numbers_of(episodes.steps.observation, now, was)
    assert (observation["move_ids"] != episodes.steps.observation["move_ids"]).any()
    gone = observation["pokemon_ids"][..., 2].copy()
    assert np.count_nonzero(gone == 0) > 0
    observation["pokemon_ids"][..., 2][gone == 0] = 1  # an item that this dex does not have
    made = replace(episodes, spec=replace(episodes.spec, vocabulary=was))
    made = replace(made, steps=replace(episodes.steps, observation=observation))
    with EpisodeStore(tmp_path, made.spec) as store:
        store.append(made)
        store.append(made)
    said: list[str] = []
    parts = list(read_episodes(tmp_path, say=said.append))
    assert len(parts) == 2
    for part in parts:
        assert part.spec == episodes.spec
        for name, column in episodes.steps.columns().items():
            np.testing.assert_array_equal(part.steps.columns()[name], column, err_msg=name)
    assert said == [
        f"{tmp_path}: episodes of another vocabulary, renumbered by name (moves: {len(now.names['moves'])} kept, "
        f"10 gone (metronomaa, metronomab, metronomac, ...); items: {len(now.names['items'])} kept, 1 gone (airmail))",
        f"{tmp_path}: {2 * np.count_nonzero(gone == 0):,} numbers of names that are gone have become 0, unknown",
    ]
    for workers in (0, 1):
        told: list[str] = []
        (batch,) = Dataset(tmp_path, batch_size=1000, workers=workers, say=told.append).epoch()
        assert told == said[:1]
        assert batch.episodes.spec == episodes.spec
        for field, rows in episodes.steps.observation.items():
            served = batch.episodes.steps.observation[field]
            assert sorted(map(bytes, served)) == sorted(2 * list(map(bytes, rows)))
    with pytest.raises(InputError, match="with another vocabulary, not of pokemon"):
        EpisodeStore(tmp_path, episodes.spec)


def test_episodes_with_numbers_outside_their_vocabulary_are_one_clear_line(tmp_path: Path) -> None:
    episodes = played()
    short = with_moves(episodes.spec.vocabulary, episodes.spec.vocabulary.names["moves"][:3])
    made = replace(episodes, spec=replace(episodes.spec, vocabulary=short))
    with EpisodeStore(tmp_path, made.spec) as store:
        shard = store.append(made)
    with pytest.raises(InputError, match=rf"{shard}: move_ids: numbers of moves outside 0\.\.3"):
        list(read_episodes(tmp_path, say=lambda text: None))


@pytest.mark.parametrize(
    ("moves", "problem"),
    [
        ("pound pound", "not a vocabulary: moves has a name twice"),
        (["pound"], "not a vocabulary: moves is no text of names"),
        ("x " * 10_000_000, "not a vocabulary: moves has more than"),
        ("pound surf", r"encoder\.move_name\.weight is .* and its vocabulary has 2 moves"),
    ],
)
def test_a_hostile_vocabulary_beside_weights_is_one_clear_line(tmp_path: Path, moves: object, problem: str) -> None:
    spec = GAME.spec(PokemonSettings())
    folder = tmp_path / "c"
    save_checkpoint(folder, Checkpoint(spec, NET, 1, fresh(spec).state_dict(), {}))
    about = json.loads((folder / ABOUT).read_text())
    about["spec"]["vocabulary"]["names"]["moves"] = moves
    (folder / ABOUT).write_text(json.dumps(about))
    with pytest.raises(InputError, match="differs from its checksum"):
        load_checkpoint(folder)
    (folder / "SHA256SUMS").unlink()
    with pytest.raises(InputError, match=problem) as caught:
        load_checkpoint(folder).policy(spec, say=lambda text: None)
    assert "\n" not in str(caught.value)


PLAY_THERE = """
import sys
import numpy as np
from sparring.league import Entrant
from sparring.games.pokemon import GAME
from tests.games.pokemon.numbering import probabilities, real_rows

entrant = Entrant.parse("pokemon-gen1")
spec, observation, legal = real_rows("gen1randombattle", 64, see="full")
policy, _ = entrant.network(spec, print)
np.savez(
    sys.argv[1],
    legal=legal.numpy(),
    probabilities=probabilities(policy, observation, legal).numpy(),
    moves=" ".join(spec.vocabulary.names["moves"]),
    **{f"row {name}": field.numpy() for name, field in observation.items()},
)
"""


@pytest.mark.slow
def test_shipped_weights_play_the_same_with_an_installed_dex_that_has_ten_more_moves(tmp_path: Path) -> None:
    """All of it in a process of its own: simulator, tracker, damage, network, by a doctored copy of the tables."""
    there = tmp_path / "cache" / "pokemon"
    tables = installation().tables
    shutil.copytree(tables, there / tables.name)
    for other in (cache_folder() / "pokemon").iterdir():
        if other.is_dir() and other.name.partition("-")[0] in ("showdown", "teams", "pools"):
            (there / other.name).symlink_to(other)
    for path in (there / tables.name).glob("*.json"):
        raw = json.loads(path.read_text())
        if "moves" in raw:
            raw["moves"] |= dict.fromkeys(ADDED, raw["moves"]["metronome"])
            path.write_text(json.dumps(raw))
    done = subprocess.run(
        [sys.executable, "-c", PLAY_THERE, str(tmp_path / "found.npz")],
        env={**os.environ, "SPARRING_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "pokemon-gen1: weights of another vocabulary (moves: " in done.stdout
    assert "10 new (metronomaa, metronomab, metronomac, ...)" in done.stdout
    found = np.load(tmp_path / "found.npz")
    spec = GAME.spec(PokemonSettings(observation="full"))
    there_names = with_moves(spec.vocabulary, tuple(str(found["moves"]).split(" ")))
    rows = {name.removeprefix("row "): found[name] for name in found if name.startswith("row ")}
    observation = in_numbers_of(rows, there_names, spec.vocabulary)
    assert (observation["move_ids"] != rows["move_ids"]).any()
    legal = torch.from_numpy(found["legal"])
    here = load_checkpoint(shipped_weights()["pokemon-gen1"]).policy(spec)
    np.testing.assert_allclose(
        probabilities(here, observation, legal).numpy(), found["probabilities"], atol=1e-6, rtol=0
    )
