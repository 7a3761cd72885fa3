"""The public API in the hands of somebody who has only read the pages: mistakes are one line, names are found."""

import inspect
import math
import rlcompleter
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import sparring
from sparring.core import Field
from tests import hex

LEGAL = np.zeros(4, np.int32)

PROGRAM = """
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import sparring
from sparring import Answers, Arena, Checkpoint, Decisions, Episodes, Outcome, Player, Score, Update


class First:
    def act(self, decisions: Decisions) -> Answers:
        return Answers(action=decisions.legal.argmax(axis=1).astype(np.int32))


def note(update: Update) -> bool:
    metrics: Mapping[str, float] = update.metrics
    return metrics["loss/entropy"] < 1.0


def play(player: Player) -> int:
    game = sparring.load_game("hex")
    with game.arena(game.settings(size=5), matches=8, seed=0) as arena:
        shown: Arena = arena
        decisions, results = shown.wait()
        shown.act(decisions, player.act(decisions).action)
        return len(results)


def read(folder: Path) -> list[int]:
    parts: list[Episodes] = list(sparring.read_episodes(folder))
    return [part.rows for part in parts]


outcome: Outcome = sparring.train("hex-quick", {"decisions": 8192}, "seed=3", run="runs/x", on_update=note, say=None)
checkpoint: Checkpoint = sparring.load_checkpoint("hex-7x7")
score: Score = sparring.evaluate(checkpoint, First(), matches=10, style=sparring.Style(temperature=0))
total: Score = score + score
won: float = total.win_rate
try:
    play(First())
except (sparring.InputError, sparring.RunError, sparring.IllegalAction, ValueError):
    version: str = sparring.__version__
reveal_type(sparring.load_game("hex"))
"""


