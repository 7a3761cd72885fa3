"""The network: the same in steps and unrolled, and blind to the order of what has no order."""

import numpy as np
import pytest
import torch

from sparring.core import InputError
from sparring.core.settings import convert
from sparring.games.pokemon import GAME, PokemonNetwork, PokemonSettings
from sparring.games.pokemon.columns import MOVES, TEAM
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.net import DexTables
from sparring.games.pokemon.settings import Size
from sparring.policy import parameter_count
from tests.games.pokemon.numbering import real_rows

FORMATS = ["gen1randombattle", "gen9ou", "gen9randomdoublesbattle", "gen9vgc2025regi", "gen9championsvgc2026regmb"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("memory", ["none", "lstm", "transformer"])
def test_steps_and_unroll_are_the_same_function(format: str, memory: str) -> None:
    spec, observation, legal = real_rows(format, 12)
    torch.manual_seed(0)
    policy = GAME.policy(spec, PokemonNetwork(width=32, heads=2, memory=memory))
    with torch.no_grad():
        whole = policy.unroll(
            {name: field.unflatten(0, (4, 3)) for name, field in observation.items()},
            legal.unflatten(0, (4, 3)),
            policy.initial_memory(3),
        )
        state = policy.initial_memory(3)
        for step in range(4):
            rows = slice(3 * step, 3 * step + 3)
            answer = policy.step({name: field[rows] for name, field in observation.items()}, legal[rows], state)
            state = answer.memory
            torch.testing.assert_close(answer.logits, whole.logits[step], atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(answer.value, whole.value[step], atol=1e-5, rtol=1e-4)
    assert whole.logits.shape == (4, 3, spec.actions)


@pytest.mark.parametrize("format", ["gen1randombattle", "gen9randomdoublesbattle"])
def test_the_full_observation_reaches_the_logits(format: str) -> None:
    spec, observation, legal = real_rows(format, 8, see="full")
    torch.manual_seed(0)
    policy = GAME.policy(spec, PokemonNetwork(width=32, heads=2))
    for name in ("damage", "ko", "damage_back", "ko_back", "faster"):
        changed = dict(observation, **{name: observation[name] + 1.0})
        with torch.no_grad():
            before, after = (policy.step(rows, legal, {}) for rows in (observation, changed))
        assert not torch.equal(before.logits, after.logits), name


@pytest.mark.parametrize("layers", [0, 2])
def test_own_team_order_only_moves_the_switch_logits(layers: int) -> None:
    spec, observation, legal = real_rows("gen9randombattle", 8)
    torch.manual_seed(0)
    policy = GAME.policy(spec, PokemonNetwork(width=32, heads=2, layers=layers))
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    order = torch.tensor([3, 1, 0, 5, 4, 2])
    rows = torch.cat((order, torch.arange(TEAM, 2 * TEAM)))
    moved = dict(observation)
    for name in ("pokemon_ids", "pokemon", "move_ids", "moves"):
        moved[name] = observation[name][:, rows]
    active = observation["active_ids"].clone()
    own = active[:, :2, 0].long()
    active[:, :2, 0] = torch.where(own > 0, torch.argsort(order)[(own - 1).clamp(min=0)] + 1, own).to(active.dtype)
    moved["active_ids"] = active
    with torch.no_grad():
        before, after = (policy.step(rows, legal, {}) for rows in (observation, moved))
    torch.testing.assert_close(before.value, after.value, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(before.logits[:, :MOVES], after.logits[:, :MOVES], atol=1e-5, rtol=1e-4)
    switches = slice(MOVES, MOVES + TEAM)
    torch.testing.assert_close(before.logits[:, switches][:, order], after.logits[:, switches], atol=1e-5, rtol=1e-4)
    assert before.logits[:, switches].std() > 1e-3


@pytest.mark.parametrize("memory", ["lstm", "transformer"])
def test_every_weight_gets_a_gradient_from_logits_and_value(memory: str) -> None:
    spec, observation, legal = real_rows("gen9vgc2025regi", 16)
    policy = GAME.policy(spec, PokemonNetwork(width=32, heads=2, memory=memory))
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    answer = policy.step(observation, legal, policy.initial_memory(16))
    (answer.logits.square().mean() + answer.value.square().mean()).backward()
    without = [name for name, parameter in policy.named_parameters() if parameter.grad is None]
    assert without == []


def test_matchups_know_the_type_chart() -> None:
    dex = load_dex(1)
    tables = DexTables(dex)
    move = dex.moves
    moves = torch.tensor([[[move["surf"], move["thunderbolt"], move["earthquake"], move["growl"]]]])
    starmie = torch.from_numpy(dex.species_types[dex.species["starmie"]].astype(np.int64))[None, None]
    rhydon = torch.from_numpy(dex.species_types[dex.species["rhydon"]].astype(np.int64))[None, None]
    effect, strength = tables.matchup(moves, starmie, rhydon)[0, 0, :, 0].unbind(-1)
    assert effect.tolist() == [4.0, 0.0, 2.0, 0.0]
    assert strength[0] == pytest.approx(4 * 0.95 * 1.5)
    assert strength[2] == pytest.approx(2.0)


def test_types_alone_tell_who_fears_whom() -> None:
    """Of both types the stronger counts; a Pokémon with one type has 0 for the other, which does nothing."""
    dex = load_dex(9)
    kind, tables = dex.types, DexTables(dex)
    attackers = torch.tensor([[[kind["water"], kind["psychic"]], [kind["electric"], 0], [0, 0]]])
    defenders = torch.tensor([[[kind["ground"], kind["rock"]], [kind["dark"], 0]]])
    assert tables.by_type(attackers, defenders)[0].tolist() == [[4.0, 1.0], [0.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("format", ["gen1randombattle", "gen9randomdoublesbattle"])
def test_a_batch_is_its_rows_one_by_one(format: str) -> None:
    spec, observation, legal = real_rows(format, 12)
    policy = GAME.policy(spec, PokemonNetwork(width=32, heads=2))
    with torch.no_grad():
        whole = policy.step(observation, legal, {})
        for row in range(12):
            one = slice(row, row + 1)
            alone = policy.step({name: field[one] for name, field in observation.items()}, legal[one], {})
            torch.testing.assert_close(alone.logits, whole.logits[one], atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(alone.value, whole.value[one], atol=1e-5, rtol=1e-4)


def test_a_pair_of_orders_is_more_than_the_sum_of_both_and_the_same_from_either_slot() -> None:
    """The mixed difference of four pairs' logits is 0 in a sum; mirrored slots give the transposed logits."""
    spec, observation, legal = real_rows("gen9randomdoublesbattle", 12)
    policy = GAME.policy(spec, PokemonNetwork(width=32, heads=2))
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    with torch.no_grad():
        features, context = policy.encoder(observation, legal)
        tokens = policy.head.tokens
        mirrored = context.clone()
        own, moves = slice(tokens.place.start, tokens.place.start + 2), tokens.move
        mirrored[:, own] = context[:, own].flip(1)
        mirrored[:, moves] = context[:, moves].unflatten(1, (2, MOVES)).flip(1).flatten(1, 2)
        orders = policy.head.columns.numel()
        pairs, other = (policy.head(features, c)[0].unflatten(1, (orders, orders)) for c in (context, mirrored))
    mixed = pairs[:, :4, :4] - pairs[:, :1, :4] - pairs[:, :4, :1] + pairs[:, :1, :1]
    assert mixed.abs().max() > 1e-3
    torch.testing.assert_close(pairs, other.transpose(1, 2), atol=1e-5, rtol=1e-4)


def test_a_size_is_a_shape_and_single_numbers_may_differ_from_it() -> None:
    spec = GAME.spec(PokemonSettings())
    counts = [parameter_count(GAME.policy(spec, PokemonNetwork(size=size))) for size in ("tiny", "small")]
    assert 200_000 < counts[0] < 300_000 < 2 * counts[0] < counts[1] < 2_000_000
    assert PokemonNetwork().shape == PokemonNetwork(width=64, layers=1, heads=4).shape
    assert PokemonNetwork(size="base", layers=2).shape == Size(width=256, layers=2, heads=8)


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(InputError, match="heads"):
        convert({"width": 100, "heads": 3}, PokemonNetwork, where="network")


def test_a_network_fits_formats_with_the_same_actions_only() -> None:
    gen1, gen2, gen9 = (GAME.spec(PokemonSettings(format=f"gen{number}randombattle")) for number in (1, 2, 9))
    assert GAME.fits(gen1, gen2) is None
    assert "cannot play gen9randombattle, whose actions or observations differ" in str(GAME.fits(gen1, gen9))


def test_the_settings_of_a_spec_make_the_same_spec_again() -> None:
    spec = GAME.spec(PokemonSettings(format="gen9vgc2025regi", observation="full", shaping=1.0))
    assert GAME.spec(convert(dict(spec.settings), PokemonSettings, where="spec")) == spec
