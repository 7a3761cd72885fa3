"""The network: the same in steps and unrolled, and blind to the order of what has no order."""

from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor

from sparring.core import GameSpec, InputError, RandomPlayer
from sparring.core.settings import convert
from sparring.games.pokemon import GAME, PokemonArena, PokemonNetwork, PokemonSettings
from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.columns import MOVES, TEAM
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.net import DexTables

FORMATS = ["gen1randombattle", "gen9ou", "gen9randomdoublesbattle", "gen9vgc2025regi"]


@cache
def real_rows(format: str, rows: int, see: str = "raw") -> tuple[GameSpec, dict[str, Tensor], Tensor]:
    """Rows from the middle of real battles."""
    arena = PokemonArena(PokemonSettings(format=format, observation=see), matches=4, seed=0)
    player, kept, legal = RandomPlayer(0), [], []
    try:
        while sum(map(len, legal)) < rows + 20:
            decisions, _ = arena.wait()
            if len(decisions):
                copy = decisions.take(np.arange(len(decisions)))
                kept.append(copy.observation)
                legal.append(copy.legal)
                arena.act(decisions, player.act(decisions).action)
    finally:
        arena.close()
    observation = {name: np.concatenate([part[name] for part in kept])[-rows:] for name in kept[0]}
    return (
        arena.spec,
        {name: torch.from_numpy(array) for name, array in observation.items()},
        torch.from_numpy(np.concatenate(legal)[-rows:]),
    )


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_steps_and_unroll_are_the_same_function(format: str, memory: str) -> None:
    spec, observation, legal = real_rows(format, 12)
    torch.manual_seed(0)
    policy = GAME.policy(spec, PokemonNetwork(width=32, heads=2, memory=memory))
    first = torch.zeros(4, 3, dtype=torch.bool)
    first[0] = True
    first[2, 1] = True
    with torch.no_grad():
        whole = policy.unroll(
            {name: field.unflatten(0, (4, 3)) for name, field in observation.items()},
            legal.unflatten(0, (4, 3)),
            first,
            policy.initial_memory(3),
        )
        state = policy.initial_memory(3)
        for step in range(4):
            rows = slice(3 * step, 3 * step + 3)
            state = {name: value * ~first[step].unsqueeze(-1) for name, value in state.items()}
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


def test_every_weight_gets_a_gradient_from_logits_and_value() -> None:
    spec, observation, legal = real_rows("gen9vgc2025regi", 16)
    policy = GAME.policy(spec, PokemonNetwork(width=32, heads=2, memory="lstm"))
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


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(InputError, match="heads"):
        convert({"width": 100, "heads": 3}, PokemonNetwork, where="network")


def test_a_network_fits_formats_with_the_same_actions_only() -> None:
    gen1, gen2, gen9 = (GAME.spec(PokemonSettings(format=f"gen{number}randombattle")) for number in (1, 2, 9))
    assert GAME.fits(gen1, gen2) is None
    assert "other actions" in str(GAME.fits(gen1, gen9))


def test_the_settings_of_a_spec_make_the_same_spec_again() -> None:
    spec = GAME.spec(PokemonSettings(format="gen9vgc2025regi", observation="full", shaping=1.0))
    assert GAME.spec(convert(dict(spec.settings), PokemonSettings, where="spec")) == spec


def test_actions_have_names() -> None:
    spec = GAME.spec(PokemonSettings(format="gen9randombattle"))
    space = action_space(find_format("gen9randombattle"))
    assert GAME.describe(spec, 0) == space.describe(0) == "move 1"
