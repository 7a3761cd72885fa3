import numpy as np
import pytest
import torch

from sparring.core import RandomPlayer
from sparring.games.hex import GAME, HexArena, HexModel, HexNetwork, HexSettings
from sparring.policy import ActorCritic


def policy_for(settings: HexSettings, **network: object) -> ActorCritic:
    torch.manual_seed(0)
    policy: ActorCritic = GAME.policy(GAME.spec(settings), HexNetwork(**{"channels": 8, "blocks": 2, **network}))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return policy


def rows_of(settings: HexSettings, *, steps: int, matches: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Planes and legal of `steps` waits, `[steps, matches, ...]`."""
    arena = HexArena(settings, matches=matches, seed=0)
    player = RandomPlayer(0)
    kept = []
    for _ in range(steps):
        decisions, _ = arena.wait()
        kept.append((decisions.observation["planes"].copy(), decisions.legal.copy()))
        arena.act(decisions, player.act(decisions).action)
    planes, legal = (torch.from_numpy(np.stack(arrays)) for arrays in zip(*kept, strict=True))
    return planes, legal


@pytest.mark.parametrize("memory", ["none", "lstm"])
@pytest.mark.parametrize("swap", [False, True])
def test_step_and_unroll_are_one_function(memory: str, swap: bool) -> None:
    settings = HexSettings(size=4, swap=swap)
    policy = policy_for(settings, memory=memory)
    planes, legal = rows_of(settings, steps=20, matches=3)
    with torch.no_grad():
        whole = policy.unroll({"planes": planes}, legal, policy.initial_memory(3))
        carried = policy.initial_memory(3)
        for step in range(20):
            now = policy.step({"planes": planes[step]}, legal[step], carried)
            carried = now.memory
            torch.testing.assert_close(now.logits, whole.logits[step], atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(now.value, whole.value[step], atol=1e-5, rtol=1e-5)
    assert whole.logits.shape == (20, 3, 16 + swap)
    assert whole.value.abs().max() <= 1
    assert set(carried) == set(whole.memory)
    for name, state in carried.items():
        torch.testing.assert_close(state, whole.memory[name], atol=1e-5, rtol=1e-5)


def test_memory_reaches_logits_and_value() -> None:
    settings = HexSettings(size=4)
    policy = policy_for(settings, memory="lstm")
    planes, legal = rows_of(settings, steps=1, matches=2)
    memory = {name: torch.ones_like(state) for name, state in policy.initial_memory(2).items()}
    with torch.no_grad():
        fresh = policy.step({"planes": planes[0]}, legal[0], policy.initial_memory(2))
        later = policy.step({"planes": planes[0]}, legal[0], memory)
    moved = later.logits - fresh.logits
    assert (moved - moved.mean(dim=1, keepdim=True)).abs().max() > 1e-4, "a common shift would change no probability"
    assert (later.value - fresh.value).abs().max() > 1e-4


def test_every_weight_is_trained() -> None:
    settings = HexSettings(size=4, swap=True)
    policy = policy_for(settings, memory="lstm")
    planes, legal = rows_of(settings, steps=6, matches=4)
    out = policy.unroll({"planes": planes}, legal, policy.initial_memory(4))
    (out.logits.pow(2).sum() + (out.value - 0.5).pow(2).sum()).backward()
    assert [name for name, weight in policy.named_parameters() if weight.grad is None or not weight.grad.any()] == []


def test_a_row_has_the_same_answer_in_any_batch() -> None:
    settings = HexSettings(size=5)
    policy = policy_for(settings)
    planes, legal = rows_of(settings, steps=1, matches=64)
    with torch.no_grad():
        batch = policy.step({"planes": planes[0]}, legal[0], {})
        alone = policy.step({"planes": planes[0, 9:10]}, legal[0, 9:10], {})
    torch.testing.assert_close(batch.logits[9:10], alone.logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(batch.value[9:10], alone.value, atol=1e-5, rtol=1e-5)


def test_the_same_weights_play_any_size_and_swap_rule() -> None:
    trained, plain = HexSettings(size=5, swap=True), HexSettings(size=11)
    assert GAME.fits(GAME.spec(trained), GAME.spec(plain)) is None
    small, large = policy_for(trained), policy_for(plain)
    large.load_state_dict(small.state_dict())
    planes, legal = rows_of(plain, steps=1, matches=2)
    assert large.step({"planes": planes[0]}, legal[0], {}).logits.shape == (2, 121)
    planes, legal = rows_of(trained, steps=1, matches=2)
    assert small.step({"planes": planes[0]}, legal[0], {}).logits.shape == (2, 26)


def test_the_edges_are_seen() -> None:
    """A stone by the mover's own edge and one by the other's edge look different to a network of one block."""
    settings = HexSettings(size=5)
    policy = policy_for(settings, blocks=1)
    planes = torch.zeros(2, 2, 5, 5, dtype=torch.uint8)
    planes[0, 0, 0, 2] = planes[1, 0, 2, 0] = 1
    with torch.no_grad():
        value = policy.step({"planes": planes}, torch.ones(2, 25, dtype=torch.bool), {}).value
    assert (value[0] - value[1]).abs() > 1e-4


def test_a_fresh_network_is_calm() -> None:
    for blocks in (1, 20):
        torch.manual_seed(0)
        policy = GAME.policy(GAME.spec(HexSettings()), HexNetwork(channels=32, blocks=blocks))
        planes, legal = rows_of(HexSettings(), steps=12, matches=16)
        with torch.no_grad():
            out = policy.step({"planes": planes[-1]}, legal[-1], {})
        assert out.logits.std() < 0.1
        assert out.value.abs().max() < 0.1


def test_a_symmetric_network_would_answer_the_turned_board_alike() -> None:
    """The frame of edge stones has the board's own symmetry: turning planes and weights turns the logits."""
    settings = HexSettings(size=5, swap=True)
    policy = policy_for(settings)
    planes, legal = rows_of(settings, steps=8, matches=4)
    turned, permutation = HexModel(GAME.spec(settings)).symmetry({"planes": planes[-1].numpy()})
    with torch.no_grad():
        straight = policy.step({"planes": planes[-1]}, legal[-1], {})
        for module in policy.modules():
            if isinstance(module, torch.nn.Conv2d):
                module.weight.copy_(module.weight.flip(2, 3))
        other = policy.step({"planes": torch.from_numpy(turned["planes"].copy())}, legal[-1], {})
    torch.testing.assert_close(other.logits, straight.logits[:, permutation.tolist()], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(other.value, straight.value, atol=1e-5, rtol=1e-5)
