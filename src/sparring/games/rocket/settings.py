"""The settings of Rocket League: what is played, from where, what a seat sees, and what it is paid for."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from sparring.core import InputError, did_you_mean
from sparring.core.code import is_code
from sparring.core.settings import GameSettings
from sparring.games.rocket.states import SITUATIONS

Mode = Literal["1v1", "2v2", "3v3"]
TEAM_SIZE: Mapping[str, int] = {"1v1": 1, "2v2": 2, "3v3": 3}

OBSERVATIONS = ("default", "rlgym", "positions")
STORED = "own:"
"""What a spec writes before the name of an observation of the user's own: data that nobody imports."""

Positive = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]


class Schedule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number that goes in a straight line from `start` to `end` while the arena plays `over` rows."""

    start: float
    end: float
    over: Annotated[int, Meta(gt=0)]

    def at(self, rows: int) -> float:
        """The number after `rows` rows."""
        return self.start + (self.end - self.start) * min(rows / self.over, 1.0)


Weight = float | Schedule


class RewardSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a seat is paid: the sum of the components, each times its weight, then mixed among the cars."""

    components: dict[str, Weight] = field(
        default_factory=lambda: {
            "goal": 10.0,
            "concede": 10.0,
            "touch": 0.5,
            "ball_to_goal": 1.0,
            "speed_to_ball": 0.5,
            "face_ball": 0.05,
            "boost_gained": 0.3,
            "shot": 1.0,
            "save": 1.0,
        }
    )
    """Component to weight. Built in are `rewards.EVENTS` (paid each time) and `CONTINUOUS` (by the second); one of your
    own is `package.module:name` (see `own`)."""
    sparse: bool = False
    """Goals only: 1 for a goal, -1 for one conceded, and nothing else whatever `components` says."""
    team_spirit: Share | Schedule = 0.0
    """0: each car for itself. 1: the mean of the team for everyone."""
    zero_sum: bool = True
    """Takes from each car the mean of what the opponents got."""

    @property
    def scheduled(self) -> bool:
        """Whether any of it changes with the rows that are played."""
        parts = [self.team_spirit, *(() if self.sparse else self.components.values())]
        return any(isinstance(part, Schedule) for part in parts)

    def weights(self, rows: int) -> dict[str, float]:
        """The weight of each component after `rows` rows."""
        if self.sparse:
            return {"goal": 1.0, "concede": 1.0}
        return {name: weight_at(weight, rows) for name, weight in self.components.items()}


def weight_at(weight: Weight, rows: int) -> float:
    """A plain weight, or a schedule's after `rows` rows."""
    return weight.at(rows) if isinstance(weight, Schedule) else float(weight)


