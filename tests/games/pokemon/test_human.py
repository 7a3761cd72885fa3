"""A person plays: scripted input on the real simulator, in singles, doubles and team preview."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sparring.cli import app
from sparring.core import InputError, RandomPlayer, built_in, load_game
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.human import HumanPlayer
from sparring.games.pokemon.settings import PokemonSettings
from sparring.games.pokemon.setup import installation
from sparring.games.pokemon.terminal import print_battle
from sparring.rollout import Collector
from tests import hex


class Terminal:
    """Types the given lines and keeps what it is told; at the end of the lines the input ends."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = iter(lines)
        self.told: list[str] = []

    def ask(self, prompt: str) -> str:
        for line in self.lines:
            self.told.append(f"> {line}")
            return line
        raise EOFError

    @property
    def text(self) -> str:
        return "\n".join(self.told)

    def offered(self) -> int:
        """How many numbered choices the last question had."""
        last = [line for line in self.told if re.match(r"  +\d+  |You may:|For |Send in:|Revive:|Your team:", line)]
        start = max(number for number, line in enumerate(last) if not line.startswith(" "))
        return len(last) - start - 1


class Chooser(Terminal):
    """Types numbers at random among those offered, sometimes with a gimmick."""

    def __init__(self, seed: int, gimmick: str = "") -> None:
        super().__init__(self._typed())
        self._rng = np.random.default_rng(seed)
        self._gimmick = gimmick

    def _typed(self) -> Iterator[str]:
        while True:
            number = int(self._rng.integers(1, self.offered() + 1))
            example = re.search(r"leads?\b.*, such as ([\d ]+)", "".join(self.told[-2:]))
            if example:
                yield example.group(1)
                continue
            if self._gimmick and f"'{self._gimmick}'" in self.told[-1] and self._rng.random() < 0.5:
                yield f"{number} {self._gimmick[:4]}"
            yield str(number)


def play(format_id: str, terminal: Terminal, *, seat: int = 0, seed: int = 0) -> float:
    teams = str(installation().teams / "gen8ou.txt") if "customgame" in format_id else ""
    settings = PokemonSettings(format=format_id, team_set=teams)
    human = HumanPlayer(settings, ask=terminal.ask, tell=terminal.told.append)
    arena = PokemonArena(settings, matches=1, seed=seed)
    try:
        rival = RandomPlayer(seed)
        players = {"human": human, "rival": rival} if seat == 0 else {"rival": rival, "human": human}
        collector = Collector(arena, players, lambda serials: np.tile(np.arange(2, dtype=np.int32), (len(serials), 1)))
        return float(collector.play(1)[1][0, seat])
    finally:
        arena.close()


@pytest.mark.parametrize(
    ("format_id", "gimmick", "seat"),
    [
        ("gen1randombattle", "", 0),
        ("gen9randombattle", "terastallize", 1),
        ("gen8randombattle", "dynamax", 0),
        ("gen7randombattle", "zmove", 0),
        ("gen9randomdoublesbattle", "terastallize", 0),
        ("gen8doublescustomgame", "dynamax", 1),
        ("gen9championsrandombattle", "mega", 0),
    ],
)
def test_a_whole_battle_by_number(format_id: str, gimmick: str, seat: int) -> None:
    terminal = Chooser(3, gimmick)
    outcome = play(format_id, terminal, seat=seat, seed=3)
    assert outcome in (1.0, -1.0)
    assert "You sent out" in terminal.text
    assert "The foe sent out" in terminal.text
    assert "\nTurn 2" in terminal.text
    assert re.search(r"\d+-\d+%", terminal.text), "damage ranges"
    assert re.search(r"PP\n   1  .* \d+/\d+\n", terminal.text)
    loser = "Your" if outcome < 0 else "The foe's"
    assert re.fullmatch(rf"{loser} .+ fainted\.", [line for line in terminal.told if "fainted." in line][-1])
    if "doubles" in format_id:
        assert re.search(r"For .+:", terminal.text)
        assert re.search(r" at \w", terminal.text)
    if gimmick == "terastallize":
        assert re.search("Your .+ terastallized into", terminal.text)
    if gimmick == "dynamax":
        assert re.search("Your .+ dynamaxed", terminal.text)
        assert re.search(r"\d  Max [A-Z]", terminal.text)
    if gimmick == "mega":
        assert re.search("Your .+ mega evolved", terminal.text)
    if gimmick == "zmove":
        assert re.search("Your .+ surrounded itself with Z-power", terminal.text)


