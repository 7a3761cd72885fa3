"""The tokens of a battle: where each kind lies, and the attention among them."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from sparring.games.pokemon.columns import ACTIVES, MOVES, POKEMON, SLOTS
from sparring.policy import mlp


class Tokens:
    """Where each kind of token lies in the context `[k, tokens, width]`, for `active` Pokémon a side."""

    def __init__(self, active: int) -> None:
        self.places = slice(0, ACTIVES, SLOTS // active)
        """Places of the observation that the format uses: own first."""
        self.active = active
        self.pokemon = slice(0, POKEMON)
        self.place = slice(POKEMON, POKEMON + 2 * active)
        self.field = POKEMON + 2 * active
        self.entities = self.field + 1
        """Tokens that are no moves; they come first."""
        self.move = slice(self.entities, self.entities + active * MOVES)
        """Moves of the own active Pokémon, one slot after the other."""
        self.aim = slice(self.move.stop, self.move.stop + active * MOVES * active)
        """Those moves aimed at each foe, in a network for all formats; they attend to nothing."""

    def of(self, active: int) -> Tensor:
        """`int64[n]` the tokens that a format uses in which `active` Pokémon a side are on the field."""
        places = range(self.place.start, self.place.stop, self.active // active)
        moves = range(self.move.start, self.move.start + active * MOVES)
        return torch.tensor([*range(POKEMON), *places, self.field, *moves])


class AttentionLayer(nn.Module):
    """Attention and a feed-forward step over the entity tokens, each added to its input; starts as the identity."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.joint = nn.Linear(width, 3 * width)
        self.after_attention = nn.Linear(width, width)
        self.before_feed = nn.LayerNorm(width)
        self.feed = mlp([width, 2 * width, width])
        for layer in (self.after_attention, self.feed[-1]):
            assert isinstance(layer, nn.Linear)
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, tokens: Tensor, seen: Tensor) -> Tensor:
        """`tokens: [k, n, width]`; those where `seen: bool[k, 1, 1, n]` is false are hidden from all."""
        rows, count, width = tokens.shape
        joint = self.joint(self.before_attention(tokens)).view(rows, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(joint[0], joint[1], joint[2], attn_mask=seen)
        tokens = tokens + self.after_attention(mixed.transpose(1, 2).reshape(rows, count, width))
        fed: Tensor = self.feed(self.before_feed(tokens))
        return tokens + fed