def test_a_typed_program_passes_a_strict_checker(tmp_path):
    """As a program sees the installed package: its types, by `py.typed`."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    checker = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", str(program)]
    done = subprocess.run(checker, capture_output=True, text=True, cwd=tmp_path)
    assert 'Revealed type is "sparring.core.game.Game"' in done.stdout, done.stdout + done.stderr
    assert "Success: no issues found" in done.stdout, done.stdout


def test_public_names_are_completed():
    assert sorted(sparring.__all__) == dir(sparring)
    completer = rlcompleter.Completer({"sparring": sparring, "score": sparring.Score(1, 0, 0)})
    assert [completer.complete("sparring.ev", number) for number in range(2)] == ["sparring.evaluate(", None]
    assert completer.complete("score.win_", 0) == "score.win_rate"
    for name in sparring.__all__:
        found = getattr(sparring, name)
        assert name == "__version__" or inspect.getdoc(found)
    assert list(inspect.signature(sparring.train).parameters) == [
        *("preset", "overrides", "run", "game", "mock_data", "on_update", "say")
    ]


def one(action=LEGAL):
    return sparring.Answers(action=action)


MISTAKES = {
    "no_game": lambda: sparring.load_game("hx"),
    "game_of_no_text": lambda: sparring.load_game(None),
    "unknown_setting": lambda: hex.GAME.settings(sise=5),
    "settings_by_place": lambda: hex.GAME.settings(5),
    "nan_in_nested_settings": lambda: sparring.load_game("rocket").settings(starts={"kickoff": math.nan}),
    "infinity_in_nested_settings": lambda: sparring.load_game("rocket").settings(starts={"kickoff": math.inf}),
    "nan_in_a_list": lambda: sparring.load_game("rps").settings(wins=(1, 2, math.nan)),
    "opening_that_decides": lambda: hex.GAME.settings(size=3, opening=9),
    "showdown_that_is_no_version": lambda: sparring.load_game("pokemon").settings(showdown="latest"),
    "settings_of_another_game": lambda: hex.GAME.arena(sparring.load_game("rps").settings(), matches=1, seed=0),
    "negative_seed": lambda: hex.arena(seed=-1),
    "no_seed": lambda: hex.arena(seed=None),
    "seed_of_text": lambda: sparring.RandomPlayer("x"),
    "no_matches": lambda: sparring.check_arena(hex.arena(), matches=0),
    "matches_of_text": lambda: sparring.evaluate("path", "random", game="hex", matches="4"),
    "ledger_that_is_a_number": lambda: sparring.evaluate("path", "random", game="hex", matches=4, ledger=3),
    "a_list_of_actions": lambda: one([1]),
    "an_action_without_rows": lambda: one(np.array(3)),
    "nothing_to_join": lambda: sparring.Answers.join([]),
    "episodes_of_nothing": lambda: sparring.Episodes(spec=hex.spec(), players=(), headers=None, steps=None),
    "store_without_a_spec": lambda: sparring.EpisodeStore("games", "hex"),
    "infinite_temperature": lambda: sparring.Style(temperature=math.inf),
    "half_a_simulation": lambda: sparring.Style(simulations=1.5),
    "key_that_is_a_number": lambda: sparring.Style(key=3),
    "half_a_win": lambda: sparring.Score(1.5, 0, 0),
    "points_of_one_side": lambda: sparring.Score(1, 0, 0, points_per_minute=(1.0,)),
    "no_checkpoint": lambda: sparring.load_checkpoint("ünï cödé"),
    "no_preset": lambda: sparring.train(None),
    "rate_that_is_no_number": lambda: sparring.train("hex-quick", {"learner.learning_rate": math.inf}),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(mistake):
    with pytest.raises(sparring.InputError) as refused:
        MISTAKES[mistake]()
    assert isinstance(refused.value, ValueError)
    assert "\n" not in str(refused.value)


def wrong_calls(decisions, results):
    return {
        "decisions: of type tuple": ((decisions, results), LEGAL),
        "actions: of type list": (decisions, LEGAL.tolist()),
        "actions: Answers": (decisions, one()),
        r"actions: int32\[3\]": (decisions, LEGAL[:3]),
        "match 1000, seat": (replace(decisions, match=decisions.match + 1000), LEGAL),
        "seat 7: no row": (replace(decisions, seat=decisions.seat * 0 + 7), LEGAL),
        "match -1, seat": (replace(decisions, match=decisions.match * 0 - 1), LEGAL),
    }


ARENAS = {
    "hex": {"size": 3},
    "kuhn": {},
    "rocket": {"modes": ["1v1"]},
}


@pytest.mark.parametrize("name", ARENAS)
def test_all_arenas_refuse_the_same_mistakes_alike(name):
    game = sparring.load_game(name)
    with game.arena(game.settings(**ARENAS[name]), matches=4, seed=0) as arena:
        decisions, results = arena.wait()
        rows = decisions.take(np.arange(4))
        for words, (shown, actions) in wrong_calls(rows, results).items():
            with pytest.raises(sparring.InputError, match=words):
                arena.act(shown, actions)
        with pytest.raises(sparring.InputError, match="answer them with `act` first"):
            arena.wait()
        actions = decisions.legal.argmax(axis=1).astype(np.int32)
        arena.act(decisions, actions)
        with pytest.raises(sparring.InputError, match="no row waits for this action"):
            arena.act(decisions, actions)
    with pytest.raises(sparring.RunError, match="the arena is closed"):
        arena.wait()
    with pytest.raises(sparring.RunError, match="the arena is closed"):
        arena.act(decisions, actions)
    assert "matches of" in repr(arena)


def test_numpys_numbers_are_numbers():
    settings = hex.GAME.settings(size=np.int64(5), swap=np.bool_(True))
    assert repr(settings) == "HexSettings(size=5, swap=True, opening=0)"
    assert hex.GAME.arena(settings, matches=np.int64(2), seed=np.int64(1)).matches == 2


def test_structs_of_arrays_are_equal_by_identity():
    checkpoint = sparring.load_checkpoint("hex-7x7")
    again = sparring.load_checkpoint("hex-7x7")
    assert checkpoint == checkpoint
    assert checkpoint != again
    assert checkpoint.digest == again.digest
    assert len({checkpoint, again}) == 2
    assert one() != one()


def test_odd_contents_print_too(tmp_path):
    assert repr(sparring.Answers(action=None)) == "<Answers: 0 rows of >"
    odd = replace(hex.arena().wait()[0], observation={"planes": [1]})
    assert "observation/planes (list)" in repr(odd)
    store = sparring.EpisodeStore(tmp_path / "a ü", hex.spec())
    assert repr(store).endswith("a ü, 0 matches of hex (size=4, swap=False)>")
    store.close()
    assert "closed" in repr(store)
    assert str(Field((2,), "int8")) == "Field(shape=(2,), dtype='int8', most=None)"
