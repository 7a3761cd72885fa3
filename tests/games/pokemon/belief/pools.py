"""A pool of teams with many different sets, so that what beliefs say is said of many different things."""

from collections import defaultdict

import numpy as np

from sparring.games.pokemon.columns import TEAM
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.setup import installation
from sparring.games.pokemon.teams import validate_teams


def varied_teams(format: Format, count: int, seed: int) -> list[str]:
    """Packed teams from all of Smogon's sets of the generation that are legal in `format`.

    Each has six species at random of those that have several sets, and of each of them a set at random. A few fewer
    than `count`: those that a clause forbids are left out.
    """
    sets = (installation(format.showdown).sets / f"gen{format.generation}.txt").read_text().splitlines()
    legal, _ = validate_teams([("a set", one) for one in sets], format)
    by_species: dict[str, list[str]] = defaultdict(list)
    for one in dict.fromkeys(legal):
        name, species, *_ = one.split("|")
        by_species[species or name].append(one)
    several = [alike for _, alike in sorted(by_species.items()) if len(alike) > 1]
    rng = np.random.default_rng(seed)
    drawn = [
        "]".join(str(rng.choice(several[species])) for species in rng.choice(len(several), TEAM, replace=False))
        for _ in range(count)
    ]
    return validate_teams([("a team", team) for team in drawn], format)[0]
