"""Action numbers, legal masks and Showdown choice strings, singles and doubles. See docs/pokemon-actions.md.

`offer` what a side may do now, as a record of bytes; `space` a format's numbers, and the mask and the choices of an
offer; `mask` the compiled loop behind it; `orders` what the order to one Pokémon means; `preview` the numbers of team
preview; `fits` which actions an order in words, or what a log shows, may have been.
"""

from sparring.games.pokemon.actions.fits import Names, fits_text
from sparring.games.pokemon.actions.gimmicks import GIMMICKS, gimmicks_of
from sparring.games.pokemon.actions.orders import Orders
from sparring.games.pokemon.actions.shown import Shown, fits_shown
from sparring.games.pokemon.actions.space import ActionSpace, action_space

__all__ = [
    "GIMMICKS",
    "ActionSpace",
    "Names",
    "Orders",
    "Shown",
    "action_space",
    "fits_shown",
    "fits_text",
    "gimmicks_of",
]
