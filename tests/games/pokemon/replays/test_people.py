"""What logs of people hold that generated ones do not: chat, clocks, other names, other years, odd Pokémon."""

import numpy as np
import pytest

from sparring.core.replays import Filters, Reading, Replay
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.replays.episodes import read_replays
from sparring.games.pokemon.replays.layouts import read_log
from sparring.games.pokemon.replays.parse import ParsedBattle, parse_battle
from tests.games.pokemon.replays.logs import ATTACKS, battle

UPKEEP = ("|", "|upkeep")
TURNS = (*ATTACKS, *UPKEEP, "|turn|2", *ATTACKS)
LOG = battle(*TURNS)


def read(log: str, **filters: bool) -> Reading:
    return read_replays([Replay("one", log)], Filters(**filters), {})  # type: ignore[arg-type]


def parsed(log: str, format: str = "gen9customgame") -> ParsedBattle:
    return parse_battle(log, find_format(format))


def same(log: str) -> None:
    """Holds a log to be read as `LOG` is."""
    first, other = read(LOG).episodes["gen9customgame"], read(log).episodes["gen9customgame"]
    assert other.headers.outcome.tolist() == first.headers.outcome.tolist()
    assert other.steps.action.tolist() == first.steps.action.tolist()
    for name, rows in first.steps.observation.items():
        assert (rows == other.steps.observation[name]).all(), name


@pytest.mark.parametrize(
    "line",
    [
        "|j|☆Guest 12",
        "|l|☆Guest 12",
        "|n|☆Ann 2|ann",
        "|c|☆Guest 12|gl hf",
        "|c:|1700000000|☆Guest 12|a|b|win|Bob",
        "|c|☆Guest 12||win|Bob",
        "|chat|Guest|/me dances",
        "|inactive|Battle timer is ON: inactive players will automatically lose when time's up.",
        "|inactive|Ann has 30 seconds left this turn.",
        "|inactiveoff|Battle timer is now OFF.",
        "|t:|1700000000",
        "|askreg|ann",
        "|-hint|In Gen 9, nobody knows why.",
        "|-message|Spectators are not allowed to talk.",
        "|raw",
        "|raw|",
        '|raw|<div class="broadcast-blue">custom rules are fun</div>',
        "|html|<script>alert(1)</script>",
        "|uhtml|box|<b>a</b>|more|win|Bob",
        "|uhtmlchange|box|",
        "|error|[Invalid choice] something",
        "|bigerror|The server restarts in 5 minutes.",
        "|debug|accuracy",
        "|unlink|bob",
        "|player|p2|",
        "|player|p1|Ann|1|1500",
        "|title|Ann vs. Bob",
        "|seed|1,2,3,4",
        "Bob says: |win|Bob",
        "plain text of an old server",
        "<b>|faint|p1a: Mew</b>",
        "",
        " ",
        "\u2028|win|Bob",
    ],
)
@pytest.mark.parametrize("before", ["|turn|1", "|move|p2a: Onix", "|win|Ann"])
def test_what_people_and_servers_say_beside_the_battle_changes_nothing(line: str, before: str) -> None:
    at = LOG.index(f"\n{before}")
    same(f"{LOG[:at]}\n{line}{LOG[at:]}")


def test_what_follows_the_end_changes_nothing() -> None:
    after = ("|raw|Ann's rating: 1500 &rarr; <strong>1520</strong>", "|l|☆Bob", "|player|p2|", "|c|Ann|gg", "|deinit")
    same("\n".join([LOG, *after, ""]))


@pytest.mark.parametrize(
    "name",
    [
        "Onix",  # the foe's species
        "p2a: Onix",
        "A: B",
        ":",
        "[from]",
        "[of] p2a: Onix",
        "0 fnt",
        "☃\u200b",
        "a\u2028b",
        "a\u0085b",
        "a\x0bb",
        "<script>",
        "null",
        "-",
        "a, M, shiny",
        "M" * 200,
    ],
)
def test_a_nickname_is_only_a_name(name: str) -> None:
    same(LOG.replace("p1a: Mew", f"p1a: {name}"))


