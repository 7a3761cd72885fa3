"""What a target adds to the score of a move, in a network for all formats."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from sparring.games.pokemon.columns import MOVES, SLOTS
from sparring.games.pokemon.net.tokens import Tokens


class Aiming(nn.Module):
    """Scores a move, its target and the gimmick used with it together, by one hidden layer.

    It sees who moves, the move, the target's place, and what the move would do there (`facing.Facing.aims`). The same
    weights serve both own places and all targets.
    """

    def __init__(self, width: int, *, gimmicks: int) -> None:
        super().__init__()
        self.mover = nn.Linear(2 * width, width)
        self.move = nn.Linear(width, width)
        self.target = nn.Linear(width, width)
        self.untargeted = nn.Parameter(torch.zeros(width))
        self.score = nn.Linear(width, gimmicks)
        nn.init.normal_(self.score.weight, std=0.3 * width**-0.5)
        nn.init.zeros_(self.score.bias)

    def forward(self, features: Tensor, context: Tensor, tokens: Tokens, *, slot: int, active: int) -> Tensor:
        """`[k, gimmicks, moves, targets]` of the moves of `slot`: 4 targets in doubles, in singles the only foe."""
        places = context[:, tokens.place]
        rows, _, width = context.shape
        moves = context[:, tokens.move].view(rows, SLOTS, MOVES, width)[:, slot]
        aims = context[:, tokens.aim].view(rows, SLOTS, MOVES, SLOTS, width)[:, slot]
        if active == 1:
            targets, aims = self.target(places[:, SLOTS : SLOTS + 1]), aims[:, :, :1]
        else:
            aimed_at = self.target(torch.cat((places[:, SLOTS:], places[:, 1 - slot].unsqueeze(1)), dim=1))
            targets = torch.cat((self.untargeted.expand(rows, 1, -1), aimed_at), dim=1)
            aims = functional.pad(aims, (0, 0, 1, 1))  # nothing is known of no target and of the ally
        mover = self.mover(torch.cat((features, places[:, slot]), dim=1))
        joint = mover[:, None, None] + self.move(moves).unsqueeze(2) + targets.unsqueeze(1) + aims
        scores: Tensor = self.score(joint.relu()).permute(0, 3, 1, 2)
        return scores
