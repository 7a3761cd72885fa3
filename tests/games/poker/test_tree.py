"""The trees are the games they claim to be, and their exact figures agree with theory and with OpenSpiel's."""

import numpy as np
import pytest

from sparring.core import Answers, RandomPlayer, load_game
from sparring.games.poker.exact import (
    best_response_value,
    expected_values,
    nash_conv,
    player_policy,
    uniform_policy,
)
from sparring.games.poker.kuhn import BET, PASS, KuhnState
from sparring.games.poker.leduc import CALL, FOLD, RAISE, LeducState
from sparring.games.poker.rps import equilibrium
from sparring.games.poker.tree import build_tree


def tree_of(name, **settings):
    game = load_game(name)
    return game.tree(game.settings(**settings))


def kuhn_policy(bets):
    """A Kuhn policy from the probability to bet in each (seat, card, history)."""
    tree = tree_of("kuhn")
    policy = np.zeros(tree.legal.shape)
    for card in range(3):
        other = (card + 1) % 3
        for history in ((), (PASS,), (BET,), (PASS, BET)):
            seat = len(history) % 2
            cards = (card, other) if seat == 0 else (other, card)
            seen = np.array(KuhnState(cards=cards, history=history).seen(), np.float32)
            info = np.flatnonzero((tree.observation == seen).all(axis=1)).item()
            policy[info] = 1 - bets[seat, card, history], bets[seat, card, history]
    return tree, policy


def equilibrium_of_kuhn(alpha):
    """Kuhn's own family of equilibria, one for each bluffing rate `alpha` in 0..1/3 (jack 0, queen 1, king 2)."""
    return {
        (0, 0, ()): alpha,
        (0, 1, ()): 0,
        (0, 2, ()): 3 * alpha,
        (0, 0, (PASS, BET)): 0,
        (0, 1, (PASS, BET)): alpha + 1 / 3,
        (0, 2, (PASS, BET)): 1,
        (1, 0, (PASS,)): 1 / 3,
        (1, 1, (PASS,)): 0,
        (1, 2, (PASS,)): 1,
        (1, 0, (BET,)): 0,
        (1, 1, (BET,)): 1 / 3,
        (1, 2, (BET,)): 1,
    }


@pytest.mark.parametrize("alpha", [0, 0.1, 0.2, 1 / 3])
def test_kuhns_equilibria_cannot_be_exploited_and_cost_the_first_seat_an_eighteenth(alpha):
    tree, policy = kuhn_policy(equilibrium_of_kuhn(alpha))
    np.testing.assert_allclose(expected_values(tree, policy), [-1 / 18, 1 / 18])
    assert nash_conv(tree, policy) == pytest.approx(0, abs=1e-12)


def test_a_bluff_too_many_can_be_exploited():
    bets = equilibrium_of_kuhn(1 / 3) | {(0, 0, ()): 0.5}
    assert nash_conv(*kuhn_policy(bets)) > 0.01


def test_calling_with_everything_loses_exactly_what_the_best_answer_wins():
    """Both always bet.

    Seat 0 against a caller: jack loses 1 (pass, bet, fold), queen is even at 0, king wins 2: mean 1/3. Seat 1
    against a bettor: jack folds for -1, queen calls for 0, king calls for 2: mean 1/3. Values are 0, so NashConv 2/3.
    """
    tree, policy = kuhn_policy(dict.fromkeys(equilibrium_of_kuhn(0), 1.0))
    assert expected_values(tree, policy)[0] == pytest.approx(0)
    assert best_response_value(tree, policy, 0) == pytest.approx(1 / 3)
    assert best_response_value(tree, policy, 1) == pytest.approx(1 / 3)
    assert nash_conv(tree, policy) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("name", "known"), [("kuhn", 11 / 12), ("leduc", 4.747222222222222)])
def test_the_uniform_policy_has_the_known_exploitability(name, known):
    tree = tree_of(name)
    assert nash_conv(tree, uniform_policy(tree)) == pytest.approx(known)


