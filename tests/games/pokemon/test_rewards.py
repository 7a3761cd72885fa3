"""Leads of the user's own in the shaped reward."""

import re
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from sparring.core import Array, InputError
from sparring.core.code import own
from sparring.games.pokemon import PokemonArena, PokemonSettings
from sparring.games.pokemon.columns import PokemonColumn, PokemonId
from sparring.games.pokemon.rewards import Shaping
from sparring.games.pokemon.settings import ShapingWeights


def hp_left(observation: Mapping[str, Array]) -> Array:
    """A lead of the user's own that does not begin at 0: HP of the own team."""
    left: Array = observation["pokemon"][:, :6, PokemonColumn.HP].sum(axis=1)
    return left


def test_a_lead_of_the_users_own_is_paid_by_its_change_and_rewards_still_sum_to_the_outcome() -> None:
    weights = ShapingWeights(damage=0.0, own={own(hp_left): 0.5})
    shaping = Shaping(PokemonSettings(shaping=2.0, shaping_weights=weights), team_size=6, matches=1)
    pokemon = np.zeros((1, 12, len(PokemonColumn)), np.float32)
    pokemon[:, :, PokemonColumn.HP] = 1.0
    rows: dict[str, Array] = {"pokemon": pokemon, "pokemon_ids": np.zeros((1, 12, len(PokemonId)), np.int16)}
    slot = np.zeros(1, np.int32)
    assert shaping.reward(slot, slot, np.array([True]), rows).tolist() == [0.0]
    pokemon[0, 0, PokemonColumn.HP] = 0.25
    assert shaping.reward(slot, slot, np.array([False]), rows).tolist() == [-0.75]
    end = shaping.settle(slot, np.array([[1.0, -1.0]], np.float32), np.array([False]))
    assert end[0].tolist() == [1.75, -1.0]
    assert shaping.report()[f"reward/{own(hp_left)}"] == pytest.approx(0.375)


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        (
            lambda observation: np.zeros((len(observation["pokemon"]), 2)),
            "has shape (3, 2), but an array of (3,) is needed",
        ),
        (lambda observation: None, "it returned None, but an array of (3,) is needed"),
        (lambda observation: 0.5, "it returned 0.5, but an array of (3,) is needed"),
        (lambda observation: np.full(len(observation["pokemon"]), np.nan), "is not finite"),
    ],
)
def test_a_lead_of_the_wrong_shape_or_value_is_refused_by_name(gives: Callable[..., Array], message: str) -> None:
    weights = ShapingWeights(own={own(gives): 1.0})
    shaping = Shaping(PokemonSettings(shaping=1.0, shaping_weights=weights), team_size=6, matches=3)
    rows: dict[str, Array] = {
        "pokemon": np.zeros((3, 12, len(PokemonColumn)), np.float32),
        "pokemon_ids": np.zeros((3, 12, len(PokemonId)), np.int16),
    }
    slot = np.arange(3, dtype=np.int32)
    with pytest.raises(InputError, match=re.escape(message)):
        shaping.reward(slot, np.zeros(3, np.int32), np.ones(3, np.bool_), rows)


def test_a_lead_that_cannot_be_imported_is_refused_before_anything_starts() -> None:
    settings = PokemonSettings(shaping=1.0, shaping_weights=ShapingWeights(own={"nowhere:lead": 1.0}))
    with pytest.raises(InputError, match="nowhere:lead: cannot import it"):
        PokemonArena(settings, matches=1, seed=0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hazards", "hazards: a lead is named as package.module:name, and this is not"),
        ("math:pi", "math:pi: it is the float 3.141592653589793, and a lead is a function or a class"),
        ("fractions:Missing", "fractions:Missing: cannot import it"),
        ("enum:Flag", r"enum:Flag, made without arguments: TypeError: "),
    ],
)
def test_a_name_that_leads_to_no_lead_says_what_is_needed(name: str, message: str) -> None:
    settings = PokemonSettings(shaping=1.0, shaping_weights=ShapingWeights(own={name: 1.0}))
    with pytest.raises(InputError, match=message):
        Shaping(settings, team_size=6, matches=1)
