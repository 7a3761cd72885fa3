"""From an observation to tokens and features.

Every Pokémon of both teams becomes a token, so does every place on the field (with its volatile effects and its
moves) and the field itself. The order of a team means nothing to the network, a switch is scored from the token of
who would come in, and a move from the token of the move: weights are shared over team slots and move places.

What the dex says of a move (type, power, accuracy, ...) and the type chart are fixed tables here, not learnt; `matchup`
works out from them how strong each active move is against each foe in front of it. Where the observation is `full`,
its expected damage joins the tokens of moves and Pokémon; where it has beliefs, a Pokémon's token also holds what it
probably has: the mean of the embeddings of its likeliest moves, items, abilities and tera types. An encoder for all
formats has more exact words for who stands against whom, `facing`.

A row names dozens of moves, but the dex has few: what a move's id alone decides is computed once a forward for the
whole dex and looked up (`LookedUp`).
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import (
    BELIEVED_ABILITIES,
    BELIEVED_ITEMS,
    BELIEVED_MOVES,
    BELIEVED_TERAS,
    MOVES,
    POKEMON,
    TEAM,
    ActiveColumn,
    BeliefColumn,
    FieldColumn,
    MoveColumn,
    PokemonColumn,
    SideColumn,
)
from sparring.games.pokemon.dex import Dex
from sparring.games.pokemon.net.facing import DUEL_WIDTH, Facing
from sparring.games.pokemon.net.tables import DexTables
from sparring.games.pokemon.net.tokens import AttentionLayer, Tokens
from sparring.games.pokemon.settings import Size
from sparring.policy import NamedEmbedding, mlp

_NAME_WIDTH = 24
_SMALL_WIDTH = 12
_MOVE_WIDTH = 48
_MATCHUP = 2
"""Numbers `matchup` gives for a move against one Pokémon: effectiveness and expected strength."""
_HITS = 2
"""Numbers a `full` observation gives for a move against one Pokémon: expected damage and chance to faint it."""
_DUEL = 5
"""Numbers it gives for an own Pokémon against one foe: the best of its moves, the worst of the foe's, who is faster."""


@dataclass(frozen=True)
class Rules:
    """What an encoder of all formats must know of one, besides what the dex says."""

    facts: Tensor
    """`float[n]` what tells it from others."""
    active: int
    """Pokémon a side on the field."""


class LookedUp(nn.Linear):
    """A linear layer whose first inputs are a row of a table, known by its number, and whose last are given."""

    def forward(self, table: Tensor, rows: Tensor, given: Tensor) -> Tensor:  # type: ignore[override]
        """`[..., out]` of rows `int[...]` of `table: [n, a]` joined with `given: [..., b]`."""
        known = table.shape[1]
        products = functional.linear(table, self.weight[:, :known], self.bias)
        return functional.embedding(rows, products) + functional.linear(given, self.weight[:, known:])


