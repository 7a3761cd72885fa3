"""Who stands against whom: every Pokémon before each that it faces, and every own move aimed at each foe.

All of it has the same weights for every place, so that what is learnt of one foe holds for the other, and a Pokémon
that faces two adds up what each of them means to it.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import MOVES, POKEMON, SLOTS, TEAM
from sparring.games.pokemon.net.tables import DexTables
from sparring.policy import mlp

DUEL_WIDTH = 48
"""Length of the vector that says how a Pokémon stands against those that it faces."""
_STATE = 3
"""Numbers about who is faced: whether it is there, its HP, how many of its moves are known."""
_BY_TYPE = 8
"""Numbers that types and known moves give for a Pokémon before another; see `_by_type`."""
_FULL_DUEL = 6
"""Numbers a `full` observation gives for an own Pokémon before a foe; see `_damage`."""
_AIM = 4
"""Numbers that types give for a move aimed at a foe, besides the foe's state; see `aims`."""
_FULL_AIM = 4
"""Numbers a `full` observation gives for it: expected damage, as much of it as the foe has HP, the same times accuracy,
chance to faint it."""
_SHARP = 8.0
"""What damage is multiplied by. Choices hang on a few hundredths of HP, which a network is slow to tell apart if all
that it sees is small."""


class Facing(nn.Module):
    """Vectors for Pokémon before those they face, and for own moves aimed at foes, two places a side."""

    def __init__(self, width: int, *, full: bool) -> None:
        super().__init__()
        self.full = full
        self.duel = nn.Linear(_STATE + _BY_TYPE + (_FULL_DUEL if full else 0), DUEL_WIDTH)
        self.aim = mlp([_STATE + _AIM + (_FULL_AIM if full else 0), DUEL_WIDTH, width])

    def duels(self, tables: DexTables, observation: Mapping[str, Tensor]) -> Tensor:
        """`[k, 12, DUEL_WIDTH]`: what all that it faces mean to each Pokémon, added up."""
        state = _faced(_state(observation))  # [2k, SLOTS, _STATE]
        parts = [
            state.unsqueeze(1).expand(-1, TEAM, -1, -1).reshape(-1, POKEMON, SLOTS, _STATE),
            _by_type(tables, observation).reshape(-1, POKEMON, SLOTS, _BY_TYPE),
        ]
        if self.full:
            parts.append(functional.pad(_damage(observation), (0, 0, 0, 0, 0, TEAM)))  # nothing of the kind for foes
        there = state[..., :1].unsqueeze(1).expand(-1, TEAM, -1, -1).reshape(-1, POKEMON, SLOTS, 1)
        each: Tensor = self.duel(torch.cat(parts, dim=-1)).relu() * there
        return each.sum(dim=2)

    def aims(self, tables: DexTables, observation: Mapping[str, Tensor]) -> Tensor:
        """`[k, own places, moves, foe places, width]`: each own active move aimed at each foe; 0 where nobody is."""
        moves = observation["active_move_ids"][:, :SLOTS].long()
        places = observation["active_ids"].long()
        types = places[:, :, c.ACTIVE_ID_TYPE_1 : c.ACTIVE_ID_TYPE_2 + 1]
        rows = (places[:, :SLOTS, c.ACTIVE_ID_POKEMON] - 1).clamp(min=0, max=TEAM - 1)
        tera = observation["pokemon_ids"][:, :, c.POKEMON_ID_TERA_TYPE].long().gather(1, rows)
        effect = tables.effectiveness(moves, types[:, SLOTS:])
        of_tera = (tables.move_type[moves] == tera.unsqueeze(-1)) & (tera > 0).unsqueeze(-1)
        state = _state(observation)[:, SLOTS:]
        parts = [
            state[:, None, None].expand(-1, SLOTS, MOVES, -1, -1),
            tables.matchup(moves, types[:, :SLOTS], types[:, SLOTS:]),
            effect.unsqueeze(-1),
            (effect * of_tera.unsqueeze(-1)).unsqueeze(-1),
        ]
        if self.full:
            at = rows[:, :, None, None].expand(-1, -1, MOVES, SLOTS)
            damage, faints = observation["damage"].gather(1, at), observation["ko"].gather(1, at)
            capped = torch.minimum(damage, state[:, None, None, :, 1])
            gained = capped * tables.accuracy[moves].unsqueeze(-1)
            parts.append(torch.stack((damage, capped, gained, faints), dim=-1) * _SHARP)
        aimed: Tensor = self.aim(torch.cat(parts, dim=-1))
        return aimed * state[:, None, None, :, :1]


