"""Measures beliefs against the truth of generated battles: log loss by turn, and whether probabilities hold."""

from collections import defaultdict
from collections.abc import Mapping
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.belief import Beliefs, PokemonSet, SetPool, Weighing
from sparring.games.pokemon.columns import POKEMON, TEAM
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.tracking.tables import Tables, load_tables

_LAST_TURN = 20


class Honesty:
    """Adds up how good beliefs are at the start of each turn."""

    def __init__(self, format: Format, pool: SetPool, *, weighing: bool = True) -> None:
        self.format, self.pool = format, pool
        self.tables: Tables = load_tables(format.tables)
        self.weighing = Weighing(format) if weighing else None
        self.losses: dict[int, list[tuple[float, float]]] = defaultdict(list)
        """By turn: of the posterior and of the usage shares alone."""
        self.battles = 0
        self.predictions: dict[tuple[int, int, str, int], tuple[dict[int, float], bool]] = {}
        """By battle, Pokémon, part and value: its probabilities by turn until it was known; whether it was so."""
        self.species: dict[tuple[int, int], int] = {}
        """By battle and Pokémon."""

    def add(self, battle: Mapping[str, Any]) -> None:
        """A battle as `BattleRecorder` keeps it."""
        self.battles += 1
        truth = {
            (side, entry["ident"][4:]): true_set(entry, self.tables)
            for side, decisions in enumerate(battle["sides"])
            for entry in decisions[0]["request"]["side"]["pokemon"]
        }
        beliefs = Beliefs(self.format, self.pool, weighing=self.weighing)
        lines: list[list[str]] = []
        for line in battle["log"].split("\n"):
            lines.append(line.split("|"))
            if line.startswith("|turn|"):
                beliefs.read(lines)
                lines = []
                turn = beliefs.watcher.tracker.turn
                if turn > _LAST_TURN:
                    return
                for row in range(POKEMON):
                    true = truth.get((row // TEAM, beliefs.watcher.tracker.names[row]))
                    if true is not None:
                        self._add(beliefs, row, true, turn)

    def _add(self, beliefs: Beliefs, row: int, true: PokemonSet, turn: int) -> None:
        belief = beliefs.of(row)
        assert belief is not None
        self.species[self.battles, row] = true.species
        sets, candidates = belief.candidates.sets, belief.candidates
        if true in sets:
            at = sets.index(true)
            chances = float(belief.weights[at]), float(candidates.prior[at]) * (1 - candidates.other)
        else:
            chances = belief.other, candidates.other
        self.losses[turn].append((-log(max(chances[0], 1e-300)), -log(max(chances[1], 1e-300))))
        for part, shares, values in (
            ("item", belief.items(), {true.item}),
            ("ability", belief.abilities(), {true.ability}),
            ("move", belief.moves(), set(true.moves)),
        ):
            for value, share in shares.items():
                if share < 1.0:
                    key = (self.battles, row, part, value)
                    self.predictions.setdefault(key, ({}, value in values))[0][turn] = share

    def loss_by_turn(self) -> dict[int, tuple[float, float]]:
        """The mean log loss of the posterior and of the usage shares alone."""
        means = {turn: np.mean(losses, axis=0) for turn, losses in sorted(self.losses.items())}
        return {turn: (float(mean[0]), float(mean[1])) for turn, mean in means.items()}

    def held(self, least: float, most: float, turns: range = range(1, _LAST_TURN + 1)) -> tuple[float, float, int]:
        """Of predictions between the two, made at `turns`: how likely they were said to be, how many held, and how
        many there were.

        The same prediction of the same Pokémon counts once, for however many turns it is made.
        """
        found = self._made(least, most, turns)
        said, held = found[:, 1:].mean(axis=0)
        return float(said), float(held), len(found)

    def interval(self, least: float, most: float, turns: range = range(1, _LAST_TURN + 1)) -> tuple[float, float]:
        """Between what the share that held minus what was said is, with 95% confidence.

        Whole species are drawn again (a bootstrap): what is said of Pokémon of one species stands and falls together.
        """
        found = self._made(least, most, turns)
        species, number = np.unique(found[:, 0], return_inverse=True)
        count = np.bincount(number)
        off = np.bincount(number, found[:, 2] - found[:, 1])
        drawn = np.random.default_rng(0).integers(len(species), size=(2000, len(species)))
        low, high = np.percentile(off[drawn].sum(axis=1) / count[drawn].sum(axis=1), [2.5, 97.5])
        return float(low), float(high)

    def _made(self, least: float, most: float, turns: range) -> NDArray[np.float64]:
        """`float64[n, 3]` of each prediction between the two its species, its mean probability and whether it held."""
        found = []
        for (battle, row, _, _), (shares, right) in self.predictions.items():
            inside = [share for turn, share in shares.items() if turn in turns and least <= share < most]
            if inside:
                found.append((self.species[battle, row], sum(inside) / len(inside), right))
        return np.array(found, np.float64)


def true_set(entry: Mapping[str, Any], tables: Tables) -> PokemonSet:
    """The set of a Pokémon as a request at the start of the battle lists it."""
    dex = tables.dex
    species, level, *_ = tables.details(entry["details"])
    return PokemonSet(
        species=species,
        ability=dex.abilities[entry["baseAbility"]],
        item=dex.items[entry["item"]],
        moves=tuple(sorted(tables.move(move) for move in entry["moves"])),
        stats=(int(entry["condition"].split("/")[1]), *entry["stats"].values()),
        tera=dex.types[entry.get("teraType") or ""],
        level=int(level),
    )
