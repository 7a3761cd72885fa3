"""A run's policy served to those who play it elsewhere: what they play is what an engine of their own would have."""

from contextlib import suppress
from socket import create_connection
from threading import Event, Thread

import numpy as np
import pytest
import torch
import zmq

from sparring.core import InputError, RunError
from sparring.inference import Device, InferenceEngine
from sparring.rollout import Collector, everyone
from sparring.serving import server_status
from sparring.serving.keys import new_keys, secure_client
from sparring.training.algorithms import build_algorithm
from sparring.training.config import validate_config
from sparring.training.served import ServedPolicy
from tests import hex

CPU = Device("cpu", "float32")
ANYWHERE = "tcp://127.0.0.1:0"
MATCHES = 8


@pytest.fixture
def served():
    made = ServedPolicy(
        hex.policy(), hex.spec(), ANYWHERE, matches=MATCHES, device=CPU, timeout=0.02, say=lambda text: None
    )
    yield made
    made.close()


def algorithm(kind):
    config, _ = validate_config({"game": "hex", "settings": {"size": 4}, "learner": {"kind": kind}}, where="test")
    return build_algorithm(config.learner, hex.policy(), spec=hex.spec(), device=CPU, seed=0)


def collected(player, kind, rows=300):
    kept = algorithm(kind).keep_policy
    collector = Collector(
        hex.arena(matches=MATCHES, seed=1), {"main": player}, everyone(0, 2), record=["main"], keep_policy=kept
    )
    return collector.collect(rows)


@pytest.mark.parametrize("kind", ["ppo", "magnet", "rnad"])
def test_episodes_are_those_of_an_engine_of_ones_own(served, kind):
    engine = InferenceEngine(hex.spec(), slots=2 * MATCHES, device=CPU, seed=5)
    engine.add("main", hex.policy())
    here = collected(algorithm(kind).player(engine, "main"), kind)
    player = served.access.player(algorithm(kind), hex.spec(), matches=MATCHES, seed=5)
    there = collected(player, kind)
    player.close()
    assert here.columns().keys() == there.columns().keys()
    for name, column in here.columns().items():
        np.testing.assert_allclose(there.columns()[name], column, rtol=1e-5, atol=1e-6, err_msg=name)


def test_new_weights_answer_from_then_on_and_episodes_say_so(served):
    player = served.access.player(algorithm("ppo"), hex.spec(), matches=MATCHES, seed=0)
    assert set(collected(player, "ppo").headers.version.tolist()) == {0}
    other = hex.policy(seed=9)
    served.swap(other.state_dict(), 7)
    rows, _ = hex.arena(matches=MATCHES).wait()
    answers = player.act(rows)
    assert player.version == 7
    with torch.no_grad():
        observation = {name: torch.from_numpy(field) for name, field in rows.observation.items()}
        value = other.eval().step(observation, torch.from_numpy(rows.legal), {}).value
    np.testing.assert_allclose(answers.value, value.numpy(), rtol=1e-5)
    player.close()


def test_weights_that_come_during_a_forward_make_no_answer_newer_than_it_is(served):
    player = served.access.player(algorithm("ppo"), hex.spec(), matches=MATCHES, seed=0)
    engine = served._server.models["main"].engine
    answer_asked = engine.answer_asked

    def swapped_meanwhile(*arguments, **options):
        answers = answer_asked(*arguments, **options)
        served.swap(hex.policy(seed=9).state_dict(), 1)
        return answers

    engine.answer_asked = swapped_meanwhile
    player.act(hex.arena(matches=MATCHES).wait()[0])
    assert player.version == 0
    player.close()


def test_nobody_without_the_runs_key_is_answered(served):
    with pytest.raises(InputError, match="is the key right"):
        server_status(served.access.address, timeout=1.0)


def test_a_run_whose_policy_is_served_no_more_is_told(served):
    def broken():
        raise OSError("no more sockets")

    served.check()
    served._server._receive = broken
    served._thread.join(30)
    with pytest.raises(RunError, match="served no more: no more sockets"):
        served.check()


def test_a_second_run_at_the_same_port_is_refused_and_the_first_goes_on(served):
    with pytest.raises(
        InputError, match=r"cannot listen on 127.0.0.1:\d+ \(Address already in use\); port 0 takes a free"
    ):
        ServedPolicy(
            hex.policy(), hex.spec(), served.access.address, matches=1, device=CPU, timeout=0.02, say=lambda text: None
        )
    player = served.access.player(algorithm("ppo"), hex.spec(), matches=MATCHES, seed=0)
    assert collected(player, "ppo").rows >= 300
    player.close()


def test_collectors_are_answered_beside_those_who_flood_the_port(served):
    """Strangers without the key, in ZMQ's words and in none, and a collector of another run."""
    address, port = served.access.address, int(served.access.address.rpartition(":")[2])
    over = Event()

    def shout(greeting):
        while not over.is_set():
            with suppress(OSError), create_connection(("127.0.0.1", port), timeout=1) as line:
                for _ in range(50):
                    line.sendall(greeting + b"\xff" * 4096)

    def ask(key):
        with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
            stranger.setsockopt(zmq.LINGER, 0)
            if key is not None:
                secure_client(stranger, key)
            stranger.connect(address)
            while not over.is_set():
                with suppress(zmq.Again):
                    stranger.send(b"x" * 4096, zmq.NOBLOCK)

    floods = [Thread(target=shout, args=(greeting,)) for greeting in (b"", b"\xff" + bytes(8) + b"\x7f\x03")]
    floods += [Thread(target=ask, args=(key,)) for key in (None, new_keys()[1])]
    for flood in floods:
        flood.start()
    try:
        player = served.access.player(algorithm("ppo"), hex.spec(), matches=MATCHES, seed=0)
        assert collected(player, "ppo").rows >= 300
        player.close()
        served.check()
    finally:
        over.set()
        for flood in floods:
            flood.join()


def test_an_address_that_is_not_this_machines_is_refused():
    with pytest.raises(InputError, match="cannot listen on 192.0.2.1"):
        ServedPolicy(
            hex.policy(), hex.spec(), "tcp://192.0.2.1:0", matches=1, device=CPU, timeout=0.02, say=lambda text: None
        )
