"""A person plays: scripted input on the real simulator, in singles, doubles and team preview."""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sparring.cli import app
from sparring.core import InputError, RandomPlayer, built_in, load_game
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.human import HumanPlayer, print_wrapped
from sparring.games.pokemon.settings import PokemonSettings
from sparring.games.pokemon.setup import installation
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
        start = max(number for number, line in enumerate(last) if line.endswith(":"))
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
            leads = re.search(r"who leads: (\d) different", self.told[-1])
            if leads:
                yield " ".join(str(one + 1) for one in range(int(leads.group(1))))
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
    assert re.search(r"PP \d+/\d+", terminal.text)
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
    assert f"{wanted} different number" in refused[0]
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
    for words in ("Type a number from 1 to 9.", "resign  give the battle up", "quit    leave", "PP, how often"):
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


def test_on_a_narrow_terminal_a_line_goes_on_below_its_last_column(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = "\n   9  switch to Mr. Mime        100%      Seismic Toss, Psychic, Thunder Wave, Thunderbolt"
    print_wrapped(text)
    assert capsys.readouterr().out == text + "\n"  # in a file or a pipe lines stay whole
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_wrapped(text)
    first, second = capsys.readouterr().out.strip("\n").splitlines()
    assert first == "   9  switch to Mr. Mime        100%      Seismic Toss, Psychic, Thunder Wave,"
    assert second == " " * first.index("Seismic") + "Thunderbolt"
