"""One network for all formats: entity tokens within a decision, a causal transformer over the decisions of a battle.

Formats differ in what the dex says of moves, in their rules, and in what can be done; all of that is given, not learnt:
tables of the dex, a few numbers that tell formats apart, and which of the head's scores each action is. So the same
weights under another format are a view (`playing`), and a learner can take battles of many formats in turn.
"""

import torch

from sparring.core import GameSpec, InputError
from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import Format, find_format
from sparring.games.pokemon.net.encoder import PokemonEncoder, Rules
from sparring.games.pokemon.net.head import PokemonHead
from sparring.games.pokemon.settings import PokemonNetwork
from sparring.policy import BINS, ActorCritic, CausalMemory, Policy, Recall, value_support

_GENERATIONS = 9
_RECALLED = ("pokemon", "active")
"""What the encoder compares with the decision before."""


class BattleTransformer(ActorCritic):
    """A policy for the format of `spec`, whose weights also play every other format with the same observation."""

    encoder: PokemonEncoder
    head: PokemonHead

    def __init__(self, spec: GameSpec, network: PokemonNetwork) -> None:
        format, shape, over = _format(spec), network.shape, network.over_decisions
        dex = load_dex(format.tables, format.showdown)
        super().__init__(
            PokemonEncoder(
                dex,
                shape,
                active=2,
                full="damage" in spec.observation,
                belief="belief" in spec.observation,
                rules=_rules(format),
            ),
            CausalMemory(shape.width, inner=over.width, window=network.reach, layers=over.layers, heads=over.heads),
            PokemonHead(action_space(format), shape.width, bins=BINS),
            support=value_support(-1.0, 1.0),
            recall=Recall({name: spec.observation[name] for name in _RECALLED}),
        )
        self._spec = spec
        self._views: dict[str, ActorCritic] = {}

    def playing(self, spec: GameSpec) -> Policy:
        """See `sparring.policy.Versatile`."""
        if spec.game != self._spec.game or spec.observation != self._spec.observation:
            raise InputError(f"episodes of {spec.game} with another observation than this network sees")
        format = _format(spec)
        if format == _format(self._spec):
            return self
        if format.id not in self._views:
            dex = load_dex(format.tables, format.showdown)
            self._views[format.id] = ActorCritic(
                self.encoder.under(dex, _rules(format)),
                self.core,
                self.head.under(action_space(format)),
                support=self.support,
                recall=self.recall,
            )
        view = self._views[format.id]
        view.checkpointing = self.checkpointing
        return view


def _format(spec: GameSpec) -> Format:
    return find_format(str(spec.settings["format"]), str(spec.settings["showdown"]))


def _rules(format: Format) -> Rules:
    """What tells a format from others, besides what a battle shows."""
    generation = [float(format.generation == number) for number in range(1, _GENERATIONS + 1)]
    facts = [
        format.game_type == "doubles",
        format.random_teams,
        format.team_preview,
        format.open_team_sheets,
        format.picked_team_size / 6,
        format.max_team_size / 6,
        format.adjust_level / 100,
        format.mod != f"gen{format.generation}",
    ]
    return Rules(torch.tensor(generation + [float(fact) for fact in facts]), format.active)
