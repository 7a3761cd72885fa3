"""Entrants: a player named on the command line, be it a built-in name or a checkpoint."""

from dataclasses import dataclass
from pathlib import Path

from sparring.core import Game, GameSpec, InputError, Player, RandomPlayer
from sparring.core.settings import convert
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.learn.checkpoint import Checkpoint, load_checkpoint


@dataclass(frozen=True)
class Entrant:
    """Who someone is, before being seated: a built-in player's name, or a checkpoint."""

    name: str
    checkpoint: Checkpoint | None = None

    @classmethod
    def parse(cls, text: str) -> "Entrant":
        """A path to a checkpoint or run folder, or else the name of a built-in player."""
        path = Path(text)
        if path.exists():
            return cls(name=text, checkpoint=load_checkpoint(path))
        if "/" in text:
            raise InputError(f"{text}: no such file or folder")
        return cls(name=text)

    def seat(
        self, game: Game, spec: GameSpec, *, matches: int, device: Device, temperature: float, seed: int
    ) -> Player:
        """The player, ready for an arena of `spec` with `matches` matches."""
        if self.checkpoint is None:
            return built_in(game, spec, self.name, seed=seed)
        try:
            policy = self.checkpoint.policy(spec)
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from error
        engine = InferenceEngine(spec, slots=matches * spec.seats, device=device, seed=seed)
        engine.add("main", policy, version=self.checkpoint.version)
        return NetworkPlayer(engine, "main", temperature=temperature)


def built_in(game: Game, spec: GameSpec, name: str, *, seed: int) -> Player:
    """The built-in player called `name`."""
    if name == "random":
        return RandomPlayer(seed)
    if name not in game.players:
        allowed = ", ".join(["random", *game.players])
        raise InputError(f"unknown player {name!r}; {game.name} has: {allowed}; or give a checkpoint folder")
    return game.players[name](convert(spec.settings, game.settings, where=game.name), seed)
