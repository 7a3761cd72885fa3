"""What Pokémon probably have: candidate sets, what a log says of them, and the probabilities that follow.

`sets` and `sources` are the candidates and where they come from; `rules` what shows when, `facts` what was seen,
`evidence` the reader that notes it, `weighing` what damage and speed say; `posterior` Bayes' rule, `beliefs` all of it
for one battle.
"""

from sparring.games.pokemon.belief.beliefs import Beliefs
from sparring.games.pokemon.belief.posterior import Posterior
from sparring.games.pokemon.belief.sets import PokemonSet, SetPool, pool_of_teams
from sparring.games.pokemon.belief.sources import format_pool, with_usage
from sparring.games.pokemon.belief.weighing import Weighing

__all__ = [
    "Beliefs",
    "PokemonSet",
    "Posterior",
    "SetPool",
    "Weighing",
    "format_pool",
    "pool_of_teams",
    "with_usage",
]
