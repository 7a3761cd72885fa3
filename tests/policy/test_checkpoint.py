"""Checkpoints at rest: verified when they are read, and never a reason to compute with nonsense."""

import pytest
import torch

from sparring.core import InputError
from sparring.league.entrants import shipped_weights
from sparring.policy.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from tests import hex as small


@pytest.fixture
def folder(tmp_path):
    weights = small.policy(3).state_dict()
    save_checkpoint(tmp_path / "c", Checkpoint(small.spec(3), {"channels": 8, "blocks": 1}, 3, weights, {"a": 1}))
    return tmp_path / "c"


def test_a_flipped_bit_in_the_weights_is_noticed(folder):
    path = folder / "policy.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"damaged: policy\.safetensors differs from its checksum"):
        load_checkpoint(folder)


def test_a_changed_number_beside_the_weights_is_noticed(folder):
    path = folder / "policy.json"
    path.write_text(path.read_text().replace('"version": 3', '"version": 4'))
    with pytest.raises(InputError, match=r"damaged: policy\.json differs from its checksum"):
        load_checkpoint(folder)


def test_a_checkpoint_of_an_earlier_version_has_no_checksums_and_is_read(folder):
    (folder / "SHA256SUMS").unlink()
    assert load_checkpoint(folder).version == 3


def test_a_digest_is_of_the_weights_alone(folder, tmp_path):
    kept = load_checkpoint(folder)
    other = tmp_path / "other"
    save_checkpoint(other, Checkpoint(kept.spec, kept.network, kept.version + 1, kept.weights, {"win_rates": {}}))
    assert load_checkpoint(other).digest == kept.digest
    name, tensor = next(iter(kept.weights.items()))
    changed = Checkpoint(kept.spec, kept.network, kept.version, {**kept.weights, name: tensor + 1}, kept.about)
    assert changed.digest != kept.digest


def test_weights_that_are_not_numbers_are_refused(tmp_path):
    weights = small.policy(3).state_dict()
    name = next(iter(weights))
    weights[name].view(-1)[0] = torch.nan
    save_checkpoint(tmp_path / "c", Checkpoint(small.spec(3), {"channels": 8, "blocks": 1}, 3, weights, {}))
    with pytest.raises(InputError, match=f"{name} in policy.safetensors holds NaN"):
        load_checkpoint(tmp_path / "c")


def test_shipped_weights_have_checksums():
    for name, path in shipped_weights().items():
        assert (path / "SHA256SUMS").exists(), name
        load_checkpoint(path)
