"""Built-in players: the strongest move on paper, and a damage-and-type heuristic. Both read decisions only."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sparring.core import Answers, Decisions
from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions import ActionSpace, action_space
from sparring.games.pokemon.columns import SLOTS
from sparring.games.pokemon.damage import DAMAGE_FIELDS, DamageEstimate
from sparring.games.pokemon.dex import Dex, load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.heuristics import Outlook, move_traits, move_values, outlook, switch_values
from sparring.games.pokemon.settings import PokemonSettings

_NOISE = 1e-3
_MEGA = 0.05
_Z = 0.15
_DYNAMAX = 0.1
_TERA = 0.1


class _Scored(ABC):
    """Plays the legal action with the highest score; equal scores are decided by lot.

    A doubles action scores the sum of its two orders. Team preview picks that name no order are drawn by lot.
    """

    def __init__(self, settings: PokemonSettings, seed: int) -> None:
        self._format = find_format(settings.format, settings.showdown)
        self._space: ActionSpace = action_space(self._format)
        self._dex: Dex = load_dex(self._format.tables, self._format.showdown)
        self._rng = np.random.default_rng(seed)

    def act(self, decisions: Decisions) -> Answers:
        """One answer per row."""
        scores = self._rng.random(decisions.legal.shape, np.float32) * np.float32(_NOISE)
        first = self._orders(decisions, 0)
        if self._space.active == 1:
            scores[:, : self._space.orders.count] += first
        else:
            joint = first[:, :, None] + self._orders(decisions, 1)[:, None, :]
            pairs = joint.shape[1] * joint.shape[2]
            scores[:, :pairs] += joint.reshape(len(joint), pairs)
        action = np.where(decisions.legal, scores, -np.inf).argmax(axis=1)
        return Answers(action=action.astype(np.int32))

    @abstractmethod
    def _orders(self, decisions: Decisions, place: int) -> NDArray[np.float32]:
        """The scores `float32[k, orders]` of one own place."""

    def _spread_out(
        self, moves: NDArray[np.float32], gimmicks: NDArray[np.float32], switches: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """`float32[k, orders]` from `moves[k, 4, 4]` (by target), `gimmicks[k, 1 + gimmicks, 4]`, `switches[k, 6]`."""
        orders = self._space.orders
        is_move, is_switch = orders.move >= 0, orders.switch >= 0
        scores = np.zeros((len(moves), orders.count), np.float32)
        move, gimmick = orders.move[is_move], orders.gimmick[is_move]
        scores[:, is_move] = moves[:, move, orders.target[is_move]] + gimmicks[:, gimmick, move]
        scores[:, is_switch] = switches[:, orders.switch[is_switch]]
        return scores


class MaxPowerPlayer(_Scored):
    """Always the move with the highest base power, at a foe; switches only when it must, by lot."""

    def _orders(self, decisions: Decisions, place: int) -> NDArray[np.float32]:
        k = len(decisions)
        moves = decisions.observation["active_move_ids"][:, place].astype(np.intp)
        power = self._dex.move_power[moves] / np.float32(100.0)
        values = np.repeat(power[:, :, None], 4, axis=2)
        values[:, :, 3] = -1.0  # never at the ally
        gimmicks = np.zeros((k, 1 + len(self._space.gimmicks), 4), np.float32)
        gimmicks[:, 1:] = -0.01
        forced = decisions.observation["field"][:, c.FIELD_FORCED] != 0
        switches = np.where(forced[:, None], 0.0, -1.0) * np.ones((1, 6))
        return self._spread_out(values.astype(np.float32), gimmicks, switches.astype(np.float32))


class HeuristicPlayer(_Scored):
    """Expected damage, types, speed and HP: attacks, sets up, lays hazards, heals, and leaves bad match-ups."""

    def __init__(self, settings: PokemonSettings, seed: int) -> None:
        super().__init__(settings, seed)
        self._traits = move_traits(self._dex)
        self._estimate = DamageEstimate(self._format)
        self._damage: dict[str, Array] = {}
        self._view: Outlook | None = None

    def act(self, decisions: Decisions) -> Answers:
        """One answer per row, from damage and outlook that both places share."""
        observation = decisions.observation
        if "damage" in observation:
            self._damage = {name: observation[name] for name in DAMAGE_FIELDS}
        else:
            self._damage = {name: field.zeros(len(decisions)) for name, field in DAMAGE_FIELDS.items()}
            self._estimate.write(observation, self._damage)
        self._view = outlook(self._dex, observation, self._damage)
        return super().act(decisions)

    def _orders(self, decisions: Decisions, place: int) -> NDArray[np.float32]:
        assert self._view is not None
        observation = decisions.observation
        values = move_values(self._dex, self._traits, observation, self._damage, self._view, place=place)
        forced = (observation["field"][:, c.FIELD_FORCED] != 0) | (observation["field"][:, c.FIELD_PREVIEW] != 0)
        switches = switch_values(self._view, place=place, forced=forced)
        return self._spread_out(values, self._gimmicks(observation, place), switches)

    def _gimmicks(self, observation: Mapping[str, Array], place: int) -> NDArray[np.float32]:
        """`float32[k, 1 + gimmicks, 4]` what using each gimmick with each move adds."""
        assert self._view is not None
        k = len(observation["field"])
        mine = self._view.own_row[:, place]
        moves = observation["active_move_ids"][:, place].astype(np.intp)
        attacks = self._dex.move_category[moves] >= 2
        added = np.zeros((k, 1 + len(self._space.gimmicks), 4), np.float32)
        for number, gimmick in enumerate(self._space.gimmicks, 1):
            if gimmick in ("mega", "megay"):
                added[:, number] = _MEGA
            elif gimmick == "zmove":
                added[:, number] = np.where(attacks, _Z, -_Z)
            elif gimmick == "dynamax":
                added[:, number] = np.where(self._should_dynamax(observation, mine)[:, None], _DYNAMAX, -_DYNAMAX)
            else:
                added[:, number] = np.where(self._should_tera(observation, mine, moves), _TERA, -_TERA)
        return added

    def _should_dynamax(self, observation: Mapping[str, Array], mine: NDArray[np.intp]) -> NDArray[np.bool_]:
        """The last one, or healthy in a good match-up."""
        assert self._view is not None
        rows = np.arange(len(mine))
        own = observation["pokemon"][:, :6]
        standing = (own[:, :, c.POKEMON_KNOWN] - own[:, :, c.POKEMON_FAINTED]).sum(axis=1)
        good = (own[rows, mine, c.POKEMON_HP] > 0.7) & (self._view.match_up[rows, mine] > 0)
        last: NDArray[np.bool_] = (standing <= 1) | good
        return last

    def _should_tera(
        self, observation: Mapping[str, Array], mine: NDArray[np.intp], moves: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """`bool[k, 4]` what the new type adds to the move, times what it saves, is more than nothing."""
        chart = self._dex.effectiveness
        rows = np.arange(len(mine))
        tera = observation["pokemon_ids"][rows, mine, c.POKEMON_ID_TERA_TYPE].astype(np.intp)
        own = observation["pokemon_ids"][rows, mine][:, [c.POKEMON_ID_TYPE_1, c.POKEMON_ID_TYPE_2]].astype(np.intp)
        foe_ids = observation["active_ids"][:, SLOTS:]
        foes = foe_ids[:, :, [c.ACTIVE_ID_TYPE_1, c.ACTIVE_ID_TYPE_2]].astype(np.intp)
        there = observation["active"][:, SLOTS:, c.ACTIVE_PRESENT] != 0
        strikes = np.where(there[:, :, None], foes, 0).reshape(len(mine), 2 * SLOTS)
        before = np.where(strikes > 0, chart[strikes[:, :, None], own[:, None, :]].prod(axis=2), 0.125).max(axis=1)
        after = np.where(strikes > 0, chart[strikes, tera[:, None]], 0.125).max(axis=1)
        saved = np.maximum(before, 0.125) / np.maximum(after, 0.125)
        struck = np.where(
            there[:, None, :], chart[self._dex.move_type[moves][:, :, None, None], foes[:, None]].prod(axis=3), 0.0
        )
        bonus = np.where(self._dex.move_type[moves] == tera[:, None], 1.5, 1.0)
        worth: NDArray[np.bool_] = (struck.max(axis=2) * bonus * saved[:, None] > 1.4) & (tera > 0)[:, None]
        return worth
