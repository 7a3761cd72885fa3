"""Words for episodes: how a game describes its arrays to people who look at data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sparring.core.episodes import Episodes
from sparring.core.rows import Array
from sparring.core.spec import GameSpec


class Words(Protocol):
    """The words for episodes of one spec."""

    def position(
        self, row: Mapping[str, Array], *, seat: int = 0, before: Mapping[str, Array] | None = None
    ) -> list[str]:
        """What `seat` saw, as lines; `row` is the observation of one step, `before` that of its step before."""
        ...

    def actions(
        self, row: Mapping[str, Array], legal: NDArray[np.bool_], among: NDArray[np.bool_], *, seat: int = 0
    ) -> list[str]:
        """The actions `among: bool[actions]` of a step's `legal` ones: by name, or, if they are many, in summary."""
        ...

    def kinds(self, episodes: Episodes) -> Counter[str]:
        """How often each kind of action was chosen, where the action is known."""
        ...

    @property
    def choices(self) -> Sequence[str]:
        """The kinds of choices that `choice_kinds` numbers, such as `move` and `switch`."""
        ...

    def choice_kinds(self, observation: Mapping[str, Array], chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """`intp[r]` the kind of choice made in each of r rows, an index into `choices`.

        `chosen: bool[r, actions]` is what may have been chosen; the kind is -1 where that leaves it open.
        """
        ...

    def named(self, episodes: Episodes) -> Mapping[str, Counter[str]]:
        """By category (`species`): in how many episodes each named thing occurs."""
        ...


@runtime_checkable
class Worded(Protocol):
    """A game that has words for its episodes."""

    def words(self, spec: GameSpec) -> Words:
        """The words for episodes of `spec`; raises `InputError` if the game is not set up."""
        ...
