"""Embeddings of named things, and how their rows follow the names into another vocabulary."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from sparring.core import InputError, Vocabulary


class NamedEmbedding(nn.Embedding):
    """An embedding of the numbers of one `kind` in the game's vocabulary: row 0 is unknown, then one row per name."""

    def __init__(self, kind: str, rows: int, width: int) -> None:
        super().__init__(rows, width)
        self.kind = kind


def renumber_weights(
    weights: Mapping[str, Tensor], policy: nn.Module, was: Vocabulary, now: Vocabulary
) -> dict[str, Tensor]:
    """`weights` made with `was` for a `policy` of `now`: rows of embeddings move with their names.

    A new name starts as the mean of all old names. Raises `InputError` if an embedding does not fit its vocabulary.
    """
    renumbered = dict(weights)
    for path, module in policy.named_modules():
        key = f"{path}.weight"
        if isinstance(module, NamedEmbedding) and key in weights:
            old, kind = weights[key], module.kind
            names = len(was.names.get(kind, ()))
            if old.ndim != 2 or len(old) != 1 + names:
                raise InputError(f"{key} is {list(old.shape)} and its vocabulary has {names} {kind}")
            origin = torch.from_numpy(now.table(kind, was))
            new = old[origin]
            fresh = origin == 0
            fresh[0] = False
            new[fresh] = old[1:].mean(dim=0) if names else 0.0
            renumbered[key] = new
    return renumbered
