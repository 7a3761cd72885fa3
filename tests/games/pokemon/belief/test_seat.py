"""The `belief` group: the same in play and from the log, and nothing of it without the setting."""

import numpy as np
import pytest
import torch

from sparring.core import Array, GameSpec, RandomPlayer, load_game
from sparring.games.pokemon.arena import PokemonArena, pokemon_spec
from sparring.games.pokemon.belief.seat import Believing, public_condition
from sparring.games.pokemon.columns import BELIEVED_ITEMS, BELIEVED_MOVES, TEAM, BeliefColumn
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.observation import BELIEF_FIELDS, RAW_FIELDS
from sparring.games.pokemon.replays.parse import parse_battle
from sparring.games.pokemon.settings import PokemonNetwork, PokemonSettings
from tests.games.pokemon.replays.logs import battle

FAMILIES = ["gen1randombattle", "gen4randombattle", "gen9randombattle", "gen9ou", "gen9vgc2025regi"]
Rows = dict[str, Array]


def lived(format: str, player: str, battles: int, seed: int) -> list[tuple[str, tuple[Rows, Rows], list[list[str]]]]:
    """Battles with the group: each one's log, its rows as both seats saw them, and what they called their Pokémon."""
    settings = PokemonSettings(format=format, belief=True)
    arena = PokemonArena(settings, matches=1, seed=seed)
    logs: list[str] = []
    found: list[tuple[str, tuple[Rows, Rows], list[list[str]]]] = []
    seen: tuple[list[Rows], list[Rows]] = ([], [])
    names: list[list[str]] = [[], []]

    def asked(match: int, seat: int, first: bool, lines: str, request: object) -> None:
        if "|error|[Unavailable choice]" in lines:  # the same decision again
            seen[seat].pop()

    try:
        arena.record(asked, lambda *chosen: None, lambda match, winner, log: logs.append(log))
        make = load_game("pokemon").players.get(player)
        who = RandomPlayer(seed) if make is None else make(settings, seed)
        while len(found) < battles:
            decisions, results = arena.wait()
            if len(results.match):
                sides = [{name: np.stack([row[name] for row in rows]) for name in BELIEF_FIELDS} for rows in seen]
                found.append((logs[-1], (sides[0], sides[1]), names))
                seen, names = ([], []), [[], []]
            for row, side in enumerate(decisions.seat.tolist()):
                seen[side].append({name: decisions.observation[name][row].copy() for name in BELIEF_FIELDS})
                names[side] = list(arena.tracker(0, side).names)
            if len(decisions):
                arena.act(decisions, who.act(decisions).action)
    finally:
        arena.close()
    return found


def compare(format: str, player: str, battles: int, seed: int) -> int:
    """Holds rows from logs to rows that were lived; returns how many there were."""
    rows, believing = 0, Believing(find_format(format))
    for log, sides, names in lived(format, player, battles, seed):
        parsed = parse_battle(log, find_format(format), None, believing)
        for number, side in enumerate(parsed.sides):
            team = [member.name for member in parsed.timeline.teams[number]]
            known = [row for row, name in enumerate(team) if name in names[number][:TEAM]]
            there = [names[number].index(team[row]) for row in known]
            for name in BELIEF_FIELDS:
                mine, theirs = side.observation[name], sides[number][name]
                np.testing.assert_array_equal(mine[:, known], theirs[:, there], err_msg=name)
                np.testing.assert_array_equal(mine[:, TEAM:], theirs[:, TEAM:], err_msg=name)
            rows += len(side.turn)
    return rows


@pytest.mark.parametrize("format", FAMILIES)
def test_a_battle_gives_the_same_numbers_to_its_seats_and_to_who_reads_its_log(format: str) -> None:
    assert compare(format, "heuristic", 2, seed=3) > 10


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("player", ["random", "heuristic"])
@pytest.mark.parametrize("format", [*FAMILIES, "gen2randombattle", "gen7randombattle", "gen9randomdoublesbattle"])
def test_the_same_at_length(format: str, player: str) -> None:
    assert compare(format, player, 40, seed=4) > 400


def test_without_the_setting_nothing_is_there_and_no_spacers_are_told() -> None:
    plain = pokemon_spec(PokemonSettings(format="gen9ou"))
    assert plain.observation == RAW_FIELDS
    assert "belief" not in plain.settings
    assert plain.vocabulary is not None
    assert "belief_ids" not in plain.vocabulary.columns
    told: list[str] = []
    arena = PokemonArena(PokemonSettings(format="gen1randombattle"), matches=1, seed=0)
    try:
        arena.listen(lambda match, seat, first, lines, request: told.extend(lines.split("\n")))
        arena.wait()
        assert set(arena._rows.fields) == set(RAW_FIELDS)
    finally:
        arena.close()
    assert told
    assert "|" not in told


