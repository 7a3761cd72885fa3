"""Clients that send what nobody should, take all they can get, or are not there any more."""

import socket as tcp
import struct
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from time import monotonic, sleep

import numpy as np
import pytest
import torch
import zmq

from sparring.core import InputError, RunError, load_game
from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from sparring.serving import RemotePlayer, reload_model, server_status
from sparring.serving.connections import most_connections, resident_bytes
from sparring.serving.models import ModelSource
from sparring.serving.protocol import Ask, Refused, RowLayout, Unknown, Welcome, encode
from tests import poker
from tests.serving.support import SPEC, lstm_policy, raw_socket, reply, rows, running, source, until
from tests.torture.attacks import (
    RawConnection,
    command,
    endless_message,
    frame,
    game_specs,
    hello,
    hostile_hellos,
)
from tests.torture.server import torture

CARDS = load_game("leduc")
CARDS_SPEC = CARDS.spec(CARDS.settings())


def cards_source():
    return ModelSource("main", CARDS_SPEC, poker.policy("leduc", memory="lstm"), 1)


def cards(matches=4):
    return CARDS.arena(CARDS.settings(), matches=matches, seed=0).wait()[0]


def ask_frames(session, sequence, decisions, spec):
    ask = Ask(session=session, sequence=sequence, rows=len(decisions))
    draws, ended = np.zeros(len(decisions), np.float32), np.empty(0, np.int32)
    return [encode(ask), *RowLayout(spec).write_ask(decisions, draws, ended)]


def pokemon_source():
    game = load_game("pokemon")
    spec = game.spec(game.settings())
    return ModelSource("main", spec, game.policy(spec, game.network(width=16, layers=0)), 1)


@pytest.mark.parametrize("served", [source, cards_source, pokemon_source])
def test_every_part_of_a_hello_may_be_hostile(served):
    """Each is refused or, where the part does not matter, welcomed; the server stays."""
    made = served()
    # Before the server: it shares this process, and takes what loading the games costs for messages that pile up.
    specs = {spec.game: spec for spec in [*game_specs(), made.spec]}
    sockets = []
    with running(made) as server:
        for spec in specs.values():
            for number, message in enumerate(hostile_hellos(spec)):
                if number % 500 == 0:  # one client that is refused more than that is not heard any more
                    socket = raw_socket(server.address)
                    sockets.append(socket)
                socket.send(message)
                assert isinstance(reply(socket), Refused | Welcome)
        for socket in sockets:
            socket.close()


def test_a_client_that_only_sends_garbage_is_no_longer_read():
    with running(source()) as server:
        socket = raw_socket(server.address)
        for _ in range(5000):
            socket.send(b"garbage")
        until(lambda: server.report().refused == 5000)
        answers = 0
        while socket.poll(200):
            socket.recv()
            answers += 1
        assert 0 < answers < 5000
        assert server_status(server.address).refused == 5000
        socket.close()


def test_a_fault_of_the_servers_own_is_answered_and_told_once(monkeypatch):
    said = []
    with running(source(), say=said.append) as server:
        monkeypatch.setattr(server.models["main"], "refusal", lambda *hello: 1 / 0)
        socket = raw_socket(server.address)
        for _ in range(3):
            socket.send(hello(SPEC))
            assert reply(socket).reason == "this message cannot be handled: ZeroDivisionError: division by zero"
        socket.close()
        until(lambda: any("ZeroDivisionError" in line for line in said))
        assert server.report().refused == 3
        sleep(1.5)
    assert sum("refused" in line for line in said) == 1


def test_a_fault_while_a_batch_is_answered_refuses_its_requests(monkeypatch):
    with running(source()) as server:
        player = RemotePlayer(server.address, "main", SPEC, matches=4)
        monkeypatch.setattr(server.models["main"], "_seat", lambda batch: 1 / 0)
        with pytest.raises(RunError, match="this request cannot be answered: ZeroDivisionError"):
            player.act(rows())
        monkeypatch.undo()
        assert len(player.act(rows()).action) == 4
        player.close()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ([b"x"] * 4, "a message has 1 to 3 frames, not 4"),
        ([b"x" * 70_000], "a header of 70000 bytes; 65536 are allowed"),
    ],
)
def test_messages_of_many_frames_or_a_large_header_are_refused(message, reason):
    with running(source()) as server:
        socket = raw_socket(server.address)
        socket.send_multipart(message)
        assert reply(socket) == Refused(reason=reason)
        socket.close()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_observations_that_are_not_finite_are_refused_and_change_nothing(bad):
    """A later client on the same slots gets what it would have got without them."""
    with running(cards_source()) as server:
        player = RemotePlayer(server.address, "main", CARDS_SPEC, matches=4, keep_policy=True)
        right = player.act(cards())
        player.close()
        until(lambda: server.models["main"].pool.used == 0)
        for first in (True, False):
            hostile = RemotePlayer(server.address, "main", CARDS_SPEC, matches=4)
            broken = replace(cards(), first=np.full(4, first))
            broken.observation["state"][2, 1] = bad
            with pytest.raises(RunError, match="observation state: holds numbers that are not finite"):
                hostile.act(broken)
            hostile.close()
        player = RemotePlayer(server.address, "main", CARDS_SPEC, matches=4, keep_policy=True)
        np.testing.assert_array_equal(player.act(cards()).policy, right.policy)
        player.close()


