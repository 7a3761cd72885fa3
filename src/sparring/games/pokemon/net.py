"""The Pokémon network: one encoder for every Pokémon, attention over all of them, logits from moves and switches.

Every Pokémon of both teams becomes a token, so does every place on the field (with its volatile effects and its
moves) and the field itself. The order of a team means nothing to the network, a switch is scored from the token of
who would come in, and a move from the token of the move: weights are shared over team slots and move places.

What the dex says of a move (type, power, accuracy, ...) and the type chart are fixed tables here, not learnt; `matchup`
works out from them how strong each active move is against each foe in front of it. Where the observation is `full`,
its expected damage joins the tokens of moves and Pokémon.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sparring.core import GameSpec
from sparring.games.pokemon.actions import ActionSpace, action_space
from sparring.games.pokemon.columns import (
    MOVES,
    POKEMON,
    SLOTS,
    TEAM,
    ActiveColumn,
    ActiveId,
    FieldColumn,
    MoveColumn,
    PokemonColumn,
    PokemonId,
    SideColumn,
)
from sparring.games.pokemon.dex import CATEGORIES, MOVE_FLAGS, TARGETS, Dex, load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.settings import PokemonNetwork
from sparring.policy import ActorCritic, memory_core, mlp

_NAME_WIDTH = 24
_SMALL_WIDTH = 12
_MOVE_WIDTH = 48
_MATCHUP = 2
"""Numbers `matchup` gives for a move against one Pokémon: effectiveness and expected strength."""
_HITS = 2
"""Numbers a `full` observation gives for a move against one Pokémon: expected damage and chance to faint it."""
_DUEL = 5
"""Numbers it gives for an own Pokémon against one foe: the best of its moves, the worst of the foe's, who is faster."""


def pokemon_policy(spec: GameSpec, network: PokemonNetwork) -> ActorCritic:
    """A fresh policy for the format that `spec` names."""
    format = find_format(str(spec.settings["format"]))
    actions = action_space(format)
    full = "damage" in spec.observation
    encoder = PokemonEncoder(load_dex(format.generation), network, active=format.active, full=full)
    head = PokemonHead(actions, network.width)
    return ActorCritic(encoder, memory_core(network.memory, network.width), head)


class Tokens:
    """Where each kind of token lies in the context `[k, tokens, width]`, for `active` Pokémon a side."""

    def __init__(self, active: int) -> None:
        self.places = [0, 1, 2, 3] if active == 2 else [0, 2]
        """Places of the observation that the format uses: own first."""
        self.active = active
        self.pokemon = slice(0, POKEMON)
        self.place = slice(POKEMON, POKEMON + 2 * active)
        self.field = POKEMON + 2 * active
        self.entities = self.field + 1
        """Tokens that attend to each other."""
        self.move = slice(self.entities, self.entities + active * MOVES)
        """Moves of the own active Pokémon, one slot after the other."""