@pytest.mark.parametrize(("format_id", "wanted"), [("gen9ou", 1), ("gen8doublescustomgame", 2), ("gen9vgc2025regi", 4)])
def test_team_preview_takes_numbers_leads_first(format_id: str, wanted: int) -> None:
    lines = ["", "0", "7", "1 1 1 1", "x", " ".join("6253"[:wanted])]
    terminal = Terminal(lines)
    with pytest.raises(EOFError):
        play(format_id, terminal)
    refused = [line for line in terminal.told if "is no choice" in line]
    assert len(refused) == 5
    assert (f"{wanted} numbers from 1 to 6 with spaces between them" if wanted > 1 else "a number from 1") in refused[0]
    assert ("the two leads first, such as 6 5 1 2" in refused[0]) == (wanted == 4)
    assert ("stands on the left" in terminal.text) == (wanted > 1), "the order of the leads is not ours to choose"
    team = [line.split()[1].split("-")[0] for line in terminal.told if re.match(r"   \d  ", line)]
    sent = [line for line in terminal.told if line.startswith("You sent out")]
    leads = [5] if wanted == 1 else [1, 5]
    assert len(sent) == len(leads)
    for line, lead in zip(sent, leads, strict=True):
        assert team[lead] in line
    assert "The foe has" in terminal.text


def test_what_is_not_allowed_is_asked_again_with_what_is() -> None:
    terminal = Terminal(["", "hello", "0", "10", "1 tera", "-1", "1"])
    with pytest.raises(EOFError):
        play("gen1randombattle", terminal)
    refused = [line for line in terminal.told if "is no choice" in line]
    assert refused == [
        f"{typed!r} is no choice; type a number from 1 to 9, or help."
        for typed in ("", "hello", "0", "10", "1 tera", "-1")
    ]
    assert "\nTurn 2" in terminal.text


def test_help_says_what_can_be_typed_and_quit_leaves() -> None:
    terminal = Terminal(["help", "quit", "1"])
    with pytest.raises(EOFError):
        play("gen1randombattle", terminal)
    told = terminal.text.partition("> help")[2]
    for words in ("Type a number from 1 to 9.", "resign  give the battle up", "quit    leave", "PP: how often"):
        assert words in told
    assert "> 1" not in told, "nothing was asked after quit"


def test_a_battle_can_be_given_up() -> None:
    ended = CliRunner().invoke(app, ["play", "pokemon"], input="resign\n")
    assert "or help." in ended.stdout
    assert ended.stdout.splitlines()[-1].endswith("You lost.")


def test_in_doubles_the_first_order_can_be_taken_back() -> None:
    terminal = Terminal(["back", "1", "back", "2", "1"])
    with pytest.raises(EOFError):
        play("gen9randomdoublesbattle", terminal)
    assert terminal.text.count("'back' is no choice") == 1, "there is nothing to go back to"
    asked = [line for line in terminal.told if line.startswith("For ")]
    assert asked[0] == asked[2] != asked[1] == asked[3]
    assert "\nTurn 2" in terminal.text


def test_damage_ranges_are_those_of_the_estimate() -> None:
    terminal = Terminal([])
    with pytest.raises(EOFError):
        play("gen1randombattle", terminal, seed=0)
    ranges = [tuple(map(int, found)) for found in re.findall(r"(\d+)-(\d+)%", terminal.text)]
    assert ranges
    for low, high in ranges:
        assert 217 / 255 * high - 2 <= low <= high


def test_the_command_plays_to_the_end_and_says_who_won() -> None:
    typed = "x\n" + "1\n" * 3000
    ended = CliRunner().invoke(app, ["play", "pokemon", "heuristic", "--seat", "1"], input=typed)
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.splitlines()[-1] in ("You won.", "You lost.")
    assert ended.stdout.splitlines()[-2].endswith("fainted.")
    left = CliRunner().invoke(app, ["play", "pokemon"], input="1\n")
    assert left.exit_code == 0
    assert left.stderr.strip() == "match left unfinished"


def test_a_replay_of_a_match_by_hand_names_the_opponent(tmp_path: Path) -> None:
    words = ["play", "pokemon", "heuristic", "--replays", str(tmp_path)]
    assert CliRunner().invoke(app, words, input="1\n" * 3000).exit_code == 0
    log = next(tmp_path.glob("*.log")).read_text()
    assert "|player|p1|you||" in log
    assert "|player|p2|heuristic||" in log


