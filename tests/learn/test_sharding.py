"""A policy that is spread over processes learns what copies of it would."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from sparring.learn import parallel
from sparring.learn.sharding import joined_parts, own_rows
from tests.learn import together
from tests.warm import group

KINDS = ("imitation", "offline", "ppo")


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize("rows", [1, 2, 5, 16, 17])
def test_rows_are_dealt_out_as_torch_does(rows, size):
    chunks = torch.arange(rows).chunk(size)
    for rank in range(size):
        expected = chunks[rank].tolist() if rank < len(chunks) else []
        assert list(range(rows))[own_rows(rows, rank, size)] == expected


def parts_of(tensors, size):
    return [
        {name: tensor[own_rows(len(tensor), rank, size)] for name, tensor in tensors.items()} for rank in range(size)
    ]


@pytest.mark.parametrize("before", [1, 2, 3, 5])
@pytest.mark.parametrize("after", [1, 2, 4])
def test_what_any_number_of_processes_saved_any_number_can_read(monkeypatch, before, after):
    tensors = {"a": torch.randn(7, 3), "b": torch.arange(2), "c": torch.randn(1)}
    rows = {name: len(tensor) for name, tensor in tensors.items()}
    monkeypatch.setattr(parallel, "size", lambda: after)
    for rank, expected in enumerate(parts_of(tensors, after)):
        monkeypatch.setattr(parallel, "rank", lambda rank=rank: rank)
        found = joined_parts(parts_of(tensors, before), rows, split=True)
        whole = joined_parts(parts_of(tensors, before), rows, split=False)
        for name, tensor in tensors.items():
            assert torch.equal(found[name], expected[name])
            assert found[name].dtype == tensor.dtype
            assert torch.equal(whole[name], tensor)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What two processes come to, with a policy that is spread over them and with copies of it; and one alone."""
    made = tmp_path_factory.mktemp("sharded")
    for process in group("sharded,sharded_views,sharded_nan", made, module="tests.learn.together"):
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    together.spread(made / "sharded", "alone", sharded=True)
    return made / "sharded"


def read(folder, name, kind, rank):
    losses, held, rows = json.loads((folder / f"{name}.{kind}.{rank}.json").read_text())
    return losses, held, rows, load_file(folder / f"{name}.{kind}.{rank}.values")["values"]


@pytest.mark.parametrize(
    ("kind", "other"),
    [(kind, "copied") for kind in KINDS] + [("imitation", "alone"), ("ppo", "alone")],
)
def test_it_comes_to_the_same_weights_and_losses(folder, kind, other):
    found, expected = (load_file(folder / f"{name}.{kind}.safetensors") for name in ("spread", other))
    assert found.keys() == expected.keys() == together.layered().state_dict().keys()
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, rtol=1e-4, atol=1e-5)
    fresh = together.layered().state_dict()
    assert max(float((found[name] - weight).abs().max()) for name, weight in fresh.items()) > 0.01
    np.testing.assert_allclose(
        read(folder, "spread", kind, 0)[0], read(folder, other, kind, 0)[0], rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("kind", KINDS)
def test_each_process_holds_about_half_of_it(folder, kind):
    whole = sum(weight.numel() for weight in together.layered().parameters())
    held = [read(folder, "spread", kind, rank)[1] for rank in (0, 1)]
    assert sum(held) == whole == read(folder, "copied", kind, 0)[1]
    assert max(held) < 0.6 * whole


@pytest.mark.parametrize("kind", KINDS)
def test_processes_with_unequal_parts_are_answered_all_the_same(folder, kind):
    rows = [read(folder, "spread", kind, rank)[2] for rank in (0, 1)]
    assert -(-rows[0] // 40) > -(-rows[1] // 40), "rank 0 has more passes than rank 1"
    for rank in (0, 1):
        torch.testing.assert_close(
            read(folder, "spread", kind, rank)[3], read(folder, "copied", kind, rank)[3], rtol=1e-3, atol=1e-4
        )


def test_processes_may_have_battles_of_different_formats(folder):
    found, expected = (load_file(folder.parent / f"sharded_views/{name}.safetensors") for name in ("spread", "copied"))
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, rtol=1e-4, atol=1e-5)


def test_a_nan_of_one_process_stops_all_and_is_named(folder):
    for rank in (0, 1):
        told = (folder.parent / f"sharded_nan/nan.{rank}").read_text()
        assert "observation/state of rank 1 is not finite" in told
