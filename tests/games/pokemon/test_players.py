"""Built-in players and the poke-env adapter, by what they win in real battles."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from poke_env.player import MaxBasePowerPlayer, SimpleHeuristicsPlayer
from poke_env.player import RandomPlayer as TheirRandomPlayer

from sparring.core import Decisions, InputError, RandomPlayer
from sparring.games.pokemon import GAME, BattleView
from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.poke_env import PokeEnvPlayer
from sparring.games.pokemon.settings import PokemonSettings
from sparring.games.pokemon.setup import installation
from sparring.league.tournament import Rules, play_tournament
from tests.games.pokemon.seated import Maker, win_rate


@pytest.fixture(autouse=True, scope="module")
def _installed() -> None:
    try:
        installation()
    except InputError as error:
        pytest.skip(str(error))


def built_in(name: str) -> Maker:
    return lambda _, settings: GAME.players[name](settings, 1)


def theirs(kind: type, seen: list[PokeEnvPlayer] | None = None) -> Maker:
    def make(arena: PokemonArena, settings: PokemonSettings) -> PokeEnvPlayer:
        player = PokeEnvPlayer(kind(battle_format=settings.format, start_listening=False, log_level=40))
        player.attend(arena)
        if seen is not None:
            seen.append(player)
        return player

    return make


def at_random(_: PokemonArena, __: PokemonSettings) -> RandomPlayer:
    return RandomPlayer(2)


@pytest.mark.parametrize("format_id", ["gen1randombattle", "gen9randomdoublesbattle"])
@pytest.mark.parametrize("name", sorted(set(GAME.players) - {"human"}))
def test_built_in_players_beat_random(format_id: str, name: str) -> None:
    assert win_rate(format_id, built_in(name), at_random, matches=12) >= 0.65


@pytest.mark.parametrize("name", sorted(set(GAME.players) - {"human"}))
def test_answers_are_legal_and_the_same_for_the_same_seed(name: str) -> None:
    settings = PokemonSettings(format="gen9ou")
    arena = PokemonArena(settings, matches=4, seed=1)
    twins = [GAME.players[name](settings, 3) for _ in range(2)]
    try:
        for _ in range(30):
            decisions, _ = arena.wait()
            answers = [player.act(decisions).action for player in twins]
            assert decisions.legal[np.arange(len(decisions)), answers[0]].all()
            assert answers[0].tolist() == answers[1].tolist()
            arena.act(decisions, answers[0])
    finally:
        arena.close()


@pytest.mark.parametrize("format_id", ["gen1randombattle", "gen8randombattle", "gen9randomdoublesbattle"])
@pytest.mark.parametrize("name", sorted(set(GAME.players) - {"human"}))
def test_no_rows_have_no_answers(format_id: str, name: str) -> None:
    settings = PokemonSettings(format=format_id)
    player, nobody = GAME.players[name](settings, 3), Decisions.none(GAME.spec(settings))
    assert player.act(nobody).action.shape == (0,)


def test_max_power_uses_the_strongest_move_it_may() -> None:
    settings = PokemonSettings(format="gen1randombattle")
    arena, player, chosen = PokemonArena(settings, matches=4, seed=1), GAME.players["max-power"](settings, 3), 0
    orders, power = action_space(find_format(settings.format)).orders, load_dex(1).raw["moves"]
    try:
        for _ in range(30):
            decisions, _ = arena.wait()
            actions = player.act(decisions).action
            for row, action in enumerate(actions.tolist()):
                moves = BattleView(decisions.observation, row).own.active[0].moves
                offered = {int(orders.move[order]) for order in np.flatnonzero(decisions.legal[row])} - {-1}
                if orders.move[action] >= 0 and len(offered) > 1:
                    powers = {move: power[moves[move].id]["basePower"] for move in offered}
                    assert powers[int(orders.move[action])] == max(powers.values())
                    chosen += 1
            arena.act(decisions, actions)
    finally:
        arena.close()
    assert chosen > 20


def test_the_heuristic_computes_damage_itself_where_the_observation_has_none() -> None:
    answers = []
    for observation in ("raw", "full"):
        settings = PokemonSettings(format="gen9randombattle", observation=observation)
        arena = PokemonArena(settings, matches=1, seed=4)
        try:
            decisions: Decisions = arena.wait()[0]
            answers.append(GAME.players["heuristic"](settings, 0).act(decisions).action.tolist())
        finally:
            arena.close()
    assert answers[0] == answers[1]


@pytest.mark.parametrize("format_id", ["gen7randombattle", "gen9randomdoublesbattle", "gen9vgc2025regi"])
def test_a_poke_env_player_sits_in_the_arena_and_every_answer_is_understood(format_id: str) -> None:
    seen: list[PokeEnvPlayer] = []
    assert win_rate(format_id, built_in("heuristic"), theirs(TheirRandomPlayer, seen), matches=8) >= 0.5
    assert seen[0].answered > 20
    assert seen[0].replaced <= 0.02 * seen[0].answered


def test_open_team_sheets_are_no_line_that_a_poke_env_player_stumbles_over() -> None:
    settings = PokemonSettings(format="gen9vgc2025regi", open_team_sheets=True)
    player = PokeEnvPlayer(TheirRandomPlayer(battle_format=settings.format, start_listening=False))
    with closing(PokemonArena(settings, matches=1, seed=0)) as arena:
        player.attend(arena)
        for _ in range(4):
            decisions, _ = arena.wait()
            arena.act(decisions, player.act(decisions).action)
    assert player.answered >= 4


def test_a_poke_env_player_enters_by_its_name(tmp_path: Path) -> None:
    path, settings = tmp_path / "x.ledger", {"format": "gen1randombattle"}
    rules = Rules(schedule="round-robin", matches=8)
    found = play_tournament(["random", "poke-env:MaxBasePowerPlayer"], path, rules, game="pokemon", settings=settings)
    assert found["matches"] == 8
    assert found["forfeits"]["matches"] == 0
    assert found["players"][0]["player"] == "poke-env:MaxBasePowerPlayer"
    assert found["players"][0]["score"] > 0.5
    with pytest.raises(InputError, match="no player of poke-env .did you mean 'RandomPlayer'"):
        play_tournament(["random", "poke-env:RandmPlayer"], path, rules, game="pokemon", settings=settings)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("format_id", "least"),
    [
        ("gen1randombattle", 0.5),
        ("gen4randombattle", 0.5),
        ("gen9randombattle", 0.5),
        ("gen9ou", 0.5),
        ("gen9randomdoublesbattle", 0.5),
        ("gen9vgc2025regi", 0.5),
    ],
)
def test_the_heuristic_is_as_strong_as_poke_envs(format_id: str, least: float) -> None:
    rate = win_rate(format_id, built_in("heuristic"), theirs(SimpleHeuristicsPlayer), matches=200)
    print(f"{format_id}: heuristic wins {rate:.3f} against SimpleHeuristicsPlayer")
    assert rate >= least


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_max_power_is_poke_envs_max_base_power_player() -> None:
    rate = win_rate("gen9randombattle", built_in("max-power"), theirs(MaxBasePowerPlayer), matches=200)
    assert 0.4 <= rate <= 0.6
