"""Replays: whole files that a browser can open, whatever the players are called."""

import random
from pathlib import Path

from sparring.games.pokemon.records import save_replay, save_text
from tests.torture.mutate import hostile_room

LOG = """|player|p1|Ash <b>|1|
|player|p2|Gary|2|
|tier|[Gen 1] OU
|start
|c|Ash|</script><script>alert(1)</script>
|win|Gary"""


def test_a_replay_is_a_page_and_a_plain_log(tmp_path: Path) -> None:
    page = save_replay(tmp_path / "replays", "gen1ou-1", LOG)
    assert page == tmp_path / "replays" / "gen1ou-1.html"
    assert page.with_suffix(".log").read_text() == LOG + "\n"
    text = page.read_text()
    assert "<title>[Gen 1] OU: Ash &lt;b&gt; vs. Gary</title>" in text
    assert "|win|Gary" in text


def test_nothing_a_player_says_ends_the_script_that_holds_the_log(tmp_path: Path) -> None:
    text = save_replay(tmp_path, "x", LOG).read_text()
    assert text.count("</script>") == 2
    assert "<script>alert" in text.split("battle-log-data")[1].split("</script>")[0]


def test_nothing_a_player_says_hides_the_end_of_that_script(tmp_path: Path) -> None:
    text = save_replay(tmp_path, "x", LOG + "\n|c|Ash|<!--<script>").read_text()
    assert "<!--" not in text
    assert "<\\!--<script>" in text
    assert text.endswith("</script>\n")


def test_no_room_id_leads_out_of_the_folder(tmp_path: Path) -> None:
    rng = random.Random(0)
    folder = tmp_path / "a" / "b" / "saved"
    rooms = {hostile_room(rng) for _ in range(300)}
    for room in rooms:
        save_replay(folder, room, LOG)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2 * len(rooms)
    assert all(path.parent == folder for path in files)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    save_text(path, "long " * 100)
    save_text(path, "short")
    assert path.read_text() == "short"
    assert list(tmp_path.iterdir()) == [path]
