"""The action space of a format: the protocol, and the one way to make it."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.actions.doubles import DoublesActions
from sparring.games.pokemon.actions.moves import gimmicks_of
from sparring.games.pokemon.actions.orders import Orders
from sparring.games.pokemon.actions.preview import Preview
from sparring.games.pokemon.actions.singles import SinglesActions
from sparring.games.pokemon.actions.slots import Request
from sparring.games.pokemon.formats import Format


class ActionSpace(Protocol):
    """Fixed action numbers of a format, their mask and their choice strings."""

    active: int
    """Active Pokémon a side: 1 or 2."""
    actions: int
    gimmicks: tuple[str, ...]
    orders: Orders
    """What the orders of one slot mean; in singles an order is an action."""
    preview: Preview | None
    """The team preview block at the end of the numbers, where only part of the team is brought."""

    def mask(self, request: Request, slots: Sequence[int], row: NDArray[np.bool_]) -> None:
        """Writes the legal actions into `row: bool[actions]`."""
        ...

    def choice(self, request: Request, slots: Sequence[int], action: int) -> str:
        """What to send Showdown for a legal action."""
        ...

    def describe(self, action: int) -> str:
        """The human name of an action."""
        ...


def action_space(format: Format) -> ActionSpace:
    """The action space of a format."""
    gimmicks = gimmicks_of(format.id)
    bring = format.picked_team_size if format.team_preview else None
    return SinglesActions(gimmicks, bring=bring) if format.active == 1 else DoublesActions(gimmicks, bring=bring)
