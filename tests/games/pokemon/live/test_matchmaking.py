"""How battles are asked for: one at a time, again when it is time, and no longer when it is hopeless."""

import time

import pytest

from sparring.core import InputError
from sparring.games.pokemon.live import matchmaking
from sparring.games.pokemon.live.matchmaking import Matchmaker


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(matchmaking, "monotonic", made)
    return made


def maker(how: str, opponent: str = "") -> tuple[Matchmaker, list[str], list[str]]:
    sent: list[str] = []
    said: list[str] = []
    made = Matchmaker(
        "gen1ou", how=how, opponent=opponent, me="ourbot", team=lambda: "TEAM", send=sent.append, say=said.append
    )
    return made, sent, said


def test_the_ladder_is_searched_again_only_after_the_battle_began(clock: Clock) -> None:
    matches, sent, _ = maker("ladder")
    matches.poll(0, 2)
    assert sent == ["/utm TEAM", "/search gen1ou"]
    matches.read('|updatesearch|{"searching":["gen1ou"],"games":null}', 0)
    clock.now += 300
    matches.poll(0, 2)
    assert len(sent) == 2
    matches.begun()
    matches.poll(1, 1)
    assert len(sent) == 4


def test_a_search_that_the_server_never_confirmed_is_sent_again(clock: Clock) -> None:
    matches, sent, _ = maker("ladder")
    matches.poll(0, 1)
    clock.now += 21
    matches.poll(0, 1)
    assert sent.count("/search gen1ou") == 2


def test_a_challenge_that_was_rejected_is_made_again_later(clock: Clock) -> None:
    matches, sent, _ = maker("challenge", "Rival")
    matches.poll(0, 1)
    matches.read("|pm| Ourbot| Rival|/challenge gen1ou|gen1ou|||", 0)
    matches.read("|pm| Ourbot| Rival|/challenge", 0)
    matches.poll(0, 1)
    assert sent.count("/challenge Rival, gen1ou") == 1
    clock.now += 3
    matches.poll(0, 1)
    assert sent.count("/challenge Rival, gen1ou") == 2


def test_challenges_are_accepted_one_by_one_and_others_rejected(clock: Clock) -> None:
    matches, sent, _ = maker("accept")
    matches.poll(0, 2)
    assert sent == []
    matches.read("|pm| Ann| Ourbot|/challenge gen1ou|gen1ou|||", 0)
    matches.read("|pm| Bob| Ourbot|/challenge gen1ou|gen1ou|||", 0)
    matches.read("|pm| Cy| Ourbot|/challenge gen9ou|gen9ou|||", 0)
    matches.read("|pm| Ann| Ourbot|/challenge", 0)
    matches.poll(0, 2)
    matches.poll(0, 2)
    assert sent == ["/reject cy", "/utm TEAM", "/accept bob"]


def test_only_the_named_ones_challenges_are_accepted() -> None:
    matches, sent, _ = maker("accept", "Ann")
    matches.read("|pm| Bob| Ourbot|/challenge gen1ou|gen1ou|||", 0)
    matches.poll(0, 1)
    assert sent == []


@pytest.mark.parametrize(
    ("popup", "seconds"),
    [
        ("Due to high load, you are limited to 12 battles and team validations every 3 minutes.", 30),
        ("You challenged less than 10 seconds after your last challenge! It's cancelled in case it's a misclick.", 10),
        ("The user 'Rival' was not found.", 3),
    ],
)
def test_a_popup_that_passes_is_said_once_and_waited_for(clock: Clock, popup: str, seconds: float) -> None:
    matches, sent, said = maker("challenge", "Rival")
    for tries in (1, 2):
        matches.poll(0, 1)
        assert sent.count("/challenge Rival, gen1ou") == tries
        matches.read(f"|popup|{popup}", 0)
        clock.now += seconds - 1
        matches.poll(0, 1)
        assert sent.count("/challenge Rival, gen1ou") == tries
        clock.now += 2
    assert len(said) == 1


def test_a_limit_on_battles_at_the_same_time_is_kept(clock: Clock) -> None:
    matches, sent, _ = maker("ladder")
    matches.poll(5, 3)
    matches.read("|popup|Due to high load, you are limited to 5 games at the same time.", 5)
    clock.now += 100
    matches.poll(5, 3)
    assert sent.count("/search gen1ou") == 1
    matches.poll(4, 4)
    assert sent.count("/search gen1ou") == 2


@pytest.mark.parametrize(
    "popup",
    [
        "Your team was rejected for the following reasons:||- Mewtwo is banned.",
        "Error: Your format gen1ou is not ladderable.",
        "Your selected format is invalid:||- Unrecognized format",
    ],
)
def test_a_popup_that_will_not_pass_ends_it(popup: str) -> None:
    matches, _, _ = maker("ladder")
    matches.poll(0, 1)
    with pytest.raises(InputError, match="the server says"):
        matches.read(f"|popup|{popup}", 0)


def test_what_is_open_is_taken_back() -> None:
    for how, command in (("ladder", "/cancelsearch"), ("challenge", "/cancelchallenge Rival")):
        matches, sent, _ = maker(how, "Rival")
        matches.withdraw()
        assert sent == []
        matches.poll(0, 1)
        matches.withdraw()
        assert sent[-1] == command


@pytest.mark.parametrize("told", ["", "null", "5", "[]", '{"searching":5}', '{"searching":["gen1ou"]', "[" * 9000])
def test_a_search_that_makes_no_sense_is_an_error_of_its_line_only(clock: Clock, told: str) -> None:
    matches, sent, _ = maker("ladder")
    matches.poll(0, 1)
    with pytest.raises((ValueError, RecursionError)):
        matches.read(f"|updatesearch|{told}", 0)
    matches.read('|updatesearch|{"searching":["gen1ou"],"games":null}', 0)
    clock.now += 300
    matches.poll(0, 1)
    assert sent.count("/search gen1ou") == 1


def test_a_popup_of_15_megabytes_does_not_hold_us_up() -> None:
    matches, _, said = maker("ladder")
    started = time.monotonic()
    matches.read("|popup|" + "<" * 15_000_000, 0)
    assert time.monotonic() - started < 2.0
    assert len(said[0]) < 1100


def test_popups_and_challenges_without_end_are_not_all_kept(clock: Clock) -> None:
    matches, sent, said = maker("accept")
    for number in range(500):
        matches.read(f"|popup|\x1b[31mnumber {number}", 0)
        matches.read(f"|pm| user{number}| Ourbot|/challenge gen1ou|gen1ou|||", 0)
    assert len(said) == 20
    assert all(text.isprintable() for text in said)
    for _ in range(500):
        matches.begun()
        matches.poll(0, 1)
    assert sum(text.startswith("/accept") for text in sent) == 100


def test_a_battle_is_expected_only_after_we_asked(clock: Clock) -> None:
    matches, _, _ = maker("challenge", "Rival")
    assert not matches.expects
    matches.poll(0, 1)
    matches.read("|pm| Ourbot| Rival|/challenge", 0)
    assert not matches.waiting
    assert matches.expects
    matches.begun()
    assert not matches.expects
