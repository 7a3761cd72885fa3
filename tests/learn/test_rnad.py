"""R-NaD: every part by hand, the weights each term moves, memory, resuming, and the known answers of small games."""

import json

import numpy as np
import pytest
import torch

from sparring.core import Answers, InputError, load_game, masked_log_softmax
from sparring.core.settings import convert
from sparring.games.poker.exact import player_policy
from sparring.games.poker.rps import equilibrium
from sparring.inference import InferenceEngine, NetworkPlayer
from sparring.learn.learner import NotFinite
from sparring.learn.outputs import row_outputs
from sparring.learn.rnad import (
    Rnad,
    RnadSettings,
    iteration_at,
    log_policy_ratio,
    neurd_loss,
    whole_matches,
)
from sparring.policy.checkpoint import load_checkpoint
from sparring.rollout import Collector, taking_turns
from sparring.training.config import load_config, validate_config
from sparring.training.loop import train
from sparring.training.run import RunFolder
from tests import poker
from tests.poker import CPU


def weights(network):
    return {name: weight.clone() for name, weight in network.state_dict().items()}


def change(network, before):
    return {name: float((weight - before[name]).abs().max()) for name, weight in network.state_dict().items()}


@pytest.mark.parametrize(
    ("step", "start", "size"),
    [
        (0, 0, 10),
        (9, 0, 10),
        (10, 10, 10),
        (29, 20, 10),
        (30, 30, 100),
        (129, 30, 100),
        (130, 130, 100),
        (999, 930, 100),
    ],
)
def test_iterations_begin_short_and_the_last_size_repeats(step, start, size):
    assert iteration_at(step, [(10, 3), (100, 1)]) == (start, size)


def test_the_log_policy_ratio_blends_both_snapshots_and_is_zero_where_not_legal():
    legal = torch.tensor([[True, True, False]])
    now, previous, before = (
        masked_log_softmax(torch.tensor([logits]).log(), legal, xp=torch)
        for logits in ([0.5, 0.5, 1.0], [0.25, 0.75, 1.0], [0.8, 0.2, 1.0])
    )
    ratio = log_policy_ratio(now, previous, before, legal, 0.25)
    expected = [np.log(0.5) - 0.25 * np.log(p) - 0.75 * np.log(q) for p, q in ((0.25, 0.8), (0.75, 0.2))]
    np.testing.assert_allclose(ratio, [[*expected, 0.0]], rtol=1e-5)


def test_the_neurd_loss_matches_numbers_worked_by_hand():
    """Logits 1, 3 and an illegal 100; q 2, 4; probabilities 0.25, 0.75, so the mean is 3.5 and the forces -1.5, 0.5.

    Centred over legal actions the logits are -1, 1: loss -((-1)(-1.5) + (1)(0.5)) = -2, and its gradient is minus the
    centred force: 1.5 - 0.5 over two actions around their mean (-0.5): 1, -1.
    """
    logits = torch.tensor([[1.0, 3.0, 100.0]], requires_grad=True)
    loss = neurd_loss(
        logits,
        torch.tensor([[2.0, 4.0, 50.0]]),
        torch.tensor([[0.25, 0.75, 0.0]]),
        torch.tensor([[True, True, False]]),
        advantage_clip=100.0,
        beta=2.0,
    )
    assert loss.item() == pytest.approx(-2.0)
    loss.sum().backward()
    np.testing.assert_allclose(logits.grad, [[1.0, -1.0, 0.0]])


@pytest.mark.parametrize(
    ("logits", "q", "pushed"),
    [
        ([2.5, -2.5], [1.0, -1.0], [False, False]),  # both forces lead further out
        ([2.5, -2.5], [-1.0, 1.0], [True, True]),  # both lead back
        ([1.9, -1.9], [1.0, -1.0], [True, True]),  # inside beta
    ],
)
def test_no_force_pushes_a_logit_past_beta(logits, q, pushed):
    logits, q = torch.tensor([logits], requires_grad=True), torch.tensor([q])
    neurd_loss(logits, q, torch.full((1, 2), 0.5), torch.ones(1, 2) > 0, advantage_clip=10.0, beta=2.0).sum().backward()
    assert (logits.grad != 0).tolist() == [pushed]


def test_large_advantages_are_clipped():
    legal, probs, q = torch.ones(1, 2) > 0, torch.full((1, 2), 0.5), torch.tensor([[100.0, -100.0]])
    loss = neurd_loss(torch.tensor([[1.0, -1.0]]), q, probs, legal, advantage_clip=3.0, beta=2.0)
    assert loss.item() == pytest.approx(-6.0)


