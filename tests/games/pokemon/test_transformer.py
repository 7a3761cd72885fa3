"""The transformer over a battle's decisions: cache, packing, sizes, and one set of weights for all formats."""

from functools import cache

import numpy as np
import pytest
import torch

from sparring.core import Episodes, InputError
from sparring.core.settings import convert
from sparring.games.pokemon import GAME, PokemonNetwork, PokemonSettings
from sparring.games.pokemon.columns import MOVES, SLOTS
from sparring.inference import Device, InferenceEngine
from sparring.league import Seating, Style
from sparring.league.selfplay import Plan, self_play
from sparring.learn.batches import packed_batches
from sparring.policy import Output, Policy, parameter_count
from sparring.policy.checkpoint import Checkpoint
from sparring.rollout.store import read_episodes

CPU = Device.pick("cpu")
SMALL = {"width": 32, "heads": 2, "layers": 1, "memory_width": 48, "memory_heads": 2, "memory_layers": 2}
FORMATS = ["gen1randombattle", "gen4randombattle", "gen9randombattle", "gen9randomdoublesbattle", "gen9vgc2025regi"]


@pytest.fixture(scope="module")
def battles(tmp_path_factory: pytest.TempPathFactory):
    """Whole battles of a format, both sides."""
    folder = tmp_path_factory.mktemp("battles")

    @cache
    def made(format: str) -> Episodes:
        seating = Seating.of("random", game="pokemon", settings={"format": format})
        self_play(seating, folder / format, Plan(matches=3, parallel=3), style=Style(), say=lambda text: None)
        return Episodes.join(list(read_episodes(folder / format)))

    return made


def network(episodes: Episodes, **settings) -> Policy:
    """A network in which all parts matter."""
    torch.manual_seed(0)
    policy = GAME.policy(episodes.spec, PokemonNetwork(kind="transformer", **(settings or SMALL)))
    with torch.no_grad():
        for name, weight in policy.named_parameters():
            if "after_attention" in name or "feed" in name or "leave" in name:
                torch.nn.init.normal_(weight, std=0.5 * weight.shape[-1] ** -0.5)
    return policy.requires_grad_(False)


