"""Networks from the user's own code."""

import pytest

from sparring.core import InputError, RandomPlayer
from sparring.league import Entrant, evaluate
from sparring.league.serve import model_source
from sparring.serving import RemotePlayer
from tests import hex
from tests.serving.support import SETTINGS, SPEC, running

OWN = '''
from torch import nn
import torch
from sparring.policy import Output

class Counting(nn.Module):
    """Its memory counts the seat's decisions, and its value is the count."""
    def __init__(self, actions):
        super().__init__()
        self.actions = actions
    def initial_memory(self, rows):
        return {"count": torch.zeros(rows, 1)}
    def step(self, observation, legal, memory):
        count = memory["count"] + 1
        return Output(torch.zeros(len(legal), self.actions), count[:, 0], {"count": count})

def build(spec):
    return Counting(spec.actions)

number = 5
'''


@pytest.fixture
def own_code(tmp_path, monkeypatch):
    (tmp_path / "my_agents.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_factory_of_the_users_code_is_served_with_its_memory(own_code):
    arena = hex.GAME.arena(SETTINGS, matches=2, seed=0)
    with running(model_source("mine=my_agents:build", game="hex", settings=SPEC.settings)) as server:
        player = RemotePlayer(server.address, "mine", SPEC, matches=2)
        seen = []
        for _ in range(6):
            decisions, _ = arena.wait()
            answers = player.act(decisions)
            seen.append(answers.value.tolist())
            arena.act(decisions, answers.action)
        player.close()
    assert seen == [[1, 1], [1, 1], [2, 2], [2, 2], [3, 3], [3, 3]]


@pytest.mark.parametrize("text", ["my_agents:absent", "no_such_module:build", "my_agents:number"])
def test_a_factory_that_is_not_there_is_one_clear_line(own_code, text):
    with pytest.raises(InputError, match=text):
        model_source(f"mine={text}", game="hex")


def test_a_factory_can_be_evaluated_like_any_player(own_code):
    player = Entrant.parse("my_agents:build").seat(hex.GAME, SPEC, matches=4, seed=0)
    arena = hex.GAME.arena(SETTINGS, matches=4, seed=0)
    assert evaluate(player, RandomPlayer(1), arena, matches=8).matches == 8
