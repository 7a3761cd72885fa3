"""Words for episodes: what a game may say of its arrays to people who look at data."""

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

    def position(self, row: Mapping[str, Array]) -> list[str]:
        """What a seat saw, as lines; `row` is the observation of one step."""
        ...

    def actions(self, row: Mapping[str, Array], legal: NDArray[np.bool_], among: NDArray[np.bool_]) -> list[str]:
        """The actions `among: bool[actions]` of the `legal` ones of a step.

        Each by its name, unless they are so many that it takes fewer words to say what they are made of.
        """
        ...

    def kinds(self, episodes: Episodes) -> Counter[str]:
        """How often each kind of action was chosen, where it is known what was."""
        ...

    @property
    def choices(self) -> Sequence[str]:
        """The kinds of choices that `choice_kinds` numbers, such as `move` and `switch`."""
        ...

    def choice_kinds(self, observation: Mapping[str, Array], chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """`intp[r]` the kind of the choice that r rows with these observations show, an index into `choices`.

        `chosen: bool[r, actions]` is what may have been chosen; -1 where that leaves the kind open.
        """
        ...

    def named(self, episodes: Episodes) -> Mapping[str, Counter[str]]:
        """Named things that episodes are about, by what they are (`species`): in how many episodes each is."""
        ...


@runtime_checkable
class Worded(Protocol):
    """A game that has words for its episodes."""

    def words(self, spec: GameSpec) -> Words:
        """The words for episodes of `spec`; raises `InputError` if the game is not set up."""
        ...
