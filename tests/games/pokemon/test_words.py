"""Protocol lines in words, for spectators and for a player."""

import pytest

from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.players import HeuristicPlayer
from sparring.games.pokemon.settings import PokemonSettings
from sparring.games.pokemon.words import Narrator

NAMES = {"p1": "Ann", "p2": "Ben"}


@pytest.mark.parametrize(
    ("line", "spectator", "player"),
    [
        ("|turn|3", "Turn 3", "Turn 3"),
        ("|switch|p1a: Bob|Mew, L50|100/100", "Ann sent out Bob (Mew) at 100%.", "Ann sent out Bob (Mew) at 100%."),
        ("|switch|p2a: Muk|Muk, M|50/100 par", "Ben sent out Muk at 50%.", "You sent out Muk at 50%."),
        ("|drag|p2a: Muk|Muk, M|50/100", "Ben's Muk was dragged out at 50%.", "Your Muk was dragged out at 50%."),
        (
            "|move|p1a: Mew|Surf|p2a: Muk",
            "Ann's Mew used Surf on Ben's Muk.",
            "The foe's Mew used Surf on your Muk.",
        ),
        ("|move|p1a: Mew|Recover|p1a: Mew", "Ann's Mew used Recover.", "The foe's Mew used Recover."),
        ("|move|p1a: Mew|Surf||[still]", "Ann's Mew used Surf.", "The foe's Mew used Surf."),
        ("|cant|p2a: Muk|par", "Ben's Muk is fully paralysed.", "Your Muk is fully paralysed."),
        (
            "|cant|p2a: Muk|move: Taunt|Toxic",
            "Ben's Muk cannot use Toxic (Taunt).",
            "Your Muk cannot use Toxic (Taunt).",
        ),
        ("|-status|p1a: Mew|tox", "Ann's Mew was badly poisoned.", "The foe's Mew was badly poisoned."),
        (
            "|-boost|p1a: Mew|spa|2",
            "Ann's Mew's Special Attack rose by 2.",
            "The foe's Mew's Special Attack rose by 2.",
        ),
        ("|-unboost|p2a: Muk|spe|0", "Ben's Muk's Speed cannot go any lower.", "Your Muk's Speed cannot go any lower."),
        ("|-sidestart|p2: Ben|move: Stealth Rock", "Stealth Rock was set up on Ben's side.", None),
        ("|-sideend|p2: Ben|Reflect", None, "Reflect ended on your side."),
        ("|-weather|RainDance|[from] ability: Drizzle|[of] p1a: Mew", "The weather turned to rain (Drizzle).", None),
        ("|-weather|RainDance|[upkeep]", "", ""),
        ("|-weather|none", "The weather cleared.", None),
        ("|-fieldstart|move: Misty Terrain", "Misty Terrain now covers the field.", None),
        ("|-terastallize|p2a: Muk|Ghost", "Ben's Muk terastallized into the Ghost type.", None),
        ("|detailschange|p2a: Muk|Muk-Alola, M", "Ben's Muk became Muk-Alola.", None),
        ("|-start|p2a: Muk|move: Brand New|[of] p1a: Mew", "Ben's Muk: Brand New.", "Your Muk: Brand New."),
        ("|-end|p2a: Muk|confusion|[silent]", "", ""),
        ("|-enditem|p2a: Muk|Sitrus Berry|[eat]", "Ben's Muk ate its Sitrus Berry.", None),
        ("|win|Ben", "Ben won the battle.", "You won the battle."),
        ("|win|Ann", "Ann won the battle.", "Ann won the battle."),
        ("|tie", "The battle is a tie.", None),
        ("|c|Ann|a|b", "Ann: a|b", None),
        ("|t:|123", "", ""),
        ("|rule|Sleep Clause", "", ""),
        ("|move|p1a: Mew", "", ""),
        ("|-damage|p1a: Mew|x/y", "", ""),
        ("", "", ""),
        ("no line", "", ""),
    ],
)
def test_a_line_in_words(line: str, spectator: str | None, player: str | None) -> None:
    if spectator is not None:
        assert Narrator(NAMES).tell(line) == spectator
    if player is not None:
        assert Narrator(NAMES, you="p2").tell(line) == player


def test_a_hit_is_told_as_what_it_cost() -> None:
    narrator = Narrator(NAMES)
    lines = (
        "|switch|p1a: Mew|Mew|300/300",
        "|-damage|p1a: Mew|150/300 psn",
        "|-damage|p1a: Mew|131/300 psn|[from] psn",
        "|-heal|p1b: Mew|150/300 psn|[from] item: Leftovers",
        "|-damage|p1a: Mew|1/300 psn",
        "|-damage|p1a: Mew|0 fnt",
    )
    assert [narrator.tell(line) for line in lines][1:] == [
        "Ann's Mew lost 50% of its HP: 50% left.",
        "Ann's Mew lost 6% of its HP (poison): 44% left.",
        "Ann's Mew regained 6% of its HP (Leftovers): 50%.",
        "Ann's Mew lost 50% of its HP: 1% left.",
        "Ann's Mew lost 1% of its HP: none left.",
    ]


@pytest.mark.parametrize("format_id", ["gen1randombattle", "gen4randombattle", "gen9randomdoublesbattle"])
def test_every_line_of_a_real_battle_that_tells_something_has_words(format_id: str) -> None:
    settings = PokemonSettings(format=format_id)
    arena, player = PokemonArena(settings, matches=4, seed=2), HeuristicPlayer(settings, 0)
    told: list[tuple[str, str]] = []
    narrator = Narrator(NAMES)

    def hear(match: int, seat: int, first: bool, lines: str, request: object) -> None:
        told.extend((line, narrator.tell(line)) for line in lines.split("\n"))

    arena.listener = hear
    try:
        ended = 0
        while ended < 4:
            decisions, results = arena.wait()
            ended += len(results)
            arena.act(decisions, player.act(decisions).action)
    finally:
        arena.close()
    silent = ("upkeep", "gametype", "player", "teamsize", "gen", "tier", "rule", "start", "rated", "error")
    for line, words in told:
        if line and line.split("|")[1] not in silent and "[silent]" not in line and "[upkeep]" not in line:
            assert words, line
