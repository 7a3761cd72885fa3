"""Ragged episodes: taking, joining and masks as packed bits."""

import numpy as np
import pytest

from sparring.core import Episodes, Field, GameSpec, Headers, InputError, SegmentMemory, Steps
from sparring.core.episodes import pack_mask, spans, unpack_mask

SPEC = GameSpec("toy", {}, 2, 11, {"x": Field((2,), "int16")})


def make(lengths, *, segment=0, seed=0):
    rng = np.random.default_rng(seed)
    n, r = len(lengths), sum(lengths)
    counts = sum(-(-length // segment) for length in lengths) if segment else 0
    return Episodes(
        spec=SPEC,
        players=("a",),
        headers=Headers(
            lengths=np.array(lengths, np.int32),
            serial=rng.integers(0, 99, n),
            seat=np.zeros(n, np.int32),
            player=np.zeros(n, np.int32),
            version=np.zeros(n, np.int32),
            outcome=np.ones(n, np.float32),
            complete=np.ones(n, bool),
            last_value=np.zeros(n, np.float32),
        ),
        steps=Steps(
            observation={"x": rng.integers(0, 99, (r, 2)).astype(np.int16)},
            legal=pack_mask(rng.random((r, 11)) < 0.5),
            action=rng.integers(0, 11, r).astype(np.int32),
            turn=np.arange(r, dtype=np.int32),
            reward=rng.random(r).astype(np.float32),
            log_prob=rng.random(r).astype(np.float32),
            value=rng.random(r).astype(np.float32),
        ),
        memory=SegmentMemory(state={"h": np.arange(counts)[:, None]}) if segment else None,
        segment=segment,
    )


def test_packing_a_mask_loses_nothing():
    legal = np.random.default_rng(0).random((7, 3, 13)) < 0.5
    packed = pack_mask(legal)
    assert packed.shape == (7, 3, 2)
    np.testing.assert_array_equal(unpack_mask(packed, 13), legal)


def test_spans_lay_ranges_end_to_end():
    np.testing.assert_array_equal(spans(np.array([10, 0, 5]), np.array([2, 0, 3])), [10, 11, 5, 6, 7])


def test_taking_episodes_takes_their_rows_and_memories():
    episodes = make([3, 1, 5], segment=2)
    taken = episodes.take(np.array([2, 0]))
    action = episodes.steps.action
    np.testing.assert_array_equal(taken.steps.action, np.concatenate([action[4:9], action[0:3]]))
    np.testing.assert_array_equal(taken.memory.state["h"][:, 0], [3, 4, 5, 0, 1])
    np.testing.assert_array_equal(taken.starts, [0, 5])


def test_joining_undoes_splitting():
    episodes = make([3, 1, 5, 2], segment=2)
    joined = Episodes.join([episodes.take(np.array([0, 1])), episodes.take(np.array([2, 3]))])
    np.testing.assert_array_equal(joined.steps.observation["x"], episodes.steps.observation["x"])
    np.testing.assert_array_equal(joined.memory.state["h"], episodes.memory.state["h"])
    np.testing.assert_array_equal(joined.headers.lengths, episodes.headers.lengths)


def test_episodes_of_different_shapes_do_not_join():
    with pytest.raises(InputError, match="cannot be joined"):
        Episodes.join([make([1], segment=2), make([1], segment=3)])
    with pytest.raises(InputError, match="no episodes to join"):
        Episodes.join([])


def test_an_index_gives_one_episode_and_a_loop_each():
    episodes = make([3, 1, 5, 2], segment=2)
    assert episodes[2].headers.lengths.tolist() == episodes[-2].headers.lengths.tolist() == [5]
    np.testing.assert_array_equal(episodes[2].steps.observation["x"], episodes.steps.observation["x"][4:9])
    assert episodes[1:3].headers.lengths.tolist() == [1, 5]
    assert [len(one.steps) for one in episodes] == [3, 1, 5, 2]
    assert Episodes.join(one for one in episodes).rows == 11
    with pytest.raises(IndexError):
        episodes[4]


def test_a_spec_survives_json():
    assert GameSpec.from_json(SPEC.to_json()) == SPEC
