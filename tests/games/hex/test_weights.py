"""The weights that come with the package: small, and worth shipping."""

from sparring.core import shipped_weights
from sparring.league import Entrant, Seating, Style
from sparring.league.evaluation import evaluate_entrants
from tests import hex as small


def test_they_are_small_and_say_how_they_were_made():
    folder = shipped_weights()["hex-7x7"]
    assert sum(path.stat().st_size for path in folder.iterdir()) < 3 * 2**20
    checkpoint = Entrant.parse("hex-7x7").checkpoint
    assert checkpoint is not None
    assert checkpoint.spec == small.spec(7)
    assert "sparring train" in checkpoint.about["made_by"]


def test_eight_simulations_beat_the_path_player_on_random_openings():
    seating = Seating.of("hex-7x7", "path", settings={"opening": 2})
    score = evaluate_entrants(seating, matches=40, style=Style(simulations=8, device="cpu"))
    assert score.win_rate >= 0.9
