"""Oddities of generation 1 that change what may have been chosen, or whose moves are whose."""

import numpy as np

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import PP_SCALE
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.replays.parse import ParsedBattle, parse_battle
from sparring.games.pokemon.tracking.tables import load_tables
from tests.games.pokemon.replays.logs import battle

UPKEEP = ("|", "|upkeep")
DESYNC = (
    "|-hint|Desync Clause Mod activated!",
    "|-hint|In Gen 1, if both players would see the same Pokémon using different moves, the Pokemon defaults to the "
    "move shown from the perspective of the player controlling that Pokémon.",
)
FISSURE = "|-hint|In Gen 1, if a Pokémon is thawed from freeze and no move has been selected yet, the Pokémon will use"


def called(move: int) -> str:
    """The id of the move that has this number."""
    return load_tables(1).dex.moves.ids[move]


def read(*lines: str) -> ParsedBattle:
    return parse_battle(battle(*lines, gen=1), find_format("gen1ou"))


def thaw(*hints: str, move: str) -> tuple[str, ...]:
    """Mew thaws before it acts, and makes a move; then it makes one of its own."""
    return (
        *("|", "|move|p2a: Onix|Fire Blast|p1a: Mew", "|-curestatus|p1a: Mew|frz|[msg]", *hints),
        *(f"|move|p1a: Mew|{move}|p2a: Onix", *UPKEEP, "|turn|2"),
        *("|", "|move|p1a: Mew|Psychic|p2a: Onix"),
    )


def own_moves(parsed: ParsedBattle) -> set[str]:
    """What player 1's Mew is known to have, at the last turn."""
    return {called(move) for move in parsed.sides[0].observation["move_ids"][-1, 0] if move}


def test_who_thaws_makes_a_move_that_need_not_be_its_own() -> None:
    parsed = read(*thaw(*DESYNC, move="Surf"))
    assert own_moves(parsed) == {"psychic"}
    assert called(parsed.sides[0].observation["active_ids"][1, 0, c.ACTIVE_ID_LAST_MOVE]) == "surf"
    assert parsed.sides[0].consistent.sum(axis=1).tolist() == [4, 1]  # it was told some move, then Psychic
    assert not parsed.odd


def test_nor_is_the_nameless_move_of_who_was_never_told_one() -> None:
    assert own_moves(read(*thaw(*DESYNC, FISSURE, move="Fissure"))) == {"psychic"}


def test_without_a_word_of_the_clause_it_is_its_own() -> None:
    assert own_moves(read(*thaw(move="Surf"))) == {"psychic", "surf"}
    assert own_moves(read(*thaw(DESYNC[0], move="Surf"))) == {"psychic", "surf"}  # also said of Counter


def test_the_clause_is_of_one_move_only() -> None:
    onix = ("|", "|cant|p2a: Onix|par", *DESYNC, "|move|p2a: Onix|Dig|p1a: Mew", "|move|p1a: Mew|Surf|p2a: Onix")
    assert own_moves(read(*onix)) == {"surf"}


def test_hints_without_a_move_and_moves_without_a_target_are_harmless() -> None:
    later = (*UPKEEP, "|turn|2", "|", "|move|p1a: Mew|Dig|p2a: Onix")
    assert own_moves(read("|", "|-hint", "|-hint|", *DESYNC, "|cant|p1a: Mew|par", *later)) == {"dig"}
    assert own_moves(read("|", *DESYNC, "|move|p1a: Mew|Surf", *later)) == {"dig"}


def after_hyper_beam(answer: str, *later: str) -> ParsedBattle:
    return read(
        *("|", "|move|p1a: Mew|Hyper Beam|p2a: Onix", "|-damage|p2a: Onix|9/100", "|-mustrecharge|p1a: Mew"),
        *(f"|move|p2a: Onix|{answer}|p1a: Mew", "|-damage|p1a: Mew|9/100", *UPKEEP, "|turn|2", "|", *later),
    )


def allowed(parsed: ParsedBattle) -> int:
    """How many actions player 1 may have had at the second turn."""
    return int(parsed.sides[0].legal[1].sum())


FAINT = ("|move|p2a: Onix|Tackle|p1a: Mew", "|-damage|p1a: Mew|0 fnt", "|faint|p1a: Mew")


def test_a_flinch_or_a_bind_may_spare_the_recharging_and_then_another_move_shows() -> None:
    for answer in ("Stomp", "Wrap"):
        parsed = after_hyper_beam(answer, "|move|p1a: Mew|Surf|p2a: Onix")
        chosen = parsed.sides[0].consistent[1]
        assert chosen.sum() == 1
        listed = parsed.sides[0].observation["active_move_ids"][1, 0]
        assert called(listed[int(np.flatnonzero(chosen)[0])]) == "surf"
        assert not parsed.odd


def test_whether_it_was_spared_does_not_show_if_it_never_acts() -> None:
    assert allowed(after_hyper_beam("Stomp", *FAINT)) > 1
    assert allowed(after_hyper_beam("Tackle", *FAINT)) == 1
    assert allowed(after_hyper_beam("Stomp", "|cant|p1a: Mew|recharge")) == 1


def test_who_has_a_move_twice_by_mimic_may_have_chosen_either() -> None:
    parsed = read(
        *("|", "|move|p1a: Mew|Surf|p2a: Onix", "|move|p2a: Onix|Harden|p2a: Onix", *UPKEEP, "|turn|2"),
        *("|", "|move|p1a: Mew|Mimic|p2a: Onix", "|-start|p1a: Mew|Mimic|Surf", *UPKEEP, "|turn|3"),
        *("|", "|move|p1a: Mew|Surf|p2a: Onix"),
    )
    assert parsed.sides[0].consistent.sum(axis=1).tolist() == [1, 1, 2]


def test_what_was_mimicked_has_the_pp_of_mimic_be_they_more_than_it_could_have() -> None:
    use = ("|", "|move|p1a: Mew|Hyper Beam|p2a: Onix|[miss]", "|-miss|p1a: Mew", *UPKEEP)
    turns = [line for turn in range(3, 12) for line in (f"|turn|{turn}", *use)]
    mimic = ("|", "|move|p1a: Mew|Mimic|p2a: Onix", "|-start|p1a: Mew|Mimic|Hyper Beam", *UPKEEP, "|turn|2", *use)
    seen = read(*mimic, *turns).sides[0].observation
    left = seen["active_moves"][1:, 0, 0, c.MOVE_PP] * seen["active_moves"][1:, 0, 0, c.MOVE_MAX_PP] * PP_SCALE
    assert left.tolist() == [8] * 8 + [7, 6]  # 15 are left of Mimic's 16 and may be 8 at most
    assert seen["moves"][-1, 0, 0, c.MOVE_PP] == 6 / 16
