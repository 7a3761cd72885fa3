"""The mask is the engine's: random battles in which Showdown judges what the mask says at every decision.

On the path that plays: a tracker reads the lines and the request, mask and choices come from its offer.
"""

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from sparring.core import InputError
from sparring.games.pokemon.actions import ActionSpace, action_space
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.setup import Installation, installation
from sparring.games.pokemon.tracker import Tracker
from tests.games.pokemon.oracle import Oracle
from tests.games.pokemon.scenarios import grammar

FAMILIES = [
    "gen1randombattle",
    "gen2randombattle",
    "gen3randombattle",
    "gen4randombattle",
    "gen5randombattle",
    "gen6randombattle",
    "gen7randombattle",
    "gen7letsgorandombattle",
    "gen8randombattle",
    "gen9randombattle",
    "gen9randomdoublesbattle",
    "gen9championsrandombattle",
]
KINDS = {
    "gen1randombattle",
    "gen4randombattle",
    "gen9randombattle",
    "gen9randomdoublesbattle",
    "gen9vgc2025regi",
}
PREVIEWED = {
    "gen9vgc2025regi": "gen9randomdoublesbattle",
    "gen9doublesou": "gen9randomdoublesbattle",
    "gen9ou": "gen9randombattle",
    "gen9bssregi": "gen9randombattle",
    "gen8doublesou": "gen8randombattle",
    "gen7doublesou": "gen7randombattle",
    "gen9nationaldex": "gen7randombattle",
    "gen9nationaldexdoubles": "gen7randombattle",
    "gen9championsvgc2026regma": "gen9championsrandombattle",
    "gen9championsvgc2026regmb": "gen9championsrandombattle",
}
"""Formats with teams, and the random format whose teams are played in them."""
FEW = ["gen1randombattle", "gen7randombattle", "gen9randomdoublesbattle"]
NOW = ["gen9ou", "gen9nationaldex", "gen9championsvgc2026regma", "gen9championsvgc2026regmb"]
"""What people play these days."""


@pytest.fixture(scope="module")
def found() -> Installation:
    try:
        return installation()
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def oracle(found: Installation) -> Iterator[Oracle]:
    with Oracle(found.modules.parent, found.node) as made:
        yield made


def play(oracle: Oracle, format_id: str, *, battles: int, sample: int, teams: str | None = None) -> Counter[str]:
    """Random battles; every legal choice is judged, and `sample` of everything a side could write."""
    format = find_format(format_id)
    space = action_space(format)
    everything = grammar(space.gimmicks, space.active)
    rng = random.Random(format_id)
    seen: Counter[str] = Counter()
    for battle in range(battles):
        seed = rng.randrange(1, 60_000)
        state = oracle.start(format_id, seed, oracle.teams(teams, seed) if teams else None)
        trackers = [Tracker(format.generation, side) for side in ("p1", "p2")]
        while not state["ended"] and state["turn"] < 300:
            chosen: list[str | None] = [None, None]
            for side, request in enumerate(state["requests"]):
                trackers[side].lines(state["lines"][side])
                if request is None:
                    continue
                trackers[side].request(request)
                legal = legal_choices(space, trackers[side].offer)
                others = [] if "teamPreview" in request else rng.sample(everything, min(sample, len(everything)))
                check(legal, others, oracle.judge(side, legal + others), f"{format_id} battle {battle}", seen)
                chosen[side] = rng.choice(legal)
            state = oracle.choose(*chosen)
            for error in state["errors"]:
                assert "Invalid" not in error, (chosen, error)
                seen["hidden refusals"] += bool(error)
        seen["battles"] += 1
    return seen


def legal_choices(space: ActionSpace, offer: bytearray) -> list[str]:
    row = space.legal(offer)
    legal = [space.choice(offer, int(action)) for action in np.flatnonzero(row)]
    assert legal, offer
    assert len(set(legal)) == len(legal)
    return legal


def check(legal: list[str], others: list[str], verdicts: list[tuple[str, str]], where: str, seen: Counter[str]) -> None:
    understood = set()
    for choice, (verdict, what) in zip(legal, verdicts, strict=False):
        assert verdict != "invalid", f"{where}: Showdown refuses {choice!r}, which the mask allows"
        seen["legal"] += 1
        if verdict == "ok":
            understood.add(what)
    for choice, (verdict, what) in zip(others, verdicts[len(legal) :], strict=True):
        assert verdict != "ok" or what in understood, f"{where}: Showdown takes {choice!r}, which the mask forbids"
        seen[f"others {verdict}"] += 1


@pytest.mark.parametrize("format_id", [*FEW, *NOW])
def test_the_mask_is_showdowns_in_a_few_battles(oracle: Oracle, format_id: str) -> None:
    seen = play(oracle, format_id, battles=2, sample=100, teams=PREVIEWED.get(format_id))
    assert seen["legal"] > 200
    assert seen["others invalid"] > 500


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("format_id", [*FAMILIES, *PREVIEWED])
def test_the_mask_is_showdowns(oracle: Oracle, format_id: str) -> None:
    """Every legal action of every decision in 2,000 battles of the main kinds, and in some of all others."""
    battles, sample = (2000, 8) if format_id in KINDS else (50, 200)
    seen = play(oracle, format_id, battles=battles, sample=sample, teams=PREVIEWED.get(format_id))
    print(format_id, dict(seen))
    assert seen["battles"] == battles
