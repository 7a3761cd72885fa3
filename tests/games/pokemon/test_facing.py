"""Who stands against whom: the same for either foe, and no foe's business but its own."""

import pytest
import torch

from sparring.games.pokemon import GAME, PokemonNetwork
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import MOVES, SLOTS, TEAM
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.net import DexTables
from sparring.games.pokemon.net.facing import Facing
from tests.games.pokemon.numbering import real_rows

FORMAT = "gen9randomdoublesbattle"


@pytest.fixture(scope="module")
def rows() -> dict[str, torch.Tensor]:
    """Decisions with two foes on the field."""
    _, observation, _ = real_rows(FORMAT, 40, see="full")
    both = (observation["active_ids"][:, :, c.ACTIVE_ID_POKEMON] > 0).all(dim=1)
    assert both.sum() > 5
    return {name: field[both] for name, field in observation.items()}


@pytest.fixture
def facing() -> Facing:
    torch.manual_seed(0)
    return Facing(16, full=True).requires_grad_(False)


@pytest.fixture(scope="module")
def tables() -> DexTables:
    return DexTables(load_dex(9))


def test_foes_that_change_places_change_the_aims_at_them_and_nothing_else(rows, facing, tables: DexTables) -> None:
    """The order of the foes' team means nothing here, so only the places are exchanged."""
    swapped = dict(rows)
    for name in ("active_ids", "active_move_ids"):
        swapped[name] = torch.cat((rows[name][:, :SLOTS], rows[name][:, SLOTS:].flip(1)), dim=1)
    for name in ("damage", "ko", "faster"):
        swapped[name] = rows[name].flip(-1)
    for name in ("damage_back", "ko_back"):
        swapped[name] = rows[name].flip(1)
    torch.testing.assert_close(facing.aims(tables, swapped), facing.aims(tables, rows).flip(3))
    torch.testing.assert_close(facing.duels(tables, swapped), facing.duels(tables, rows))


@pytest.mark.parametrize("foe", range(SLOTS))
def test_what_a_move_does_to_one_foe_is_seen_in_the_aim_at_it_alone(rows, facing, foe: int, tables: DexTables) -> None:
    own = (rows["active_ids"][:, 0, c.ACTIVE_ID_POKEMON] - 1).long()
    damage = rows["damage"].clone()
    damage[torch.arange(len(own)), own, 1, foe] += 0.25
    changed = facing.aims(tables, {**rows, "damage": damage}) - facing.aims(tables, rows)
    assert (changed[:, 0, 1, foe].abs().amax(dim=-1) > 0).all()
    changed[:, 0, 1, foe] = 0.0
    assert not changed.any()


def test_nobody_is_faced_at_an_empty_place(rows, facing, tables: DexTables) -> None:
    alone = {**rows, "active_ids": rows["active_ids"].clone()}
    alone["active_ids"][:, SLOTS + 1] = 0
    assert not facing.aims(tables, alone)[:, :, :, 1].any()
    other = {**alone, "damage_back": rows["damage_back"].clone()}
    other["damage_back"][:, 1] += 1.0
    torch.testing.assert_close(facing.duels(tables, other)[:, :TEAM], facing.duels(tables, alone)[:, :TEAM])


def test_an_aim_counts_for_its_own_target(rows) -> None:
    """The score of a move at a foe changes with what it does to that foe, not with what it would do to the other."""
    spec, _, _ = real_rows(FORMAT, 1, see="full")
    torch.manual_seed(0)
    head = GAME.policy(spec, PokemonNetwork(kind="transformer", width=32, heads=2, layers=1)).head
    features, context = torch.randn(3, 32), torch.randn(3, head.tokens.aim.stop, 32)
    other = context.clone()
    other[:, head.tokens.aim.start + SLOTS] += 1.0  # the second move of the left, at foe 1
    with torch.no_grad():
        scores, others = (
            head.aiming(features, one, head.tokens, slot=0, active=SLOTS).amax(dim=1) for one in (context, other)
        )
    moved = (scores != others).any(dim=0)
    assert moved.tolist() == [[move == 1 and target == 1 for target in range(4)] for move in range(MOVES)]
