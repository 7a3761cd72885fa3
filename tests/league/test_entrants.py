"""The one way to name a player: what each form means, and what nobody means is one line."""

import importlib
import sys
from pathlib import Path
from time import sleep

import pytest

import sparring
from sparring.core import InputError, RandomPlayer
from sparring.inference import NetworkPlayer, backend
from sparring.league import Entrant, Seating, Style
from sparring.league.ledger import Identity
from sparring.league.rated import identity
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


def test_the_name_of_a_run_alone_is_no_player_and_says_where_the_run_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/hex-quick").mkdir(parents=True)
    with pytest.raises(InputError, match="unknown player 'hex-quick' .did you mean 'runs/hex-quick'"):
        Entrant.parse("hex-quick", game="hex")


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


OWN = """
import numpy as np
from sparring import Answers
from sparring.core import RandomPlayer, SeededPlayer
from tests import hex

made, closed = [], []

class First:
    def __init__(self):
        made.append(self)
    def act(self, decisions):
        return Answers(action=decisions.legal.argmax(axis=1).astype(np.int32))
    def close(self):
        closed.append(self)

class Sized(First):
    def __init__(self, game):
        self.size = game.settings["size"]

class Seeded(RandomPlayer):
    def __init__(self, spec, seed):
        super().__init__(seed)
        self.given = (spec.game, seed)

class Deep(First):
    def __init__(self, depth=2):
        self.depth = depth

class Picky(First):
    def __init__(self, board, depth):
        pass

class Broken(First):
    def __init__(self):
        raise ValueError("no book")

class Nothing:
    pass

class Net:
    def __new__(cls, spec):
        return hex.policy()
    act = step = initial_memory = None

first = First()
number = 3

def makes(spec):
    return Sized(spec)

def simply():
    return First()

def junk(spec):
    return {"a": 1}
"""


@pytest.fixture
def own(here):
    (here / "own_agents.py").write_text(OWN)
    sys.modules.pop("own_agents", None)
    return importlib.import_module("own_agents")


def seated(name, *, seed=0, **settings):
    """The player that `name` seats, and that plays a match to its end."""
    with Seating.of(name, game="hex", settings=settings).seated(matches=2, seed=seed) as ((player,), arena):
        ended = 0
        while not ended:
            decisions, results = arena.wait()
            ended += len(results)
            arena.act(decisions, player.act(decisions).action)
        return player


@pytest.mark.parametrize("name", ["First", "Sized", "Deep", "Seeded", "simply", "makes", "first"])
def test_a_player_of_your_own_by_its_name(own, name):
    entrant = Entrant.parse(f"own_agents:{name}").settled(hex.spec(4))
    assert not entrant.is_network
    assert entrant.network(hex.spec(4)) is None
    player = seated(f"own_agents:{name}", seed=7, size=4)
    assert getattr(player, "size", 4) == 4
    assert getattr(player, "given", ("hex", 7)) == ("hex", 7)
    assert getattr(player, "depth", 2) == 2
    assert (player is own.first) == (name == "first")


def test_a_class_is_made_anew_for_every_seat_and_closed_afterwards(own):
    own.made.clear()
    score = sparring.evaluate("own_agents:First", "own_agents:First", game="hex", settings={"size": 3}, matches=4)
    assert score.wins == 2  # the first to move wins
    assert len(own.made) == 2
    assert set(own.closed) == set(own.made)


def test_a_function_of_which_it_turns_out_that_it_makes_players_lets_the_first_go(own):
    own.made.clear()
    own.closed.clear()
    assert Entrant.parse("own_agents:simply").is_network  # nobody knows before it is called
    settled = Entrant.parse("own_agents:simply").settled(hex.spec())
    assert not settled.is_network
    assert own.closed == own.made
    assert identity(settled, Style(temperature=0.5)) == Identity(name="own_agents:simply", kind="code")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Picky", "own_agents:Picky: its class asks for board, depth; allowed: spec, seed, and what has a default"),
        (
            "Broken",
            r"own_agents:Broken: its class, called with nothing: ValueError: no book \(.*own_agents.py, line \d+",
        ),
        (
            "Nothing",
            "own_agents:Nothing: playing needs a torch module .*, or a player, which has act; this is a Nothing",
        ),
        ("junk", "own_agents:junk: playing needs a torch module .*, or a player, which has act; this is a dict"),
        (
            "number",
            r"own_agents:number: it is the int 3; allowed: a player \(a class or an object with `act`\), or a fun",
        ),
        ("First=hex-7x7", "own_agents:First=hex-7x7: own_agents:First is a player, with `act`, and has no weights"),
        ("makes=hex-7x7", "own_agents:makes=hex-7x7: playing needs a torch module"),
    ],
)
def test_what_is_no_player_is_one_line(own, name, line):
    with pytest.raises(InputError, match=line) as refusal:
        seated(f"own_agents:{name}", size=7)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["First", "first", "simply"])
def test_a_player_of_your_own_is_no_network(own, name):
    with pytest.raises(InputError, match=f"own_agents:{name}: a player of your own, not a network; give a run"):
        Seating.of(f"own_agents:{name}", game="hex", networks=True)


def test_a_network_that_can_also_act_is_a_network(own, monkeypatch):
    monkeypatch.setattr(own.Net, "initial_memory", lambda self: None)
    monkeypatch.setattr(own.Net, "act", lambda self: None)
    assert Entrant.parse("own_agents:Net").settled(hex.spec()).network(hex.spec())[1] == 0


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