def test_two_that_bear_each_others_species_as_names() -> None:
    log = battle(
        *("|", "|switch|p1a: Jynx|Abra, M|100/100", "|move|p2a: Onix|Rock Slide|p1a: Jynx", *UPKEEP, "|turn|2"),
        *("|", "|switch|p1a: Abra|Jynx, F|100/100", "|move|p2a: Onix|Rock Slide|p1a: Abra", *UPKEEP, "|turn|3"),
        *("|", "|switch|p1a: Jynx|Abra, M|100/100"),
    )
    side = parsed(log).sides[0]
    dex = load_dex(9)
    species = [dex.species.ids[number] for number in side.observation["pokemon_ids"][0, :3, c.POKEMON_ID_SPECIES]]
    assert species == ["mew", "abra", "jynx"]
    assert (side.consistent.sum(axis=1) == 1).all()


def test_a_player_who_takes_another_name_in_mid_battle() -> None:
    at = LOG.index("|turn|2")
    renamed = LOG[:at] + "|player|p1|Anna the Great|7|1500\n|n|☆Anna the Great|ann\n" + LOG[at:]
    for winner in ("Ann", "ANN", "Anna the Great", "annathegreat"):
        same(renamed.replace("|win|Ann", f"|win|{winner}"))


def test_players_who_cannot_be_told_apart() -> None:
    (rejected,) = read(LOG.replace("|Ann", "|Someone").replace("|Bob", "|Someone")).rejected.values()
    assert (rejected.reason, rejected.detail) == (
        "unfinished",
        "both players are called 'Someone': nobody can tell who won",
    )


@pytest.mark.parametrize(
    ("end", "outcome", "forfeited"),
    [
        (("|", "|tie"), [0, 0], False),
        (("|", "|tie|"), [0, 0], False),
        (("|-message|Bob forfeited.", "|", "|win|Ann"), [1, -1], True),
        (("|-message|Ann lost due to inactivity.", "|", "|win|Bob"), [-1, 1], True),
        (("|-message|Ann lost because of their inactivity.", "|", "|win|Bob"), [-1, 1], True),
        (("|-message|Bob forfeited by changing their name.", "|", "|win|Ann"), [1, -1], True),
        (("|inactive|Bob disconnected and has a minute to reconnect!", "|", "|win|Ann"), [1, -1], False),
    ],
)
def test_how_battles_end(end: tuple[str, ...], outcome: list[int], forfeited: bool) -> None:
    log = battle(*TURNS, end=end)
    assert read(log).episodes["gen9customgame"].headers.outcome.tolist() == outcome
    assert bool(read(log, forfeits=False).rejected) is forfeited


def test_battles_of_no_turns() -> None:
    head = battle().split("\n|start")[0]
    preview = "\n".join(["|clearpoke", "|poke|p1|Mew|", "|poke|p2|Onix, M|", "|teampreview"])
    at_preview = "\n".join([head, preview, "|-message|Bob forfeited.", "|", "|win|Ann"])
    (rejected,) = read(at_preview).rejected.values()
    assert (rejected.reason, rejected.detail) == ("unfinished", "the battle never began")
    (rejected,) = read(battle(end=("|-message|Bob forfeited.", "|", "|win|Ann"))).rejected.values()
    assert rejected.reason == "no decisions"
    chosen = "\n".join(
        [
            *(head, preview, "|", "|start", "|switch|p1a: Mew|Mew|100/100", "|switch|p2a: Onix|Onix, M|100/100"),
            *("|turn|1", "|-message|Bob forfeited.", "|", "|win|Ann"),
        ]
    )
    assert read(chosen).episodes["gen9customgame"].headers.lengths.tolist() == [1, 1]  # who leads


def test_a_log_that_was_joined_again_shows_its_preview_twice() -> None:
    head = battle().split("\n|start")[0]
    preview = [
        "|clearpoke",
        *(f"|poke|p{side}|{name}|" for side in (1, 2) for name in ("Mew", "Onix, M", "Abra", "Muk")),
    ]
    rest = [
        "|teampreview",
        "|",
        "|start",
        "|switch|p1a: Mew|Mew|100/100",
        "|switch|p2a: Onix|Onix, M|100/100",
        "|turn|1",
    ]
    log = "\n".join([head, *preview, *preview, *rest, *TURNS, "|", "|win|Ann"])
    assert [len(team) for team in parsed(log).timeline.teams] == [4, 4]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_empty_lines_whose_bar_was_lost(line_end: str) -> None:
    bare = line_end.join("" if line == "|" else line for line in LOG.split("\n"))
    same(read_log(bare, "here", id="one").log)


