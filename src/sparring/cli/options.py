"""Game settings on the command line: any `--key value` or `key=value` that a command does not know itself."""

from collections.abc import Sequence
from typing import Any

from sparring.core import Game, InputError
from sparring.core.settings import convert, parse_value

EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Context settings of a command that takes game settings."""


def game_settings(game: Game, extra: Sequence[str], defaults: dict[str, Any]) -> Any:
    """The game's settings struct from leftover arguments laid over `defaults`."""
    values = dict(defaults)
    words = list(extra)
    while words:
        word = words.pop(0)
        key, equals, text = word.removeprefix("--").partition("=")
        if not equals:
            if not word.startswith("--") or not words:
                raise InputError(f"unexpected argument {word!r}; game settings are --key value or key=value")
            text = words.pop(0)
        values[key.replace("-", "_")] = parse_value(text, where=word)
    return convert(values, game.settings, where=f"{game.name} settings")