def test_the_game_offers_a_human_who_needs_battles_of_this_process() -> None:
    game = load_game("pokemon")
    human = built_in(game, game.spec(PokemonSettings()), "human", seed=0)
    assert isinstance(human, HumanPlayer)
    with pytest.raises(InputError, match="without workers"):
        human.attend(hex.arena(matches=1))
    arena = PokemonArena(PokemonSettings(), matches=1, seed=0)
    try:
        with pytest.raises(InputError, match="whose arena they attend"):
            human.act(arena.wait()[0])
    finally:
        arena.close()


@pytest.fixture
def on_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Prints to a terminal of 80 columns that knows colours; returns what came out."""

    def shown(text: str, **environment: str) -> str:
        for name, value in {"COLUMNS": "80", "TERM": "xterm-256color", "FORCE_COLOR": "1", **environment}.items():
            monkeypatch.setenv(name, value)
        print_battle(text)
        return capsys.readouterr().out

    monkeypatch.delenv("NO_COLOR", raising=False)
    return shown


def test_a_choice_takes_one_row_of_a_terminal_and_other_lines_go_on_below(on_terminal: Callable[..., str]) -> None:
    choice = "   9  Urshifu-Rapid-Strike  100% PAR  Surging Strikes, Close Combat, Aqua Jet, Swords Dance"
    (row,) = on_terminal(choice, NO_COLOR="1").splitlines()
    assert row == "   9  Urshifu-Rapid-Strike  100% PAR  Surging Strikes, Close Combat, Aqua Jet …"
    story = "The foe's Urshifu-Rapid-Strike used Surging Strikes on your Great Tusk, which has lost a lot of its HP."
    first, second = on_terminal(story, NO_COLOR="1").splitlines()
    assert f"{first} {second.strip()}" == story


def test_hp_types_and_effects_are_coloured_on_a_terminal(on_terminal: Callable[..., str]) -> None:
    for left, code in ((100, 32), (51, 32), (50, 33), (20, 31)):
        assert f"\x1b[{code}m{left}%\x1b[0m" in on_terminal(f"Foe, 6 left: Muk L74 (Poison) {left}%")
    assert "\x1b[35mPoison\x1b[0m" in on_terminal("Foe, 6 left: Muk L74 (Poison) 80%")
    shown = on_terminal("   1  Ice Beam  40-47%  x2 may KO  Ice special     95         16/16")
    assert "\x1b[32mx2\x1b[0m" in shown
    assert "\x1b[36mIce\x1b[0m special" in shown
    assert "  Ice Beam  40-47%  " in shown, "neither the name of a move nor damage is a type or HP"


def test_elsewhere_lines_are_plain_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    text = "   9  Urshifu-Rapid-Strike  100% PAR  Surging Strikes, Close Combat, Aqua Jet, Swords Dance, and so on"
    print_battle(text)
    assert capsys.readouterr().out == text + "\n"


def test_a_turn_fits_on_a_small_terminal() -> None:
    terminal = Terminal(["1"])
    with pytest.raises(EOFError):
        play("gen1randombattle", terminal, seed=5)
    turn = terminal.text.partition("> 1\n")[2].splitlines()
    assert any(" used " in line for line in turn)
    assert len(turn) < 24, "with the prompt it has at most 24 rows"
    assert all(len(line) <= 80 for line in turn)


def test_how_well_a_move_works_follows_from_types_and_damage() -> None:
    terminal = Terminal([])
    with pytest.raises(EOFError):
        play("gen1randombattle", terminal, seed=5)
    rows = {line[6:].split("  ")[0]: line for line in terminal.told if re.match(r"   \d  ", line)}
    assert "Dugtrio L73 (Ground)" in terminal.text
    assert re.search(r"106-125% +x2 KO +Water special +95 ", rows["Surf"])
    assert re.search(r"89-104% +x2 may KO +Ice special +120 +90 ", rows["Blizzard"])
    assert re.search(r"25-30% +Normal physical +85 ", rows["Body Slam"])


def test_damage_that_no_type_changes_is_told_as_it_is_and_what_gives_back_is_not_guessed() -> None:
    found = {}
    for seed in (10, 13, 17):
        terminal = Terminal([])
        with pytest.raises(EOFError):
            play("gen1randombattle", terminal, seed=seed)
        found |= {line[6:].split("  ")[0]: line for line in terminal.told if re.match(r"   \d  ", line)}
    assert re.search(r"Super Fang +50% +Normal physical +90 ", found["Super Fang"])
    assert re.search(r"Seismic Toss +34% +Fighting physical +32/32", found["Seismic Toss"])
    assert re.search(r"Counter +\? +Fighting physical +32/32", found["Counter"])
