"""Validation: every figure by hand, the groups that decisions are told in, and sums that no batch changes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sparring.core.episodes import pack_mask
from sparring.inference import Device
from sparring.learn.outputs import row_outputs
from sparring.learn.validation import BINS, Validation, count_choices
from tests import hex
from tests.data.stores import played, rated

DEVICE = Device.pick("cpu")
ACTIONS = hex.spec().actions


@pytest.fixture(scope="module")
def episodes():
    """Random Hex of players rated 1390 and 1400, and of one who is not rated."""
    return rated(played(200, size=4), [1390.0, 1400.0, np.nan], [1_700_000_000])


class Parity:
    """Words that tell even actions from odd ones, and leave action 3 open."""

    choices = ("even", "odd")

    def choice_kinds(self, observation, chosen):
        action = chosen.argmax(axis=1)
        return np.where(action == 3, -1, action % 2)


def validated(policy, *parts, frequent=None, **options):
    made = Validation()
    for part in parts:
        made.add(policy, part, np.ones(ACTIONS) if frequent is None else frequent, device=DEVICE, **options)
    return made.metrics()


def chances(policy, episodes):
    """`float[r, actions]` the probabilities of every row."""
    return row_outputs(policy, episodes, device=DEVICE)[0].exp().numpy()


def test_the_figures_are_means_over_decisions(episodes):
    policy, action = hex.policy(), episodes.steps.action
    chance = chances(policy, episodes)
    order = np.argsort(-chance, axis=1)
    found = validated(policy, episodes)
    assert found["decisions"] == episodes.rows
    assert found["log_loss"] == pytest.approx(-np.log(chance[np.arange(len(action)), action]).mean(), rel=1e-4)
    assert found["top1"] == pytest.approx((order[:, 0] == action).mean())
    assert found["top3"] == pytest.approx((order[:, :3] == action[:, None]).any(axis=1).mean())
    assert 0 < found["top1"] < found["top3"] < 1


def test_a_set_of_possible_actions_is_predicted_as_a_whole(episodes):
    legal = episodes.unpack_legal()
    open_ended = replace(episodes, steps=replace(episodes.steps, consistent=pack_mask(legal)))
    found = validated(hex.policy(), open_ended)
    assert found["log_loss"] == pytest.approx(0, abs=1e-5)
    assert found["top1"] == found["top3"] == found["frequent_top1"] == 1


def test_what_was_most_frequent_is_named_among_what_is_legal(episodes):
    legal, action = episodes.unpack_legal(), episodes.steps.action
    frequent = np.arange(ACTIONS) % 7 + np.arange(ACTIONS) / 100  # no two alike
    named = [max(np.flatnonzero(row), key=frequent.__getitem__) for row in legal]
    assert validated(hex.policy(), episodes, frequent=frequent)["frequent_top1"] == (named == action).mean()


def test_choices_are_counted_and_one_of_a_set_counts_for_its_share(episodes):
    assert count_choices(episodes).tolist() == np.bincount(episodes.steps.action, minlength=ACTIONS).tolist()
    legal = episodes.unpack_legal()
    open_ended = replace(episodes, steps=replace(episodes.steps, consistent=pack_mask(legal)))
    counted = count_choices(open_ended)
    assert counted.sum() == pytest.approx(episodes.rows)
    np.testing.assert_allclose(counted, (legal / legal.sum(axis=1, keepdims=True)).sum(axis=0))


def test_decisions_are_told_by_kind_turn_rating_and_format(episodes):
    found = validated(hex.policy(), episodes, words=Parity(), name="gen0")
    decisions = {name.removesuffix("decisions"): value for name, value in found.items() if name.endswith("decisions")}
    forced = episodes.unpack_legal().sum(axis=1) == 1
    action, lengths = episodes.steps.action, episodes.headers.lengths
    for kind, number in (("even", 0), ("odd", 1)):
        rows = (action % 2 == number) & (action != 3) & ~forced
        assert decisions[f"kind/{kind}/"] == rows.sum()
    assert decisions.get("kind/forced/", 0) == forced.sum()
    assert decisions["turn/1/"] == len(episodes)
    assert decisions["turn/2/"] == np.minimum(lengths - 1, 2).sum()
    assert decisions["turn/4/"] == np.clip(lengths - 3, 0, 4).sum()
    assert "turn/16/" not in decisions
    rating = np.repeat(episodes.headers.rating, lengths)
    assert decisions["rating/1200/"] == (rating == 1390).sum()
    assert decisions["rating/1400/"] == (rating == 1400).sum()
    assert decisions["format/gen0/"] == decisions[""] == episodes.rows


def test_a_group_has_the_figures_of_its_own_decisions(episodes):
    policy, action = hex.policy(), episodes.steps.action
    rows = np.repeat(episodes.headers.rating == 1390, episodes.headers.lengths)
    right = chances(policy, episodes).argmax(axis=1) == action
    assert validated(policy, episodes)["rating/1200/top1"] == pytest.approx(right[rows].mean())


def test_the_batches_that_are_added_do_not_matter(episodes):
    policy = hex.policy()
    whole = validated(policy, episodes, words=Parity())
    half = len(episodes) // 2
    parts = validated(
        policy, episodes.take(np.arange(half)), episodes.take(np.arange(half, len(episodes))), words=Parity()
    )
    assert parts.keys() == whole.keys()
    for name, value in whole.items():
        assert parts[name] == pytest.approx(value, rel=1e-4, abs=1e-6), name


def test_calibration_compares_what_was_predicted_with_what_was_observed(episodes):
    policy, action = hex.policy(), episodes.steps.action
    confidence = chances(policy, episodes).max(axis=1).astype(np.float64)
    right = chances(policy, episodes).argmax(axis=1) == action
    at = np.minimum((confidence * BINS).astype(int), BINS - 1)
    found = validated(policy, episodes)
    gap = sum(abs(confidence[at == bin].sum() - right[at == bin].sum()) for bin in range(BINS)) / len(at)
    assert found["policy_calibration_error"] == pytest.approx(gap, abs=1e-4)
    for bin in np.unique(at):
        assert found[f"policy_bin/{bin}/share"] == pytest.approx((at == bin).mean(), abs=1e-6)
        assert found[f"policy_bin/{bin}/predicted"] == pytest.approx(confidence[at == bin].mean(), abs=1e-5)
        assert found[f"policy_bin/{bin}/observed"] == pytest.approx(right[at == bin].mean(), abs=1e-6)


def test_a_value_that_is_always_zero_is_off_by_how_one_sided_results_are(episodes):
    policy = hex.policy(loud=False)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.zero_()
    found = validated(policy, episodes)
    outcome = np.repeat(episodes.headers.outcome, episodes.headers.lengths)
    assert found["value_calibration_error"] == pytest.approx(abs(outcome.mean()), abs=1e-6)
    assert found[f"value_bin/{BINS // 2}/share"] == 1
    assert found["log_loss"] == pytest.approx(np.log(episodes.unpack_legal().sum(axis=1)).mean(), rel=1e-5)


def test_nothing_added_is_no_figure():
    assert Validation().metrics() == {}
