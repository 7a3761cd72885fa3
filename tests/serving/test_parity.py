"""A network with memory plays whole matches alike through the server and in process."""

from threading import Thread

import numpy as np
import pytest

from sparring.games.hex import GAME
from sparring.inference import InferenceEngine, NetworkPlayer
from sparring.rollout import Collector, everyone
from sparring.serving import RemotePlayer
from tests.serving.support import CPU, SETTINGS, SPEC, Watched, lstm_policy, running, source

MATCHES = 6


def transcript(player, *, seed, matches=12):
    """Every distribution, value and action of `matches` matches, in order."""
    watched = Watched(player)
    arena = GAME.arena(SETTINGS, matches=MATCHES, seed=seed)
    Collector(arena, {"main": watched}, everyone(0, SPEC.seats)).play(matches)
    return watched.said


def in_process(seed, **options):
    engine = InferenceEngine(SPEC, slots=MATCHES * SPEC.seats, device=CPU, seed=seed)
    engine.add("main", lstm_policy())
    return NetworkPlayer(engine, "main", keep_policy=True, **options)


def assert_same(ours, theirs):
    assert len(ours) == len(theirs)
    for (rows, mine), (other_rows, other) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(rows.match, other_rows.match)
        np.testing.assert_array_equal(rows.observation["planes"], other_rows.observation["planes"])
        np.testing.assert_array_equal(mine.action, other.action)
        np.testing.assert_allclose(mine.policy, other.policy, atol=1e-5)
        np.testing.assert_allclose(mine.log_prob, other.log_prob, atol=1e-4)
        np.testing.assert_allclose(mine.value, other.value, atol=1e-5)


def test_memory_matters_to_this_network():
    engine = in_process(0).engine
    said = transcript(in_process(0), seed=0)
    late = said[6]
    without, _ = engine.evaluate("main", late[0].observation, late[0].legal)
    assert np.abs(np.exp(without) - late[1].policy).max() > 1e-3


@pytest.mark.parametrize("temperature", [1.0, 0.5, 0.0])
def test_whole_matches_through_the_server_equal_in_process(temperature):
    with running(source()) as server:
        player = RemotePlayer(
            server.address, "main", SPEC, matches=MATCHES, seed=3, temperature=temperature, keep_policy=True
        )
        ours = transcript(player, seed=3)
        player.close()
    assert_same(ours, transcript(in_process(3, temperature=temperature), seed=3))


def test_parity_holds_while_clients_join_leave_and_repeat():
    """Six clients at the same time; each repeats requests, some before they are answered and some after."""
    collected = {}

    def play(number, address):
        player = RemotePlayer(address, "main", SPEC, matches=MATCHES, seed=number, keep_policy=True, timeout=20)
        send, before = player._send, []

        def send_again(asked):
            send(asked)
            if asked.sequence % 3 == 0:
                send(asked)
            if asked.sequence % 3 == 1:
                send(before[-1])
            before.append(asked)

        player._send = send_again
        collected[number] = transcript(player, seed=number, matches=6 + 4 * number)
        if number % 2:
            player.close()  # the others leave without a word

    with running(source(), timeout=0.01) as server:
        threads = [Thread(target=play, args=(number, server.address)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        report = server.report().models["main"]
    assert report.repeated > 0
    assert report.lost == 0
    assert report.mean_batch > MATCHES
    for number in range(6):
        assert_same(collected[number], transcript(in_process(number), seed=number, matches=6 + 4 * number))


def test_two_requests_in_flight_keep_their_memories_apart():
    with running(source()) as server:
        player = RemotePlayer(server.address, "main", SPEC, matches=4, seed=0, in_flight=2, keep_policy=True)
        arena = GAME.arena(SETTINGS, matches=4, seed=0)
        engine = InferenceEngine(SPEC, slots=8, device=CPU, seed=0)
        engine.add("main", lstm_policy())
        for _ in range(8):
            decisions, _ = arena.wait()
            halves = [decisions.take(np.array([0, 1])), decisions.take(np.array([2, 3]))]
            numbers = [player.submit(half) for half in halves]
            expected = [engine.answer(half, "main", keep_policy=True) for half in halves]
            for half, number, right in zip(halves, reversed(numbers), reversed(expected), strict=True):
                got = player.collect(number)
                np.testing.assert_allclose(got.policy, right.policy, atol=1e-5)
                assert len(half) == 2
            arena.act(decisions, np.concatenate([part.action for part in expected]))
        player.close()
