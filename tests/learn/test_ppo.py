"""PPO: the loss by hand, ratios of exactly one on fresh data, guards, and that it learns."""

import numpy as np
import pytest
import torch

from sparring.core import masked_log_softmax
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.learn.batches import batches
from sparring.learn.learner import NotFinite
from sparring.learn.ppo import Ppo, PpoSettings, ppo_losses
from sparring.rollout import Collector, everyone
from tests import hex

CPU = Device("cpu", "float32")


def collect(rows, *, memory="none", segment=0, policy=None):
    engine = InferenceEngine(hex.spec(), slots=64, device=CPU, seed=0)
    engine.add("main", policy or hex.policy(memory=memory))
    collector = Collector(
        hex.arena(matches=32), {"main": NetworkPlayer(engine, "main")}, everyone(0, 2), record=["main"], segment=segment
    )
    return collector.collect(rows)


def test_the_loss_matches_numbers_worked_by_hand():
    """Three rows, the last of them padding.

    Row 0: ratio 2, advantage 1, clipped to 1.2 -> surrogate 1.2; value error (1 - 0)^2 = 1
    Row 1: ratio 0.5, advantage -1, min(-0.5, -0.8) = -0.8; value error (0 - 2)^2 = 4
    policy loss -(1.2 - 0.8) / 2 = -0.2; value loss 2.5; entropy (1 + 3) / 2 = 2; both clipped
    approx_kl ((2 - 1 - ln 2) + (0.5 - 1 + ln 2)) / 2 = 0.25
    """
    rows = {
        "log_prob": torch.tensor([[0.0, 0.0, 5.0]]),
        "old_log_prob": torch.tensor([[-np.log(2), np.log(2), -5.0]], dtype=torch.float32),
        "advantage": torch.tensor([[1.0, -1.0, 100.0]]),
        "value_error": (torch.tensor([[1.0, 0.0, 50.0]]) - torch.tensor([[0.0, 2.0, 0.0]])) ** 2,
        "entropy": torch.tensor([[1.0, 3.0, 9.0]]),
        "valid": torch.tensor([[True, True, False]]),
    }
    losses = {name: float(value) for name, value in ppo_losses(**rows, clip_range=0.2).items()}
    expected = {"policy_loss": -0.2, "value_loss": 2.5, "entropy": 2.0, "approx_kl": 0.25, "clip_fraction": 1.0}
    assert losses == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("memory", "segment"), [("none", 0), ("lstm", 3), ("lstm", 16), ("transformer", 3), ("transformer", 16)]
)
def test_before_the_first_step_every_ratio_is_one(memory, segment):
    """With masks and memory together: what was recorded in play is what training computes."""
    episodes = collect(600, memory=memory, segment=segment)
    policy = hex.policy(memory=memory)
    covered = 0
    for batch in batches(episodes, minibatch_size=128, device=CPU, rng=np.random.default_rng(0)):
        with torch.no_grad():
            output = policy.unroll(batch.observation, batch.legal, batch.memory)
        log_probs = masked_log_softmax(output.logits, batch.legal, xp=torch)
        log_prob = log_probs.gather(-1, batch.action[..., None])[..., 0]
        ratio = (log_prob - batch.log_prob).exp()[batch.valid]
        assert (ratio - 1).abs().max() < 1e-5
        value = output.value[batch.valid]
        torch.testing.assert_close(value, batch.pick(episodes.steps.value, CPU)[batch.valid], atol=1e-5, rtol=0)
        covered += int(batch.valid.sum())
    assert covered == episodes.rows


def test_every_row_is_in_exactly_one_batch():
    episodes = collect(500, memory="lstm", segment=4)
    parts = batches(episodes, minibatch_size=64, device=CPU, rng=np.random.default_rng(1))
    seen = [batch.rows[batch.valid.numpy()] for batch in parts]
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(episodes.rows))


@pytest.mark.parametrize(
    ("term", "moved", "still"),
    [
        ("policy", "head.policy", "head.value"),
        ("value", "head.value", "head.policy"),
        ("entropy", "head.policy", "head.value"),
    ],
)
def test_each_loss_term_moves_the_weights_it_should(term, moved, still):
    episodes = collect(400)
    if term != "policy":  # ratios underflow to 0, so that the surrogate has no gradient
        episodes.steps.log_prob[:] = 1000.0
    policy = hex.policy()
    before = {name: weight.clone() for name, weight in policy.state_dict().items()}
    settings = PpoSettings(
        epochs=1,
        value_coef=1.0 if term == "value" else 0.0,
        entropy_coef=1.0 if term == "entropy" else 0.0,
        max_grad_norm=100,
    )
    Ppo(policy, settings, device=CPU, seed=0).update(episodes, progress=0)
    change = {name: float((policy.state_dict()[name] - before[name]).abs().max()) for name in before}
    assert max(size for name, size in change.items() if name.startswith(moved)) > 0
    assert max(size for name, size in change.items() if name.startswith(still)) == 0


@pytest.mark.parametrize("field", ["reward", "value"])
def test_a_nan_stops_training_and_names_the_tensor(field):
    episodes = collect(200)
    getattr(episodes.steps, field)[3] = np.nan
    policy = hex.policy()
    before = {name: weight.clone() for name, weight in policy.state_dict().items()}
    with pytest.raises(NotFinite, match="training stopped: advantage is not finite") as caught:
        Ppo(policy, PpoSettings(), device=CPU, seed=0).update(episodes, progress=0)
    assert "observation/planes" in caught.value.batch
    for name, weight in policy.state_dict().items():
        torch.testing.assert_close(weight, before[name])


def test_a_nan_in_the_weights_is_named_by_what_it_reaches():
    policy = hex.policy()
    with torch.no_grad():
        policy.head.policy.weight[0, 0] = float("nan")
    with pytest.raises(NotFinite, match="logits is not finite"):
        Ppo(policy, PpoSettings(), device=CPU, seed=0).update(collect(200), progress=0)


def test_updates_stop_early_once_the_policy_has_moved_far_enough():
    settings = PpoSettings(epochs=50, target_kl=1e-4, learning_rate=0.01, minibatch_size=64)
    metrics = Ppo(hex.policy(), settings, device=CPU, seed=0).update(collect(400), progress=0)
    assert metrics["epochs"] < 5


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_it_learns_to_repeat_what_paid(memory):
    """A bandit on real Hex rows: a stone in the top row pays 1, any other -1."""
    policy = hex.policy(memory=memory, loud=False)
    settings = PpoSettings(learning_rate=5e-3, gae_lambda=0.0, gamma=0.0, minibatch_size=256)
    learner = Ppo(policy, settings, device=CPU, seed=0)
    shares = []
    for _ in range(10):
        copied = hex.policy(memory=memory, loud=False)
        copied.load_state_dict(policy.state_dict())
        episodes = collect(800, memory=memory, segment=4 if memory == "lstm" else 0, policy=copied)
        possible = episodes.unpack_legal()[:, :4].any(axis=1)
        episodes.steps.reward[:] = np.where(episodes.steps.action < 4, 1.0, -1.0)
        shares.append((episodes.steps.action[possible] < 4).mean())
        learner.update(episodes, progress=0)
    assert shares[0] < 0.5
    assert shares[-1] > 0.9