def test_empty_lines_without_a_meaning() -> None:
    same(LOG.replace("\n", "\n\n"))


def test_a_log_without_empty_lines_cannot_be_cut_into_choices() -> None:
    (rejected,) = read("\n".join(line for line in LOG.split("\n") if line != "|")).rejected.values()
    assert rejected.reason == "malformed line"
    assert "no empty line marks the choices of turn 1" in rejected.detail


@pytest.mark.parametrize(
    ("generation", "tier", "id"),
    [(5, "OU", "ou"), (6, "Random Battle", "randombattle"), (4, "[Gen 4] OU", "gen4ou"), (7, "OU (beta)", "oubeta")],
)
def test_formats_as_other_years_named_them(generation: int, tier: str, id: str) -> None:
    log = battle(*TURNS, gen=generation).replace(f"[Gen {generation}] Custom Game", tier)
    assert list(read(log).episodes) == [id]


def test_turns_end_in_logs_of_years_that_do_not_say_so() -> None:
    log = battle(
        *("|", "|move|p1a: Mew|Rain Dance|p1a: Mew", "|-weather|RainDance", "|cant|p2a: Onix|flinch"),
        *("|", "|-weather|RainDance|[upkeep]", "|upkeep", "|turn|2", *ATTACKS, "|faint|p2a: Onix"),
        *("|", "|-weather|RainDance|[upkeep]", "|upkeep", "|c|☆Guest|gg", "|inactive|30 seconds left"),
        *("|", "|c|☆Guest|gg", "|switch|p2a: Abra|Abra, M|100/100", "|faint|p2a: Abra"),
        *("|", "|switch|p2a: Jynx|Jynx, F|100/100", "|turn|3", *("|", "|move|p1a: Mew|Surf|p2a: Jynx")),
        gen=5,
    )
    new, old = (
        parsed(text, "gen5customgame")
        for text in (log, "\n".join(line for line in log.split("\n") if line != "|upkeep"))
    )
    for one, other in zip(new.sides, old.sides, strict=True):
        assert (one.consistent == other.consistent).all()
        for name, rows in one.observation.items():
            assert (rows == other.observation[name]).all(), name
    turns = new.sides[0].observation["field"][:, c.FIELD_WEATHER_TURNS]
    assert turns[0] == 0.0
    assert len(set(turns.tolist())) == len(turns)


@pytest.mark.parametrize("kind", ["detailschange", "-formechange"])
def test_a_mega_evolution_that_only_its_forme_tells(kind: str) -> None:
    moved = ("|move|p1a: Luke|Close Combat|p2a: Onix", *UPKEEP, "|turn|2", "|", "|move|p1a: Luke|Surf|p2a: Onix")
    log = battle("|", f"|{kind}|p1a: Luke|Lucario-Mega, M", "|message|Lucario has Mega Evolved!", *moved, gen=6)
    found = parsed(log.replace("p1a: Mew|Mew|", "p1a: Luke|Lucario, M|"), "gen6customgame")
    space = action_space(find_format("gen6customgame"))
    (chosen,) = np.flatnonzero(found.sides[0].consistent[0])
    gimmick = int(space.orders.gimmick[space.orders_of(int(chosen))[0]])
    assert space.gimmicks[gimmick - 1] == "mega"
    assert not found.odd


@pytest.mark.parametrize(
    ("details", "species"),
    [
        ("Gastrodon-East, F", "gastrodon"),
        ("Vivillon-Pokeball, M", "vivillonpokeball"),
        ("Florges-Blue, F", "florges"),
        ("Alcremie-Ruby-Swirl, F", "alcremie"),
        ("Minior-Orange", "minior"),
        ("Unown-Question", "unown"),
        ("Sawsbuck-Winter, M", "sawsbuck"),
        ("Furfrou-Dandy, M", "furfrou"),
        ("Tatsugiri-Droopy, M", "tatsugiridroopy"),
        ("Maushold-Four", "mausholdfour"),
        ("Polteageist-Antique", "polteageistantique"),
        ("Keldeo-Resolute", "keldeoresolute"),
        ("Nidoran-F, F", "nidoranf"),
        ("Nidoran♀, F", "nidoranf"),
        ("Farfetch’d, M", "farfetchd"),
        ("Flabébé, F", "flabebe"),
        ("Type: Null", "typenull"),
        ("Mr. Mime-Galar, M", "mrmimegalar"),
    ],
)
def test_formes_and_names_of_every_kind(details: str, species: str) -> None:
    log = LOG.replace("|Mew|100", f"|{details}|100")
    dex, rows = load_dex(9), parsed(log).sides[0].observation
    assert dex.species.ids[rows["pokemon_ids"][0, 0, c.POKEMON_ID_SPECIES]] == species