def test_a_part_holds_whole_matches_and_every_row_is_in_one_part():
    episodes = poker.collect(1000)
    parts = whole_matches(episodes, 200)
    assert len(parts) >= 4
    assert sum(part.rows for part in parts) == episodes.rows
    for part in parts:
        assert 100 < part.rows < 300
        assert (np.unique(part.headers.serial, return_counts=True)[1] == 2).all()
    assert len(np.unique(np.concatenate([np.unique(part.headers.serial) for part in parts]))) == len(episodes) // 2


@pytest.mark.parametrize(("term", "moved", "still"), [("policy", "policy", "value"), ("value", "value", "policy")])
@pytest.mark.parametrize("value", ["scalar", "categorical"])
def test_each_loss_term_moves_the_head_it_should_and_the_encoder(term, moved, still, value):
    network = poker.policy(value=value)
    settings = RnadSettings(
        learning_rate=1e-2,
        value_coef=1.0 if term == "value" else 0.0,
        advantage_clip=100.0 if term == "policy" else 1e-30,
    )
    episodes = poker.collect(300, played=poker.policy(value=value))
    learner = Rnad(network, settings, device=CPU)
    before = weights(network)
    learner.update(episodes, progress=0)
    moves = change(network, before)
    assert max(size for name, size in moves.items() if name.startswith(f"head.{moved}")) > 1e-4
    assert max(size for name, size in moves.items() if name.startswith("encoder")) > 1e-4
    assert max(size for name, size in moves.items() if name.startswith(f"head.{still}")) < 1e-12


def test_regularisation_alone_draws_the_policy_to_the_snapshot():
    """Without rewards and with the value of the transformed game unlearned, only -eta l pushes the logits."""
    network = poker.policy("kuhn")
    learner = Rnad(network, RnadSettings(learning_rate=1e-2, eta=1.0, iterations=((10_000, 1),)), device=CPU)
    for snapshot in (learner.previous, learner.before):
        snapshot.load_state_dict(poker.policy("kuhn", seed=7).state_dict())
    distances = []
    for _ in range(25):
        episodes = poker.collect(256, name="kuhn", played=copied(network, "kuhn"))
        episodes.steps.reward[:] = 0
        distances.append(learner.update(episodes, progress=0)["regularisation_kl"])
    assert distances[0] > 0.05
    assert distances[-1] < 0.3 * distances[0]


def copied(network, name):
    twin = poker.policy(name)
    twin.load_state_dict(network.state_dict())
    return twin


def test_the_snapshots_have_no_gradient_and_move_only_at_an_iterations_end():
    network = poker.policy("kuhn")
    learner = Rnad(network, RnadSettings(iterations=((3, 1),), target_network_avg=0.5, learning_rate=0.01), device=CPU)
    start, seen = weights(network), []
    for _ in range(6):
        before_target = weights(learner.target)
        learner.update(poker.collect(64, name="kuhn", played=copied(network, "kuhn")), progress=0)
        for name, weight in learner.target.state_dict().items():
            torch.testing.assert_close(weight, 0.5 * before_target[name] + 0.5 * network.state_dict()[name])
        seen.append([weights(net) for net in (learner.target, learner.previous, learner.before)])
    name = "head.policy.0.weight"
    for step in (0, 1):
        assert torch.equal(seen[step][1][name], start[name])
    assert torch.equal(seen[2][1][name], seen[2][0][name])  # previous <- target
    assert torch.equal(seen[2][2][name], start[name])  # before <- previous
    assert torch.equal(seen[4][1][name], seen[2][1][name])
    assert torch.equal(seen[5][2][name], seen[2][1][name])
    assert all(p.grad is None for net in (learner.target, learner.previous, learner.before) for p in net.parameters())


@pytest.mark.parametrize(("memory", "segment"), [("none", 0), ("lstm", 2), ("lstm", 16), ("transformer", 2)])
def test_before_the_first_step_the_policy_learned_is_the_policy_played(memory, segment):
    """With masks and memory together: no divergence from the behaviour, in the step's own arithmetic."""
    episodes = poker.collect(400, played=poker.policy(memory=memory), segment=segment)
    metrics = Rnad(poker.policy(memory=memory), RnadSettings(), device=CPU).update(episodes, progress=0)
    assert abs(metrics["behaviour_kl"]) < 1e-6
    assert abs(metrics["regularisation_kl"]) < 1e-6


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_networks_that_did_not_play_say_what_they_would_have_said(memory):
    """Replayed over whole episodes in small parts, the player's own network gives back what was recorded."""
    played = poker.policy(memory=memory)
    episodes = poker.collect(400, played=poker.policy(memory=memory), segment=2 if memory == "lstm" else 0)
    log_probs, value = row_outputs(played, episodes, device=CPU, rows=50)
    np.testing.assert_allclose(log_probs.exp(), episodes.steps.policy, atol=1e-5)
    np.testing.assert_allclose(value, episodes.steps.value, atol=1e-5)


