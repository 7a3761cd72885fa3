"""The one way to name a player: what each form means, and what nobody means is one line."""

from pathlib import Path
from time import sleep

import pytest

import sparring
from sparring.core import InputError, RandomPlayer
from sparring.inference import NetworkPlayer, backend
from sparring.league import Entrant, Seating, Style
from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from sparring.search import PlaySettings, SearchPlayer
from sparring.serving import RemotePlayer
from tests import hex
from tests.serving.support import running, source


def save(folder, *, version=1):
    network = {"channels": 8, "blocks": 1}
    save_checkpoint(Path(folder), Checkpoint(hex.spec(), network, version, hex.policy().state_dict(), {}))
    return str(folder)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty present folder, with a module of the user's own in it."""
    (tmp_path / "own_players.py").write_text("from tests import hex\ndef build(spec):\n    return hex.policy()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_built_in_players_and_shipped_weights_by_name(here):
    assert Entrant.parse("path") == Entrant(name="path")
    assert Entrant.parse("path").checkpoint is None
    shipped = Entrant.parse("hex-7x7")
    assert shipped.checkpoint.spec == hex.spec(7)
    assert shipped.is_network


def test_a_folder_by_its_name_or_path(here):
    save("mine")
    for text in ("mine", "./mine", str(here / "mine")):
        assert Entrant.parse(text).checkpoint.spec == hex.spec()


@pytest.mark.parametrize("name", ["random", "hex-7x7"])
def test_a_folder_does_not_shadow_a_name(here, name):
    save(name, version=77)
    known = Entrant.parse(name)
    assert known.checkpoint is None or known.checkpoint.version != 77
    assert Entrant.parse(f"./{name}").checkpoint.version == 77


def test_your_own_code_with_and_without_weights(here):
    save("mine", version=5)
    assert Entrant.parse("own_players:build").network(hex.spec())[1] == 0
    assert Entrant.parse("own_players:build=mine").network(hex.spec())[1] == 5
    with pytest.raises(InputError, match="nothing/here: no such file or folder"):
        Entrant.parse("own_players:build=nothing/here")


def test_a_model_of_a_policy_server():
    with running(source()) as server:
        seating = Seating.of(f"{server.address}/main", game="hex", settings={"size": 5, "opening": 2})
        with seating.seated(matches=4, seed=0) as ((player,), arena):
            assert isinstance(player, RemotePlayer)
            decisions, _ = arena.wait()
            arena.act(decisions, player.act(decisions).action)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("grandmaster", "unknown player 'grandmaster'; `sparring games` lists players and shipped weights"),
        ("radnom", "did you mean 'random'?"),
        ("no/such/run", "no/such/run: no such file or folder"),
        ("tcp://host:5555", "not of the form tcp://host:port/model"),
        ("no_such_module:build", "cannot import it"),
    ],
)
def test_nobody_is_one_line(here, text, words):
    with pytest.raises(InputError) as refusal:
        Entrant.parse(text)
    assert words in str(refusal.value)


def test_a_player_of_another_game_is_refused_with_the_names_there_are():
    seating = Seating.of("rule", game="hex")
    with pytest.raises(InputError, match="unknown player 'rule'; hex has: random, path, human"):
        seating.player(matches=1, seed=0)


def test_the_first_checkpoint_says_game_and_settings_and_the_caller_has_the_last_word():
    seating = Seating.of("path", "hex-7x7")
    assert (seating.game.name, seating.settings.size, seating.settings.swap) == ("hex", 7, False)
    seating = Seating.of("path", "hex-7x7", settings={"swap": True, "size": 5})
    assert (seating.settings.size, seating.settings.swap) == (5, True)
    with pytest.raises(InputError, match=r"no checkpoint among the players \(path, random\)"):
        Seating.of("path", "random")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, []),
        ({"opening": 2}, []),
        ({"swap": True}, ["hex-7x7 was trained with swap false; here it plays with swap true"]),
        (
            {"swap": True, "size": 5},
            ["hex-7x7 was trained with size 7, swap false; here it plays with size 5, swap true"],
        ),
    ],
)
def test_rules_that_a_network_has_not_learnt_are_said(settings, said):
    heard: list[str] = []
    Seating.of("hex-7x7", settings=settings).player(matches=1, seed=0, say=heard.append)
    assert heard == said


def test_a_player_that_is_there_takes_its_seat_as_it_is():
    mine = RandomPlayer(3)
    assert Seating.of(mine, game="hex").player(matches=2, seed=0) is mine


@pytest.mark.parametrize(
    ("style", "kind"),
    [
        (Style(temperature=0.5, policy_threshold=0.1), NetworkPlayer),
        (Style(simulations=4), SearchPlayer),
        (Style(selfplay=PlaySettings()), NetworkPlayer),
        (Style(selfplay=PlaySettings(), simulations=4), SearchPlayer),
    ],
)
def test_a_network_plays_in_the_style_that_is_asked_for(style, kind, monkeypatch):
    monkeypatch.setattr(backend, "installed", lambda: False)  # which backend is faster is not the question here
    with Seating.of("hex-7x7", settings={"size": 4}).seated(matches=3, seed=0, style=style) as ((player,), arena):
        assert type(player) is kind
        decisions, _ = arena.wait()
        answers = player.act(decisions)
        assert (answers.policy is not None) == (style.selfplay is not None or bool(style.simulations))
        if style.policy_threshold:
            assert (player.temperature, player.policy_threshold) == (0.5, 0.1)


def test_a_style_names_a_device_that_there_is():
    with pytest.raises(InputError, match="device = 'gpu': allowed: auto, cpu, cuda, mps"):
        Style(device="gpu")


def test_unlikely_actions_are_left_out_at_the_threshold():
    likeliest = Seating.of("hex-7x7").player(matches=32, seed=0, style=Style(temperature=0.0))
    picky = Seating.of("hex-7x7").player(matches=32, seed=0, style=Style(policy_threshold=1.0))
    arena = hex.arena(7, matches=32, opening=4)
    decisions, _ = arena.wait()
    assert picky.act(decisions).action.tolist() == likeliest.act(decisions).action.tolist()


def test_a_run_can_start_from_shipped_weights(here):
    with pytest.raises(InputError, match="init = hex-7x7: its network is .*, not {'channels': 8, 'blocks': 1}"):
        sparring.train("hex-quick", "init=hex-7x7", "network={channels: 8, blocks: 1}", "threads=1", run=here / "run")
    assert not (here / "run").exists()


def test_waiting_for_a_policy_server_is_said(monkeypatch):
    def slow(address, *arguments, **options):
        sleep(0.3)
        return RandomPlayer(0)

    monkeypatch.setattr("sparring.report.progress.PATIENCE", 0.01)
    monkeypatch.setattr("sparring.serving.RemotePlayer", slow)
    said = []
    Seating.of("tcp://localhost:5555/main", game="hex").player(matches=1, seed=0, say=said.append)
    assert said == ["waiting for the policy server at tcp://localhost:5555"]
