"""Action numbers, legal masks and Showdown choice strings, singles and doubles. See docs/pokemon-actions.md.

`space` the protocol and `action_space(format)`; `slots` team slots that stay put while Showdown reorders the team;
`moves` what one active Pokémon is offered; `orders` what a slot order means; `singles`, `doubles`, `preview` the
numberings.
"""

from sparring.games.pokemon.actions.doubles import DoublesActions
from sparring.games.pokemon.actions.moves import GIMMICKS, gimmicks_of
from sparring.games.pokemon.actions.orders import Orders
from sparring.games.pokemon.actions.singles import SinglesActions
from sparring.games.pokemon.actions.slots import TEAM, TeamSlots
from sparring.games.pokemon.actions.space import ActionSpace, action_space

__all__ = [
    "GIMMICKS",
    "TEAM",
    "ActionSpace",
    "DoublesActions",
    "Orders",
    "SinglesActions",
    "TeamSlots",
    "action_space",
    "gimmicks_of",
]
