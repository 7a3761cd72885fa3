"""What all learners share: the schedule, the guard against NaN, normalisers' statistics, a state to continue from."""

import numpy as np
import pytest
import torch

from sparring.learn.alphazero import AlphaZero, AlphaZeroSettings
from sparring.learn.batches import batches
from sparring.learn.learner import NotFinite
from sparring.learn.magnet import Magnet, MagnetSettings
from sparring.learn.optimiser import Optimiser, OptimiserSettings, scheduled
from sparring.learn.ppo import Ppo, PpoSettings
from sparring.learn.rnad import Rnad, RnadSettings
from sparring.policy import ActorCritic
from tests import poker


def learner_of(kind, network, settings=None):
    if kind == "ppo":
        return Ppo(network, settings or PpoSettings(), device=poker.CPU, seed=0)
    if kind == "magnet":
        return Magnet(network, settings or MagnetSettings(), device=poker.CPU, seed=0)
    if kind == "alphazero":
        return AlphaZero(network, settings or AlphaZeroSettings(), device=poker.CPU, seed=0, symmetry=None)
    return Rnad(network, settings or RnadSettings(), device=poker.CPU)


KINDS = pytest.mark.parametrize("kind", ["ppo", "magnet", "rnad", "alphazero"])


@KINDS
def test_a_nan_in_an_observation_is_named_and_changes_nothing(kind):
    episodes, network = poker.collect(100), poker.policy()
    episodes.steps.observation["state"][7, 0] = np.nan
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    with pytest.raises(NotFinite, match="observation/state is not finite") as caught:
        learner_of(kind, network).update(episodes, progress=0)
    assert caught.value.batch["observation/state"].isnan().any()
    assert all(torch.equal(weight, before[name]) for name, weight in network.state_dict().items())


@KINDS
def test_a_nan_in_a_gradient_is_named_by_its_weight_and_changes_nothing(kind):
    episodes, network = poker.collect(100), poker.policy()
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    network.head.value[0].weight.register_hook(lambda gradient: gradient * float("nan"))
    with pytest.raises(NotFinite, match=r"gradient of head.value.0.weight is not finite"):
        learner_of(kind, network).update(episodes, progress=0)
    assert all(torch.equal(weight, before[name]) for name, weight in network.state_dict().items())


@KINDS
def test_the_learning_rate_logged_is_the_one_used(kind):
    """A linear schedule falls with progress, and stays at a hundredth when the run is over."""
    settings = {
        "ppo": PpoSettings(epochs=1, learning_rate=0.01),
        "magnet": MagnetSettings(ppo=PpoSettings(epochs=1, learning_rate=0.01)),
        "alphazero": AlphaZeroSettings(learning_rate=0.01),
        "rnad": RnadSettings(learning_rate=0.01, lr_schedule="linear"),
    }[kind]
    learner, episodes = learner_of(kind, poker.policy(), settings), poker.collect(50)
    rates = []
    for progress in (0.0, 0.5, 0.999, 1.0):
        rates.append(learner.update(episodes, progress=progress)["learning_rate"])
        optimiser = learner._ppo._optimiser if kind == "magnet" else learner._optimiser
        assert [group["lr"] for group in optimiser._adam.param_groups] == [rates[-1]]
    assert rates == pytest.approx([0.01, 0.005, 0.0001, 0.0001])


@KINDS
def test_a_normaliser_takes_in_the_rows_of_each_update_once_and_after_its_gradient_steps(kind):
    class Normalising(ActorCritic):
        seen = ()

        def absorb(self, observation):
            weight = self.head.value[0].weight.detach().clone()
            self.seen = (*self.seen, (observation["state"].numpy(), weight))

    plain, episodes = poker.policy(), poker.collect(100)
    network = Normalising(plain.encoder, plain.core, plain.head)
    before = network.head.value[0].weight.detach().clone()
    learner = learner_of(kind, network)
    for _ in range(2):
        learner.update(episodes, progress=0)
        rows, weight = network.seen[-1]
        np.testing.assert_array_equal(rows, episodes.steps.observation["state"])
        assert torch.equal(weight, network.head.value[0].weight)
        assert not torch.equal(weight, before)
    assert len(network.seen) == 2