@pytest.mark.parametrize(("name", "theirs"), [("kuhn", "kuhn_poker"), ("leduc", "leduc_poker")])
def test_nash_conv_of_a_random_policy_equals_openspiels(name, theirs):
    """The same policy on both sides, matched by the actions and cards that the information states tell."""
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python import policy as spiel_policy
    from open_spiel.python.algorithms import exploitability

    tree = tree_of(name)
    rng = np.random.default_rng(3)
    weights = rng.random(tree.legal.shape) * tree.legal
    policy = weights / weights.sum(axis=1, keepdims=True)
    game = pyspiel.load_game(theirs)
    table = spiel_policy.TabularPolicy(game)
    for number, state in enumerate(table.states):
        seen = np.array((_kuhn if name == "kuhn" else _leduc)(state).seen(), np.float32)
        info = np.flatnonzero(np.isclose(tree.observation, seen).all(axis=1)).item()
        table.action_probability_array[number] = policy[info]
    assert exploitability.nash_conv(game, table) == pytest.approx(nash_conv(tree, policy))


def _kuhn(state):
    moves = state.history()
    return KuhnState(cards=tuple(moves[:2]), history=tuple(moves[2:]))


def _leduc(state):
    """OpenSpiel's cards are rank * 2 + suit; its fold, call and raise are 0, 1 and 2 as ours."""
    mine = LeducState()
    for move in state.history():
        mine = mine.after(move // 2 if mine.seat < 0 else move)
    return mine


def test_leducs_money():
    dealt = LeducState(cards=(2, 0))
    assert play(dealt, RAISE, FOLD).payoff() == 1
    assert play(dealt, RAISE, RAISE, FOLD).payoff() == -3
    called = play(dealt, RAISE, CALL)
    assert play(called.after(0), CALL, CALL).payoff() == -3  # seat 1's pair beats a king
    assert play(called.after(1), CALL, RAISE, RAISE, CALL).payoff() == 11
    assert play(LeducState(cards=(1, 1)), CALL, CALL).after(0).after(CALL).after(CALL).payoff() == 0


def test_leducs_mask():
    dealt = LeducState(cards=(2, 0))
    assert list(dealt.actions()) == [CALL, RAISE]
    assert list(play(dealt, RAISE).actions()) == [FOLD, CALL, RAISE]
    assert list(play(dealt, CALL, RAISE, RAISE).actions()) == [FOLD, CALL]


def play(state, *actions):
    for action in actions:
        state = state.after(action)
    return state


def test_a_seat_that_would_forget_its_card_is_refused():
    class Forgetful(KuhnState):
        def seen(self):
            return (float(len(self.history)),)

        def after(self, move):
            after = super().after(move)
            return Forgetful(after.cards, after.history)

        def actions(self):
            return (PASS, BET) if self.cards[0] else (PASS,)

    with pytest.raises(ValueError, match="forgets something"):
        build_tree(Forgetful(), actions=2)


@pytest.mark.parametrize("wins", [(1.0, 1.0, 1.0), (1.0, 2.0, 3.0), (5.0, 1.0, 0.5)])
def test_the_known_mix_of_rock_paper_scissors_cannot_be_exploited(wins):
    tree = tree_of("rps", wins=wins)
    assert nash_conv(tree, np.tile(equilibrium(wins), (2, 1))) == pytest.approx(0, abs=1e-12)
    assert nash_conv(tree, np.tile([1.0, 0, 0], (2, 1))) == pytest.approx(2 * wins[1])


class Counting:
    """Says how often it has been asked in a match, as the probability of the first legal action."""

    def __init__(self, matches):
        self.asked = np.zeros((matches, 2), int)

    def act(self, decisions):
        self.asked[decisions.match[decisions.first], decisions.seat[decisions.first]] = 0
        self.asked[decisions.match, decisions.seat] += 1
        policy = np.zeros(decisions.legal.shape, np.float32)
        rows = np.arange(len(decisions))
        policy[rows, decisions.legal.argmax(axis=1)] = self.asked[decisions.match, decisions.seat] / 10
        policy[rows, 2 - decisions.legal[:, ::-1].argmax(axis=1)] += 1 - policy.sum(axis=1)
        return Answers(np.zeros(len(rows), np.int32), policy=policy)


def test_a_players_policy_is_asked_for_along_its_own_path_so_that_memory_is_right():
    tree = tree_of("leduc")
    policy = player_policy(tree, Counting(len(tree.legal)))
    before = np.zeros(len(tree.legal), int)
    for info, parent in enumerate(tree.info_before):
        before[info] = before[parent] + 1 if parent >= 0 else 1
    first = tree.legal.argmax(axis=1)
    np.testing.assert_allclose(policy[np.arange(len(first)), first], before / 10, atol=1e-6)


def test_a_player_that_hides_its_distribution_has_no_nash_conv():
    with pytest.raises(ValueError, match="does not say its distribution"):
        load_game("kuhn").nash_conv(load_game("kuhn").settings(), lambda matches: RandomPlayer(0))
