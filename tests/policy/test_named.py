"""Embeddings of named things: rows move with their names."""

import pytest
import torch
from torch import nn

from sparring.core import InputError, Vocabulary
from sparring.policy import NamedEmbedding
from sparring.policy.named import renumber_weights

WAS = Vocabulary({"animals": ("bee", "cat", "dog")}, {})
NOW = Vocabulary({"animals": ("ant", "bee", "cow", "dog")}, {})


class Net(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.inner = nn.ModuleDict({"name": NamedEmbedding("animals", rows, 2), "place": nn.Embedding(4, 2)})


def test_kept_rows_move_new_ones_are_the_mean_and_lost_ones_go():
    before, after = Net(4), Net(5)
    weights = renumber_weights(before.state_dict(), after, WAS, NOW)
    after.load_state_dict(weights)
    old, new = before.inner["name"].weight, after.inner["name"].weight
    mean = old[1:].mean(dim=0)
    torch.testing.assert_close(new, torch.stack((old[0], mean, old[1], mean, old[3])))
    assert torch.equal(after.inner["place"].weight, before.inner["place"].weight)


def test_names_of_a_list_that_was_not_there_start_at_nothing():
    weights = renumber_weights({"inner.name.weight": torch.ones(1, 2)}, Net(5), Vocabulary({}, {}), NOW)
    assert weights["inner.name.weight"].tolist() == [[1, 1], *[[0, 0]] * 4]


@pytest.mark.parametrize("shape", [(3, 2), (5, 2), (4,), ()])
def test_an_embedding_of_another_length_than_its_vocabulary_is_named(shape):
    with pytest.raises(InputError, match=r"inner\.name\.weight is .* and its vocabulary has 3 animals"):
        renumber_weights({"inner.name.weight": torch.ones(shape)}, Net(5), WAS, NOW)