def test_a_network_that_answers_nan_fails_only_the_request_it_happened_in():
    class Fragile(type(lstm_policy())):
        def step(self, observation, legal, memory):
            output = super().step(observation, legal, memory)
            bad = (observation["planes"].flatten(1) == 77).any(1)
            output.logits[bad] = float("nan")
            for state in output.memory.values():
                state[bad] = float("nan")
            return output

    policy = lstm_policy()
    policy.__class__ = Fragile
    with running(ModelSource("main", SPEC, policy, 1), timeout=0.2) as server:
        good, bad = (RemotePlayer(server.address, "main", SPEC, matches=4) for _ in range(2))
        broken = rows()
        broken.observation["planes"][1] = 77
        numbers = bad.submit(broken), good.submit(rows())
        with pytest.raises(RunError, match=r"not finite in 1 of 4 rows \(1\)"):
            bad.collect(numbers[0])
        assert len(good.collect(numbers[1]).action) == 4
        assert server.models["main"].pool.used == 4, "the slots of the request that failed are free again"
        for slab in server.models["main"].engine.snapshot().values():
            assert np.isfinite(slab).all()
        good.close()
        bad.close()


def test_a_checkpoint_that_is_not_finite_is_not_taken_over(tmp_path):
    network = {"channels": 16, "blocks": 1, "memory": "lstm"}

    def save(policy, version):
        weights = policy.state_dict()
        save_checkpoint(
            tmp_path / "c", Checkpoint(spec=SPEC, network=network, version=version, weights=weights, about={})
        )

    save(lstm_policy(), 1)
    with running(ModelSource.from_checkpoint("main", tmp_path / "c")) as server:
        broken = lstm_policy()
        with torch.no_grad():
            next(broken.parameters()).flatten()[0] = float("nan")
        save(broken, 2)
        with pytest.raises(InputError, match="keeps version 1: .* holds NaN"):
            reload_model(server.address, "main")


def test_a_message_that_never_ends_is_cut_and_its_memory_is_given_back():
    with running(source(), growth=96 << 20) as server:
        player = RemotePlayer(server.address, "main", SPEC, matches=4)
        player.act(rows())
        before = resident_bytes()
        assert endless_message(server.address, 100_000, 4 << 30) < 4 << 30
        assert len(player.act(rows()).action) == 4
        until(lambda: resident_bytes() - before < 50 << 20, 15)
        player.close()


def test_connections_beyond_the_limit_cost_the_idlest_its_own():
    with running(source()) as server:
        player = RemotePlayer(server.address, "main", SPEC, matches=4)
        server._connections.most = 8
        idle = []
        for _ in range(30):
            with suppress(OSError):
                idle.append(RawConnection(server.address))
            player.act(rows())
        until(lambda: len(server._connections._open) <= 8)
        assert len(player.act(rows()).action) == 4
        assert player.counters.lost == 0
        assert server_status(server.address).models["main"].sessions == 1
        for connection in idle:
            connection.reset()
        player.close()


def test_connections_stay_below_the_limit_of_open_files(monkeypatch):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda which: (1024, 4096))
    assert most_connections(100) == 100
    assert 500 < most_connections(2048) <= 1024 - 64


def test_idle_sessions_make_place_for_new_clients():
    with running(source(), clients=4) as server:
        idle = [raw_socket(server.address) for _ in range(4)]
        for socket in idle:
            socket.send(hello(SPEC))
            assert isinstance(reply(socket), Welcome)
        players = [RemotePlayer(server.address, "main", SPEC, matches=1) for _ in range(1)]
        for _ in range(3):
            players[-1].act(rows(1))
            players.append(RemotePlayer(server.address, "main", SPEC, matches=1))
        players[-1].act(rows(1))
        assert server.report().models["main"].sessions == 4
        with pytest.raises(InputError, match="this server has 4 clients and takes no more"):
            RemotePlayer(server.address, "main", SPEC, matches=1)
        for player in players:
            assert player.counters.hellos == 1
            player.close()
        for socket in idle:
            socket.close()


def test_a_client_that_has_been_silent_for_long_makes_place(monkeypatch):
    monkeypatch.setattr("sparring.serving.server._IDLE", 0.2)
    with running(source(), clients=1) as server:
        silent = RemotePlayer(server.address, "main", SPEC, matches=1)
        silent.act(rows(1))
        sleep(0.3)
        player = RemotePlayer(server.address, "main", SPEC, matches=1)
        player.act(rows(1))
        player.close()
        silent.close()