def _state(observation: Mapping[str, Tensor]) -> Tensor:
    """`[k, places, _STATE]` of who stands at each place; 0 where nobody does."""
    rows = observation["active_ids"][:, :, c.ACTIVE_ID_POKEMON].long()
    there = (rows > 0).unsqueeze(-1)
    columns = observation["pokemon"][:, :, [c.POKEMON_HP, c.POKEMON_MOVES_KNOWN]]
    found = columns.gather(1, (rows - 1).clamp(min=0).unsqueeze(-1).expand(-1, -1, 2))
    return torch.cat((torch.ones_like(found[..., :1]), found), dim=-1) * there


def _by_type(tables: DexTables, observation: Mapping[str, Tensor]) -> Tensor:
    """`[2k, 6, SLOTS, _BY_TYPE]`, a side each: the best known move of either against the other (effectiveness and
    strength), and what types alone do, as they are and after terastallizing.
    """
    ids = observation["pokemon_ids"].long()
    places = observation["active_ids"].long()
    types = ids[:, :, c.POKEMON_ID_TYPE_1 : c.POKEMON_ID_TYPE_2 + 1].reshape(-1, TEAM, 2)
    tera = ids[:, :, c.POKEMON_ID_TERA_TYPE].reshape(-1, TEAM)
    moves = observation["move_ids"].long().reshape(-1, TEAM, MOVES)
    faced_types = _faced(places[:, :, c.ACTIVE_ID_TYPE_1 : c.ACTIVE_ID_TYPE_2 + 1])
    faced_moves = _faced(observation["active_move_ids"].long())
    changed = torch.stack((tera, torch.zeros_like(tera)), dim=-1)
    attack = tables.matchup(moves, types, faced_types).amax(dim=2)
    defend = tables.matchup(faced_moves, faced_types, types).amax(dim=2).transpose(1, 2)
    alone = [tables.by_type(own, faced_types) for own in (types, changed)]
    alone += [tables.by_type(faced_types, own).transpose(1, 2) for own in (types, changed)]
    return torch.cat((attack, defend, torch.stack(alone, dim=-1)), dim=-1)


def _damage(observation: Mapping[str, Tensor]) -> Tensor:
    """`[k, 6, SLOTS, _FULL_DUEL]` of own Pokémon before foes: the best of its moves (damage, as much of it as the foe
    has HP, chance to faint it), the worst of the foe's (damage, chance to faint), who is faster.
    """
    left = _state(observation)[:, SLOTS:, 1].unsqueeze(1)
    damage = observation["damage"].amax(dim=2)
    back = [observation[name].amax(dim=2).transpose(1, 2) for name in ("damage_back", "ko_back")]
    best = (damage, torch.minimum(damage, left), observation["ko"].amax(dim=2))
    return torch.cat((torch.stack((*best, *back), dim=-1) * _SHARP, observation["faster"].unsqueeze(-1)), dim=-1)


def _faced(places: Tensor) -> Tensor:
    """`[2k, SLOTS, n]` of `[k, 2 * SLOTS, n]`: what each side faces, foes before own."""
    return places.reshape(len(places), 2, SLOTS, -1).flip(1).flatten(0, 1)