def test_a_constant_schedule_keeps_the_learning_rate():
    learner = Rnad(poker.policy(), RnadSettings(learning_rate=0.01, lr_schedule="constant"), device=CPU)
    assert [learner.update(poker.collect(50), progress=p)["learning_rate"] for p in (0.0, 0.5, 1.0)] == [0.01] * 3


def test_a_truncated_episode_is_refused():
    episodes = poker.collect(100)
    learner = Rnad(poker.policy(), RnadSettings(), device=CPU)
    episodes.headers.complete[0] = False
    with pytest.raises(ValueError, match="whole matches"):
        learner.update(episodes, progress=0)


def test_a_nan_stops_training_and_names_the_tensor():
    episodes = poker.collect(100)
    episodes.steps.reward[3] = np.nan
    network = poker.policy()
    before = weights(network)
    with pytest.raises(NotFinite, match="value target is not finite"):
        Rnad(network, RnadSettings(), device=CPU).update(episodes, progress=0)
    assert max(change(network, before).values()) == 0


def test_a_learner_loaded_from_its_state_goes_on_as_the_first_would():
    settings = RnadSettings(learning_rate=0.01, iterations=((2, 1),), target_network_avg=0.1)
    first = Rnad(poker.policy(), settings, device=CPU)
    for _ in range(3):
        first.update(poker.collect(100), progress=0)
    second = Rnad(poker.policy(seed=5), settings, device=CPU)
    tensors, values = first.state()
    second.load({name: tensor.clone() for name, tensor in tensors.items()}, values)
    for learner in (first, second):
        learner.update(poker.collect(150), progress=0)
    for name in ("policy", "target", "previous", "before"):
        for key, weight in getattr(first, name).state_dict().items():
            assert torch.equal(weight, getattr(second, name).state_dict()[key])


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_a_resumed_run_equals_an_uninterrupted_one_and_both_log_nash_conv(tmp_path, memory):
    config = {
        "game": "leduc",
        "network": {"width": 8, "memory": memory},
        "learner": {
            "kind": "rnad",
            "batch_size": 200,
            "minibatch_size": 100,
            "segment_length": 2,
            "iterations": [[3, 1]],
        },
        "matches": 16,
        "threads": 1,
        "evaluation": {"every": 2, "matches": 20},
    }
    for folder, parts in (("whole", [1500]), ("parts", [700, 1500])):
        for decisions in parts:
            checked, game = validate_config({**config, "decisions": decisions}, where="test")
            train(checked, game, RunFolder(tmp_path / folder), say=lambda text: None)
    ours, theirs = (
        load_checkpoint(max((tmp_path / folder / "checkpoints").iterdir())) for folder in ("whole", "parts")
    )
    assert ours.version == theirs.version > 5
    for name, weight in ours.weights.items():
        assert torch.equal(weight, theirs.weights[name]), name
    metrics = [nash_convs(tmp_path / folder / "metrics.jsonl") for folder in ("whole", "parts")]
    assert metrics[0] == metrics[1]
    assert len(metrics[0]) >= 3


def nash_convs(path):
    """NashConv of every update that logged it."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line["rating/nash_conv"] for line in lines if "rating/nash_conv" in line]


def test_the_rated_policy_drops_small_probabilities():
    run = poker.training(game="kuhn", learner={"kind": "rnad", "policy_threshold": 0.4}, matches=8)
    with torch.no_grad():
        run.algorithm.deployed.head.policy[0].bias.copy_(torch.tensor([0.0, 1.0]))  # 0.27 to 0.73
    tree = load_game("kuhn").tree(load_game("kuhn").settings())
    policy = player_policy(tree, run.rater.player(run.checkpoint(), matches=len(tree.legal), seed=0))
    np.testing.assert_allclose(policy, np.tile([0.0, 1.0], (12, 1)))


def test_it_learns_in_an_alternating_game_of_another_kind():
    """Hex 3x3 has nothing hidden; R-NaD still learns to beat random there."""
    run = poker.training(
        game="hex",
        settings={"size": 3},
        network={"channels": 8, "blocks": 1},
        learner={
            "kind": "rnad",
            "batch_size": 512,
            "minibatch_size": 512,
            "learning_rate": 3e-3,
            "target_network_avg": 0.1,
            "iterations": [[30, 1]],
        },
        matches=64,
        evaluation={"matches": 100},
    )
    for _ in range(60):
        run.advance()
    assert run.rater.rate(run.checkpoint()).scores["random"].win_rate > 0.65  # 3 sigma above a half


def test_a_game_of_one_seat_is_refused():
    episodes = poker.collect(50)
    object.__setattr__(episodes.spec, "seats", 1)
    with pytest.raises(InputError, match="needs a game of two seats"):
        Rnad(poker.policy(), RnadSettings(), device=CPU).update(episodes, progress=0)


RPS = {
    "game": "rps",
    "settings": {"wins": [1.0, 2.0, 3.0]},
    "network": {"width": 8, "layers": 1},
    "matches": 128,
    "seed": 1,
}


def mix(run):
    """`float[2, 3]` the policy of each seat, as rated."""
    game = load_game("rps")
    tree = game.tree(convert(RPS["settings"], game.settings, where="rps"))
    return player_policy(tree, run.rater.player(run.checkpoint(), matches=2, seed=0))


def test_rock_paper_scissors_approaches_the_known_mix():
    """The last iterate, and the average of what was played in the last third, of both seats; PPO's is far from it."""
    run = poker.training(
        **RPS,
        learner={
            "kind": "rnad", "batch_size": 512, "minibatch_size": 512, "learning_rate": 0.01,
            "eta": 0.2, "target_network_avg": 0.05, "iterations": [[50, 1]], "policy_threshold": 0.0,
        },
    )  # fmt: skip
    average = []
    for update in range(450):
        run.advance()
        if update >= 300 and update % 10 == 0:
            average.append(mix(run))
    known = equilibrium((1.0, 2.0, 3.0))
    np.testing.assert_allclose(mix(run), [known, known], atol=0.06)
    np.testing.assert_allclose(np.mean(average, axis=0), [known, known], atol=0.05)


