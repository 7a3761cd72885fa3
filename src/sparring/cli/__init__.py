"""The command line. Each module adds its commands to the one app."""

from sparring.cli import evaluate, export, games, play, rewards, setup, train, watch
from sparring.cli.app import app, main

__all__ = ["app", "evaluate", "export", "games", "main", "play", "rewards", "setup", "train", "watch"]
