"""What each of several processes does in the tests of learning together; started by torchrun, or called alone.

torchrun --nproc-per-node 2 -m tests.learn.together CASE FOLDER
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from sparring.core import RunError
from sparring.core.replays import Filters, Replay
from sparring.games.pokemon import GAME as POKEMON
from sparring.games.pokemon import PokemonNetwork
from sparring.games.pokemon.replays.episodes import read_replays
from sparring.learn import parallel
from sparring.learn.alphazero import AlphaZero, AlphaZeroSettings, searched_rows
from sparring.learn.imitation import Imitation, ImitationSettings
from sparring.learn.learner import NotFinite
from sparring.learn.magnet import Magnet, MagnetSettings
from sparring.learn.offline import Offline, OfflineSettings
from sparring.learn.outputs import row_outputs
from sparring.learn.ppo import Ppo, PpoSettings
from sparring.learn.rnad import Rnad, RnadSettings
from sparring.learn.sharding import gathered_weights, part_of
from sparring.policy import ActorCritic, CausalMemory
from tests import poker

KINDS = ("ppo", "magnet", "rnad", "alphazero", "imitation")
STEPS = 20


def layered(seed=0):
    """A network with a list of layers, each of which is gathered by itself when it is spread over processes."""
    plain = poker.policy(seed=seed)
    core = CausalMemory(16, inner=8, window=4, layers=2, heads=2)
    for weight in core.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return ActorCritic(plain.encoder, core, plain.head)


def learner_of(kind, network, *, sharded=False):
    one = {"minibatch_size": 1 << 20, "learning_rate": 3e-3}
    if kind == "ppo":
        return Ppo(network, PpoSettings(epochs=2, **one), device=poker.CPU, seed=parallel.rank(), sharded=sharded)
    if kind == "magnet":
        settings = MagnetSettings(period=3, ppo=PpoSettings(epochs=2, **one))
        return Magnet(network, settings, device=poker.CPU, seed=parallel.rank())
    if kind == "rnad":
        return Rnad(network, RnadSettings(iterations=((5, 10),), **one), device=poker.CPU)
    if kind == "imitation":
        return Imitation(network, ImitationSettings(**one), device=poker.CPU, seed=parallel.rank(), sharded=sharded)
    if kind == "offline":
        settings = OfflineSettings(loss="weighted", **one)
        return Offline(network, settings, device=poker.CPU, seed=parallel.rank(), sharded=sharded)
    return AlphaZero(network, AlphaZeroSettings(**one), device=poker.CPU, seed=parallel.rank(), symmetry=None)


def own_part(episodes):
    """This process's matches: of three, rank 0 gets two and rank 1 the third, so that parts are not equal."""
    if parallel.size() == 1:
        return episodes
    of_rank = (episodes.headers.serial % 3 == 2).astype(int)
    return episodes.take(np.flatnonzero(of_rank == parallel.rank()))


def own_rows(rows):
    half = len(rows) // parallel.size()
    return rows.take(slice(parallel.rank() * half, (parallel.rank() + 1) * half))


def advance(learner, episodes, number):
    """One update, and its loss over the rows of all processes."""
    if isinstance(learner, AlphaZero):
        draw = np.random.default_rng(number).integers(0, episodes.rows, 64)
        figures = learner._step(own_rows(searched_rows(episodes, 0.25).take(draw)), episodes.spec, ())
        return parallel.average(figures["policy_loss"] + figures["value_loss"])
    part = own_part(episodes)
    figures = learner.update(part, progress=number / STEPS)
    return parallel.average((figures["policy_loss"] + figures["value_loss"]) * parallel.share(torch.tensor(part.rows)))


def curve(kind, *, first=0, last=STEPS, state=None):
    """Losses of the updates from `first` to `last`, and the learner; every process starts from other weights."""
    learner = learner_of(kind, poker.policy(seed=parallel.rank()))
    if state is not None:
        learner.load(load_file(state / f"{kind}.safetensors"), json.loads((state / f"{kind}.json").read_text()))
    episodes = poker.collect(300)
    return [advance(learner, episodes, number) for number in range(first, last)], learner


def save(folder, kind, losses, learner):
    tensors, values = learner.state()
    if parallel.rank() == 0:
        copies = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}
        save_file(copies, folder / f"{kind}.safetensors")
        (folder / f"{kind}.json").write_text(json.dumps(values))
        (folder / f"{kind}.losses").write_text(json.dumps(losses))


