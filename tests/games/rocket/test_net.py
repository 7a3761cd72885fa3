"""The network: step and unroll agree, statistics travel with the weights, exports act the same in a fresh process."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from sparring.core import InputError
from sparring.games.rocket.actions import JUMP, action_table
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.export import export_bundle
from sparring.games.rocket.net import Normalise, rocket_policy
from sparring.games.rocket.network import RocketNetwork
from sparring.games.rocket.settings import RocketSettings

NETWORKS = [
    RocketNetwork(width=32, layers=2, memory=memory, kind=kind, separate=separate)
    for kind in ("mlp", "attention")
    for memory in ("none", "lstm")
    for separate in (True, False)
]


def rows(steps, settings=None):
    """`[T, B]` of real play: observations and legal masks."""
    settings = settings or RocketSettings(modes=["1v1", "2v2"], room=2, seconds=60)
    arena = RocketArena(settings, matches=4, seed=1)
    seen = []
    rng = np.random.default_rng(0)
    for _ in range(steps):
        decisions, _ = arena.wait()
        seen.append({name: torch.tensor(array) for name, array in decisions.observation.items()})
        legal = torch.tensor(decisions.legal)
        arena.act(decisions, rng.integers(90, size=len(decisions)).astype(np.int32))
    observation = {name: torch.stack([step[name] for step in seen]) for name in seen[0]}
    return arena.spec, observation, legal.expand(steps, *legal.shape)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_unroll_is_step_repeated(network):
    spec, observation, legal = rows(5)
    torch.manual_seed(0)
    policy = rocket_policy(spec, network)
    memory = policy.initial_memory(legal.shape[1])
    whole = policy.unroll(observation, legal, memory)
    for step in range(5):
        out = policy.step({name: field[step] for name, field in observation.items()}, legal[step], memory)
        memory = out.memory
        torch.testing.assert_close(whole.logits[step], out.logits, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(whole.value[step], out.value, atol=1e-5, rtol=1e-4)


def test_absent_cars_do_not_reach_an_attention_net_whatever_their_rows_hold():
    spec, observation, _ = rows(1)
    attention = rocket_policy(spec, NETWORKS[-1]).encoder.attention
    cars = observation["cars"][0]
    present = cars[..., 0] > 0
    assert not present.all()
    flat = torch.cat([cars.flatten(1), observation["world"][0]], dim=1)
    spoiled = torch.where(present[..., None], cars, torch.full_like(cars, 7.0))
    other = torch.cat([spoiled.flatten(1), observation["world"][0]], dim=1)
    torch.testing.assert_close(attention(flat, present), attention(other, present))


def test_attention_needs_cars():
    spec, *_ = rows(1, RocketSettings(observation="rlgym"))
    with pytest.raises(InputError, match="attention needs observation"):
        rocket_policy(spec, RocketNetwork(kind="attention"))


def test_statistics_are_those_of_all_rows_seen_and_are_saved_with_the_weights():
    torch.manual_seed(0)
    data = torch.randn(300, 4) * torch.tensor([1.0, 5.0, 0.1, 2.0]) + torch.tensor([0.0, 3.0, -1.0, 100.0])
    normalise = Normalise(4)
    for part in data.split([10, 200, 90]):
        normalise.absorb(part)
    torch.testing.assert_close(normalise.mean, data.mean(dim=0), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(normalise.variance, data.var(dim=0, unbiased=False), rtol=1e-3, atol=1e-4)
    assert {"mean", "variance", "count"} <= set(normalise.state_dict())
    assert abs(float(normalise(data)[:, 1].std()) - 1) < 0.05


_AGENT = """
import json, sys, torch
folder = sys.argv[1]
about = json.load(open(f"{folder}/bundle.json"))
policy = torch.export.load(f"{folder}/policy.pt2").module()
memory = [torch.zeros(len(torch.load(f"{folder}/rows.pt")[0]), *part["shape"]) for part in about["memory"]]
chosen = []
for flat in torch.load(f"{folder}/rows.pt"):
    logits, *memory = policy(flat, *memory)
    chosen.append(logits.argmax(dim=1).tolist())
assert len(about["actions"]["table"]) == logits.shape[1] and "sparring" not in sys.modules
print(json.dumps({"chosen": chosen, "tick_skip": about["tick_skip"], "delay": about["action_delay"]}))
"""


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_an_exported_bundle_chooses_the_same_actions_in_a_fresh_process_without_sparring(tmp_path, memory):
    spec, observation, legal = rows(6)
    torch.manual_seed(1)
    policy = rocket_policy(spec, RocketNetwork(width=32, layers=2, memory=memory))
    policy.absorb({name: part[0] for name, part in observation.items()})
    for parameter in policy.head.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    export_bundle(policy, spec, tmp_path / "bundle")
    flat = [policy.encoder.flat({name: part[step] for name, part in observation.items()}) for step in range(6)]
    torch.save(flat, tmp_path / "bundle" / "rows.pt")
    done = subprocess.run(
        [sys.executable, "-c", _AGENT, str(tmp_path / "bundle")],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    found = json.loads(done.stdout)
    with torch.no_grad():
        expected = policy.unroll(observation, legal, policy.initial_memory(legal.shape[1])).logits
    assert found["chosen"] == expected.argmax(dim=2).tolist()
    assert (found["tick_skip"], found["delay"]) == (8, 1)
    assert len(np.unique(found["chosen"])) > 1


@pytest.mark.parametrize("table", ["small", "full"])
def test_a_fresh_network_drives_and_seldom_jumps(table):
    settings = RocketSettings(actions=table)
    arena = RocketArena(settings, matches=8, seed=0)
    decisions, _ = arena.wait()
    policy = rocket_policy(arena.spec, RocketNetwork(width=16, layers=1))
    seen = {name: torch.tensor(rows) for name, rows in decisions.observation.items()}
    with torch.no_grad():
        chances = policy.step(seen, torch.tensor(decisions.legal), {}).logits.softmax(-1).numpy()
    jumps = action_table(table)[:, JUMP] > 0
    assert (chances[:, jumps].sum(axis=1) < 0.05).all()
    assert chances[:, ~jumps].min() > 0.5 / len(jumps)


def test_an_input_that_never_changed_in_training_says_nothing_when_it_does():
    normalise = Normalise(2)
    normalise.absorb(torch.stack([torch.randn(1000), torch.full((1000,), 0.3)], dim=1))
    before, after = normalise(torch.tensor([[0.5, 0.3]])), normalise(torch.tensor([[0.5, 1.0]]))
    torch.testing.assert_close(before, after)
    normalise.absorb(torch.tensor([[0.0, 1.0]]))
    assert normalise(torch.tensor([[0.5, 1.0]]))[0, 1] > 1
