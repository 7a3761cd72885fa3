"""Rewards, starts and observations of the user's own, named in settings as `package.module:name`; checked when used.

    reward         (step: Transition, seconds: float) -> float32[m, seats]
    start          (rng: numpy Generator, team: int) -> Situation
    observation    (cars: float32[k, 2 * room, 33], world: float32[k, 88]) -> float32[k, width]

Each is a function, or a class: then one object of it is made for each group of matches, without arguments, and called.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sparring.core import Array, InputError
from sparring.core.code import blamed, make_of_code, returned
from sparring.games.rocket import field
from sparring.games.rocket.observation import CAR_FEATURES, WORLD_FEATURES, OwnObservation
from sparring.games.rocket.rewards import CONTINUOUS, EVENTS, OwnReward
from sparring.games.rocket.settings import OBSERVATIONS, STORED, RocketSettings
from sparring.games.rocket.states import SITUATIONS, Random, Situation, Start


@dataclass(frozen=True)
class Own:
    """The user's code for one group of matches."""

    rewards: Mapping[str, OwnReward]
    starts: Mapping[str, Start]
    observe: OwnObservation | None

    @classmethod
    def of(cls, settings: RocketSettings) -> "Own":
        """Everything that `settings` and its stages name; raises `InputError` for what cannot be imported."""
        built_in = settings.observation in OBSERVATIONS
        observe = None if built_in else own_observation(settings.observation, settings.room)[0]
        return cls(own_rewards(settings), own_starts(settings), observe)


def own_rewards(settings: RocketSettings) -> dict[str, OwnReward]:
    """The components of `settings` and all its stages that are not built in."""
    stages = [settings, *(settings.at(number) for number in range(len(settings.curriculum)))]
    names = {name: None for stage in stages for name in stage.rewards.components}
    return {
        name: make_of_code(name, what="a reward") for name in names if name not in EVENTS and name not in CONTINUOUS
    }


def own_starts(settings: RocketSettings) -> dict[str, Start]:
    """The starts of `settings` and all its stages that are not built in."""
    stages = [settings, *(settings.at(number) for number in range(len(settings.curriculum)))]
    names = {name: None for stage in stages for name in stage.starts if name != "kickoff" and name not in SITUATIONS}
    return {name: _checked_start(name, make_of_code(name, what="a start")) for name in names}


def own_observation(name: str, room: int) -> tuple[OwnObservation, int]:
    """The observation called `name`, and its width, which a call with empty rows tells."""
    if name.startswith(STORED):
        stored = name.removeprefix(STORED)
        raise InputError(
            f"observation: the checkpoint was trained with {stored}, code of your own: add --observation {stored}"
        )
    made: OwnObservation = make_of_code(name, what="an observation")
    cars, world = np.zeros((3, 2 * room, CAR_FEATURES), np.float32), np.zeros((3, WORLD_FEATURES), np.float32)
    with np.errstate(all="ignore"), blamed(f"observation {name}"):
        given = made(cars, world)
    shape = np.shape(given)
    if len(shape) != 2 or shape[0] != 3 or shape[1] == 0:
        raise InputError(f"observation {name}: for 3 rows {returned(given)}, but an array of (3, width) is needed")

    def checked(cars: Array, world: Array) -> Array:
        seen = np.asarray(made(cars, world), np.float32)
        if seen.shape != (len(world), shape[1]):
            raise InputError(
                f"observation {name}: its array has shape {seen.shape}, but {(len(world), shape[1])} is needed"
            )
        if not np.isfinite(seen).all():
            row, column = np.argwhere(~np.isfinite(seen))[0].tolist()
            raise InputError(f"observation {name}: column {column} of row {row} is {seen[row, column]}, not finite")
        return seen

    return checked, shape[1]


def _checked_start(name: str, start: Start) -> Start:
    """`start`, its situations held to their shapes and to finite numbers."""

    def checked(rng: Random, team: int) -> Situation:
        with blamed(f"start {name}"):
            found = start(rng, team)
        if not isinstance(found, Situation):
            raise InputError(f"start {name}: it gave {type(found).__name__}, but a Situation is needed")
        n = 2 * team
        shapes = {"ball": (field.BALL_COLUMNS,), "boost": (n,), "pads": (field.PADS,)}
        for part in ("ball", "position", "angles", "velocity", "spin", "boost", "pads"):
            array, shape = np.asarray(getattr(found, part)), shapes.get(part, (n, 3))
            if array.shape != shape:
                raise InputError(f"start {name}: {part} has shape {array.shape}, but {shape} is needed")
            if not np.isfinite(array).all():
                raise InputError(f"start {name}: {part} is not finite")
        return found

    return checked
