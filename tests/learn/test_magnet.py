"""PPO with a magnet: the penalty by hand, what it moves, the portfolio, and that it draws the policy back."""

import numpy as np
import torch

from sparring.learn.magnet import Magnet, MagnetSettings, kl_divergence
from sparring.learn.ppo import Ppo, PpoSettings
from tests import poker
from tests.poker import CPU

PPO = PpoSettings(
    epochs=1,
    learning_rate=3e-3,
    entropy_coef=0.0,
    value_coef=0.0,
    lr_schedule="constant",
    target_kl=100.0,
    max_grad_norm=100.0,
)


def test_the_penalty_is_the_kl_divergence_to_the_references():
    """From (0.5, 0.5) to (0.25, 0.75) and to (0.8, 0.2): the mean of both divergences."""
    now = torch.tensor([0.5, 0.5]).log()
    references = torch.tensor([[0.25, 0.75], [0.8, 0.2]]).log()
    each = [(now.exp() * (now - reference)).sum().item() for reference in references]
    found = kl_divergence(now, references.mean(dim=0), torch.tensor([True, True]))
    np.testing.assert_allclose(found, np.mean(each), rtol=1e-6)


def test_an_illegal_action_costs_nothing():
    legal = torch.tensor([True, True, False])
    log_probs, anchor = torch.tensor([-0.7, -0.7, -1e9]), torch.tensor([-0.5, -0.9, -1e9 + 64])
    assert abs(kl_divergence(log_probs, anchor, legal).item()) < 0.01


def test_the_penalty_alone_moves_the_policy_head_towards_the_reference_and_not_the_value_head():
    network = poker.policy("kuhn")
    learner = Magnet(network, MagnetSettings(kl_coef=1.0, ppo=PPO), device=CPU, seed=0)
    learner.references[0].load_state_dict(poker.policy("kuhn", seed=7).state_dict())
    value = network.head.value[0].weight.clone()
    penalties = []
    for _ in range(25):
        twin = poker.policy("kuhn")
        twin.load_state_dict(network.state_dict())
        episodes = poker.collect(128, name="kuhn", played=twin)
        episodes.steps.reward[:] = 0
        episodes.steps.value[:] = 0  # no advantage: the surrogate has no gradient
        penalties.append(learner.update(episodes, progress=0)["penalty"])
    assert penalties[0] > 0.05
    assert penalties[-1] < 0.5 * penalties[0]
    assert torch.equal(network.head.value[0].weight, value)


def test_without_the_penalty_it_is_ppo():
    plain, magnet = poker.policy(), poker.policy()
    episodes = poker.collect(300)
    Ppo(plain, PPO, device=CPU, seed=0).update(episodes, progress=0)
    Magnet(magnet, MagnetSettings(kl_coef=0.0, ppo=PPO), device=CPU, seed=0).update(episodes, progress=0)
    for name, weight in plain.state_dict().items():
        torch.testing.assert_close(weight, magnet.state_dict()[name])


def test_the_portfolio_keeps_the_newest_copies_and_none_of_them_learns():
    network = poker.policy()
    learner = Magnet(network, MagnetSettings(period=2, references=2, ppo=PPO), device=CPU, seed=0)
    copies = []
    for _ in range(8):
        learner.update(poker.collect(64), progress=0)
        copies.append(network.head.policy[0].weight.clone())
    kept = [reference.head.policy[0].weight for reference in learner.references]
    assert [torch.equal(mine, copies[at]) for mine, at in zip(kept, (5, 7), strict=True)] == [True, True]


def test_a_learner_loaded_from_its_state_goes_on_as_the_first_would():
    settings = MagnetSettings(period=1, references=3, ppo=PPO)
    first = Magnet(poker.policy(), settings, device=CPU, seed=0)
    for _ in range(2):
        first.update(poker.collect(64), progress=0)
    second = Magnet(poker.policy(seed=4), settings, device=CPU, seed=9)
    tensors, values = first.state()
    second.load({name: tensor.clone() for name, tensor in tensors.items()}, values)
    for learner in (first, second):
        learner.update(poker.collect(128), progress=0)
    for name, weight in first.policy.state_dict().items():
        assert torch.equal(weight, second.policy.state_dict()[name])
    assert len(first.references) == len(second.references) == 3


def test_the_training_loop_runs_it_with_memory():
    run = poker.training(
        game="leduc",
        network={"width": 16, "memory": "lstm"},
        learner={"kind": "magnet", "period": 1, "ppo": {"batch_size": 200, "minibatch_size": 100, "segment_length": 2}},
        matches=16,
    )
    for _ in range(3):
        values = run.advance()
    assert values["loss/references"] == 2
    assert values["loss/penalty"] > 0
