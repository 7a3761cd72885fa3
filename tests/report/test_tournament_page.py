"""The page of a tournament: whole without a network, and nothing in a name runs as HTML."""

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from sparring.league.tournament import Rules, play_tournament
from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from sparring.report.tournament_page import tournament_page
from tests import hex

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    """A run of three checkpoints, path and random."""
    folder = tmp_path_factory.mktemp("cup")
    for version in (3, 6, 12):
        weights = hex.policy(seed=version).state_dict()
        about = Checkpoint(hex.spec(), {"channels": 8, "blocks": 1}, version, weights, {})
        save_checkpoint(folder / "run" / "checkpoints" / f"{version:08d}", about)
    rules = Rules(schedule="round-robin", matches=4, keep=folder / "kept & more", kept=1)
    players = ["path", "random", str(folder / "run" / "checkpoints")]
    return play_tournament(players, folder / "x.ledger", rules, game="hex", settings={"size": 4})


def test_a_folder_of_checkpoints_is_a_curve_over_updates(summary):
    ((run, points),) = summary["curves"].items()
    assert run.endswith("/run")
    assert [point["update"] for point in points] == [3, 6, 12]
    rated = {one["rating"] for one in summary["players"]}
    assert all(point["rating"] in rated for point in points)
    assert all(point["interval"][0] < point["rating"] < point["interval"][1] for point in points)


def test_names_are_text_and_nothing_is_loaded(summary):
    players = [{**one, "player": HOSTILE + one["player"]} for one in summary["players"]]
    page = tournament_page({**summary, "players": players, "warnings": [HOSTILE], "anchor": HOSTILE})
    assert "<script" not in page
    assert "<img" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_kept_matches_are_linked_by_the_way_from_the_page(summary, tmp_path):
    folder = Path(summary["kept"][0]["path"]).parent
    page = tournament_page(summary, tmp_path / "elsewhere")
    links = [unescape(link) for link in re.findall(r'<a href="([^"]+)"', page)]
    assert len(links) == len(summary["kept"]) >= 1
    assert all(link.startswith("../") and "%20%26%20" in link for link in links)
    (tmp_path / "elsewhere").mkdir()
    found = {(tmp_path / "elsewhere" / unquote(link)).resolve() for link in links}
    assert found == {path.resolve() for path in folder.glob("*.html")}
    drawn = {**summary["kept"][0], "winner": None, "expected": None, "players": [HOSTILE, HOSTILE]}
    page = tournament_page({**summary, "kept": [drawn]})
    assert "<td>drawn</td>" in page
    assert "<script" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (package chromium)")
def test_a_browser_draws_it(summary, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(tournament_page(summary, tmp_path))
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    flags += " --disable-component-update --disable-sync --virtual-time-budget=500 --dump-dom"
    command = [CHROMIUM, *flags.split(), f"--user-data-dir={tmp_path / 'profile'}", f"file://{path}"]
    drawn = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "Tournament of hex" in drawn
    assert drawn.count("<polyline") == 1
    assert drawn.count("<circle") == 5 + 3
    assert len(re.findall('<td class="(?:won|lost)"', drawn)) == 20
    assert drawn.count("<a href=") == len(summary["kept"])


def test_settings_are_shown_as_they_are_typed(summary):
    assert "; size 4, swap false, opening 2</p>" in tournament_page(summary)


def test_ratings_have_a_scale_that_covers_them(summary):
    page = tournament_page(summary)
    scale = page[page.index("matches</td></tr>") : page.index("</table>")].rpartition("<tr>")[2]
    marks = [int(text.replace(",", "")) for text in re.findall(r">([-+\d,]+)</text>", scale)]
    assert 0 in marks
    assert marks[0] <= min(one["interval"][0] for one in summary["players"])
    assert marks[-1] >= max(one["interval"][1] for one in summary["players"])


def text_of(page):
    return unescape(re.sub("<[^>]+>", "", page))


@pytest.mark.parametrize(("surely", "said"), [(0.997, "is the strongest"), (0.6, "leads")])
def test_it_says_in_words_who_is_the_strongest_and_how_surely(summary, surely, said):
    first, second = ({**one, "rating": rating} for one, rating in zip(summary["players"][:2], (400, 0), strict=True))
    superiority = [[0.5, surely], [1 - surely, 0.5]]
    page = tournament_page(
        {**summary, "players": [first, second], "cross_table": [[None] * 2] * 2, "superiority": superiority}
    )
    assert (
        f"{first['player']} {said}: with a probability of {surely:.1%} it is stronger than {second['player']}, "
        "from which it is expected to take 91% of the points." in text_of(page)
    )


def test_of_long_names_both_ends_are_shown_and_the_whole_is_a_title(summary):
    names = [f"runs/{'x' * 90}/checkpoints/0000000{number}" for number in range(5)]
    players = [{**one, "player": name} for one, name in zip(summary["players"], names, strict=True)]
    page = tournament_page({**summary, "players": players})
    ratings = page[page.index('class="ratings"') : page.index('class="heat"')]
    for name in names:
        assert f'title="{name}"' in ratings
        assert re.search(rf"…x+/{name[-20:]}</bdi>", ratings)
    assert "x" * 50 not in text_of(ratings)


def test_a_cross_table_of_many_players_is_dense_and_tells_what_was_not_played(summary):
    one, cell = summary["players"][0], {"score": 0.75, "wins": 3, "draws": 0, "losses": 1}
    players = [{**one, "player": f"player {number}"} for number in range(11)]
    table = [[None if {row, column} == {0, 1} else cell for column in range(11)] for row in range(11)]
    page = tournament_page({**summary, "players": players, "cross_table": table})
    assert '<table class="heat dense">' in page
    assert page.count('class="self"') == 11
    assert 'title="player 0 against player 1: not played">-<' in page
    assert '--strength: 50%" title="player 2 against player 3: 3 won, 0 drawn, 1 lost">75<' in page
