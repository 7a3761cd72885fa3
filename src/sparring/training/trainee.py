"""What the training loop drives: something that learns a bit more at every `advance`, and can be saved in between.

`SelfPlay` learns from what it plays, `Study` from episodes on disk.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from sparring.core import Array, Episodes, Game, GameSpec, InputError, Stages
from sparring.core.networks import same_network
from sparring.core.settings import convert
from sparring.inference import Device
from sparring.league import Entrant
from sparring.learn.sharding import gathered_weights
from sparring.policy.checkpoint import Checkpoint
from sparring.policy.network import build_network
from sparring.training.algorithms import Algorithm, build_algorithm
from sparring.training.config import TrainConfig
from sparring.training.limits import lower_if_too_large
from sparring.training.rating import Rater, Standing
from sparring.training.tying import Ties


@dataclass(frozen=True)
class Snapshot:
    """The state of a trainee, without its learner, between two updates."""

    values: Mapping[str, Any]
    """JSON-ready."""
    tensors: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)
    """By group."""
    arrays: Mapping[str, Array] = field(default_factory=dict)


class Trainee(ABC):
    """The policy of a run with its learner and its rater, and how far it has come."""

    _ties: Ties

    def __init__(
        self, config: TrainConfig, game: Game, opponents: Mapping[str, Entrant], *, say: Callable[[str], None]
    ) -> None:
        self.update = 0
        """How many updates there have been."""
        self.decisions = 0
        """Trained on so far."""
        self.stages = Stages()
        self._config = config
        self._say = say
        settings: Any = convert(config.settings, game.settings, where="settings")
        self.spec: GameSpec = game.spec(settings)
        self._device = Device.pick(config.device, config.dtype)
        torch.manual_seed(config.seed)
        self.algorithm: Algorithm = build_algorithm(
            config.learner,
            first_policy(config, game, self.spec, say),
            spec=self.spec,
            device=self._device,
            seed=config.seed,
            sharded=config.parallel.sharded,
        )
        self.rater = Rater(
            game,
            config,
            opponents,
            settings=settings,
            spec=self.spec,
            device=self._device,
            policy_threshold=self.algorithm.policy_threshold,
        )

    @property
    def standing(self) -> Standing:
        """Where a curriculum stands; None without one."""
        return None

    @abstractmethod
    def start(self) -> None:
        """Gets ready; raises `InputError` if it cannot."""

    @abstractmethod
    def advance(self) -> dict[str, float]:
        """One update. Returns its metrics."""

    def _learn(self, episodes: Episodes) -> dict[str, float]:
        """Lets the learner update its policy. Returns its metrics."""
        progress = min(1.0, self.decisions / self._config.decisions)
        settings = (f"{self.algorithm.settings_at}.minibatch_size", "the size of the network")
        with self.stages.time("learn"), lower_if_too_large("learning", *settings):
            ties = self._ties.at(self.decisions)
            return self.algorithm.learner.update(episodes, progress=progress, ties=ties)

    def adapt(self, metrics: Mapping[str, float]) -> None:
        """Lets a curriculum, if there is one, see an update's metrics."""
        return

    def checkpoint(self) -> Checkpoint:
        """A copy of the policy that is rated and saved; if it is sharded, all processes must call this."""
        weights = gathered_weights(self.algorithm.deployed or self.algorithm.learner.policy)
        about = {"decisions": self.decisions, "win_rates": {}}
        return Checkpoint(self.spec, self._config.network, version=self.update, weights=weights, about=about)

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Everything that `restore` needs besides the learner's own state."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Goes back to a `snapshot`; whatever else is in it is ignored."""

    def pause(self) -> None:
        """Waits until nothing goes on in the background."""
        return

    @abstractmethod
    def close(self) -> None:
        """Frees what it holds."""


def first_policy(config: TrainConfig, game: Game, spec: GameSpec, say: Callable[[str], None]) -> Any:
    """The policy that a run starts from: fresh, or with the weights of the checkpoint that `init` names."""
    build = partial(build_network, config.network, game)
    checkpoint = first_checkpoint(config)
    if checkpoint is None:
        return build(spec)
    if not same_network(checkpoint.network, config.network, game):
        raise InputError(f"init = {config.init}: its network is {checkpoint.network}, not {config.network}")
    try:
        return checkpoint.policy(spec, build, say=lambda text: say(f"{config.init}: {text}"))
    except InputError as error:
        raise InputError(f"init = {config.init}: {error}") from error


def first_checkpoint(config: TrainConfig) -> Checkpoint | None:
    """The checkpoint that `init` names; None if a run starts from fresh weights."""
    if config.init is None:
        return None
    try:
        checkpoint = Entrant.parse(config.init, game=config.game).checkpoint
    except InputError as error:
        raise InputError(f"init = {config.init}: {error}") from error
    if checkpoint is None:
        raise InputError(f"init = {config.init}: not a run or checkpoint folder, or shipped weights")
    if checkpoint.spec.game != config.game:
        raise InputError(f"init = {config.init}: a checkpoint of {checkpoint.spec.game} cannot start {config.game}")
    return checkpoint