def test_a_cosmetic_forme_of_the_preview_is_who_comes_in() -> None:
    head = battle().split("\n|start")[0]
    preview = ["|clearpoke", "|poke|p1|Gastrodon-East, F|", "|poke|p1|Sawsbuck-Winter, M|", "|poke|p2|Onix, M|"]
    rest = ["|teampreview", "|", "|start", "|switch|p1a: Sid|Sawsbuck-Winter, M|100/100"]
    turn = ["|switch|p2a: Onix|Onix, M|100/100", "|turn|1", "|", "|switch|p1a: Gary|Gastrodon-East, F|100/100"]
    battle_read = parsed("\n".join([head, *preview, *rest, *turn, "|", "|win|Ann"]))
    assert [member.name for member in battle_read.timeline.teams[0]] == ["Gary", "Sid"]
    assert not battle_read.odd


def test_ditto_and_zoroark() -> None:
    log = battle(
        *("|", "|switch|p1a: Ditto|Ditto|100/100", "|-transform|p1a: Ditto|p2a: Onix|[from] ability: Imposter"),
        *("|move|p2a: Onix|Rock Slide|p1a: Ditto", *UPKEEP, "|turn|2"),
        *("|", "|move|p1a: Ditto|Rock Slide|p2a: Onix", "|switch|p2a: Jynx|Jynx, F|100/100", *UPKEEP, "|turn|3"),
        *("|", "|replace|p2a: Zed|Zoroark, M", "|-end|p2a: Zed|Illusion", "|faint|p2a: Zed", *UPKEEP),
        *("|", "|switch|p2a: Jynx|Jynx, F|100/100", "|turn|4", "|", "|move|p2a: Jynx|Psychic|p1a: Ditto"),
    )
    found = parsed(log)
    assert not found.odd
    assert [member.name for member in found.timeline.teams[1]] == ["Onix", "Jynx", "Zed"]


NOTICE = (
    '|raw|<div class="infobox"><details class="readmore" open><summary><strong>2 custom rules:</strong></summary> '
    "!Sleep Clause Mod, +Mewtwo</details></div>"
)


@pytest.mark.parametrize(
    ("tier", "lines", "told"),
    [
        ("[Gen 9] OU", [NOTICE], "2 custom rules"),
        ("[Gen 9] Gone With The Wind", [NOTICE], "2 custom rules"),
        ("[Gen 9] OU", ["|rule|Inverse Mod: Weaknesses become resistances"], "Inverse Mod"),
        ("[Gen 9] OU", ["|rule|Terastal Clause: You cannot Terastallize"], "Terastal Clause"),
        ("[Gen 9] Monotype", ["|rule|Terastal Clause: You cannot Terastallize"], ""),
        ("[Gen 9] Inverse", ["|rule|Inverse Mod: Weaknesses become resistances"], ""),
        ("[Gen 9] OU", ["|rule|Sleep Clause Mod: Limit one foe put to sleep", "|rule|HP Percentage Mod: HP"], ""),
        ("[Gen 9] OU", ["|rule|Swagger Clause: of another year"], ""),
        ("[Gen 9] Gone With The Wind", ["|rule|Wind Mod: It blows"], ""),
        ("[Gen 9] OU", ["|c|☆Guest|2 custom rules: none", "|rule", "|rule|"], ""),
    ],
)
def test_battles_with_custom_rules_are_left_out_and_counted(tier: str, lines: list[str], told: str) -> None:
    log = LOG.replace("|start", "\n".join([*lines, "|start"])).replace("[Gen 9] Custom Game", tier)
    assert [str(one) for one in read(log).rejected.values()] == (
        [f"filtered: custom rules: one: {told}"] if told else []
    )
    assert not read(log, custom_rules=True).rejected


def test_what_spectators_say_of_rules_later_is_no_notice() -> None:
    assert not read(LOG.replace("|turn|2", f"{NOTICE}\n|turn|2")).rejected
