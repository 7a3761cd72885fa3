"""`sparring bench selfplay`: four ways to play the same matches, compared and checked."""

import json
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_all_four_ways_play_and_agree(tmp_path):
    options = ["--game", "hex", "--size", "4", "--matches", "60", "--workers", "2", "--parallel", "16"]
    done = subprocess.run(
        [sys.executable, "-m", "sparring", "bench", "selfplay", *options, "--save", str(tmp_path / "bench.json")],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "bench.json").read_text())
    assert list(result["ways"]) == ["baseline", "server", "shared memory", "in process"]
    assert all(way["matches"] == 60 for way in result["ways"].values())
    assert all(result["checks"].values())
    assert result["ways"]["baseline"]["mean_batch"] == 1
    assert result["ways"]["server"]["mean_batch"] > 2
