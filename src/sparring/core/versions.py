"""Weights and episodes from other versions of a game, and how to use them in the version installed here.

Only games that number named things (`Named`) have versions; for all others, everything stays as it was stored.
"""

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sparring.core.errors import InputError
from sparring.core.game import Named, load_game
from sparring.core.settings import convert
from sparring.core.spec import GameSpec
from sparring.core.vocabulary import Vocabulary


def stored_spec(data: Any) -> GameSpec:
    """The spec kept with weights or episodes, with its vocabulary; raises `InputError` if `data` is not a spec."""
    spec = GameSpec.from_json(data)
    return spec if spec.vocabulary is not None else replace(spec, vocabulary=first_vocabulary(spec.game))


def first_vocabulary(game: str) -> Vocabulary | None:
    """The vocabulary of weights and episodes stored without one; None if the game has none, or is not installed."""
    named = _named(game)
    return None if named is None else named.first_vocabulary()


def present_vocabulary(game: str) -> Vocabulary | None:
    """The vocabulary of the version installed here; None if the game has none, or is not set up."""
    named = _named(game)
    return None if named is None else named.vocabulary()


def lasting_settings(spec: GameSpec) -> dict[str, Any]:
    """The settings of a stored spec that hold in every version: all but the version itself."""
    named = _named(spec.game)
    return {name: value for name, value in spec.settings.items() if named is None or name != named.version}


def present_spec(spec: GameSpec) -> GameSpec:
    """A stored spec in the version installed here; raises `InputError` if the game is not set up."""
    if _named(spec.game) is None:
        return spec
    game = load_game(spec.game)
    return game.spec(convert(lasting_settings(spec), game.settings, where=f"{spec.game} settings"))


@lru_cache(maxsize=64)  # looking for an installed package takes longer than reading a checkpoint
def _named(game: str) -> Named | None:
    with suppress(InputError):
        found = load_game(game)
        return found if isinstance(found, Named) else None
    return None
