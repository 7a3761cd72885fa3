import subprocess
import sys

import msgspec
import pytest

from sparring.core import GameSpec, check_arena, load_game
from sparring.games.hex import GAME, HexNetwork, HexSettings


def test_is_installed_as_a_plug_in() -> None:
    assert load_game("hex") is GAME
    assert GAME.presets.is_dir()
    assert set(GAME.players) == {"path", "human"}


def test_a_spec_remembers_the_rules_its_arrays_depend_on() -> None:
    spec = GAME.spec(HexSettings(size=5, swap=True, opening=2))
    assert GameSpec.from_json(spec.to_json()) == spec
    assert msgspec.convert(spec.settings, HexSettings) == HexSettings(size=5, swap=True)
    assert spec.actions == 26
    assert GAME.spec(HexSettings(size=5)).actions == 25


def test_arena_and_players_come_from_settings() -> None:
    settings = HexSettings(size=4, swap=True)
    arena = GAME.arena(settings, matches=4, seed=0)
    assert arena.spec == GAME.spec(settings)
    check_arena(arena, matches=20)
    decisions, _ = GAME.arena(settings, matches=4, seed=0).wait()
    assert len(GAME.players["path"](settings, 0).act(decisions).action) == 4


def test_a_network_of_another_game_does_not_fit() -> None:
    spec = GAME.spec(HexSettings())
    other = GameSpec(game="chess", settings={}, seats=2, actions=10, observation={})
    assert GAME.fits(other, spec) == "it was trained for chess, not for hex"


@pytest.mark.parametrize("wrong", [{"channels": 7}, {"blocks": 0}, {"memory": "gru"}, {"width": 1}])
def test_network_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, HexNetwork)


def test_the_game_needs_torch_only_for_its_network() -> None:
    code = "import sys, sparring.games.hex; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