def spread(folder, name, *, sharded):
    """Twenty updates of learners with a network of layers; its weights, and what it says to rows."""
    for kind in ("imitation", "offline", "ppo"):
        learner = learner_of(kind, layered(seed=parallel.rank()), sharded=sharded)
        episodes = poker.collect(300, played=layered(), segment=4) if kind == "ppo" else poker.collect(300)
        losses = [advance(learner, episodes, number) for number in range(STEPS)]
        part = own_part(episodes)
        _, values = row_outputs(learner.policy, part, device=poker.CPU, rows=40)
        held = sum(part_of(weight).numel() for weight in learner.policy.parameters())
        weights = gathered_weights(learner.policy)
        (folder / f"{name}.{kind}.{parallel.rank()}.json").write_text(json.dumps([losses, held, part.rows]))
        save_file({"values": values.contiguous()}, folder / f"{name}.{kind}.{parallel.rank()}.values")
        if parallel.rank() == 0:
            save_file(weights, folder / f"{name}.{kind}.safetensors")


def battles(kind):
    """A battle of two people, of which four turns show."""
    from tests.games.pokemon.replays.logs import battle

    lines = ["|move|p1a: Mew|Pound|p2a: Onix", "|-damage|p2a: Onix|50/100", "|", "|upkeep", "|turn|2"]
    reading = read_replays([Replay("gen9-1", battle(*lines, kind=kind))], Filters(), {})
    ((_, episodes),) = reading.episodes.items()
    return episodes


def views(folder):
    """Updates of a network for all formats in which processes have battles of different ones."""
    parts = [battles("singles"), battles("doubles")]
    small = {"width": 16, "heads": 2, "layers": 1, "memory_width": 16, "memory_heads": 2, "memory_layers": 2}
    for name, sharded in (("spread", True), ("copied", False)):
        torch.manual_seed(0)
        network = POKEMON.policy(parts[0].spec, PokemonNetwork(kind="transformer", **small))
        learner = learner_of("imitation", network, sharded=sharded)
        for number in range(4):
            learner.update(parts[(number + parallel.rank()) % 2], progress=0.0)
        weights = gathered_weights(learner.policy)
        if parallel.rank() == 0:
            save_file({key: weight.contiguous() for key, weight in weights.items()}, folder / f"{name}.safetensors")


class Normalising(ActorCritic):
    """Keeps the mean of what it has seen."""

    def absorb(self, observation):
        rows = observation["state"]
        self.seen = torch.cat([self.seen, rows]) if hasattr(self, "seen") else rows


def run(case, folder):
    episodes = poker.collect(300)
    if case in ("equal", "first_half"):
        for kind in KINDS:
            save(folder, kind, *curve(kind, last=STEPS if case == "equal" else STEPS // 2))
    elif case == "second_half":
        for kind in KINDS:
            save(folder, kind, *curve(kind, first=STEPS // 2, state=folder.parent / "first_half"))
    elif case == "nan":
        for kind in KINDS:
            network = poker.policy()
            before = [weight.clone() for weight in network.parameters()]
            part = own_part(episodes)
            if parallel.rank() == 1:
                part.steps.observation["state"][7, 0] = np.nan
            try:
                learner_of(kind, network).update(part, progress=0)
            except NotFinite as error:
                text = str(error)
            same = all(torch.equal(*pair) for pair in zip(before, network.parameters(), strict=True))
            (folder / f"{kind}.{parallel.rank()}").write_text(json.dumps([text, same]))
    elif case == "early_stop":
        settings = PpoSettings(epochs=50, learning_rate=1e-2, target_kl=0.01, minibatch_size=64)
        learner = Ppo(poker.policy(), settings, device=poker.CPU, seed=parallel.rank())
        epochs = [learner.update(own_part(episodes), progress=0)["epochs"] for _ in range(3)]
        (folder / f"epochs.{parallel.rank()}").write_text(json.dumps(epochs))
    elif case == "normalise":
        plain = poker.policy()
        learner = learner_of("ppo", Normalising(plain.encoder, plain.core, plain.head))
        learner.update(own_part(episodes), progress=0)
        save_file({"seen": learner.policy.seen.contiguous()}, folder / f"seen.{parallel.rank()}")
    elif case == "sharded":
        spread(folder, "spread", sharded=True)
        spread(folder, "copied", sharded=False)
    elif case == "sharded_views":
        views(folder)
    elif case == "sharded_nan":
        part = own_part(episodes)
        if parallel.rank() == 1:
            part.steps.observation["state"][7, 0] = np.nan
        learner = learner_of("imitation", layered(), sharded=True)
        try:
            learner.update(part, progress=0)
        except NotFinite as error:
            (folder / f"nan.{parallel.rank()}").write_text(str(error))
    elif case == "hang":
        if parallel.rank() == 1:
            import time

            time.sleep(60)
        try:
            parallel.average(1.0)
        except RunError as error:
            (folder / f"hang.{parallel.rank()}").write_text(str(error))
            raise


if __name__ == "__main__":
    torch.set_num_threads(1)
    with parallel.joined(timeout_minutes=0.05 if sys.argv[1] == "hang" else 4):
        for case in sys.argv[1].split(","):
            (Path(sys.argv[2]) / case).mkdir(exist_ok=True)
            run(case, Path(sys.argv[2]) / case)
