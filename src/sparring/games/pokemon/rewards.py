"""Rewards while a battle goes on: a potential of damage, fainted Pokémon and status conditions, taken back at the end.

Each component is the lead of a seat in it, counted in teams. Its change from one of a seat's rows to the next is paid
as reward, and what was paid is taken back when the match ends, so that a match's rewards always sum to its outcome and
the best policy stays the same.

A lead of the user's own is a function `(observation) -> float32[k]` of what k seats see, or a class: then one object of
it is made for each arena, without arguments, and called.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from sparring.core import InputError
from sparring.core.code import blamed, make_of_code, returned
from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import TEAM
from sparring.games.pokemon.settings import PokemonSettings

COMPONENTS = ("damage", "faint", "status")


class Shaping:
    """What is paid to the seats of `matches` matches, in which each side brings `team_size` Pokémon."""

    def __init__(self, settings: PokemonSettings, *, team_size: int, matches: int) -> None:
        weights = settings.shaping_weights
        built_in = np.array([weights.damage, weights.faint, weights.status], np.float32)
        own = np.array(list(weights.own.values()), np.float32)
        self._own = [_own_lead(name) for name in weights.own]
        self._names = (*COMPONENTS, *weights.own)
        self._scale = np.concatenate((settings.shaping * built_in / team_size, settings.shaping * own))
        self._on = bool(self._scale.any())
        self._potential = np.zeros((matches, 2, len(self._names)), np.float32)
        self._first = np.zeros((matches, 2, len(self._own)), np.float32)
        """What the user's own leads were at each seat's first row: paid to nobody."""
        self._paid = np.zeros(len(self._names))
        self._rows = 0
        self._decided = 0
        self._matches = 0

    def reward(
        self,
        match: NDArray[np.int32],
        seat: NDArray[np.int32],
        first: NDArray[np.bool_],
        observation: Mapping[str, Array],
    ) -> NDArray[np.float32]:
        """`float32[k]` the change of the potential since each seat's last row."""
        self._rows += len(match)
        if not self._on:
            return np.zeros(len(match), np.float32)
        leads = _leads(observation["pokemon"], observation["pokemon_ids"])
        if self._own:
            own = np.stack([lead(observation) for lead in self._own], axis=1)
            self._first[match[first], seat[first]] = own[first]
            leads = np.concatenate((leads, own - self._first[match, seat]), axis=1)
        potential = self._scale * leads
        paid = np.where(first[:, None], 0.0, potential - self._potential[match, seat])
        self._potential[match, seat] = potential
        self._paid += np.abs(paid).sum(axis=0)
        total: NDArray[np.float32] = paid.sum(axis=1, dtype=np.float32)
        return total

    def settle(
        self, match: NDArray[np.int32], outcome: NDArray[np.float32], failed: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """`float32[n, 2]` the outcome of ended matches, less all that was paid; 0 for failed ones."""
        reward = np.where(failed[:, None], np.float32(0.0), outcome - self._potential[match].sum(axis=2))
        self._potential[match] = 0.0
        self._matches += int((~failed).sum())
        self._decided += int((np.abs(outcome[~failed]).max(axis=1) > 0).sum()) if (~failed).any() else 0
        return reward.astype(np.float32)

    def report(self) -> dict[str, float]:
        """Since the last call: how much a decision was paid for each component, and the share of matches won."""
        figures: dict[str, float] = {"reward/outcome": self._decided / max(1, self._matches)}
        for name, paid in zip(self._names, self._paid.tolist(), strict=True):
            figures[f"reward/{name}"] = paid / max(1, self._rows)
        self._paid[:] = 0.0
        self._rows = self._decided = self._matches = 0
        return figures


def _leads(pokemon: NDArray[np.float32], ids: NDArray[np.int16]) -> NDArray[np.float32]:
    """`float32[k, 3]` by component: what the foe's team has lost, less what the own team has, in Pokémon."""
    seen = pokemon[:, :, c.POKEMON_SEEN]
    fainted = pokemon[:, :, c.POKEMON_FAINTED]
    ill = (ids[:, :, c.POKEMON_ID_STATUS] > 0) & (fainted == 0)
    lost = np.stack((seen * (1.0 - pokemon[:, :, c.POKEMON_HP]), fainted, ill.astype(np.float32)), axis=-1)
    by_side = lost.reshape(len(lost), 2, TEAM, len(COMPONENTS)).sum(axis=2)
    leads: NDArray[np.float32] = by_side[:, 1] - by_side[:, 0]
    return leads


def _own_lead(name: str) -> Callable[[Mapping[str, Array]], NDArray[np.float32]]:
    """The user's function, or an object of the user's class; what it gives is checked at every call."""
    lead = make_of_code(name, what="a lead")

    def checked(observation: Mapping[str, Array]) -> NDArray[np.float32]:
        rows = len(observation["pokemon"])
        with blamed(f"shaping_weights.own {name}"):
            given = lead(observation)
            found: NDArray[np.float32] = np.asarray(given, np.float32)
        if found.shape != (rows,):
            raise InputError(f"shaping_weights.own {name}: {returned(given)}, but an array of ({rows},) is needed")
        if not np.isfinite(found).all():
            raise InputError(f"shaping_weights.own {name}: it is not finite")
        return found

    return checked
