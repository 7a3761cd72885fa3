"""The head: logits of all actions and the value, from features and tokens."""

from collections.abc import Sequence
from copy import copy

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sparring.games.pokemon.actions import ActionSpace
from sparring.games.pokemon.actions.gimmicks import GIMMICKS
from sparring.games.pokemon.columns import MOVES, SLOTS, TEAM
from sparring.games.pokemon.net.aiming import Aiming
from sparring.games.pokemon.net.tokens import Tokens
from sparring.policy import mlp

_PAIR = 16
"""Length of the vectors by which two orders of a pair are compared."""


class PokemonHead(nn.Module):
    """Logits of all actions and the value, from features `[k, width]` and the encoder's tokens.

    A slot order is scored as the product of a query (features and the slot's own token) with the token of the move or
    of who comes in; a target adds the product of the move's token with the target's place, or in a network for all
    formats what `Aiming` says. In doubles the logit of a pair is f(a) + g(b) + <u(a), v(b)>: the scores of its two
    orders, and how well they go together. u is made of the tokens an order names (move, target, who comes in), v is u
    weighed by the features: neither slot comes first.
    """

    def __init__(self, actions: ActionSpace, width: int, *, bins: int = 0) -> None:
        """With `bins` the head is one for all formats: it has weights for all that any of them lets a Pokémon do, and
        the value has as many logits.
        """
        super().__init__()
        self.shared = bins > 0
        doubles, preview = self.shared or actions.active == 2, self.shared or actions.preview is not None
        self.tokens = Tokens(2 if self.shared else actions.active)
        self.active = actions.active
        self.scale = width**-0.5
        gimmicks = GIMMICKS if self.shared else actions.gimmicks
        self.gimmicks = 1 + len(gimmicks)
        self.query = nn.Linear(2 * width, width * (self.gimmicks + 1))
        self.move_key = nn.Linear(width, width)
        self.switch_key = nn.Linear(width, width)
        self.value = mlp([width, width, bins or 1], last=0.01)
        self._of(actions)
        self.columns: Tensor
        self.picks: Tensor | None
        for layer in (self.query, self.move_key, self.switch_key):
            nn.init.normal_(layer.weight, std=0.3 * layer.in_features**-0.5)
            nn.init.zeros_(layer.bias)
        self.aiming = Aiming(width, gimmicks=self.gimmicks) if self.shared else None
        if doubles and not self.shared:
            self.aim = nn.Linear(width, width)
            self.target = nn.Linear(width, width)
            self.untargeted = nn.Parameter(torch.zeros(width))
        if doubles:
            self.passing = nn.Linear(width, 1)
            self.pair_move = nn.Linear(width, _PAIR)
            self.pair_target = nn.Linear(width, _PAIR)
            self.pair_switch = nn.Linear(width, _PAIR)
            self.pair_gimmick = nn.Parameter(torch.randn(self.gimmicks, _PAIR) * 0.1)
            self.pair_pass = nn.Parameter(torch.randn(_PAIR) * 0.1)
            self.pair_weight = nn.Linear(width, _PAIR)
        self.preview = nn.Linear(width, 2) if preview else None

    def under(self, actions: ActionSpace) -> "PokemonHead":
        """The same weights for the actions of another format."""
        view = copy(self)
        view._buffers = {}
        view.active = actions.active
        view._of(actions)
        return view.to(self.query.weight.device)

    def _of(self, actions: ActionSpace) -> None:
        """Takes over what actions mean."""
        gimmicks = GIMMICKS if self.shared else actions.gimmicks
        columns = torch.from_numpy(_order_columns(actions, gimmicks))
        picks = None if actions.preview is None else torch.from_numpy(_picks(actions))
        self.register_buffer("columns", columns, persistent=False)
        self.register_buffer("picks", picks, persistent=False)

    def forward(self, features: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        """Features `[k, width]` out of the memory core, context as the encoder gave it."""
        slots = [self._orders(features, context, slot) for slot in range(self.active)]
        if self.active == 1:
            logits = slots[0]
        else:
            first, second = (self._parts(context, slot) for slot in range(2))
            fitting = (first * self.pair_weight(features).unsqueeze(1)) @ second.transpose(1, 2) * _PAIR**-0.5
            logits = (slots[0].unsqueeze(2) + slots[1].unsqueeze(1) + fitting).flatten(1)
        if self.preview is not None and self.picks is not None:
            own = self.preview(context[:, :TEAM] * (1.0 + features.unsqueeze(1)))
            logits = torch.cat((logits, own.transpose(1, 2).flatten(1) @ self.picks), dim=1)
        value: Tensor = self.value(features)
        return logits, value if self.shared else torch.tanh(value).squeeze(1)

    def _orders(self, features: Tensor, context: Tensor, slot: int) -> Tensor:
        """`[k, orders]` of one slot: scores of moves (by target and gimmick), switches and pass, put in order."""
        mover = context[:, self.tokens.place][:, slot]
        query = self.query(torch.cat((features, mover), dim=1)).unflatten(1, (self.gimmicks + 1, -1)) * self.scale
        moves = context[:, self.tokens.move][:, slot * MOVES : (slot + 1) * MOVES]
        by_move = query[:, :-1] @ self.move_key(moves).transpose(1, 2)
        switch = query[:, -1:] @ self.switch_key(context[:, :TEAM]).transpose(1, 2)
        by_target = by_move.unsqueeze(3)
        if self.aiming is not None:
            by_target = by_target + self.aiming(features, context, self.tokens, slot=slot, active=self.active)
        elif self.active == 2:
            targets = self.target(self._targets(context, slot))
            none = self.untargeted.expand(len(features), 1, -1)
            aimed = self.aim(moves) @ torch.cat((none, targets), dim=1).transpose(1, 2) * self.scale
            by_target = by_target + aimed.unsqueeze(1)
        passing = [self.passing(features)] if self.active == 2 else []
        scores = torch.cat((by_target.flatten(1), switch.flatten(1), *passing), dim=1)
        return scores[:, self.columns]

    def _targets(self, context: Tensor, slot: int) -> Tensor:
        """`[k, 3, width]` the tokens of both foes' places and of the ally's."""
        places = context[:, self.tokens.place]
        return torch.stack((places[:, SLOTS], places[:, SLOTS + 1], places[:, 1 - slot]), dim=1)

    def _parts(self, context: Tensor, slot: int) -> Tensor:
        """`[k, orders, _PAIR]` what each order of a slot brings to a pair."""
        moves = self.pair_move(context[:, self.tokens.move][:, slot * MOVES : (slot + 1) * MOVES])
        targets = functional.pad(self.pair_target(self._targets(context, slot)), (0, 0, 1, 0))  # no target first
        aimed = moves[:, None, :, None] + targets[:, None, None] + self.pair_gimmick[:, None, None]
        switch = self.pair_switch(context[:, :TEAM])
        passing = self.pair_pass.expand(len(context), 1, -1)
        return torch.cat((aimed.flatten(1, 3), switch, passing), dim=1)[:, self.columns]


def _order_columns(actions: ActionSpace, gimmicks: Sequence[str]) -> np.ndarray:
    """`int64[orders]` where the head's concatenated scores (moves by gimmick and target, switches, pass) have each.

    `gimmicks` are those that the head has weights for.
    """
    orders = actions.orders
    aims = 4 if actions.active == 2 else 1
    switches = (1 + len(gimmicks)) * MOVES * aims
    block = np.array([0, *(1 + gimmicks.index(name) for name in actions.gimmicks)], np.int64)[orders.gimmick]
    moves = (block * MOVES + orders.move) * aims + orders.target
    columns = np.where(orders.move >= 0, moves, np.where(orders.switch >= 0, switches + orders.switch, switches + TEAM))
    return columns.astype(np.int64)


def _picks(actions: ActionSpace) -> np.ndarray:
    """`float32[2 * 6, picks]`: which slots lead (first six rows) and which come along behind, in each preview pick."""
    assert actions.preview is not None
    picks = np.zeros((2, TEAM, actions.preview.count), np.float32)
    for number, pick in enumerate(actions.preview.picks):
        picks[0, list(pick[: actions.active]), number] = 1.0
        picks[1, list(pick[actions.active :]), number] = 1.0
    return picks.reshape(2 * TEAM, -1)
