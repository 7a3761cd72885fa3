"""`check_game` passes the example and names the first mistake in a game that is otherwise the same."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from msgspec import Struct

import sparring
from sparring.cli import main
from sparring.core import Answers, GameFault, InputError, RandomPlayer, check_arena, lending, load_game
from sparring.core.spec import Field
from tests.commands import one_line

pytestmark = pytest.mark.usefixtures("installed")


def like_the_example(**parts):
    """An object of a class of its own, like the example's game in all but `parts`."""
    example = type(load_game("connect-four"))
    return type("Mine", (example,), parts)()


def test_the_example_is_sound():
    report = sparring.check_game(load_game("connect-four"))
    assert report.matches >= 100
    assert report.players == ("tactical",)
    assert report.presets == ("connect-four-az", "connect-four")
    assert report.weights > 10_000


class Stubborn:
    """Counts columns from 1, and always plays the last."""

    def __init__(self, settings, seed):
        pass

    def act(self, decisions):
        return Answers(action=np.full(len(decisions), 7, np.int32))


class Lists(Stubborn):
    def act(self, decisions):
        return Answers(action=[0] * len(decisions))


class Needy(Struct, frozen=True, kw_only=True):
    rows: int


def spec_with(game="connect-four", **settings):
    """A `spec` of the usual board that says something else of itself."""

    def spec(self, given):
        return sparring.GameSpec(game, settings, 2, 7, {"planes": Field((2, given.rows, 7), "uint8")})

    return spec


def policy_with(head):
    """A `policy` whose outputs pass through `head`."""

    def policy(self, spec, network):
        made = type(self).__base__.policy(self, spec, network)
        inner = made.head.forward
        made.head.forward = lambda features, context: head(*inner(features, context))
        return made

    return policy


def policy_that_shifts(self, spec, network):
    made = type(load_game("connect-four")).policy(self, spec, network)
    step = made.step
    made.step = lambda *rows: step(*rows)._replace(value=step(*rows).value + 1)
    return made


def policy_that_fails(self, spec, network):
    return torch.nn.Linear(3, 4)(torch.zeros(5))


def model_that_sees_less(self, spec):
    model = type(load_game("connect-four")).model(self, spec)
    model.legal = lambda states: np.zeros((len(states), spec.actions), np.bool_)
    return model


def arena_of_fewer(self, settings, *, matches, seed):
    return type(load_game("connect-four")).arena(self, settings, matches=matches - 1, seed=seed)


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"fits": None}, "the game has a `fits` that is None; allowed: something to call"),
        ({"settings": Needy}, "settings: TypeError: Missing required argument 'rows'"),
        ({"spec": lambda self, settings: None}, "spec: it must be a GameSpec, got None"),
        ({"spec": spec_with(rows=5)}, "spec: made from the settings in it, it is another one"),
        ({"spec": spec_with(rows=(6,))}, "spec: it is another one when it was saved and read again"),
        ({"spec": spec_with("chess")}, "spec: its game is 'chess', and the game's name 'connect-four'"),
        ({"arena": arena_of_fewer}, "arena: it has 7 matches, but was asked for 8"),
        ({"players": {"stubborn": Stubborn}}, "player 'stubborn': action 7 is not legal in its row"),
        ({"players": {"lists": Lists}}, "player 'lists': Answers: action = [0, 0"),
        ({"players": {"none": lambda: None}}, "player 'none': TypeError: "),
        ({"fits": lambda self, trained, spec: "never"}, "fits: weights must fit what they were trained for, and it"),
        ({"model": lambda self, spec: object()}, "model: object has no `states`, `legal`, `apply`"),
        ({"model": model_that_sees_less}, "model: legal is not what the arena says of the same position"),
        (
            {"policy": policy_with(lambda logits, value: (logits[:, :3], value))},
            "policy: the network of connect-four: step must give logits of shape [2, 7], got [2, 3]",
        ),
        (
            {"policy": policy_with(lambda logits, value: (logits, value[:, None]))},
            "policy: the network of connect-four: step must give value of shape [2], got [2, 1]",
        ),
        (
            {"policy": policy_with(lambda logits, value: (logits, value / 0))},
            "policy: step gives value that are not finite",
        ),
        ({"policy": policy_that_shifts}, "policy: step and unroll give different value for the same rows"),
        ({"policy": policy_that_fails}, f"policy: RuntimeError: .* ({__file__}, line "),
        (
            {"policy": lambda self, spec, network: torch.nn.Linear(1, 1)},
            "policy: the network of connect-four: training needs a torch module with initial_memory",
        ),
    ],
)
def test_the_first_mistake_is_named_in_one_line(parts, fault):
    with pytest.raises(GameFault) as found:
        sparring.check_game(like_the_example(**parts), matches=2)
    before, _, after = fault.partition(".*")
    assert str(found.value).startswith(before)
    assert after in str(found.value)


