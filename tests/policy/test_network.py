"""Networks of the user's own code: trained, kept, played again, and never imported because a checkpoint says so."""

import json
import sys

import pytest

from sparring.core import InputError, load_game
from sparring.core.networks import load_factory, same_network
from sparring.league import Entrant
from sparring.policy.checkpoint import load_checkpoint
from sparring.serving.models import ModelSource
from sparring.training.config import load_config
from sparring.training.loop import train
from sparring.training.run import RunFolder

OWN = """
import torch
from torch import nn
from sparring.policy import ActorCritic, mlp
from sparring.policy.memory import LstmMemory

class Flat(nn.Module):
    def forward(self, observation, legal):
        return torch.cat([field.flatten(1).float() for field in observation.values()], 1), None

class Head(nn.Module):
    def __init__(self, width, actions):
        super().__init__()
        self.logits, self.value = mlp([width, actions], last=0.01), mlp([width, 1], last=0.01)
    def forward(self, features, context):
        return self.logits(features), self.value(features)[:, 0]

def build(spec):
    width = sum(field.zeros().size for field in spec.observation.values())
    return ActorCritic(Flat(), LstmMemory(width), Head(width, spec.actions))

def no_unroll(spec):
    return nn.Linear(1, 1)
"""


@pytest.fixture
def own_code(tmp_path, monkeypatch):
    (tmp_path / "own_network.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "own_network:build"
    sys.modules.pop("own_network", None)


SMALL = [
    *(
        "settings.size=3",
        "decisions=600",
        "matches=16",
        "learner.batch_size=200",
        "learner.minibatch_size=100",
        "threads=1",
    ),
    *("evaluation.matches=10", "evaluation.opponents=[random]", "backend=torch"),
]


def configured(factory):
    return load_config("hex-quick", [*SMALL, f"network={{factory: '{factory}'}}"])


@pytest.fixture
def trained(own_code, tmp_path):
    config, game = configured(own_code)
    outcome = train(config, game, RunFolder(tmp_path / "run"), say=lambda text: None)
    assert outcome.finished
    return tmp_path / "run"


def test_a_factorys_network_is_trained_kept_and_played_again(trained, own_code):
    checkpoint = load_checkpoint(trained)
    assert checkpoint.network == {"factory": own_code}
    fresh = load_factory(own_code)(checkpoint.spec).state_dict()
    assert any((fresh[name] != weight).any() for name, weight in checkpoint.weights.items())
    policy, version = Entrant.parse(f"{own_code}={trained}").network(checkpoint.spec)
    assert version == checkpoint.version > 0
    assert all((weight == checkpoint.weights[name]).all() for name, weight in policy.state_dict().items())
    served = ModelSource.from_checkpoint("mine", trained, load_factory(own_code))
    assert served.version == version


def test_a_checkpoint_never_has_code_imported(trained, own_code):
    about = next(trained.glob("checkpoints/*/policy.json"))
    data = json.loads(about.read_text())
    data["network"] = {"factory": "own_trap:build"}
    about.write_text(json.dumps(data))
    (about.parent / "SHA256SUMS").unlink()
    with pytest.raises(InputError, match="code of your own: name it"):
        load_checkpoint(about.parent).policy(load_checkpoint(about.parent).spec)
    assert "own_trap" not in sys.modules


def test_a_factory_that_cannot_be_trained_is_one_clear_line(own_code, tmp_path):
    config, game = configured("own_network:no_unroll")
    with pytest.raises(InputError, match="own_network:no_unroll: training needs.*unroll"):
        train(config, game, RunFolder(tmp_path / "run"), say=lambda text: None)
    with pytest.raises(InputError, match="own_network:absent"):
        configured("own_network:absent")
    with pytest.raises(InputError, match="factory stands alone"):
        load_config("hex-quick", [*SMALL, f"network={{factory: '{own_code}', channels: 8}}"])


def test_a_network_is_the_same_if_a_default_is_written_out() -> None:
    game = load_game("pokemon")
    assert same_network({"size": "tiny"}, {"kind": "entity", "size": "tiny", "window": None}, game)
    assert not same_network({"size": "tiny"}, {"kind": "transformer", "size": "tiny"}, game)
    assert same_network({"factory": "own:build"}, {"factory": "own:build"}, game)
    assert not same_network({"factory": "own:build"}, {"size": "tiny"}, game)
