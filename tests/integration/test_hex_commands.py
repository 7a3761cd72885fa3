"""Self-play, GTP and analysis as other programs start them."""

import json
import re
import time

import numpy as np
import pytest

from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from sparring.rollout.store import EpisodeStore, read_shard, shards
from tests import hex as small
from tests.games.hex.support import game_in
from tests.warm import Process, run


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights") / "tiny"
    network = {"channels": 8, "blocks": 1}
    weights = small.policy(4).state_dict()
    save_checkpoint(folder, Checkpoint(small.spec(4), network, version=3, weights=weights, about={}))
    return folder


def selfplay(checkpoint, folder, games):
    return [
        *f"selfplay hex --model {checkpoint} --matches {games} --save {folder} --simulations 4 --parallel 32".split(),
        *["--shard", "40", "--threads", "1"],
    ]


def test_killed_self_play_goes_on_at_the_count_on_disk(checkpoint, tmp_path):
    folder = tmp_path / "games"
    first = Process(*selfplay(checkpoint, folder, 100_000))
    deadline = time.monotonic() + 200
    while len(shards(folder)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    first.kill()
    first.wait()
    with EpisodeStore(folder, small.spec(4)) as store:
        held = store.matches
    kept = [path.read_bytes() for path in shards(folder)]
    assert held >= 80
    done = run(*selfplay(checkpoint, folder, held + 70))
    assert done.returncode == 0, done.stderr
    store = EpisodeStore(folder, small.spec(4))
    store.close()
    assert store.matches == held + 70
    assert [path.read_bytes() for path in shards(folder)[: len(kept)]] == kept
    parts = list(store)
    assert np.concatenate([np.unique(part.headers.serial) for part in parts]).tolist() == list(range(held + 70))
    played = [
        part.steps.action[start : start + length].tobytes()
        for part in parts
        for start, length in zip(part.starts, part.headers.lengths, strict=True)
    ]
    assert len(set(played)) > 0.8 * len(played), "a continued run plays other matches"
    part = read_shard(shards(folder)[-1])
    assert part.players == (str(checkpoint),)
    assert set(part.headers.version.tolist()) == {3}
    np.testing.assert_allclose(part.steps.policy.sum(axis=1), 1, atol=1e-4)
    assert "network calls a move" in done.stderr
    again = run(*selfplay(checkpoint, folder, 50))
    assert "holds" in again.stderr


def test_gtp_and_analysis_from_a_checkpoint(checkpoint, tmp_path):
    script = "boardsize 5\nplay black c3\n3 genmove white\nshowboard\nrubbish\nquit\n"
    gtp = run("gtp", "hex", checkpoint, "--simulations", "8", input=script)
    answers = gtp.stdout.split("\n\n")
    assert answers[0] == "="
    assert answers[2].startswith("=3 ")
    assert "? unknown command: rubbish" in answers
    script = "play black a1\nplay black b1\nkata-analyze black 1\nlz-genmove_analyze black 1\nundo\nshowboard\n"
    gtp = run("gtp", "hex", checkpoint, "--simulations", "8", input=script)
    answers = gtp.stdout.split("\n\n")
    assert answers[:2] == ["=", "="]
    assert re.match(r"=\ninfo move \w+ visits [1-9]\d* utility ", answers[2])
    assert re.match(r"=\ninfo move \w+ visits [1-9]\d* winrate \d+ prior ", answers[3])
    assert re.search(r"\nplay [a-d][1-4]$", answers[3])
    assert answers[5].count("X") == 2
    record = tmp_path / "game.sgf"
    record.write_text("(;FF[4]GM[11]SZ[4];B[a1];W[b2];B[a2])")
    page = tmp_path / "game.html"
    analysis = run("analyse", "hex", checkpoint, record, "--simulations", "8", "--page", page)
    lines = [json.loads(line) for line in analysis.stdout.splitlines()]
    assert [line["ply"] for line in lines] == [0, 1, 2, 3]
    assert re.search(r"analysis 100%  0:00 left  32 of 32 simulations, [\d,]+ per second", analysis.stderr)
    assert all(sum(c["visits"] for c in line["candidates"]) == 8 or line["ply"] for line in lines)
    assert lines[3]["moves"] == ["a1", "b2", "a2"]
    for line in lines:
        for candidate in line["candidates"]:
            assert ("line" in candidate) == (candidate["visits"] > 0)
        best = next(candidate for candidate in line["candidates"] if candidate["move"] == line["best"])
        assert best["line"][0] == line["best"]
        assert not set(best["line"]) & set(line["moves"]), "a principal variation lays stones on free cells"
        assert -1 <= best["value"] <= 1
    shown = game_in(page.read_text())
    assert shown["labels"] == ["a1", "b2", "a2"]
    assert [look["black"] for look in shown["looks"]] == [
        pytest.approx((1 + sign * line["value"]) / 2, abs=1e-4)
        for sign, line in zip((1, -1, 1, -1), lines, strict=True)
    ]
    record.write_text("(;GM[11]AB[a1][b2]AW[d4]SZ[4];W[c2];W[c3])")
    analysis = run("analyse", "hex", checkpoint, record, "--simulations", "8", "--page", page)
    lines = [json.loads(line) for line in analysis.stdout.splitlines()]
    assert [line["to_move"] for line in lines] == ["white", "white", "black"]
    shown = game_in(page.read_text())
    assert (shown["seats"], shown["setup"]) == ([1, 1, 0], [[0, 0], [5, 0], [15, 1]])
    bad = run("analyse", "hex", checkpoint, tmp_path / "none.sgf")
    assert bad.returncode == 2
    assert "none.sgf" in bad.stderr
