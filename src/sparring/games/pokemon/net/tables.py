"""What the dex says of moves and types, as fixed tensors: facts of moves, and match-ups by the type chart."""

import numpy as np
import torch
from torch import Tensor, nn

from sparring.games.pokemon.dex import CATEGORIES, MOVE_FLAGS, TARGETS, Dex

SAME_TYPE = 1.5
"""How much stronger a move is in the hands of a Pokémon of its type."""


class DexTables(nn.Module):
    """Facts `moves: float[m, move_width]` and types of all moves, and the type chart by pairs of types."""

    moves: Tensor
    move_type: Tensor
    accuracy: Tensor
    strength: Tensor
    effect: Tensor
    same: Tensor

    def __init__(self, dex: Dex) -> None:
        super().__init__()
        facts = _move_facts(dex)
        self.move_width = facts.shape[1]
        self.types = len(dex.types)
        strength = dex.move_power * dex.move_accuracy * dex.move_hits.mean(axis=1) / 100.0
        kind = np.arange(self.types)
        chart = dex.effectiveness.astype(np.float32)
        of_type = (kind[:, None] == kind) & (kind[:, None] > 0)
        own = of_type[:, :, None] | of_type[:, None, :]
        tables = {
            "moves": facts,
            "move_type": dex.move_type.astype(np.int64),
            "accuracy": dex.move_accuracy.astype(np.float32),
            "strength": strength.astype(np.float32),
            "effect": chart[:, :, None] * chart[:, None, :],
            "same": np.where(own, SAME_TYPE, 1.0).astype(np.float32),
        }
        for name, table in tables.items():
            self.register_buffer(name, torch.from_numpy(table), persistent=False)

    def matchup(self, moves: Tensor, types: Tensor, targets: Tensor) -> Tensor:
        """`[k, a, 4, b, 2]`: effectiveness and expected strength of moves against targets.

        `moves: int64[k, a, 4]`, `types: int64[k, a, 2]` of those who use them, `targets: int64[k, b, 2]` types of
        those hit. Both numbers are 0 for moves that do no damage of their own.
        """
        kind = torch.take(self.move_type, moves) * self.types**2
        user = types[..., 0] * self.types + types[..., 1]
        effect = self.effectiveness(moves, targets)
        strength = torch.take(self.strength, moves) * torch.take(self.same, kind + user.unsqueeze(-1))
        return effect.unsqueeze(-1) * torch.stack(((strength > 0).float(), strength), dim=-1).unsqueeze(-2)

    def effectiveness(self, moves: Tensor, targets: Tensor) -> Tensor:
        """`[k, a, 4, b]`: of moves `int64[k, a, 4]`, damaging or not, against `targets: int64[k, b, 2]`, by type."""
        target = targets[..., 0] * self.types + targets[..., 1]
        kind = torch.take(self.move_type, moves) * self.types**2
        return torch.take(self.effect, kind.unsqueeze(-1) + target[:, None, None])

    def by_type(self, types: Tensor, targets: Tensor) -> Tensor:
        """`[k, a, b]`: the most that attacks of their own types `int64[k, a, 2]` do to targets `int64[k, b, 2]`."""
        target = targets[..., 0] * self.types + targets[..., 1]
        effect = torch.take(self.effect, (types * self.types**2).unsqueeze(-1) + target[:, None, None])
        return (effect * (types > 0).unsqueeze(-1)).amax(dim=2)


def _move_facts(dex: Dex) -> np.ndarray:
    """`float32[m, n]` category, target, flags and numbers of every move."""
    categories = np.eye(len(CATEGORIES), dtype=np.float32)[dex.move_category]
    targets = np.eye(len(TARGETS), dtype=np.float32)[dex.move_target]
    numbers = (
        dex.move_power / 100.0,
        dex.move_accuracy,
        dex.move_sure,
        dex.move_priority / 3.0,
        dex.move_crit / 3.0,
        dex.move_hits.mean(axis=1) / 3.0,
        dex.move_drain,
        dex.move_heal,
    )
    assert dex.move_flags.shape[1] == len(MOVE_FLAGS)
    facts = (categories, targets, dex.move_flags.astype(np.float32), np.stack(numbers, axis=1).astype(np.float32))
    return np.concatenate(facts, axis=1)
