"""Typing mistakes: told before anything slow is imported, in one line, with what was probably meant."""

import pytest

from tests.commands import one_line, sparring

SLOW = {"torch", "numba", "scipy", "pyarrow"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("train hex-quik", "unknown preset 'hex-quik' (did you mean 'hex-quick'?); see: sparring presets"),
        ("train hex", "hex is a game, not a preset; its presets: hex-5x5, hex-7x7, hex-9x9, hex-quick"),
        ("train pokemon", "pokemon is a game, not a preset; see: sparring presets pokemon"),
        ("train decisions=1000 hex-quick", "'decisions=1000': the preset comes first, then key=value"),
        ("train hex-quick learning_rate=1e-3", "learning_rate: unknown key (did you mean 'learner.learning_rate'?)"),
        ("train hex-quick lr=1e-3", "lr: unknown key (did you mean 'learner.learning_rate'?)"),
        ("train hex-quick size=6", "hex-quick: size: unknown key (did you mean 'settings.size'?)"),
        ("train hex-quick hue=red", "hue: unknown key; see: sparring presets hex-quick --all"),
        ("train hex-quick --size 6", "no such option: --size (here settings are key=value: settings.size=...)"),
        ("train hex-quick --decisions 9", "no such option: --decisions (here settings are key=value: decisions=...)"),
        ("evaluate hex-7x7 path settings.size=5", "settings.size: write --size 5 here"),
        ("train hex-quick decisions = 1000", "override 'decisions': not of the form key=value, without spaces around"),
        ("train hex-quick settings.size=5 settings.size=6", "settings.size is given 2 times; allowed: once"),
        ("train hex-quick lerner.epochs=2", "lerner: unknown key (did you mean 'learner'?)"),
        ("train hex-quick settings.sise=4", "settings.sise: unknown key (did you mean 'size'?)"),
        ("presets hex-quik", "unknown preset 'hex-quik'"),
        ("evaluate hex-7x7 pth", "unknown player 'pth' (did you mean 'path'?)"),
        ("play hex random --sise 4", "hex settings: sise: unknown key (did you mean 'size'?)"),
        ("selfplay hex --model rndom --matches 9 --save x", "unknown player 'rndom' (did you mean 'random'?)"),
        ("tournament hex-7x7 pth", "unknown player 'pth'"),
        (
            "evaluate tcp://localhost:1/main random",
            "say which game (--game, in Python game=...); a policy server does not",
        ),
    ],
)
def test_a_misspelt_name_imports_nothing_slow(words, told):
    done, imported = sparring(*words.split())
    assert done.returncode == 2
    one_line(done.stderr, told)
    assert not SLOW & imported


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("train rocket-1v1 workers=2", "workers: rocket changes with how it is played, as one arena; use workers = 0"),
        ("trian hex-quick", "no such command: trian (did you mean 'train'?); see: sparring --help"),
        ("bench selfplya", "no such command: bench selfplya (did you mean 'selfplay'?); see: sparring bench --help"),
        ("train hex-quick --sed 1", "no such option: --sed (did you mean '--seed'?); see: sparring train --help"),
        ("evaluate hex-7x7 path --matchs 9", "no such option: --matchs (did you mean '--matches'?)"),
        ("evaluate hex-7x7", "missing argument SECOND; see: sparring evaluate --help"),
        ("replays parse battles", "missing option '--output'"),
        ("evaluate hex-7x7 path --seed x", "--seed: not a whole number"),
        ("evaluate hex-7x7 path --seed -1", "--seed: must be at least 0"),
        ("evaluate hex-7x7 path --device gpu", "--device: 'gpu' is not one of 'auto', 'cpu', 'cuda', 'mps'"),
        ("games all", "unknown game 'all'; installed games: hex, kuhn"),
        ("version now", "unexpected argument (now)"),
        ("help trian", "no such command: trian (did you mean 'train'?)"),
        ("help train now", "sparring train has no commands of its own"),
        ("settings", "missing argument GAME; games: hex, kuhn, leduc, pokemon, rocket, rps; see: sparring settings"),
        ("play", "missing argument GAME; games: hex"),
        ("evaluate hex-7x7 path --seed", "option '--seed' requires an argument"),
    ],
)
def test_words_that_a_command_does_not_understand_are_one_line(refused, words, told):
    refused(words.split(), told)


def test_a_simulator_that_is_not_installed_is_told_before_torch_is_imported(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path))
    done, imported = sparring("train", "pokemon-gen1", "--run", tmp_path / "run")
    assert done.returncode == 2
    one_line(done.stderr, "the Pokémon simulator is not installed", "sparring setup pokemon")
    assert "torch" not in imported


@pytest.mark.parametrize(
    ("words", "there", "elsewhere"),
    [
        (
            "evaluate random pth --game hex",
            ("path", "hex-7x7", "gtp:"),
            ("rule", "heuristic", "rocket-1v1", "poke-env:"),
        ),
        ("evaluate rocket-1v1 rul", ("rule", "toward-ball"), ("path", "heuristic", "hex-7x7", "gtp:")),
        ("train hex-quick evaluation.opponents=[pth]", ("path", "hex-7x7"), ("rule", "heuristic", "rocket-1v1")),
    ],
)
def test_an_unknown_player_is_told_the_players_of_its_game_alone(refused, words, there, elsewhere):
    def names_no_other(errors):
        assert not [name for name in elsewhere if name in errors]

    refused(words.split(), "unknown player", *there, also=names_no_other)


def test_a_group_of_commands_alone_prints_its_help():
    done, _ = sparring("bench")
    assert done.returncode == 2
    assert "Usage: sparring bench" in done.stderr