def believed(log: str, format: str = "gen9ou") -> list[Rows]:
    return [
        side.observation for side in parse_battle(log, find_format(format), None, Believing(find_format(format))).sides
    ]


def test_what_has_shown_is_certain_and_whom_nobody_saw_is_unknown() -> None:
    log = battle(
        *("|", "|move|p1a: Mew|Hex|p2a: Onix", "|-damage|p1a: Mew|90/100|[from] item: Life Orb", "|", "|upkeep"),
        *("|turn|2", "|", "|move|p1a: Mew|Hex|p2a: Onix"),
    ).replace("|Mew|100/100", "|Dragapult|100/100")
    own, foe = believed(log)
    dex = load_dex(9)
    for rows, row in ((own, 0), (foe, TEAM)):  # of the own Mew what the foe can tell of it
        assert rows["belief_ids"][1, row, 0] == dex.moves["hex"]
        assert rows["belief_shares"][1, row, 0] == 1.0
        assert rows["belief_ids"][1, row, BELIEVED_MOVES] == dex.items["lifeorb"]
        assert rows["belief_shares"][1, row, BELIEVED_MOVES : BELIEVED_MOVES + BELIEVED_ITEMS].tolist() == [1, 0, 0, 0]
    assert own["belief_shares"][0, 0, 0] < 1.0  # in turn 1 nobody knew
    for name in BELIEF_FIELDS:
        assert not own[name][:, 1:TEAM].any()
    speed = own["belief"][0, 0, BeliefColumn.STAT_SPE] * 500
    assert 100 < speed < 500


def test_shares_are_probabilities_most_likely_first() -> None:
    log = battle("|", "|move|p1a: Mew|Hex|p2a: Onix").replace("|Mew|100/100", "|Dragapult|100/100")
    for rows in believed(log):
        shares = rows["belief_shares"]
        assert ((shares >= 0) & (shares <= 1 + 1e-6)).all()
        for start, stop in ((0, BELIEVED_MOVES), (BELIEVED_MOVES, BELIEVED_MOVES + BELIEVED_ITEMS)):
            part = shares[..., start:stop]
            assert (np.diff(part, axis=-1) <= 1e-6).all()
        assert (shares[..., BELIEVED_MOVES : BELIEVED_MOVES + BELIEVED_ITEMS].sum(axis=-1) <= 1 + 1e-5).all()


@pytest.mark.parametrize(
    ("told", "percent", "pixels"),
    [
        ("301/301", "100/100", "48/48"),
        ("300/301 par", "99/100 par", "47/48 par"),
        ("1/301", "1/100", "1/48"),
        ("151/300", "51/100", "24/48g"),
        ("150/300", "50/100", "24/48"),
        ("61/300 slp", "21/100 slp", "9/48y slp"),
        ("0 fnt", "0 fnt", "0 fnt"),
        ("", "", ""),
        ("9/0", "9/0", "9/0"),
        ("-1/x", "-1/x", "-1/x"),
    ],
)
def test_own_hp_are_rounded_as_spectators_are_told_them(told: str, percent: str, pixels: str) -> None:
    assert public_condition(told, percent=True) == percent
    assert public_condition(told, percent=False) == pixels


def network_rows() -> tuple[GameSpec, dict[str, torch.Tensor]]:
    spec = pokemon_spec(PokemonSettings(format="gen9ou", belief=True))
    log = battle("|", "|move|p1a: Mew|Hex|p2a: Onix").replace("|Mew|100/100", "|Dragapult|100/100")
    (rows, _) = believed(log)
    return spec, {name: torch.from_numpy(rows[name]) for name in spec.observation}


@pytest.mark.parametrize("kind", ["entity", "transformer"])
def test_the_network_sees_it(kind: str) -> None:
    spec, observation = network_rows()
    torch.manual_seed(0)
    policy = load_game("pokemon").policy(spec, PokemonNetwork(kind=kind))
    legal = torch.ones(1, spec.actions, dtype=torch.bool)
    with torch.no_grad():
        one = policy.step(observation, legal, policy.initial_memory(1))
        other = dict(observation)
        other["belief_shares"] = observation["belief_shares"].clone()
        other["belief_shares"][:] = 0.0
        two = policy.step(other, legal, policy.initial_memory(1))
    assert not torch.allclose(one.value, two.value)