class PokemonEncoder(nn.Module):
    """Observation to features `[k, width]` and the tokens `[k, tokens, width]` that the head scores."""

    def __init__(
        self, dex: Dex, shape: Size, *, active: int, full: bool, belief: bool = False, rules: Rules | None = None
    ) -> None:
        """`active` Pokémon a side have places of their own. With `rules` the encoder is one for all formats: own moves
        attend as well, `Facing` says who stands against whom, and it also wants `pokemon` and `active` of the decision
        before.
        """
        super().__init__()
        width = shape.width
        self.tokens = Tokens(active)
        self.tables = DexTables(dex)
        self.full = full
        self.belief = belief
        self.species = NamedEmbedding("species", len(dex.species), _NAME_WIDTH)
        self.ability = NamedEmbedding("abilities", len(dex.abilities), _SMALL_WIDTH)
        self.item = NamedEmbedding("items", len(dex.items), _SMALL_WIDTH)
        self.kinds = NamedEmbedding("types", len(dex.types), _SMALL_WIDTH)
        self.status = nn.Embedding(7, _SMALL_WIDTH)
        self.move_name = NamedEmbedding("moves", len(dex.moves), _NAME_WIDTH)
        for table in (self.species, self.ability, self.item, self.kinds, self.status, self.move_name):
            nn.init.normal_(table.weight, std=0.1)
        against = _MATCHUP * active
        self.move = LookedUp(_NAME_WIDTH + _SMALL_WIDTH + self.tables.move_width + len(MoveColumn), _MOVE_WIDTH)
        self.strength = nn.Linear(against + (_HITS * active if full else 0), _MOVE_WIDTH)
        pokemon_in = _NAME_WIDTH + 5 * _SMALL_WIDTH + len(PokemonColumn) + _MOVE_WIDTH
        pokemon_in += DUEL_WIDTH if rules is not None else 2 * against + (_DUEL * active if full else 0)
        pokemon_in += _MOVE_WIDTH + 3 * _SMALL_WIDTH + len(BeliefColumn) if belief else 0
        self.pokemon = mlp([pokemon_in, width, width])
        self.seat = nn.Parameter(torch.randn(2, width) * 0.1)
        place_in = _NAME_WIDTH + 3 * _SMALL_WIDTH + 2 * _NAME_WIDTH + len(ActiveColumn) + _MOVE_WIDTH
        self.place = mlp([place_in, width, width])
        self.place_kind = nn.Parameter(torch.randn(2 * active, width) * 0.1)
        self.field = mlp([len(FieldColumn) + 2 * len(SideColumn), width, width])
        self.layers = nn.ModuleList([AttentionLayer(width, shape.heads) for _ in range(shape.layers)])
        self.to_move = nn.Linear(_MOVE_WIDTH, width)
        self.summary = mlp([width * (3 + 2 * active), 2 * width, width])
        self.register_buffer("rules", None if rules is None else rules.facts, persistent=False)
        self.register_buffer("attending", None if rules is None else self.tokens.of(rules.active), persistent=False)
        self.rules: Tensor | None
        self.attending: Tensor | None
        """`int64[n]` tokens that attend to each other in this format; None: all but the moves."""
        self.facing = None if rules is None else Facing(width, full=full)
        if rules is not None:
            self.format = nn.Linear(len(rules.facts), width)
            self.pokemon_since = nn.Linear(len(PokemonColumn), width, bias=False)
            self.place_since = nn.Linear(len(ActiveColumn), width, bias=False)

    def under(self, dex: Dex, rules: Rules) -> "PokemonEncoder":
        """The same weights under the rules of another format."""
        device = self.seat.device
        view = copy(self)
        view._modules = {**self._modules, "tables": DexTables(dex).to(device)}
        attending = self.tokens.of(rules.active)
        view._buffers = {**self._buffers, "rules": rules.facts.to(device), "attending": attending.to(device)}
        return view

    def forward(self, observation: Mapping[str, Tensor], legal: Tensor) -> tuple[Tensor, Tensor]:
        """The legal mask is not needed: what it says of moves and switches is in the observation."""
        places, active = self.tokens.places, self.tokens.active
        ids = observation["pokemon_ids"].long()
        move_ids = observation["move_ids"].long()
        place_ids = observation["active_ids"][:, places].long()
        place_moves = observation["active_move_ids"][:, places].long()
        moves = self._moves(
            torch.cat((move_ids, place_moves), dim=1),
            torch.cat((observation["moves"], observation["active_moves"][:, places]), dim=1),
        )

        place_types = place_ids[:, :, c.ACTIVE_ID_TYPE_1 : c.ACTIVE_ID_TYPE_2 + 1]
        facing_types = _facing(place_types, active)
        by_place = self.tables.matchup(
            place_moves.reshape(-1, active, MOVES), place_types.reshape(-1, active, 2), facing_types
        ).reshape(len(ids), 2 * active, MOVES, -1)

        if self.facing is not None:
            more = [self.facing.duels(self.tables, observation)]
        else:
            types = ids[:, :, c.POKEMON_ID_TYPE_1 : c.POKEMON_ID_TYPE_2 + 1].reshape(-1, TEAM, 2)  # a side each
            matchups = self._matchups(move_ids.view(-1, TEAM, MOVES), types, _facing(place_moves, active), facing_types)
            more = [matchups.view(len(ids), POKEMON, -1), *([self._duels(observation)] if self.full else [])]
        if self.belief:
            more.append(self._believed(observation))
        pokemon = self._pokemon(observation, ids, moves[:, :POKEMON], more)
        place, own_moves = self._places(observation, place_ids, moves[:, POKEMON:], by_place, pokemon)
        field = self.field(torch.cat((observation["field"], observation["side"].flatten(1)), dim=1))
        move = self.to_move(own_moves)
        aims = None
        if self.facing is not None:
            field = field + self.format(self.rules)
            pokemon, place = self._since(observation, pokemon, place)
            aims = self.facing.aims(self.tables, observation)
            move = move + place[:, :active].repeat_interleave(MOVES, dim=1) + aims.sum(dim=3).flatten(1, 2)
        tokens = torch.cat((pokemon, place, field.unsqueeze(1), move), dim=1)
        known = observation["pokemon"][:, :, c.POKEMON_KNOWN] != 0
        always = known.new_ones(len(known), self.tokens.entities - POKEMON)
        seen = torch.cat((known, always, place_moves[:, :active].flatten(1) > 0), dim=1)
        context = self._attended(tokens, seen)
        teams = (context[:, self.tokens.pokemon] * known.unsqueeze(-1)).view(len(ids), 2, TEAM, -1).mean(dim=2)
        summary = self.summary(
            torch.cat(
                (teams.flatten(1), context[:, self.tokens.field], context[:, self.tokens.place].flatten(1)), dim=1
            )
        )
        return functional.relu(summary), context if aims is None else torch.cat((context, aims.flatten(1, 3)), dim=1)

    def _attended(self, tokens: Tensor, seen: Tensor) -> Tensor:
        """`[k, tokens, width]` after attention among those that attend; the rest, moves or unused places, as they were.

        What is not there, where `seen: bool[k, tokens]` is false, is hidden from all.
        """
        if self.attending is None:
            attend, stay = tokens[:, : self.tokens.entities], tokens[:, self.tokens.entities :]
            return torch.cat((self._layers(attend, seen[:, : self.tokens.entities]), stay), dim=1)
        attend = self._layers(tokens.index_select(1, self.attending), seen.index_select(1, self.attending))
        return tokens.index_copy(1, self.attending, attend)

    def _layers(self, tokens: Tensor, seen: Tensor) -> Tensor:
        for layer in self.layers:
            tokens = layer(tokens, seen[:, None, None, :])
        return tokens

    def _since(self, observation: Mapping[str, Tensor], pokemon: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens of Pokémon and places that also know what changed since the decision before, if there was one."""
        was, stood = observation["before_pokemon"], observation["before_active"]
        there = was[:, :, c.POKEMON_KNOWN].amax(dim=1).view(-1, 1, 1)
        changed = self.pokemon_since((observation["pokemon"] - was) * there)
        moved = self.place_since((observation["active"] - stood)[:, self.tokens.places] * there)
        return pokemon + changed, place + moved

    def _moves(self, ids: Tensor, columns: Tensor) -> Tensor:
        """`[..., _MOVE_WIDTH]` before the activation."""
        table = torch.cat((self.move_name.weight, self.kinds(self.tables.move_type), self.tables.moves), dim=1)
        encoded: Tensor = self.move(table, ids, columns)
        return encoded

    def _matchups(self, moves: Tensor, types: Tensor, facing_moves: Tensor, facing_types: Tensor) -> Tensor:
        """`[2k, 6, 2 * against]`: each Pokémon's best known move against each opposing place, and theirs against it."""
        attack = self.tables.matchup(moves, types, facing_types).amax(dim=2)
        defend = self.tables.matchup(facing_moves, facing_types, types).amax(dim=2).transpose(1, 2)
        return torch.cat((attack.flatten(2), defend.flatten(2)), dim=-1)

    def _believed(self, observation: Mapping[str, Tensor]) -> Tensor:
        """`[k, 12, n]` of the `belief` group: each guess counts as much as it is likely."""
        counts = [BELIEVED_MOVES, BELIEVED_ITEMS, BELIEVED_ABILITIES, BELIEVED_TERAS]
        ids = torch.split(observation["belief_ids"].long(), counts, dim=2)
        shares = torch.split(observation["belief_shares"].unsqueeze(-1), counts, dim=2)
        encoded = (
            self._moves(ids[0], shares[0].new_zeros(*ids[0].shape, len(MoveColumn))).relu(),
            *(table(numbers) for table, numbers in zip((self.item, self.ability, self.kinds), ids[1:], strict=True)),
        )
        means = [(share * one).sum(dim=2) for share, one in zip(shares, encoded, strict=True)]
        return torch.cat((*means, observation["belief"]), dim=-1)

    def _pokemon(self, observation: Mapping[str, Tensor], ids: Tensor, moves: Tensor, more: Sequence[Tensor]) -> Tensor:
        """One token a Pokémon, `[k, 12, width]`; `more` is what else goes into it."""
        parts = (
            self.species(ids[:, :, c.POKEMON_ID_SPECIES]),
            self.ability(ids[:, :, c.POKEMON_ID_ABILITY]),
            self.item(ids[:, :, c.POKEMON_ID_ITEM]),
            self.kinds(ids[:, :, c.POKEMON_ID_TYPE_1]) + self.kinds(ids[:, :, c.POKEMON_ID_TYPE_2]),
            self.kinds(ids[:, :, c.POKEMON_ID_TERA_TYPE]),
            self.status(ids[:, :, c.POKEMON_ID_STATUS]),
            observation["pokemon"],
            moves.relu().sum(dim=2),
            *more,
        )
        tokens: Tensor = self.pokemon(torch.cat(parts, dim=-1))
        return tokens + self.seat.repeat_interleave(TEAM, dim=0)

    def _duels(self, observation: Mapping[str, Tensor]) -> Tensor:
        """`[k, 12, _DUEL * active]` of the `full` observation; 0 for foes."""
        active = self.tokens.active
        best = [observation[name][..., :active].amax(dim=2) for name in ("damage", "ko")]
        worst = [observation[name][:, :active].amax(dim=2).transpose(1, 2) for name in ("damage_back", "ko_back")]
        own = torch.cat((*best, *worst, observation["faster"][..., :active]), dim=-1)
        return functional.pad(own, (0, 0, 0, TEAM))

    def _hits(self, observation: Mapping[str, Tensor], standing: Tensor) -> Tensor:
        """`[k, places, 4, _HITS * active]` of the `full` observation; `standing: int[k, active]` own team rows."""
        active = self.tokens.active
        own = torch.stack((observation["damage"], observation["ko"]), dim=-1)[:, :, :, :active].flatten(3)
        back = torch.stack((observation["damage_back"], observation["ko_back"]), dim=-1)[:, :active].transpose(1, 3)
        rows = standing.view(*standing.shape, 1, 1)
        attack = own.gather(1, rows.expand(-1, -1, *own.shape[2:]))
        at = rows.unsqueeze(-1).expand(-1, -1, *back.shape[2:])
        defend = back.gather(1, at).permute(0, 3, 2, 1, 4).flatten(3)
        return torch.cat((attack, defend), dim=1)

    def _places(
        self, observation: Mapping[str, Tensor], ids: Tensor, moves: Tensor, against: Tensor, pokemon: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One token a place, `[k, places, width]`, and the own active moves `[k, active * 4, _MOVE_WIDTH]`."""
        active = self.tokens.active
        standing = ids[:, :, c.ACTIVE_ID_POKEMON]
        if self.full:
            rows = (standing[:, :active] - 1).clamp(min=0, max=TEAM - 1)
            against = torch.cat((against, self._hits(observation, rows)), dim=-1)
        moves = (moves + self.strength(against)).relu()
        names = self.move_name(ids[:, :, c.ACTIVE_ID_LAST_MOVE]), self.move_name(ids[:, :, c.ACTIVE_ID_PREPARED_MOVE])
        parts = (
            self.species(ids[:, :, c.ACTIVE_ID_SPECIES]),
            self.ability(ids[:, :, c.ACTIVE_ID_ABILITY]),
            self.kinds(ids[:, :, c.ACTIVE_ID_TYPE_1 : c.ACTIVE_ID_TYPE_2 + 1]).sum(dim=2),
            self.kinds(ids[:, :, c.ACTIVE_ID_TYPE_3]),
            *names,
            observation["active"][:, self.tokens.places],
            moves.sum(dim=2),
        )
        at = (standing - 1).clamp(min=0).unsqueeze(-1).expand(-1, -1, pokemon.shape[-1])
        own_token = pokemon.gather(1, at) * (standing > 0).unsqueeze(-1)
        tokens = self.place(torch.cat(parts, dim=-1)) + self.place_kind + own_token
        return tokens, moves[:, :active].flatten(1, 2)


def _facing(places: Tensor, active: int) -> Tensor:
    """`[2k, active, n]` of `[k, 2 * active, n]`: what each side faces, foes before own."""
    return places.view(len(places), 2, active, -1).flip(1).flatten(0, 1)
