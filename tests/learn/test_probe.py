"""What a run says before it starts: memory that is predicted, speed that is measured, nothing changed by it."""

import json
import os
import subprocess
import sys

import pytest
import torch

from sparring.games.pokemon import GAME, PokemonNetwork, PokemonSettings
from sparring.inference import Device
from sparring.learn.probe import Probe, probe
from sparring.policy import set_checkpointing
from tests import poker

CPU = Device.pick("cpu")
SMALL = {"width": 32, "heads": 2, "layers": 1, "memory_width": 48, "memory_heads": 2, "memory_layers": 4}


def test_a_probe_changes_nothing_and_counts_more_for_more_rows():
    spec = GAME.spec(PokemonSettings())
    policy = GAME.policy(spec, PokemonNetwork(kind="transformer", **SMALL))
    before = {name: weight.clone() for name, weight in policy.state_dict().items()}
    state = torch.get_rng_state()
    few, many = (probe(policy, spec, rows=rows, length=16, device=CPU) for rows in (64, 640))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(weight, before[name]) for name, weight in policy.state_dict().items())
    assert all(weight.grad is None for weight in policy.parameters())
    assert few.fixed == many.fixed == 16 * few.weights
    assert many.memory > few.memory > few.fixed
    assert few.rows_per_second > 0


def test_checkpointing_is_foreseen_to_save_memory_and_is_left_as_it_was():
    spec = GAME.spec(PokemonSettings())
    policy = GAME.policy(spec, PokemonNetwork(kind="transformer", **SMALL))
    plain = probe(policy, spec, rows=1024, length=16, device=CPU)
    set_checkpointing(policy, True)
    saving = probe(policy, spec, rows=1024, length=16, device=CPU)
    assert policy.checkpointing
    assert policy.core.checkpointing
    assert saving.memory < 0.95 * plain.memory


def test_networks_of_other_games_are_probed_too():
    found = probe(poker.policy(), poker.collect(4).spec, rows=256, length=1, device=CPU)
    assert found.weights > 0


def test_what_is_said():
    said = Probe(weights=10, fixed=3 << 30, memory=4 << 30, rows_per_second=100.0).text(1_000_000, CPU)
    assert said == (
        "learning takes about 4.00 GiB on cpu (3.00 GiB of it weights, gradients and Adam); "
        "100 tokens (decisions) a second in a probe, 2.8 hours for 1,000,000"
    )


LARGE = """
import gc, json, os, sys
from pathlib import Path
from safetensors.torch import load_file, save_file
import numpy as np
import torch
from sparring.games.pokemon import GAME, PokemonNetwork, PokemonSettings
from sparring.inference import Device
from sparring.learn.optimiser import Optimiser, OptimiserSettings
from sparring.learn.probe import _batch, _loss, probe

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))

def build():
    torch.manual_seed(0)
    policy = GAME.policy(spec, PokemonNetwork(kind="transformer", size="large"))
    return policy, Optimiser(policy, OptimiserSettings(), device=device)

def step(policy, optimiser):
    optimiser.step(_loss(policy, batch, device), {})
    return float(sum(weight.detach().double().abs().sum() for weight in policy.parameters()))

folder, device, spec = Path(sys.argv[1]), Device.pick("cpu", "bfloat16"), GAME.spec(PokemonSettings())
torch.set_num_threads(1)
tiny = GAME.policy(spec, PokemonNetwork(kind="transformer", size="tiny", memory_layers=1))
batch = _batch(tiny, spec, 32, 4, device)
step(tiny, Optimiser(tiny, OptimiserSettings(), device=device))  # loads what torch loads when it is first used
gc.collect()
before = status("VmRSS")
policy, optimiser = build()
predicted = probe(policy, spec, rows=128, length=32, device=device).memory
Path("/proc/self/clear_refs").write_text("5")
step(policy, optimiser)
measured = status("VmHWM") - before
tensors, values = optimiser.state()
save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "state")
second = step(policy, optimiser)
del policy, optimiser, tensors
gc.collect()
policy, optimiser = build()
optimiser.load(load_file(folder / "state"), json.loads(json.dumps(values)))
print(json.dumps({"predicted": predicted, "measured": measured, "went on": second, "resumed": step(policy, optimiser)}))
"""


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the peak of its memory")
def test_the_large_network_takes_the_memory_that_is_foretold_and_resumes_equal(tmp_path):
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}  # what is freed is given back: no gaps of the heap
    command = [sys.executable, "-c", LARGE, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["predicted"] == pytest.approx(found["measured"], rel=0.15), found
    assert found["resumed"] == found["went on"]
