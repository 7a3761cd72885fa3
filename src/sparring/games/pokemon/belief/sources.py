"""Where candidate sets come from: what a format's teams are made of here, Smogon's sets, and what people showed."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from sparring.core import InputError
from sparring.games.pokemon.belief.facts import Fact, HasAbility, HasItem, HasMove
from sparring.games.pokemon.belief.notes import Known
from sparring.games.pokemon.belief.posterior import infer
from sparring.games.pokemon.belief.sets import PokemonSet, SetPool, unpack_team
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.setup import installation
from sparring.games.pokemon.teams import RandomTeams
from sparring.games.pokemon.tracking.tables import Tables, load_tables

_NOT_AS_ADVISED = 0.75
"""The chance that a set of people is none of those they are told to use, as it was in 60 battles of gen8ou."""
_ROUNDS = 8
_SMOOTHING = 0.5
"""What a candidate counts that nobody showed."""


def format_pool(format: Format) -> SetPool:
    """The sets to expect in `format`.

    Of a format with random teams, those of the pools that are there; of others Smogon's sets and those of the built-in
    teams, and for species that neither has, Smogon's of the whole generation.
    """
    tables = load_tables(format.tables, format.showdown)
    installed = installation(format.showdown)
    if format.random_teams:
        RandomTeams(format).close()  # makes the first pool if it is not there
        files = sorted((installed.pools / format.id).glob("*.txt"))
        return SetPool(tables.dex, Counter(_read_sets(files, format, tables)))
    if not installed.sets.exists():
        raise InputError(f"Smogon's sets are not in {installed.sets.parent}; run: sparring setup pokemon")
    name = format.id.removesuffix("bo3")
    found = _read_sets([installed.sets / f"{name}.txt", installed.teams / f"{name}.txt"], format, tables)
    base = tables.base_species
    there = {base[one.species] for one in found}
    general = _read_sets([installed.sets / f"gen{format.generation}.txt"], format, tables)
    found += [one for one in general if base[one.species] not in there]
    return SetPool(tables.dex, dict.fromkeys(found, 1.0), other=_NOT_AS_ADVISED)


def _read_sets(files: Iterable[Path], format: Format, tables: Tables) -> list[PokemonSet]:
    """All sets in those of the files that exist."""
    lines = [line for file in files if file.exists() for line in file.read_text().splitlines()]
    return [one for line in lines for one in unpack_team(line, tables, level=format.adjust_level)]


def with_usage(pool: SetPool, shown: Iterable[Known]) -> SetPool:
    """The same candidates, as likely as they are often behind what a corpus showed of Pokémon.

    What battles show is part of a set, so a Pokémon counts for all candidates that fit it, each as likely as it is
    held to be, and these shares are worked out anew until they settle (expectation maximisation).
    """
    seen: dict[int, list[Known]] = {}
    for known in shown:
        if known.moves:
            seen.setdefault(int(pool.dex.species_base[known.species]), []).append(known)
    counts, others = dict(pool.sets), dict(pool.others)
    for _ in range(_ROUNDS):
        current = SetPool(pool.dex, counts, other=pool.other, others=others)
        for base, pokemon in seen.items():
            totals: Counter[PokemonSet] = Counter()
            other = 0.0
            for known in pokemon:
                candidates = current.candidates(known.species, known.level)
                posterior = infer(candidates, shown_facts(known), known)
                other += posterior.other
                for one, weight in zip(candidates.sets, posterior.weights.tolist(), strict=True):
                    totals[one] += weight
            for one in counts:
                if int(pool.dex.species_base[one.species]) == base:
                    counts[one] = totals[one] + _SMOOTHING
            others[base] = (other + _SMOOTHING) / (len(pokemon) + 2 * _SMOOTHING)
    return SetPool(pool.dex, counts, other=pool.other, others=others)


def shown_facts(known: Known) -> list[Fact]:
    """What shows of a Pokémon, as facts."""
    facts: list[Fact] = [HasMove(frozenset((move,))) for move in known.moves]
    if known.item >= 0:
        facts.append(HasItem(known.item))
    if known.ability:
        facts.append(HasAbility(known.ability))
    return facts
