"""Logs as episodes: formats, filters, what is rejected and why, and what mutated logs come to."""

from math import isnan

import numpy as np
import pytest

from sparring.core import InputError
from sparring.core.episodes import unpack_mask
from sparring.core.replays import Filters, Reading, Replay
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.replays import episodes as module
from sparring.games.pokemon.replays.episodes import read_replays
from tests.games.pokemon.replays.logs import ATTACKS, DOUBLES, battle
from tests.torture.replays import torture

TURN = ("|", "|move|p1a: Mew|Psychic|p2a: Onix", "|move|p2a: Onix|Harden|p2a: Onix", "|", "|upkeep", "|turn|2")
LOG = battle(*TURN, "|", "|cant|p1a: Mew|par", "|move|p2a: Onix|Harden|p2a: Onix")


def read(log: str = LOG, *, filters: Filters | None = None, format: str = "", **facts: float) -> Reading:
    options = {"format": format} if format else {}
    return read_replays([Replay("one", log, **facts)], filters or Filters(), options)  # type: ignore[arg-type]


def only(reading: Reading) -> module.Episodes:
    (found,) = reading.episodes.values()
    return found


def test_both_players_have_an_episode_with_what_is_known_of_them() -> None:
    episodes = only(read(played_at=1_600_000_000))
    assert episodes.players == ("Ann", "Bob")
    assert episodes.headers.seat.tolist() == [0, 1]
    assert episodes.headers.outcome.tolist() == [1, -1]
    assert episodes.headers.lengths.tolist() == [2, 2]
    assert episodes.headers.rating is not None
    assert episodes.headers.rating.tolist() == [1500, 1600]
    assert episodes.headers.played_at is not None
    assert set(episodes.headers.played_at.tolist()) == {1_600_000_000}
    assert np.add.reduceat(episodes.steps.reward, episodes.starts).tolist() == [1, -1]
    assert episodes.steps.turn.tolist() == [0, 1, 0, 1]


def test_an_action_is_exact_where_the_log_shows_it_and_a_set_where_it_does_not() -> None:
    episodes = only(read())
    action = episodes.steps.action
    assert action[0] == 0  # the first move that was ever shown
    assert action[1] == -1  # paralysed: it was told some move
    assert episodes.steps.consistent is not None
    sets = np.unpackbits(episodes.steps.consistent, axis=1, count=episodes.spec.actions, bitorder="little")
    assert sets.sum(axis=1)[0] == 1
    assert sets.sum(axis=1)[1] > 1
    assert (sets <= episodes.unpack_legal()).all()


def test_what_the_owner_knew_all_along_is_there_from_the_first_turn() -> None:
    log = battle(*TURN, "|", "|move|p1a: Mew|Surf|p2a: Onix")
    ids = only(read(log)).steps.observation["move_ids"]
    assert (ids[0, 0, :2] > 0).all()  # its owner knew Surf at turn 1
    assert ids[2, 6, 1] == 0  # the foe did not


def test_a_format_that_the_simulator_no_longer_has_is_read_by_what_the_log_says() -> None:
    reading = read(LOG.replace("[Gen 9] Custom Game", "[Gen 9] Gone With The Wind"))
    assert list(reading.episodes) == ["gen9gonewiththewind"]
    assert list(read(format="gen9ou").episodes) == ["gen9ou"]


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        (Filters(formats=("gen1ou",)), "filtered: format"),
        (Filters(min_rating=1550), "filtered: rating"),
        (Filters(since=1), "filtered: date"),
        (Filters(min_turns=3), "filtered: turns"),
    ],
)
def test_what_is_not_wanted_says_why(filters: Filters, reason: str) -> None:
    (rejected,) = read(filters=filters).rejected.values()
    assert rejected.reason == reason


def test_a_fault_of_the_reader_costs_one_battle_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*battle: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(module, "parse_battle", fail)
    (rejected,) = read().rejected.values()
    assert (rejected.reason, rejected.detail) == ("reader failed", "one: ZeroDivisionError: oh")


def moves_allowed(log: str, row: int, format: str = "gen8ou") -> list[bool]:
    episodes = only(read(log, format=format))
    legal: list[bool] = episodes.unpack_legal()[row, :4].tolist()
    return legal


def test_a_choice_item_binds_only_from_the_move_after_it_came() -> None:
    turn = ("|", "|upkeep")
    log = battle(
        *("|", "|move|p1a: Mew|Psychic|p2a: Onix", "|move|p2a: Onix|Trick|p1a: Mew"),
        *("|-item|p1a: Mew|Choice Scarf|[from] move: Trick", "|-item|p2a: Onix|Choice Scarf|[from] move: Trick"),
        *(
            *turn,
            "|turn|2",
            "|",
            "|move|p1a: Mew|Surf|p2a: Onix",
            *turn,
            "|turn|3",
            "|",
            "|move|p1a: Mew|Surf|p2a: Onix",
        ),
        gen=8,
    )
    assert moves_allowed(log, 1)[:2] == [True, True]


def test_a_rampage_with_a_disabled_move_leaves_no_choice() -> None:
    log = battle(
        *("|", "|move|p1a: Mew|Outrage|p2a: Onix", "|-start|p1a: Mew|Disable|Outrage|[from] ability: Cursed Body"),
        *("|", "|upkeep", "|turn|2", "|", "|cant|p1a: Mew|Disable|Outrage"),
        gen=8,
    )
    assert only(read(log, format="gen8ou")).unpack_legal()[1].sum() == 1


