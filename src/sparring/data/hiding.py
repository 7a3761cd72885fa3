"""Own teams as records show them, in some of the episodes: what was filled in by guess is hidden again.

A policy that learns from such episodes sees whole teams, as it will in play, and does not come to rely on guesses.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparring.core import Episodes, Headers, load_game
from sparring.core.replays import Replayed
from sparring.core.splitmix import STEP, mix


def hide_guesses(episodes: Episodes, chance: float, *, seed: int, epoch: int) -> Episodes:
    """`episodes` in which, with `chance`, one shows nothing that was filled in (`Steps.filled`).

    Of all rows of an episode at once, or else a memory would have what a row hides.
    """
    filled = episodes.steps.filled
    if not chance or filled is None:
        return episodes
    hidden = np.repeat(drawn(episodes.headers, chance, seed=seed, epoch=epoch), episodes.headers.lengths)
    marks = np.where(hidden, filled, np.uint64(0))
    game = load_game(episodes.spec.game)
    if not isinstance(game, Replayed) or not marks.any():
        return episodes
    observation = dict(game.hide_filled(episodes.steps.observation, marks))
    return replace(episodes, steps=replace(episodes.steps, observation=observation))


def drawn(headers: Headers, chance: float, *, seed: int, epoch: int) -> NDArray[np.bool_]:
    """`bool[n]` true with `chance`, by the match, the seat, the `epoch` and the `seed` alone.

    So neither the batch an episode is in nor where a run was resumed changes it.
    """
    match = mix(headers.serial.astype(np.uint64) + STEP * headers.seat.astype(np.uint64))
    moment = mix(np.array([seed % 2**64], np.uint64) + STEP * np.array([epoch + 1], np.uint64))
    return np.asarray(mix(match + moment) / 2.0**64 < chance, np.bool_)
