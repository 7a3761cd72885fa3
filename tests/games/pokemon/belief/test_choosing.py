"""What it says of a set which attack was chosen."""

from functools import cache

import numpy as np
import pytest

from sparring.games.pokemon.belief import Beliefs, SetPool, Weighing, pool_of_teams
from sparring.games.pokemon.belief.choosing import Choice, Habit
from sparring.games.pokemon.formats import Format, find_format
from sparring.games.pokemon.tracking.tables import load_tables
from tests.games.pokemon.replays.logs import battle

MEW = 0
PSYCHIC = ("|", "|move|p1a: Mew|Psychic|p2a: Onix")
TOXIC = ("|", "|move|p1a: Mew|Toxic|p2a: Onix")


@cache
def played() -> Format:
    return find_format("gen9nationaldex")


def pool(*moves: str, item: str = "Quick Claw") -> SetPool:
    """Sets of Mew by their moves, and one of Onix, which Surf hits much harder than Psychic."""
    sets = [f"Mew||{item}||{each}|Serious||||||" for each in moves]
    onix = "Onix||Quick Claw|Sturdy|rockslide|Serious||||||"
    return pool_of_teams([*sets, onix], load_tables(played().tables), other=0.0)


def believed(candidates: SetPool, *lines: str) -> list[float]:
    """How likely each set of Mew is after the lines."""
    beliefs = Beliefs(played(), candidates, weighing=Weighing(played()))
    beliefs.read([line.split("|") for line in battle(*lines).split("\n")])
    found = beliefs.of(MEW)
    assert found is not None
    return [float(weight) for weight in found.weights]


def turns(*each: tuple[str, ...]) -> list[str]:
    lines: list[str] = []
    for number, turn in enumerate(each, 2):
        lines += [*turn, "|", "|upkeep", f"|turn|{number}"]
    return lines


def test_who_uses_a_weak_attack_hardly_has_a_strong_one() -> None:
    strong, weak = believed(pool("psychic,surf,toxic,roost", "psychic,swift,toxic,roost"), *PSYCHIC)
    assert weak > 0.65
    assert strong + weak == pytest.approx(1.0, abs=0.01)


def test_attacks_that_do_about_as_much_tell_nothing() -> None:
    first, second = believed(pool("psychic,swift,toxic,roost", "psychic,flamethrower,toxic,roost"), *PSYCHIC)
    assert first == pytest.approx(second, abs=0.02)


def test_a_move_that_is_no_attack_tells_nothing() -> None:
    first, second = believed(pool("psychic,surf,toxic,roost", "psychic,swift,toxic,roost"), *TOXIC)
    assert first == pytest.approx(second, abs=0.01)


def test_the_same_choice_in_the_same_state_tells_nothing_new() -> None:
    candidates = pool("psychic,surf,toxic,roost", "psychic,swift,toxic,roost")
    once = believed(candidates, *turns(TOXIC, PSYCHIC))
    often = believed(candidates, *turns(TOXIC, PSYCHIC, PSYCHIC, PSYCHIC))
    assert once == pytest.approx(often, abs=0.01)


def test_who_may_be_held_to_a_move_did_not_choose_it() -> None:
    candidates = pool("psychic,surf,toxic,roost", "psychic,swift,toxic,roost", item="Choice Specs")
    hurt = (*PSYCHIC, "|", "|-damage|p2a: Onix|40/100|[from] psn")  # it stands otherwise when the second is made
    first, again = believed(candidates, *turns(hurt)), believed(candidates, *turns(hurt, PSYCHIC))
    assert first == pytest.approx(again, abs=0.01)


def choice(by_strength: float) -> Choice:
    return Choice(
        sets=[], weights=np.ones(1), by_strength=np.array([by_strength]), attacks=np.array([2]), moves=np.array([4])
    )


def share(habit: Habit) -> float:
    """How far a player goes by strength: the difference between a set for which the attack is the strongest and one
    for which it is the weakest."""
    return float((habit.likelihood(choice(1.0)) - habit.likelihood(choice(0.0)))[0])


def test_players_who_choose_at_random_are_found_out() -> None:
    blind, keen = Habit(), Habit()
    before = share(blind)
    for number in range(40):
        blind.learn(choice(float(number % 2)))
        keen.learn(choice(1.0))
    assert share(blind) < 0.2 < before < 0.8 < share(keen)