def test_a_built_in_player_that_breaks_the_rules_is_named_where_training_meets_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(type(load_game("connect-four")), "players", {"stubborn": Stubborn})
    small = "decisions=64 matches=4 threads=1 learner.batch_size=64 learner.minibatch_size=64 evaluation.matches=20"
    words = ["train", "connect-four", *small.split(), "evaluation.opponents=[stubborn]", "--run", str(tmp_path / "run")]
    monkeypatch.setattr(sys, "argv", ["sparring", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    one_line(capsys.readouterr().err, "player stubborn: ", "columns are 0 to 6")


def test_training_refuses_a_network_of_the_wrong_size_before_it_plays(tmp_path):
    wrong = like_the_example(policy=policy_with(lambda logits, value: (logits[:, :3], value)))
    told = r"the network of connect-four: step must give logits of shape \[2, 7\], got \[2, 3\]"
    with lending(wrong), pytest.raises(InputError, match=told):
        sparring.train("connect-four", "threads=1", run=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_preset_that_does_not_load_is_named(tmp_path):
    (tmp_path / "mine.yaml").write_text("game: connect-four\nlearner: {kind: ppo, epoch: 3}\n")
    with pytest.raises(GameFault, match=r"^presets: mine.yaml: .*epoch"):
        sparring.check_game(like_the_example(presets=tmp_path), matches=2)


def test_a_class_in_place_of_a_game():
    with pytest.raises(GameFault, match=r"the game is the class ConnectFour, and a game is an object: ConnectFour\(\)"):
        sparring.check_game(type(load_game("connect-four")))


def test_a_game_that_is_not_installed_can_be_played_by_its_object():
    mine = like_the_example(name="mine")
    score = sparring.evaluate("tactical", RandomPlayer(0), game=mine, matches=20)
    assert score.win_rate > 0.5
    sparring.check_game(like_the_example(name="mine", presets=mine.presets / "none"), matches=2)
    with pytest.raises(InputError, match="unknown game 'mine'"):
        load_game("mine")
    with pytest.raises(InputError, match=r"game = 3: allowed: the name of a game, .* this has no `name`"):
        sparring.evaluate("random", "random", game=3, matches=2)


@pytest.mark.parametrize(
    ("arena", "fault"),
    [
        (
            lambda game, arena: game,
            "Mine has no `matches`, `wait`, `act`, `close`, `__enter__`, `__exit__`: check_arena takes",
        ),
        (lambda game, arena: type(arena), "this is the class ConnectFourArena: check_arena takes an arena"),
        (
            lambda game, arena: SimpleNamespace(spec=arena.spec, matches=4, wait=arena.wait, act=arena.act),
            "SimpleNamespace has no `close`",
        ),
    ],
)
def test_what_is_no_arena_is_told_from_one(arena, fault):
    mine = like_the_example()
    with pytest.raises(GameFault) as found:
        check_arena(arena(mine, mine.arena(mine.settings(), matches=4, seed=0)))
    assert str(found.value).startswith(fault)