def test_who_left_could_leave_and_what_was_made_could_be_made() -> None:
    trapped = battle(
        *("|", "|-ability|p2a: Onix|Shadow Tag", "|move|p1a: Mew|Psychic|p2a: Onix", "|", "|upkeep", "|turn|2"),
        *("|", "|switch|p1a: Jynx|Jynx, F|100/100"),
        gen=8,
    )
    episodes = only(read(trapped, format="gen8ou"))
    assert episodes.steps.action[1] >= 0
    assert not read(trapped, format="gen8ou").odd


def test_a_move_that_encore_forbids_may_still_be_made_a_z_move_of() -> None:
    log = battle(
        *("|", "|move|p1a: Mew|Ancient Power|p2a: Onix", "|", "|upkeep", "|turn|2"),
        *("|", "|move|p1a: Mew|Surf|p2a: Onix", "|move|p2a: Onix|Encore|p1a: Mew", "|-start|p1a: Mew|Encore"),
        *("|", "|upkeep", "|turn|3", "|", "|-zpower|p1a: Mew", "|move|p1a: Mew|Continental Crush|p2a: Onix|[zeffect]"),
        gen=7,
    )
    reading = read(log, format="gen7ou")
    assert not reading.odd
    episodes, space = only(reading), action_space(find_format("gen7ou"))
    assert episodes.steps.consistent is not None
    sets = np.unpackbits(episodes.steps.consistent, axis=1, count=episodes.spec.actions, bitorder="little")
    assert any(space.orders.move[order] == 0 and space.orders.gimmick[order] for order in np.flatnonzero(sets[2]))


def test_without_the_simulator_no_battle_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*battle: object) -> None:
        raise InputError("the Pokémon simulator is not installed")

    monkeypatch.setattr(module, "parse_battle", missing)
    with pytest.raises(InputError):
        read()


def test_encore_after_a_max_move_forbids_nothing_as_the_log_does_not_tell_which_move_it_was() -> None:
    log = battle(
        *("|", "|-start|p1a: Mew|Dynamax", "|move|p1a: Mew|Max Geyser|p2a: Onix", "|-end|p1a: Mew|Dynamax"),
        *("|", "|upkeep", "|turn|2", "|", "|move|p2a: Onix|Encore|p1a: Mew", "|-start|p1a: Mew|Encore"),
        *("|move|p1a: Mew|Surf|p2a: Onix", "|", "|upkeep", "|turn|3", "|", "|move|p1a: Mew|Surf|p2a: Onix"),
        *("|", "|upkeep", "|turn|4", "|", "|switch|p1a: Abra|Abra, M|100/100"),
        gen=8,
    )
    episodes = only(read(log, format="gen8ou"))
    legal = unpack_mask(episodes.steps.legal, episodes.spec.actions)
    assert legal[1:4, :4].all()
    assert not episodes.steps.observation["active_moves"][1:4, 0, :, c.MOVE_DISABLED].any()


@pytest.mark.parametrize(("species", "able"), [("Mew", 1.0), ("Eternatus", 0.0), ("Zacian-Crowned", 0.0)])
def test_some_never_dynamax(species: str, able: float) -> None:
    log = battle(*ATTACKS, gen=8).replace("|Mew|100", f"|{species}|100")
    episodes = only(read(log, format="gen8anythinggoes"))
    assert episodes.steps.observation["active"][0, 0, c.ACTIVE_CAN_DYNAMAX] == able


def test_who_commands_from_inside_an_ally_can_only_pass_until_that_one_is_gone() -> None:
    log = battle(
        *("|", "|switch|p1a: Tatsugiri|Tatsugiri, M|100/100", "|switch|p1b: Dondozo|Dondozo, M|100/100"),
        *("|-activate|p1a: Tatsugiri|ability: Commander|[of] p1b: Dondozo", "|", "|upkeep", "|turn|2"),
        *("|", "|move|p1b: Dondozo|Wave Crash|p2a: Onix", "|faint|p1b: Dondozo", "|", "|upkeep"),
        *(
            "|",
            "|switch|p1b: Mew|Mew|100/100",
            "|turn|3",
            "|",
            "|move|p1a: Tatsugiri|Muddy Water|p2a: Onix|[spread] p2a",
        ),
        kind="doubles",
    )
    reading = read(log, format="gen9doublescustomgame")
    assert not reading.odd
    episodes, space = only(reading), action_space(find_format("gen9doublescustomgame"))
    commanding = episodes.steps.observation["active"][:4, 0, c.ACTIVE_COMMANDING]
    assert commanding.tolist() == [0.0, 1.0, 0.0, 0.0]
    legal = unpack_mask(episodes.steps.legal, episodes.spec.actions)
    passes = [{space.orders_of(int(action))[0] for action in np.flatnonzero(legal[row])} for row in (1, 3)]
    (only_order,) = passes[0]
    assert space.orders.move[only_order] < 0
    assert space.orders.switch[only_order] < 0
    assert only_order not in passes[1]


def test_a_side_that_can_do_nothing_is_a_reason_to_reject() -> None:
    (rejected,) = read(LOG.replace("|switch|p1a: Mew|Mew|100/100\n", "")).rejected.values()
    assert str(rejected) == "nothing allowed: line 10: p1 must choose and can do nothing"


def test_damaged_logs_are_read_or_rejected_with_a_reason() -> None:
    tally, problems = torture([LOG, battle(*DOUBLES, kind="doubles")], 200, seed=1)
    assert problems == []
    assert tally["read"] > 40
    assert len(tally) > 5


def test_a_rating_that_nobody_gave_is_none() -> None:
    log = LOG.replace("|1500", "").replace("|1600", "")
    ratings = only(read(log)).headers.rating
    assert ratings is not None
    assert all(isnan(rating) for rating in ratings)