class Rock:
    """Throws rock."""

    def act(self, decisions):
        return Answers(action=np.zeros(len(decisions), np.int32))


def test_of_matches_against_another_player_one_seat_is_learned_from_and_answers_it():
    game, network = load_game("rps"), poker.policy("rps", loud=False)
    engine = InferenceEngine(game.spec(game.settings()), slots=256, device=CPU, seed=0)
    engine.add("main", copied(network, "rps"))
    players = {"main": NetworkPlayer(engine, "main", keep_policy=True), "rock": Rock()}
    arena = game.arena(game.settings(), matches=128, seed=0)
    collector = Collector(arena, players, taking_turns([0, 1], 2), record=["main"], keep_policy=True)
    learner = Rnad(network, RnadSettings(learning_rate=0.02, eta=0.05, target_network_avg=0.1), device=CPU)
    for update in range(40):
        episodes = collector.collect(256)
        assert set(episodes.headers.player.tolist()) == {0}
        learner.update(episodes, progress=0)
        engine.swap("main", network.state_dict(), version=update)
    assert episodes.steps.policy[:, 1].mean() > 0.8, "paper"


KUHN = {"game": "kuhn", "network": {"width": 32, "layers": 1}, "matches": 512, "seed": 3}


def test_kuhn_poker_is_solved():
    run = poker.training(
        **KUHN,
        learner={
            "kind": "rnad", "batch_size": 1024, "minibatch_size": 1024, "learning_rate": 0.01,
            "eta": 0.2, "target_network_avg": 0.02, "iterations": [[200, 1]],
        },
    )  # fmt: skip
    first = run.rater.nash_conv(run.checkpoint())
    for _ in range(700):
        run.advance()
    assert first > 0.7
    assert run.rater.nash_conv(run.checkpoint()) < 0.05


@pytest.mark.slow
def test_plain_self_play_does_not_solve_kuhn_poker():
    learner = {"kind": "ppo", "batch_size": 1024, "minibatch_size": 1024, "lr_schedule": "constant"}
    run = poker.training(**KUHN, learner=learner)
    seen = []
    for update in range(800):
        run.advance()
        if update >= 400 and update % 50 == 0:
            seen.append(run.rater.nash_conv(run.checkpoint()))
    assert np.mean(seen) > 0.05


@pytest.mark.slow
def test_leduc_rnad_reaches_its_bar_and_leduc_ppo_does_not(tmp_path):
    found = {}
    for preset in ("leduc-rnad", "leduc-ppo"):
        config, game = load_config(preset, ["threads=1"])
        train(config, game, RunFolder(tmp_path / preset), say=lambda text: None)
        found[preset] = nash_convs(tmp_path / preset / "metrics.jsonl")[-1]
    assert found["leduc-rnad"] < 0.5 < found["leduc-ppo"]


def test_the_engine_gives_the_whole_distribution_it_draws_from():
    spec = load_game("leduc").spec(load_game("leduc").settings())
    engine = InferenceEngine(spec, slots=64, device=CPU, seed=0)
    engine.add("main", poker.policy())
    arena = load_game("leduc").arena(load_game("leduc").settings(), matches=32, seed=0)
    decisions, _ = arena.wait()
    answers = NetworkPlayer(engine, "main", policy_threshold=0.3, keep_policy=True).act(decisions)
    assert ((answers.policy == 0) | (answers.policy > 0.29)).all()
    taken = answers.policy[np.arange(32), answers.action]
    np.testing.assert_allclose(np.log(taken), answers.log_prob, atol=1e-6)
