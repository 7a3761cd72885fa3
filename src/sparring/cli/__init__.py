"""The command line. Each module adds its commands to the one app."""

from sparring.cli import evaluate, games, gtp, play, selfplay, train
from sparring.cli.app import app, main

__all__ = ["app", "evaluate", "games", "gtp", "main", "play", "selfplay", "train"]