class Advance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a stage has done its work."""

    measure: Annotated[str, Meta(pattern="^(win_rate/.+|touches_per_minute|goals_per_minute|elo)$")]
    """`win_rate/PLAYER` in evaluations against a built-in player, `touches_per_minute` (a car's),
    `goals_per_minute` (a match's), or `elo` against all built-in players of an evaluation together
    (`curriculum.RATINGS`)."""
    at_least: float
    times: Annotated[int, Meta(ge=1)] = 2
    """How many measurements in a row must reach it."""


class Stage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A lesson of a curriculum: what it does not say stays as the settings say."""

    name: str
    advance: Advance | None = None
    """None for the last stage, which never ends."""
    modes: Annotated[list[Mode], Meta(min_length=1)] | None = None
    starts: dict[str, Positive] | None = None
    rewards: RewardSettings | None = None
    end: Literal["goal", "clock"] | None = None
    seconds: Positive | None = None


class RocketSettings(GameSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything an arena of Rocket League can be told."""

    modes: Annotated[list[Mode], Meta(min_length=1)] = field(default_factory=lambda: ["1v1"])
    """What is played; slots take turns, so that `[1v1, 1v1, 3v3]` makes every third match a 3v3."""
    room: Annotated[int, Meta(ge=1, le=3)] = 1
    """Cars a team that seats and observations have room for: 1 for 1v1 only, 3 for all modes."""
    tick_skip: Annotated[int, Meta(ge=1, le=120)] = 8
    """Ticks (1/120 s) that an action is held: 8 makes 15 decisions a second."""
    action_delay: Annotated[int, Meta(ge=0, le=119)] = 1
    """Ticks before a new action takes over from the last one. RLGym trains with 1, RLBot plays with tick_skip - 1."""
    actions: Literal["full", "small"] = "full"
    """The action table: 90 actions, numbered as RLGym does, or 23."""
    observation: str = "default"
    """`default`; `rlgym` is RLGym's DefaultObs, for its bots; `positions` is `default` with every velocity hidden; one
    of your own is `package.module:name` (see `own`)."""
    starts: dict[str, Positive] = field(default_factory=lambda: {"kickoff": 1.0})
    """Where matches start, with the share of each: `kickoff`, `random`, `near_goal`, `attack`, `air_ball`, `defence`,
    `replay` (see `states`), or one of your own as `package.module:name` (see `own`)."""
    rewards: RewardSettings = field(default_factory=RewardSettings)
    end: Literal["goal", "clock"] = "goal"
    """A match ends with the first goal, or is a real one: kickoff after each goal, clock, overtime."""
    seconds: Positive = 45.0
    """Of game time: after them a match to the first goal is drawn, a match by the clock ends or goes to overtime."""
    overtime_seconds: Annotated[float, Meta(ge=0)] = 120.0
    """Sudden death after a level match by the clock; drawn after that."""
    idle_seconds: Annotated[float, Meta(ge=0)] = 10.0
    """A match to the first goal is drawn when nobody touches the ball for so long; 0 waits for `seconds`."""
    curriculum: list[Stage] = field(default_factory=list)
    """Stages, easy ones first; empty plays these settings as they are."""
    stage: Annotated[int, Meta(ge=0)] = 0
    """The stage to start with."""
    played: Annotated[int, Meta(ge=0)] | None = None
    """Rows that reward schedules take for played when a run begins; null: those that the weights of `init` were trained
    on, so that a trained agent is not taught a beginner's lessons again."""
    threads: Annotated[int, Meta(ge=0, le=256)] = 0
    """0 steps all matches in the caller's thread; n steps groups of them in n threads while others are answered."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rewards(self.rewards)
        biggest = max(self.modes, key=lambda mode: TEAM_SIZE[mode])
        if TEAM_SIZE[biggest] > self.room:
            raise InputError(f"modes: {biggest} needs room: {TEAM_SIZE[biggest]}, but room is {self.room}")
        if self.action_delay >= self.tick_skip:
            raise InputError(
                f"action_delay: {self.action_delay} must be less than tick_skip: 0..{self.tick_skip - 1} are allowed"
            )
        if not self.starts:
            raise InputError("starts: name at least one, as in {kickoff: 1.0}")
        for start in self.starts:
            check_name("starts", start, ["kickoff", *SITUATIONS])
        if not self.observation.startswith(STORED):
            check_name("observation", self.observation, OBSERVATIONS)
        if self.stage and self.stage >= len(self.curriculum):
            raise InputError(f"stage: {self.stage} is not one of the {len(self.curriculum)} stages")
        for number, stage in enumerate(self.curriculum):
            if (stage.advance is None) != (number == len(self.curriculum) - 1):
                raise InputError(
                    f"curriculum[{number}].advance: every stage but the last says when it has done its work"
                )
            self.at(number)

    def at(self, number: int) -> "RocketSettings":
        """These settings as stage `number` has them, without the curriculum."""
        changes: dict[str, Any] = {"curriculum": [], "stage": 0}
        if self.curriculum:
            stage = self.curriculum[number]
            for name in ("modes", "starts", "rewards", "end", "seconds"):
                if getattr(stage, name) is not None:
                    changes[name] = getattr(stage, name)
        try:
            return replace(self, **changes)
        except InputError as error:
            raise InputError(f"curriculum[{number}].{error}") from error


def check_name(where: str, name: str, known: Sequence[str]) -> None:
    """Raises `InputError` for a name that is neither built in nor of the user's own code."""
    if name not in known and not is_code(name):
        raise InputError(
            f"{where}: unknown name {name!r}{did_you_mean(name, known)}; there are: {', '.join(known)};"
            f" or package.module:name for code of your own"
        )


def check_rewards(rewards: RewardSettings) -> None:
    """Raises `InputError` for a component that does not exist or a weight that is no number."""
    from sparring.games.rocket.rewards import CONTINUOUS, EVENTS  # compiles: too slow for listing games

    for name, weight in rewards.components.items():
        check_name("rewards.components", name, [*EVENTS, *CONTINUOUS])
        parts = (weight.start, weight.end) if isinstance(weight, Schedule) else (weight,)
        if not all(isfinite(part) for part in parts):
            raise InputError(f"rewards.components.{name}: the weight must be a finite number, not {weight}")
    spirit = rewards.team_spirit
    if isinstance(spirit, Schedule) and not (0 <= spirit.start <= 1 and 0 <= spirit.end <= 1):
        raise InputError("rewards.team_spirit: start and end must lie in 0..1")