def by_steps(policy: Policy, episodes: Episodes) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and values of every row, one decision after the other, all battles in one batch."""
    lengths, starts = episodes.headers.lengths, episodes.starts
    logits = torch.zeros(episodes.rows, episodes.spec.actions)
    values = torch.zeros(episodes.rows)
    memory = policy.initial_memory(len(lengths))
    for step in range(int(lengths.max())):
        rows = starts + np.minimum(step, lengths - 1)
        seen = {name: torch.from_numpy(field[rows]) for name, field in episodes.steps.observation.items()}
        output = policy.step(seen, torch.from_numpy(episodes.unpack_legal(rows)), memory)
        memory = output.memory
        going = np.flatnonzero(step < lengths)
        logits[rows[going]], values[rows[going]] = output.logits[going], output.value[going]
    return logits, values


def whole(policy: Policy, episodes: Episodes, number: int) -> Output:
    """One battle unrolled alone."""
    rows = slice(int(episodes.starts[number]), int(episodes.starts[number] + episodes.headers.lengths[number]))
    seen = {name: torch.from_numpy(field[rows]).unsqueeze(1) for name, field in episodes.steps.observation.items()}
    legal = torch.from_numpy(episodes.unpack_legal(rows)).unsqueeze(1)
    return policy.unroll(seen, legal, policy.initial_memory(1))


LARGER = [pytest.param({"size": size}, marks=pytest.mark.slow) for size in ("small", "medium", "large")]
SIZES = [{**SMALL, "window": 5}, {"size": "tiny"}, *LARGER]


@pytest.mark.parametrize("settings", SIZES, ids=str)
@pytest.mark.parametrize("format", ["gen1randombattle", "gen9vgc2025regi"])
def test_steps_with_the_cache_equal_the_unroll_over_whole_battles(battles, format: str, settings) -> None:
    """And a battle alone equals the same battle among others, which are longer or shorter."""
    episodes = battles(format)
    policy = network(episodes, **settings)
    logits, values = by_steps(policy, episodes)
    for number, start in enumerate(episodes.starts):
        alone = whole(policy, episodes, number)
        rows = slice(start, start + episodes.headers.lengths[number])
        torch.testing.assert_close(logits[rows], alone.logits[:, 0], atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(values[rows], alone.value[:, 0], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("format", FORMATS)
def test_packing_changes_no_logit(battles, format: str) -> None:
    episodes = battles(format)
    policy = network(episodes)
    logits, _ = by_steps(policy, episodes)
    longest = int(episodes.headers.lengths.max())
    found = torch.full_like(logits, torch.nan)
    for batch in packed_batches(
        episodes, minibatch_size=longest, length=longest, device=CPU, rng=np.random.default_rng(0)
    ):
        assert batch.first is not None
        output = policy.unroll_packed(batch.observation, batch.legal, batch.first)
        found[batch.rows[batch.valid.numpy()]] = output.logits[batch.valid]
    torch.testing.assert_close(found, logits, atol=1e-4, rtol=1e-4)


def test_what_happened_since_the_last_decision_is_seen(battles) -> None:
    """Two rows with the same past in the transformer, which differ only in what was there before."""
    episodes = battles("gen1randombattle")
    policy = network(episodes)
    row = {name: torch.from_numpy(field[5:6]) for name, field in episodes.steps.observation.items()}
    legal = torch.from_numpy(episodes.unpack_legal(slice(5, 6)))
    memory = policy.initial_memory(1)
    told = {**memory, "before_pokemon": row["pokemon"], "before_active": row["active"]}
    hurt = {**told, "before_pokemon": row["pokemon"] + torch.rand(row["pokemon"].shape)}
    answers = [policy.step(row, legal, state).logits for state in (memory, told, hurt)]
    torch.testing.assert_close(answers[0], answers[1])
    assert (answers[1] - answers[2]).abs().max() > 1e-4


def test_own_moves_see_the_foe_in_front_of_them_and_places_that_a_format_lacks_are_seen_by_none(battles) -> None:
    episodes = battles("gen1randombattle")
    encoder = network(episodes).encoder
    seen = {name: torch.from_numpy(field[5:6]) for name, field in episodes.steps.observation.items()}
    seen |= {f"before_{name}": torch.zeros_like(seen[name]) for name in ("pokemon", "active")}
    legal = torch.from_numpy(episodes.unpack_legal(slice(5, 6)))
    assert (seen["active_move_ids"][0, 0] > 0).any()

    def moves_if(place: int) -> torch.Tensor:
        """The tokens of the own moves if something about a place of the field were otherwise."""
        changed = seen["active"].clone()
        changed[:, place] += 1.0
        return encoder({**seen, "active": changed}, legal)[1][:, encoder.tokens.move][:, :MOVES]

    as_it_is = encoder(seen, legal)[1][:, encoder.tokens.move][:, :MOVES]
    assert (moves_if(SLOTS) - as_it_is).abs().max() > 1e-3
    torch.testing.assert_close(moves_if(SLOTS + 1), as_it_is)


def test_one_set_of_weights_plays_every_format(battles) -> None:
    """A view learns with the weights of the whole, and says what a network that was built for its format says."""
    first = battles(FORMATS[0])
    policy = network(first)
    for format in FORMATS[1:]:
        episodes = battles(format)
        view = policy.playing(episodes.spec)
        assert view is policy.playing(episodes.spec)
        assert {id(weight) for weight in view.parameters()} == {id(weight) for weight in policy.parameters()}
        built = GAME.policy(episodes.spec, PokemonNetwork(kind="transformer", **SMALL))
        built.load_state_dict(policy.state_dict())
        torch.testing.assert_close(by_steps(view, episodes), by_steps(built.requires_grad_(False), episodes))
    assert policy.playing(first.spec) is policy


def test_formats_are_told_apart(battles) -> None:
    """The same row in two generations has other answers: other rules, other facts of moves."""
    episodes = battles("gen1randombattle")
    policy = network(episodes)
    other = policy.playing(GAME.spec(PokemonSettings(format="gen2randombattle")))
    assert (whole(policy, episodes, 0).logits - whole(other, episodes, 0).logits).abs().max() > 1e-3


def test_a_checkpoint_plays_formats_with_other_actions(battles) -> None:
    trained, other = battles("gen1randombattle").spec, battles("gen9vgc2025regi").spec
    described = {"kind": "transformer", **SMALL}
    policy = GAME.policy(trained, convert(described, PokemonNetwork, where="network"))
    checkpoint = Checkpoint(trained, described, version=1, weights=policy.state_dict(), about={})
    rows = battles("gen9vgc2025regi")
    assert whole(checkpoint.policy(other), rows, 0).logits.shape[-1] == other.actions
    full = GAME.spec(PokemonSettings(format="gen9ou", observation="full"))
    with pytest.raises(InputError, match="cannot play .*, whose actions or observations differ"):
        checkpoint.policy(full)


@pytest.mark.parametrize(
    ("size", "least", "most"), [("tiny", 1.5, 2.5), ("small", 13, 17), ("medium", 45, 55), ("large", 190, 210)]
)
def test_sizes_have_the_weights_they_are_said_to_have(size: str, least: float, most: float) -> None:
    with torch.device("meta"):
        policy = GAME.policy(GAME.spec(PokemonSettings()), PokemonNetwork(kind="transformer", size=size))
    assert least * 1e6 < parameter_count(policy) < most * 1e6
    if size == "large":
        assert (len(policy.core.layers), policy.core.inner, policy.core.layers[0].heads) == (24, 1024, 16)


@pytest.mark.parametrize(
    ("network", "named"),
    [
        ({"kind": "transformer", "size": "base"}, "tiny, small, medium, large"),
        ({"size": "medium"}, "tiny, small, base, large"),
        ({"kind": "transformer", "memory": "lstm"}, "its own"),
        ({"memory_layers": 2}, "kind must be transformer"),
        ({"kind": "transformer", "memory_width": 100, "memory_heads": 4}, "even multiple"),
    ],
)
def test_settings_of_the_other_kind_are_refused(network, named: str) -> None:
    with pytest.raises(InputError, match=named):
        convert(network, PokemonNetwork, where="network")


def test_memory_that_cannot_fit_is_refused_with_what_to_lower() -> None:
    spec = GAME.spec(PokemonSettings())
    engine = InferenceEngine(spec, slots=1_000_000_000, device=CPU, seed=0)
    with pytest.raises(InputError, match=r"the memory of 1000000000 seats .*lower `matches` or .* `window`"):
        engine.add("big", GAME.policy(spec, PokemonNetwork(kind="transformer", **SMALL)))


def test_an_engine_in_bfloat16_keeps_the_cache_in_it(battles) -> None:
    spec, device = battles("gen1randombattle").spec, Device.pick("cpu", "bfloat16")
    engine = InferenceEngine(spec, slots=4, device=device, seed=0)
    engine.add("half", GAME.policy(spec, PokemonNetwork(kind="transformer", **SMALL)))
    assert engine._held["half"].memory["cache"].dtype == torch.bfloat16
