"""The settings of a league, and what the roles in it mean."""

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sparring.core.settings import Count, Fraction, NonNegative, Positive

Role = Literal["main", "exploiter", "league_exploiter"]
Draw = Literal["self", "uniform", "hard", "even", "near", "newest", "exploiters"]
"""Ways to draw an opponent; see `matchmaking`."""


@dataclass(frozen=True)
class Usual:
    """What a role does unless the settings say otherwise."""

    mix: dict[Draw, float]
    beating: float | None
    reset: float


ROLES: dict[Role, Usual] = {
    "main": Usual({"self": 0.35, "hard": 0.5, "exploiters": 0.15}, None, 0.0),
    "exploiter": Usual({"newest": 0.5, "even": 0.5}, 0.7, 1.0),
    "league_exploiter": Usual({"hard": 1.0}, 0.7, 0.25),
}
"""The roles of AlphaStar's league, with its shares, thresholds and chances of a reset."""


class LeagueSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pool of snapshots to meet in training."""

    role: Role = "main"
    """main meets itself and everyone; exploiter meets only main's snapshots; league_exploiter meets everyone."""
    runs: tuple[str, ...] = ()
    """Run folders whose snapshots join the pool as they appear; they may train at the same time."""
    mix: dict[Draw, NonNegative] = {}
    """The ways of drawing opponents, each with its weight; {}: the role's usual ones."""
    power: Positive = 2.0
    """For `hard` and `exploiters`: raising it meets the strongest opponents more often."""
    elo_width: Positive = 200.0
    """For `near`: raising it meets opponents further away in Elo points."""
    every: Count = 20
    """Updates after which a snapshot is added, if none was before."""
    beating: Fraction | None = None
    """A snapshot is added at once when the win rate against every member that counts reaches this; null: the role's
    usual one."""
    enough: Count = 50
    """Matches against a member before `beating` trusts its win rate."""
    keep: Annotated[int, Meta(ge=2)] = 20
    """Members of the pool; the one most like others in strength and style makes room."""
    window: Count = 200
    """Matches against a member that its win rate is based on; older ones fade."""
    reset: Fraction | None = None
    """The chance that a run is reset to its first weights after a snapshot; null: the role's usual one."""

    @property
    def draws(self) -> dict[Draw, float]:
        """How opponents are drawn."""
        return self.mix or ROLES[self.role].mix

    @property
    def threshold(self) -> float | None:
        """The win rate at which a snapshot is added at once."""
        return ROLES[self.role].beating if self.beating is None else self.beating

    @property
    def reset_chance(self) -> float:
        """The chance of a reset after a snapshot."""
        return ROLES[self.role].reset if self.reset is None else self.reset
