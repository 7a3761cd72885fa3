"""The table of metrics in docs/learners.md, held against what a short run of each learner logs."""

import re
from pathlib import Path

import pytest

from sparring.league import Seating, Style
from sparring.league.selfplay import Plan, self_play
from sparring.training.config import load_config
from sparring.training.loop import train
from sparring.training.run import RunFolder
from tests.runs import lines

PAGE = (Path(__file__).parents[2] / "docs" / "learners.md").read_text()
SMALL = "decisions=64 matches=8 threads=1 evaluation.opponents=[] settings.size=3 network={channels: 8, blocks: 1}"
RUNS = {
    "ppo": "{kind: ppo, batch_size: 64, minibatch_size: 64}",
    "magnet": "{kind: magnet, ppo: {batch_size: 64, minibatch_size: 64}}",
    "rnad": "{kind: rnad, batch_size: 64, minibatch_size: 64}",
    "alphazero": "{kind: alphazero, batch_size: 64, minibatch_size: 64, play: {resign: 0.9}, "
    "search: {kind: gumbel, simulations: 2}}",
    "imitation": "{kind: imitation, batch_size: 64, minibatch_size: 64}",
    "offline, filtered": "{kind: offline, batch_size: 64, minibatch_size: 64, loss: filtered}",
    "offline, weighted": "{kind: offline, batch_size: 64, minibatch_size: 64, loss: weighted}",
}


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    folder = tmp_path_factory.mktemp("games")
    seating = Seating.of("path", "random", game="hex", settings={"size": 3})
    self_play(seating, folder, Plan(matches=40), style=Style(), say=lambda text: None)
    return folder


def told(run: str) -> set[str]:
    """The metrics that the page says a `run` logs, without those that depend on other settings."""
    everyone = re.search(r"All learners log (.*?)\. In addition", PAGE, re.DOTALL)[1]
    names = set(re.findall(r"`(\w+)`", everyone))
    table = PAGE.partition("## Metrics")[2].partition("## Imitation")[0]
    for metrics, learners in re.findall(r"^\| (`.*?) \| (.*?) \|", table, re.MULTILINE):
        kind, _, loss = run.partition(", ")
        if f"`{kind}`" in learners and (not loss or loss in learners or not re.search("filtered|weighted", learners)):
            names |= set(re.findall(r"`(\w+)`", metrics))
    return names


@pytest.mark.parametrize("run", RUNS)
def test_a_learner_logs_what_the_table_says_and_nothing_else(run, games, tmp_path):
    data = [f"data={games}", "validation.share=0"] if run.startswith(("imitation", "offline")) else []
    words = re.findall(r"\S+={.*?}|\S+", SMALL)
    config, game = load_config("hex-quick", [*words, f"learner={RUNS[run]}", *data])
    train(config, game, RunFolder(tmp_path / "run"), say=lambda text: None)
    logged = {name.removeprefix("loss/") for name in lines(tmp_path / "run")[0] if name.startswith("loss/")}
    assert logged == told(run)
