"""The opponents of a run, in training and in ratings, and its anchor: looked up and tried before anything starts.

A run's opponents stay the same: checkpoints are copied into the run's folder when it first meets them, and read from
there when it is resumed, whatever has become of their original folders.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparring.core import Game, GameSpec, InputError, built_in
from sparring.core.files import safe_name
from sparring.core.settings import convert
from sparring.league import Entrant, Style
from sparring.league.entrants import leaving, tag_of
from sparring.training.config import TrainConfig

POLICY = "main"
"""The name of the policy that is trained, in self-play's engine and in those of ratings."""

_PEOPLE = "human"


def find_opponents(
    config: TrainConfig, game: Game, kept: Path, say: Callable[[str], None] = lambda text: None
) -> dict[str, Entrant]:
    """Every opponent and anchor in `config`, by name; copies in the folder `kept` take precedence.

    Raises `InputError` if a name is unknown, an opponent cannot play the run's game, or two have the same tag.
    """
    settings: Any = convert(config.settings, game.settings, where="settings")
    spec = game.spec(settings)
    style = opponent_style(config)
    found: dict[str, Entrant] = {}
    taken = {POLICY: "the policy that is trained"}
    tied = () if config.anchor is None else (config.anchor.to,)
    named = (
        ("anchor.to", tied),
        ("opponents", config.opponents),
        ("evaluation.opponents", config.evaluation.opponents),
    )
    for key, names in named:
        for name in names:
            if name in found:
                continue
            other = taken.setdefault(tag_of(name), name)
            if other != name:
                raise InputError(f"{key}: {name} and {other} would have one name in the metrics; rename one")
            try:
                found[name] = Entrant.parse(name, game=game.name, kept=kept / safe_name(name)).settled(spec)
                if key == "anchor.to" and not found[name].is_network:
                    raise InputError(f"{name}: not a run or checkpoint folder, or shipped weights")
                _try(found[name], game, spec, style, say)
            except InputError as error:
                raise InputError(f"{key}: {error}") from error
    return found


def opponent_style(config: TrainConfig, *, temperature: float = 1.0) -> Style:
    """How opponents that are networks play."""
    return Style(temperature=temperature, key=None if config.key is None else Path(config.key))


def _try(entrant: Entrant, game: Game, spec: GameSpec, style: Style, say: Callable[[str], None]) -> None:
    """Raises `InputError` if the entrant cannot play rows of `spec`."""
    if entrant.is_network:
        entrant.network(spec)
    elif entrant.guest is not None:
        raise InputError(f"{entrant.name}: a run meets no players of other programs; `sparring evaluate` does")
    elif entrant.server is not None or entrant.maker is not None:
        with leaving(entrant.seat(game, spec, matches=1, seed=0, style=style, say=say)):
            pass
    elif entrant.name == _PEOPLE:
        raise InputError(f"{_PEOPLE}: a person is no opponent for thousands of matches")
    elif entrant.player is None:
        built_in(game, spec, entrant.name, seed=0)
