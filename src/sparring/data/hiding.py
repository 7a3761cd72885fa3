"""Hides in some episodes what was guessed of the player's own team, so that it looks as in the record.

A policy that learns from both kinds sees whole teams, as it will in play, without coming to rely on guesses.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparring.core import Episodes, Headers, load_game
from sparring.core.replays import Replayed
from sparring.core.splitmix import STEP, mix


def hide_guesses(episodes: Episodes, chance: float, *, seed: int, epoch: int) -> Episodes:
    """`episodes`, each without what was guessed (`Steps.filled`) with probability `chance`.

    All rows of an episode are treated alike, since memory would keep what a single row hides.
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
    """`bool[n]` true with probability `chance`, a function of the match, the seat, the `epoch` and the `seed` alone.

    So it does not depend on an episode's batch, or on where a run was resumed.
    """
    match = mix(headers.serial.astype(np.uint64) + STEP * headers.seat.astype(np.uint64))
    moment = mix(np.array([seed % 2**64], np.uint64) + STEP * np.array([epoch + 1], np.uint64))
    return np.asarray(mix(match + moment) / 2.0**64 < chance, np.bool_)
