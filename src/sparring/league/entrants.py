"""Entrants: a player named on the command line, be it a built-in name or a checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from sparring.core import Game, GameSpec, InputError, Player, built_in, game_names, load_game
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.policy.checkpoint import Checkpoint, load_checkpoint
from sparring.policy.network import Factory, load_factory
from sparring.search import GumbelSettings, PlaySettings, SearchPlayer, SearchSettings, Symmetric
from sparring.search.seating import forward_model, search_player


@dataclass(frozen=True)
class Entrant:
    """Who someone is, before being seated: a built-in player's name, a checkpoint, or a network of the user's code.

    With both a checkpoint and a factory, the user's code builds the network and the checkpoint has its weights.
    """

    name: str
    checkpoint: Checkpoint | None = None
    factory: Factory | None = None

    @classmethod
    def parse(cls, text: str) -> "Entrant":
        """A checkpoint or run folder, shipped weights (`hex-7x7`), or a built-in player.

        Also `package.module:factory`, and `package.module:factory=FOLDER` for the weights of a run with that network.
        """
        path = Path(text)
        if not path.exists():
            path = shipped_weights().get(text, path)
        if path.exists():
            return cls(name=text, checkpoint=load_checkpoint(path))
        own, equals, folder = text.partition("=")
        if equals and ":" in own:
            if not Path(folder).exists():
                raise InputError(f"{folder}: no such file or folder")
            return cls(name=text, checkpoint=load_checkpoint(Path(folder)), factory=load_factory(own))
        if "/" in text:
            raise InputError(f"{text}: no such file or folder")
        return cls(name=text, factory=load_factory(text) if ":" in text else None)

    def seat(
        self,
        game: Game,
        spec: GameSpec,
        *,
        matches: int,
        device: Device,
        temperature: float,
        seed: int,
        simulations: int = 0,
        least: float = 0.0,
    ) -> Player:
        """The player, ready for an arena of `spec` with `matches` matches.

        A checkpoint plays by its network alone, at `temperature`, or looks ahead with `simulations` a move.
        """
        network = self.network(spec)
        if network is None:
            return built_in(game, spec, self.name, seed=seed)
        policy, version = network
        engine = InferenceEngine(spec, slots=matches * spec.seats, device=device, seed=seed)
        engine.add("main", policy, version=version)
        if simulations:
            search = GumbelSettings(simulations=simulations)
            symmetry = isinstance(forward_model(spec), Symmetric)
            return search_player(engine, "main", search, play=PlaySettings(), seed=seed, symmetry=symmetry)
        return NetworkPlayer(engine, "main", temperature=temperature, policy_threshold=least)

    def seat_for_selfplay(
        self,
        spec: GameSpec,
        *,
        matches: int,
        device: Device,
        search: SearchSettings | None,
        play: PlaySettings,
        seed: int,
        say: Callable[[str], None],
    ) -> SearchPlayer | NetworkPlayer:
        """A network, seated to play much: on the fastest backend, with its whole policy in every answer."""
        network = self.network(spec)
        if network is None:
            raise InputError(f"{self.name}: not a checkpoint")
        policy, version = network
        engine = InferenceEngine(spec, slots=matches * spec.seats, device=device, seed=seed, backend="auto", say=say)
        engine.add("main", policy, version=version)
        if search is None:
            return NetworkPlayer(engine, "main", temperature=play.temperature, keep_policy=True)
        return search_player(engine, "main", search, play=play, seed=seed)

    def network(self, spec: GameSpec) -> tuple[nn.Module, int] | None:
        """The policy and its version, or None for a built-in player; raises `InputError` if it cannot play `spec`."""
        if self.checkpoint is None:
            return None if self.factory is None else (self.factory(spec), 0)
        try:
            return self.checkpoint.policy(spec, self.factory), self.checkpoint.version
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from error


def shipped_weights() -> dict[str, Path]:
    """Checkpoints that come with the installed games, by name."""
    folders = [load_game(name).presets.parent / "weights" for name in game_names()]
    return {path.name: path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())}