def test_a_cosine_schedule_rises_through_its_warm_up_and_falls_slowly_at_both_ends():
    settings = OptimiserSettings(learning_rate=1.0, lr_schedule="cosine", warmup=0.2)
    rates = [scheduled(settings, progress) for progress in (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)]
    half = 0.5**0.5 / 2
    assert rates == pytest.approx([0.01, 0.5, 1.0, 0.5 + half, 0.5, 0.5 - half, 0.01])
    constant = OptimiserSettings(learning_rate=1.0, lr_schedule="constant", warmup=0.5)
    assert [scheduled(constant, progress) for progress in (0.25, 0.5, 1.0)] == [0.5, 1.0, 1.0]


def test_only_matrices_decay():
    network = poker.policy()
    optimiser = Optimiser(network, OptimiserSettings(weight_decay=0.1), device=poker.CPU)
    before = {name: weight.detach().clone() for name, weight in network.named_parameters()}
    for weight in network.parameters():
        weight.grad = torch.zeros_like(weight)
    optimiser.schedule(0.0)
    optimiser.apply({})
    for name, weight in network.named_parameters():
        wanted = before[name] * (1 - 1e-3 * 0.1) if weight.ndim >= 2 else before[name]
        torch.testing.assert_close(weight.detach(), wanted, rtol=1e-6, atol=0)


def test_parts_of_a_batch_make_the_step_of_the_whole():
    episodes, stepped = poker.collect(100), []
    for size in (1000, 7):
        torch.manual_seed(0)
        network = poker.policy()
        optimiser = Optimiser(network, OptimiserSettings(), device=poker.CPU)
        rng = np.random.default_rng(0)
        (batch,) = batches(episodes, minibatch_size=episodes.rows, device=poker.CPU, rng=rng)
        parts = batch.parts(size)
        assert sum(part.rows.size for part in parts) == batch.rows.size
        assert len(parts) == -(-batch.rows.size // size)
        for part in parts:
            output = optimiser.unroll(part)
            optimiser.accumulate((output.logits.square().sum() + output.value.sum()) / batch.rows.size, {})
        optimiser.apply({})
        stepped.append([weight.detach() for weight in network.parameters()])
    for whole, parted in zip(*stepped, strict=True):
        torch.testing.assert_close(parted, whole, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("minibatches", "accumulated"), [(4, 4), (3, 8)])
def test_accumulated_minibatches_make_the_step_of_the_large_batch(minibatches, accumulated):
    """Also at the end of an update that has fewer of them than make a step."""
    episodes, stepped = poker.collect(100), []
    size = episodes.rows // minibatches
    for parts, together in ((1, 1), (minibatches, accumulated)):
        torch.manual_seed(0)
        network = poker.policy()
        optimiser = Optimiser(network, OptimiserSettings(gradient_accumulation=together), device=poker.CPU)
        rng = np.random.default_rng(0)
        (batch,) = batches(episodes, minibatch_size=episodes.rows, device=poker.CPU, rng=rng)
        whole = batch.parts(size * minibatches)[0]
        for part in whole.parts(whole.rows.size // parts):
            output = optimiser.unroll(part)
            optimiser.step(output.logits.square().mean() + output.value.mean(), {})
        optimiser.absorb(episodes)
        stepped.append([weight.detach() for weight in network.parameters()])
    for large, accumulated_step in zip(*stepped, strict=True):
        torch.testing.assert_close(accumulated_step, large, rtol=1e-4, atol=1e-6)


def test_a_learner_that_cannot_be_compiled_says_so_once_and_goes_on(monkeypatch):
    def broken(function, dynamic=None):
        def call(*args):
            raise RuntimeError("no compiler")

        return call

    monkeypatch.setattr(torch, "compile", broken)
    said = []
    network = poker.policy()
    optimiser = Optimiser(network, OptimiserSettings(compile=True), device=poker.CPU, say=said.append)
    rng = np.random.default_rng(0)
    for batch in batches(poker.collect(10), minibatch_size=8, device=poker.CPU, rng=rng):
        assert torch.equal(
            optimiser.unroll(batch).logits, network.unroll(batch.observation, batch.legal, batch.memory).logits
        )
    assert said == ["torch.compile failed for the learner (RuntimeError); going on without it"]