class PokemonEncoder(nn.Module):
    """Observation to features `[k, width]` and the tokens `[k, tokens, width]` that the head scores."""

    def __init__(self, dex: Dex, network: PokemonNetwork, *, active: int, full: bool) -> None:
        super().__init__()
        width = network.width
        self.tokens = Tokens(active)
        self.tables = DexTables(dex)
        self.full = full
        self.species = nn.Embedding(len(dex.species), _NAME_WIDTH)
        self.ability = nn.Embedding(len(dex.abilities), _SMALL_WIDTH)
        self.item = nn.Embedding(len(dex.items), _SMALL_WIDTH)
        self.kinds = nn.Embedding(len(dex.types), _SMALL_WIDTH)
        self.status = nn.Embedding(7, _SMALL_WIDTH)
        self.move_name = nn.Embedding(len(dex.moves), _NAME_WIDTH)
        for table in (self.species, self.ability, self.item, self.kinds, self.status, self.move_name):
            nn.init.normal_(table.weight, std=0.1)
        against = _MATCHUP * active
        self.move = nn.Linear(_NAME_WIDTH + _SMALL_WIDTH + self.tables.move_width + len(MoveColumn), _MOVE_WIDTH)
        self.strength = nn.Linear(against + (_HITS * active if full else 0), _MOVE_WIDTH)
        pokemon_in = _NAME_WIDTH + 5 * _SMALL_WIDTH + len(PokemonColumn) + _MOVE_WIDTH + 2 * against
        pokemon_in += _DUEL * active if full else 0
        self.pokemon = mlp([pokemon_in, width, width])
        self.seat = nn.Parameter(torch.randn(2, width) * 0.1)
        place_in = _NAME_WIDTH + 3 * _SMALL_WIDTH + 2 * _NAME_WIDTH + len(ActiveColumn) + _MOVE_WIDTH
        self.place = mlp([place_in, width, width])
        self.place_kind = nn.Parameter(torch.randn(2 * active, width) * 0.1)
        self.field = mlp([len(FieldColumn) + 2 * len(SideColumn), width, width])
        self.layers = nn.ModuleList([AttentionLayer(width, network.heads) for _ in range(network.layers)])
        self.to_move = nn.Linear(_MOVE_WIDTH, width)
        self.summary = mlp([width * (3 + 2 * active), 2 * width, width])

    def forward(self, observation: Mapping[str, Tensor], legal: Tensor) -> tuple[Tensor, Tensor]:
        """The legal mask is not needed: what it says of moves and switches is in the observation."""
        pokemon, place = self._pokemon_tokens(observation), self._place_inputs(observation)
        ids = observation["active_ids"][:, self.tokens.places].long()
        standing = ids[:, :, ActiveId.POKEMON]
        at = (standing - 1).clamp(min=0).unsqueeze(-1).expand(-1, -1, pokemon.shape[-1])
        own_token = pokemon.gather(1, at) * (standing > 0).unsqueeze(-1)
        places = self.place(place[0]) + self.place_kind + own_token
        field = self.field(torch.cat((observation["field"], observation["side"].flatten(1)), dim=1))
        entities = torch.cat((pokemon, places, field.unsqueeze(1)), dim=1)
        unknown = observation["pokemon"][:, :, PokemonColumn.KNOWN] == 0
        for layer in self.layers:
            entities = layer(entities, unknown)
        known = (~unknown).unsqueeze(-1)
        masked = entities[:, self.tokens.pokemon] * known
        pooled = [masked[:, :TEAM].mean(dim=1), masked[:, TEAM:].mean(dim=1), entities[:, self.tokens.field]]
        summary = torch.cat((*pooled, entities[:, self.tokens.place].flatten(1)), dim=1)
        moves = self.to_move(functional.relu(place[1]))
        return functional.relu(self.summary(summary)), torch.cat((entities, moves), dim=1)

    def _pokemon_tokens(self, observation: Mapping[str, Tensor]) -> Tensor:
        """One token a Pokémon, `[k, 12, width]`."""
        ids = observation["pokemon_ids"].long()
        column = observation["pokemon"]
        types = self.kinds(ids[:, :, PokemonId.TYPE_1]) + self.kinds(ids[:, :, PokemonId.TYPE_2])
        move_ids = observation["move_ids"].long()
        moves = self._moves(move_ids, observation["moves"]).relu().sum(dim=2)
        return self._with_seat(
            self.pokemon(
                torch.cat(
                    (
                        self.species(ids[:, :, PokemonId.SPECIES]),
                        self.ability(ids[:, :, PokemonId.ABILITY]),
                        self.item(ids[:, :, PokemonId.ITEM]),
                        types,
                        self.kinds(ids[:, :, PokemonId.TERA_TYPE]),
                        self.status(ids[:, :, PokemonId.STATUS]),
                        column,
                        moves,
                        self._bench_matchup(observation, ids, move_ids),
                        *((self._duels(observation),) if self.full else ()),
                    ),
                    dim=-1,
                )
            )
        )

    def _with_seat(self, tokens: Tensor) -> Tensor:
        return tokens + self.seat.repeat_interleave(TEAM, dim=0)

    def _moves(self, ids: Tensor, columns: Tensor) -> Tensor:
        """`[..., _MOVE_WIDTH]` before the activation."""
        facts = self.tables.moves[ids]
        name, kind = self.move_name(ids), self.kinds(self.tables.move_type[ids])
        encoded: Tensor = self.move(torch.cat((name, kind, facts, columns), dim=-1))
        return encoded

    def _bench_matchup(self, observation: Mapping[str, Tensor], ids: Tensor, move_ids: Tensor) -> Tensor:
        """`[k, 12, 2 * against]`: each Pokémon's best known move against each opposing place, and theirs against it."""
        active = self.tokens.active
        places = observation["active_ids"][:, self.tokens.places].long()
        place_types = places[:, :, [ActiveId.TYPE_1, ActiveId.TYPE_2]]
        own_types = ids[:, :, [PokemonId.TYPE_1, PokemonId.TYPE_2]]
        place_moves = observation["active_move_ids"][:, self.tokens.places].long()
        sides = []
        for side in range(2):
            team = slice(side * TEAM, (side + 1) * TEAM)
            facing = slice(active, None) if side == 0 else slice(0, active)
            attack = self.tables.matchup(move_ids[:, team], own_types[:, team], place_types[:, facing])
            defend = self.tables.matchup(place_moves[:, facing], place_types[:, facing], own_types[:, team])
            best = attack.amax(dim=2).flatten(2)
            taken = defend.amax(dim=2).transpose(1, 2).flatten(2)
            sides.append(torch.cat((best, taken), dim=-1))
        return torch.cat(sides, dim=1)

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

    def _place_inputs(self, observation: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Inputs of the place tokens `[k, places, n]` and the own active moves `[k, active * 4, _MOVE_WIDTH]`."""
        active = self.tokens.active
        ids = observation["active_ids"][:, self.tokens.places].long()
        types = ids[:, :, [ActiveId.TYPE_1, ActiveId.TYPE_2]]
        move_ids = observation["active_move_ids"][:, self.tokens.places].long()
        moves = self._moves(move_ids, observation["active_moves"][:, self.tokens.places])
        own = self.tables.matchup(move_ids[:, :active], types[:, :active], types[:, active:])
        foes = self.tables.matchup(move_ids[:, active:], types[:, active:], types[:, :active])
        against = torch.cat((own, foes), dim=1).flatten(3)
        if self.full:
            standing = (ids[:, :active, ActiveId.POKEMON] - 1).clamp(min=0, max=TEAM - 1)
            against = torch.cat((against, self._hits(observation, standing)), dim=-1)
        moves = moves + self.strength(against)
        inputs = torch.cat(
            (
                self.species(ids[:, :, ActiveId.SPECIES]),
                self.ability(ids[:, :, ActiveId.ABILITY]),
                self.kinds(types).sum(dim=2),
                self.kinds(ids[:, :, ActiveId.TYPE_3]),
                self.move_name(ids[:, :, ActiveId.LAST_MOVE]),
                self.move_name(ids[:, :, ActiveId.PREPARED_MOVE]),
                observation["active"][:, self.tokens.places],
                moves.relu().sum(dim=2),
            ),
            dim=-1,
        )
        return inputs, moves[:, :active].flatten(1, 2)


class PokemonHead(nn.Module):
    """Logits of all actions and the value, from features `[k, width]` and the encoder's tokens.

    A slot order is scored as the product of a query (features and the slot's own token) with the token of the move or
    of who comes in; a target adds the product of the move's token with the target's place. In doubles the
    logit of a pair is the sum of its two orders' and of how well they go together.
    """

    def __init__(self, actions: ActionSpace, width: int) -> None:
        super().__init__()
        self.tokens = Tokens(actions.active)
        self.active = actions.active
        orders = actions.orders
        self.scale = width**-0.5
        self.gimmicks = 1 + len(actions.gimmicks)
        self.query = nn.Linear(2 * width, width * (self.gimmicks + 1))
        self.move_key = nn.Linear(width, width)
        self.switch_key = nn.Linear(width, width)
        self.value = mlp([width, width, 1], last=0.01)
        self.register_buffer("columns", torch.from_numpy(_order_columns(actions)), persistent=False)
        self.columns: Tensor
        for layer in (self.query, self.move_key, self.switch_key):
            nn.init.normal_(layer.weight, std=0.3 * layer.in_features**-0.5)
            nn.init.zeros_(layer.bias)
        if actions.active == 2:
            self.aim = nn.Linear(width, width)
            self.target = nn.Linear(width, width)
            self.untargeted = nn.Parameter(torch.zeros(width))
            self.passing = nn.Linear(width, 1)
            self.together = nn.Parameter(torch.randn(2, orders.count, 8) * 0.1)
            self.gate = nn.Linear(width, 8)
        self.preview = nn.Linear(width, 2) if actions.preview else None
        if actions.preview:
            self.register_buffer("picks", torch.from_numpy(_picks(actions)), persistent=False)
            self.picks: Tensor

    def forward(self, features: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        """Features `[k, width]` out of the memory core, context as the encoder gave it."""
        slots = [self._orders(features, context, slot) for slot in range(self.active)]
        if self.active == 1:
            logits = slots[0]
        else:
            fitting = torch.einsum("ir,jr,kr->kij", self.together[0], self.together[1], self.gate(features))
            logits = (slots[0].unsqueeze(2) + slots[1].unsqueeze(1) + fitting).flatten(1)
        if self.preview is not None:
            own = self.preview(context[:, :TEAM] * (1.0 + features.unsqueeze(1)))
            logits = torch.cat((logits, own.transpose(1, 2).flatten(1) @ self.picks), dim=1)
        return logits, torch.tanh(self.value(features)).squeeze(1)

    def _orders(self, features: Tensor, context: Tensor, slot: int) -> Tensor:
        """`[k, orders]` of one slot: scores of moves (by target and gimmick), switches and pass, put in order."""
        mover = context[:, self.tokens.place][:, slot]
        query = self.query(torch.cat((features, mover), dim=1)).unflatten(1, (self.gimmicks + 1, -1)) * self.scale
        moves = context[:, self.tokens.move][:, slot * MOVES : (slot + 1) * MOVES]
        by_move = query[:, :-1] @ self.move_key(moves).transpose(1, 2)
        switch = query[:, -1:] @ self.switch_key(context[:, :TEAM]).transpose(1, 2)
        if self.active == 1:
            scores = torch.cat((by_move.flatten(1), switch.flatten(1)), dim=1)
        else:
            places = context[:, self.tokens.place]
            targets = self.target(torch.stack((places[:, SLOTS], places[:, SLOTS + 1], places[:, 1 - slot]), dim=1))
            none = self.untargeted.expand(len(features), 1, -1)
            aimed = self.aim(moves) @ torch.cat((none, targets), dim=1).transpose(1, 2) * self.scale
            by_target = by_move.unsqueeze(3) + aimed.unsqueeze(1)
            scores = torch.cat((by_target.flatten(1), switch.flatten(1), self.passing(features)), dim=1)
        return scores[:, self.columns]


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

    def forward(self, tokens: Tensor, unknown: Tensor) -> Tensor:
        """`tokens: [k, n, width]`; the first 12 are hidden from all where `unknown: bool[k, 12]`."""
        rows, count, width = tokens.shape
        joint = self.joint(self.before_attention(tokens)).view(rows, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = functional.pad(~unknown, (0, count - POKEMON), value=True)[:, None, None, :]
        mixed = functional.scaled_dot_product_attention(joint[0], joint[1], joint[2], attn_mask=seen)
        tokens = tokens + self.after_attention(mixed.transpose(1, 2).reshape(rows, count, width))
        fed: Tensor = self.feed(self.before_feed(tokens))
        return tokens + fed


class DexTables(nn.Module):
    """What the dex says, as fixed tensors: facts of moves and the type chart."""

    def __init__(self, dex: Dex) -> None:
        super().__init__()
        categories = np.eye(len(CATEGORIES), dtype=np.float32)[dex.move_category]
        targets = np.eye(len(TARGETS), dtype=np.float32)[dex.move_target]
        facts = np.concatenate(
            (
                categories,
                targets,
                dex.move_flags.astype(np.float32),
                np.stack(
                    (
                        dex.move_power / 100.0,
                        dex.move_accuracy,
                        dex.move_sure,
                        dex.move_priority / 3.0,
                        dex.move_crit / 3.0,
                        dex.move_hits.mean(axis=1) / 3.0,
                        dex.move_drain,
                        dex.move_heal,
                    ),
                    axis=1,
                ).astype(np.float32),
            ),
            axis=1,
        )
        assert categories.shape[1] + targets.shape[1] + len(MOVE_FLAGS) + 8 == facts.shape[1]
        self.move_width = facts.shape[1]
        strength = dex.move_power * dex.move_accuracy * dex.move_hits.mean(axis=1) / 100.0
        self.register_buffer("moves", torch.from_numpy(facts), persistent=False)
        self.register_buffer("move_type", torch.from_numpy(dex.move_type.astype(np.int64)), persistent=False)
        self.register_buffer("strength", torch.from_numpy(strength.astype(np.float32)), persistent=False)
        self.register_buffer("chart", torch.from_numpy(dex.effectiveness.copy()), persistent=False)
        self.moves: Tensor
        self.move_type: Tensor
        self.strength: Tensor
        self.chart: Tensor

    def matchup(self, moves: Tensor, types: Tensor, targets: Tensor) -> Tensor:
        """`[k, a, 4, b, 2]`: effectiveness and expected strength of moves against targets.

        `moves: int[k, a, 4]`, `types: int[k, a, 2]` of those who use them, `targets: int[k, b, 2]` types of those hit.
        """
        kind = self.move_type[moves]
        effect = self.chart[kind[:, :, :, None, None], targets[:, None, None]].prod(dim=-1)
        same = (kind.unsqueeze(-1) == types.unsqueeze(2)).any(dim=-1) & (kind > 0)
        strength = self.strength[moves] * (1.0 + 0.5 * same)
        hits = strength > 0
        return torch.stack((effect * hits.unsqueeze(-1), effect * strength.unsqueeze(-1)), dim=-1)


def _order_columns(actions: ActionSpace) -> np.ndarray:
    """`int64[orders]` where the head's concatenated scores (moves by gimmick and target, switches, pass) have each."""
    orders = actions.orders
    aims = 4 if actions.active == 2 else 1
    gimmicks = 1 + len(actions.gimmicks)
    switches = gimmicks * MOVES * aims
    moves = (orders.gimmick.astype(np.int64) * MOVES + orders.move) * aims + orders.target
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
