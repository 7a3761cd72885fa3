"""The weights that come with the package: small, and worth shipping."""

from sparring.core import built_in
from sparring.inference import Device
from sparring.league import Entrant, evaluate
from sparring.league.entrants import shipped_weights
from tests import hex as small


def test_they_are_small_and_say_how_they_were_made():
    folder = shipped_weights()["hex-7x7"]
    assert sum(path.stat().st_size for path in folder.iterdir()) < 3 * 2**20
    checkpoint = Entrant.parse("hex-7x7").checkpoint
    assert checkpoint is not None
    assert checkpoint.spec == small.spec(7)
    assert "sparring train" in checkpoint.about["made_by"]


def test_eight_simulations_beat_the_path_player_on_random_openings():
    arena = small.arena(7, matches=40, opening=2)
    spec = small.spec(7)
    player = Entrant.parse("hex-7x7").seat(
        small.GAME, spec, matches=40, device=Device.pick("cpu"), temperature=0.0, seed=0, simulations=8
    )
    score = evaluate(player, built_in(small.GAME, spec, "path", seed=0), arena, matches=40)
    assert score.win_rate >= 0.9
