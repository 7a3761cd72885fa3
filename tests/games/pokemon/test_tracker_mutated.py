"""Battles whose messages arrive damaged: lines are counted and skipped, and every number written makes sense."""

import random
from collections import Counter

import numpy as np
import pytest

from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.columns import STAT_SCALE, ActiveColumn, MoveColumn, PokemonColumn
from sparring.games.pokemon.damage import DAMAGE_FIELDS, DamageEstimate
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.observation import ObservationRows
from sparring.games.pokemon.requests import read_request
from sparring.games.pokemon.tracker import Tracker
from tests.torture.ladder import record
from tests.torture.mutate import mutated

BATTLES = 60
UNBOUNDED = {PokemonColumn.MAX_HP, *range(PokemonColumn.STAT_ATK, PokemonColumn.BASE_SPE + 1), PokemonColumn.LEVEL}


def check(rows: ObservationRows, sizes: dict[str, int]) -> None:
    """Every number of the first row is one that a battle can have."""
    fields = {name: field[0] for name, field in rows.fields.items()}
    assert np.isfinite(rows.floats[0]).all()
    bounded = [column for column in PokemonColumn if column not in UNBOUNDED]
    assert np.abs(fields["pokemon"][:, bounded]).max() <= 2.0
    assert np.abs(fields["pokemon"]).max() <= 99_999 / STAT_SCALE
    assert fields["pokemon"][:, PokemonColumn.HP].min() >= 0.0
    assert fields["pokemon"][:, PokemonColumn.HP].max() <= 1.0
    boosts = fields["active"][:, ActiveColumn.BOOST_ATK : ActiveColumn.BOOST_EVASION + 1]
    assert np.abs(boosts).max() <= 1.0
    assert np.abs(fields["active"]).max() <= 2.0
    for name in ("moves", "active_moves"):
        assert fields[name].min() >= 0.0
        assert np.delete(fields[name], MoveColumn.MAX_PP, axis=-1).max() <= 1.0
        assert fields[name].max() <= 4.0
    for name in ("side", "field"):
        assert fields[name].min() >= 0.0
        assert fields[name].max() <= 1.0
    assert rows.ids[0].min() >= 0
    assert fields["pokemon_ids"].max() < max(sizes.values())
    assert fields["move_ids"].max() < sizes["moves"]


@pytest.mark.parametrize("format", ["gen1randombattle", "gen9randombattle", "gen9randomdoublesbattle"])
def test_damaged_messages_never_raise_and_never_write_nonsense(format: str) -> None:
    rng, space, found = random.Random(1), action_space(find_format(format)), find_format(format)
    dex = load_dex(found.generation)
    sizes = {name: len(getattr(dex, name)) for name in ("species", "moves", "abilities", "items")}
    rows, estimate = ObservationRows(1), DamageEstimate(found)
    damage = {name: field.zeros(1) for name, field in DAMAGE_FIELDS.items()}
    scripts = record(format, 4, seed=3)
    seen: Counter[str] = Counter()
    for battle in range(BATTLES):
        tracker = Tracker(found.generation, "p1")
        for message in scripts[battle % len(scripts)].messages():
            text = mutated(message, rng) if rng.random() < 0.3 else message
            for line in text.split("\n"):
                if not line.startswith("|request|"):
                    tracker.line(line)
                    continue
                try:
                    request = read_request(line.removeprefix("|request|"), places=space.active)
                except (ValueError, RecursionError):
                    seen["refused request"] += 1
                    continue
                if request is None:
                    continue
                seen["request"] += 1
                tracker.request(request)
                space.legal(tracker.offer)
            tracker.write(rows, 0)
            check(rows, sizes)
        estimate.write(rows.first(1), damage)
        assert all(np.isfinite(field).all() for field in damage.values())
        seen.update(kind for kind in tracker.unknown if kind.startswith("malformed"))
    assert sum(seen.values()) > 1000
    assert seen["refused request"] > 50


@pytest.mark.parametrize(
    "line",
    [
        "|-damage|p2a: Foe|nan/100",
        "|-damage|p2a: Foe|5/0",
        "|-damage|p2a: Foe|-5/100",
        "|-damage|p2a: Foe|500/100",
        "|-damage|p2a: Foe|inf/100",
        "|-boost|p2a: Foe|atk|nan",
        "|-setboost|p2a: Foe|atk|nan",
        "|-start|p2a: Foe|perish99",
        "|teamsize|p2|99",
        "|turn|-7",
        "|turn|" + "9" * 4000,
        "|switch|p2a: New|Ditto, L99999999999|100/100",
        "|switch|p2a: New|Ditto|x/y",
    ],
)
def test_a_line_that_makes_no_sense_is_counted_and_changes_nothing(line: str) -> None:
    tracker = Tracker(9, "p1")
    tracker.lines(["|teamsize|p2|6", "|switch|p2a: Foe|Garchomp, M|100/100", "|turn|3"])
    before = tracker.floats.copy()
    tracker.line(line)
    np.testing.assert_array_equal(tracker.floats, before)
    assert tracker.unknown == {f"malformed {line.split('|')[1]}": 1}


def test_a_boost_beyond_the_last_stage_is_the_last_stage() -> None:
    tracker = Tracker(9, "p1")
    tracker.lines(["|switch|p2a: Foe|Garchomp, M|100/100", "|-setboost|p2a: Foe|atk|99999"])
    rows = ObservationRows(1)
    tracker.write(rows, 0)
    assert rows.fields["active"][0].max() == 1.0