def test_no_client_can_take_the_memory_that_others_have_a_right_to():
    with running(source(), slots=16) as server:
        greedy = RemotePlayer(server.address, "main", SPEC, matches=8)
        both_seats = replace(rows(8), seat=np.ones(8, np.int32))
        greedy.act(rows(8))
        greedy.act(both_seats)
        assert server.models["main"].pool.free == 0
        modest = RemotePlayer(server.address, "main", SPEC, matches=4)
        assert len(modest.act(rows(4)).action) == 4
        assert [one.held for one in server.models["main"].sessions.values()] == [12, 4]
        greedy.act(replace(both_seats, first=np.zeros(8, np.bool_)))
        assert greedy.counters.lost == 0, "what was used last is kept"
        with pytest.raises(RunError, match="no memory slot left"):
            greedy.act(replace(rows(8), first=np.zeros(8, np.bool_)))
        later = replace(rows(4), first=np.zeros(4, np.bool_))
        modest.act(later)
        assert modest.counters.lost == 0
        greedy.close()
        modest.close()


def test_stored_answers_are_bounded_by_bytes_and_a_client_that_needs_one_begins_anew():
    with running(source(), stored=3000) as server:
        sockets = [raw_socket(server.address) for _ in range(4)]
        sessions = []
        for socket in sockets:
            socket.send(hello(SPEC, in_flight=16))
            sessions.append(reply(socket).session)
        for sequence in range(12):
            for socket, session in zip(sockets, sessions, strict=True):
                socket.send_multipart(ask_frames(session, sequence, rows(4), SPEC))
                assert socket.poll(5000)
                socket.recv_multipart()
                assert server._stored <= 3000
        assert server._stored == sum(one.answer_bytes for _, one in server._sessions.values()) > 0
        sockets[0].send_multipart(ask_frames(sessions[0], 0, rows(4), SPEC))
        assert reply(sockets[0]) == Unknown(session=sessions[0])
        for socket in sockets:
            socket.close()
        player = RemotePlayer(server.address, "main", SPEC, matches=4)
        player.act(rows())
        player.close()


def test_a_client_that_stops_answering_pings_is_noticed():
    """It asked to be dropped when its pings stop, as every client does; its connection still stands."""
    with running(source(), silence=1.0) as server:
        connection = RawConnection(server.address)
        connection.send(frame(hello(SPEC)) + command(b"PING", b"\x00\x05z"))
        until(lambda: server.report().models["main"].sessions == 1)
        until(lambda: server.report().models["main"].sessions == 0)
        connection.reset()


def test_a_server_that_stops_answering_pings_is_left_and_tried_again(monkeypatch):
    monkeypatch.setattr("sparring.serving.client._PING_MS", 200)
    monkeypatch.setattr("sparring.serving.client._SILENT_MS", 600)
    accepted = []

    def serve(listener):
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                accepted.append(connection)
                ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", 6) + b"ROUTER"
                greeting = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
                connection.sendall(greeting + bytes([4, len(ready)]) + ready)

    with tcp.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        start = monotonic()
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(InputError, match="no answer to hello"):
            RemotePlayer(address, "main", SPEC, matches=1, timeout=3.0)
        assert len(accepted) >= 2
        assert monotonic() - start < 60
        listener.shutdown(tcp.SHUT_RDWR)
    for connection in accepted:
        connection.close()


@pytest.mark.parametrize("garbage", [b"", b"\xff\xff", b"HTTP/1.1 400 Bad Request"])
def test_a_server_that_speaks_something_else_is_one_clear_line(garbage):
    context = zmq.Context()
    socket = context.socket(zmq.ROUTER)
    port = socket.bind_to_random_port("tcp://127.0.0.1")

    def serve():
        client, *_ = socket.recv_multipart()
        socket.send_multipart([client, garbage])

    thread = Thread(target=serve)
    thread.start()
    with pytest.raises(RunError, match=f"tcp://127.0.0.1:{port} does not speak as a policy server does"):
        server_status(f"tcp://127.0.0.1:{port}")
    thread.join()
    socket.close(0)
    context.term()


@pytest.mark.parametrize("address", ["", "nonsense", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:x", "tcp://a\0b:1"])
def test_an_address_that_is_none_is_one_clear_line(address):
    with pytest.raises(InputError, match="not an address like tcp://host:5555"):
        server_status(address, timeout=1.0)


def test_floods_resets_and_fuzzed_messages_beside_honest_clients():
    """The attack of `tests/torture/server.py`, small: no exit, no wrong answer, no memory kept."""
    figures = torture(messages=1000, floods=8, flood_messages=4000, endless=1, seed=0, pause=0.01)
    assert figures["exits"] == 0
    assert figures["errors"] == []
    assert figures["wrong"] == figures["lost"] == 0
    assert figures["honest_rows"] > 100
    assert figures["nan_refused"] == 10
    assert figures["growth_mb"] < 50
