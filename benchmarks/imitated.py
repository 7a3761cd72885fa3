"""How well a policy foretells what a built-in player does, in new battles of that player against itself.

python benchmarks/imitated.py runs/imitated --matches 200

A player that draws lots between actions that are equally good cannot be foretold there. So each decision is put to it
several times: those that it always answers alike are counted by themselves.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch

import measure
from sparring.core import Decisions, Episodes, built_in
from sparring.data.statistics import words_for
from sparring.inference import Device
from sparring.inference.device import to_numpy
from sparring.league import Entrant, Seating, Style
from sparring.league.selfplay import Plan, self_play
from sparring.learn.choices import chosen_actions
from sparring.learn.outputs import row_outputs
from sparring.rollout.store import read_episodes

ASKED = 5
"""Times that the player is asked about each decision."""


def settled(episodes: Episodes, player: str) -> np.ndarray:
    """`bool[r]` the decisions of `episodes` with a choice that the player answers as it did, whenever it is asked."""
    spec, legal = episodes.spec, episodes.unpack_legal()
    rows, zeros = len(legal), np.zeros(len(legal), np.int32)
    decisions = Decisions(
        zeros, zeros, episodes.steps.observation, legal, np.zeros(rows, np.float32), np.zeros(rows, np.bool_)
    )
    game = Seating.of(player, game=spec.game, settings=spec.settings).game
    alike = legal.sum(axis=1) > 1
    for seed in range(ASKED):
        alike &= built_in(game, spec, player, seed=seed).act(decisions).action == episodes.steps.action
    return alike


def main() -> None:
    parser = measure.parser(__doc__, quick="ten battles")
    parser.add_argument("checkpoint", nargs="?", default="pokemon-gen1")
    parser.add_argument("--player", default="heuristic")
    parser.add_argument("--matches", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1_000_000, help="of the battles")
    options = measure.parse(parser)
    torch.set_num_threads(1)
    entrant = Entrant.parse(options.checkpoint)
    assert entrant.checkpoint is not None, "not a checkpoint"
    trained = entrant.checkpoint.spec
    seating = Seating.of(options.player, game=trained.game, settings=trained.settings)
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(matches=10 if options.quick else options.matches, parallel=32, seed=options.seed)
        self_play(seating, Path(folder) / "store", plan, style=Style(), say=measure.say)
        episodes = Episodes.join(list(read_episodes(Path(folder) / "store")))
    log_probs, _ = row_outputs(entrant.checkpoint.policy(episodes.spec), episodes, device=Device.pick("cpu"))
    right = to_numpy(log_probs.argmax(dim=1)) == episodes.steps.action
    free, fixed = episodes.unpack_legal().sum(axis=1) > 1, settled(episodes, options.player)
    groups = {"of all with a choice": free, f"where {options.player} is deterministic": fixed}
    words = words_for(episodes.spec, measure.say)
    if words is not None:
        kinds = words.choice_kinds(episodes.steps.observation, chosen_actions(episodes, slice(None)))
        groups |= {f"of those, {name}": fixed & (kinds == number) for number, name in enumerate(words.choices)}
    for name, rows in groups.items():
        if rows.any():
            measure.figure(f"likeliest action right, {name}", float(right[rows].mean()), "", decisions=int(rows.sum()))


if __name__ == "__main__":
    main()
