"""What the policy server promises its clients, and what it survives."""

import socket as tcp
import urllib.request
from dataclasses import replace
from time import monotonic, sleep

import numpy as np
import pytest
import zmq
from hypothesis import HealthCheck, given
from hypothesis import settings as fuzz
from hypothesis import strategies as st

from sparring.core import Field, GameSpec, InputError, RunError, Vocabulary
from sparring.games.hex import GAME
from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from sparring.serving import RemotePlayer, reload_model, server_status
from sparring.serving.keys import ClientKey, check_bind, make_keys, read_client_key, read_server_key
from sparring.serving.models import ModelSource
from sparring.serving.protocol import PROTOCOL, Ask, Hello, Refused, RowLayout, Welcome, encode
from sparring.serving.server import PolicyServer, ServerSettings
from sparring.serving.statistics import prometheus_text, serve_metrics
from tests.serving.support import CPU, SPEC, lstm_policy, raw_socket, reply, rows, running, source, until

NETWORK = {"channels": 16, "blocks": 1, "memory": "lstm"}


def hello(**changes):
    parts = {"protocol": PROTOCOL, "model": "main", "spec": SPEC.to_json(), "slots": 8} | changes
    return encode(Hello(**parts))


def save(folder, seed, version):
    policy = lstm_policy(seed)
    save_checkpoint(
        folder, Checkpoint(spec=SPEC, network=NETWORK, version=version, weights=policy.state_dict(), about={})
    )


def test_another_game_or_shape_is_refused_with_the_reason():
    other_size = GAME.spec(GAME.settings(size=7))
    other_game = GameSpec("chess", {}, 2, 10, {"board": Field((8,), "int8")})
    with running(source()) as server:
        for spec, reason in ((other_size, "25 actions, yours 49"), (other_game, "plays hex, not chess")):
            with pytest.raises(InputError, match=reason):
                RemotePlayer(server.address, "main", spec, matches=1)
        with pytest.raises(InputError, match="no model 'other'; this server has: main"):
            RemotePlayer(server.address, "other", SPEC, matches=1)
        with pytest.raises(InputError, match="at most 8192 slots"):
            RemotePlayer(server.address, "main", SPEC, matches=10_000)


def test_a_player_is_made_for_a_spec_and_a_number_of_matches():
    with pytest.raises(InputError, match="spec = None: allowed: a GameSpec, such as arena.spec"):
        RemotePlayer("tcp://127.0.0.1:1", "main", None, matches=1)
    with pytest.raises(InputError, match="matches = 0: allowed: a whole number, 1 or more"):
        RemotePlayer("tcp://127.0.0.1:1", "main", SPEC, matches=0)
    with running(source()) as server, RemotePlayer(server.address, "main", SPEC, matches=2) as player:
        with pytest.raises(InputError, match="a row of match 3: this player was made for matches = 2"):
            player.act(rows(4))
        assert len(player.act(rows(2))) == 2


def test_a_closed_player_says_so():
    with running(source()) as server:
        with RemotePlayer(server.address, "main", SPEC, matches=2) as player:
            assert repr(player) == f"<RemotePlayer: main at {server.address}, version 1>"
        player.close()
        assert repr(player) == f"<RemotePlayer: main at {server.address}, closed>"
        with pytest.raises(RunError, match=f"main at {server.address}: the player is closed"):
            player.act(rows(2))


def test_both_ends_must_number_the_same_names():
    mine, yours = (Vocabulary({"things": names}, {}) for names in (("a", "b"), ("a", "c")))
    with running(ModelSource("main", replace(SPEC, vocabulary=mine), lstm_policy(), 1)) as server:
        for spec in (replace(SPEC, vocabulary=yours), SPEC):
            with pytest.raises(
                InputError, match="observations number other names than the model's: install the same hex"
            ):
                RemotePlayer(server.address, "main", spec, matches=4)
        player = RemotePlayer(server.address, "main", replace(SPEC, vocabulary=mine), matches=4)
        assert len(player.act(rows())) == len(rows())
        player.close()


def test_another_protocol_is_refused():
    with running(source()) as server:
        socket = raw_socket(server.address)
        socket.send(hello(protocol=PROTOCOL + 1))
        assert reply(socket) == Refused(reason=f"protocol {PROTOCOL + 1}: this server speaks {PROTOCOL}")
        socket.close()


def test_memory_is_freed_when_matches_end_and_when_the_client_leaves():
    with running(source()) as server:
        pool = server.models["main"].pool
        player = RemotePlayer(server.address, "main", SPEC, matches=4)
        player.act(rows())
        assert pool.used == 4
        player.forget(np.array([0, 1, 2], np.int32))
        player.act(rows().take(np.array([3])))
        assert pool.used == 1
        player.close()
        until(lambda: pool.used == 0)


def test_memory_of_a_silent_client_is_freed():
    with running(source(), silence=2.0) as server:
        pool = server.models["main"].pool
        player = RemotePlayer(server.address, "main", SPEC, matches=4)
        player.act(rows())
        player._line.close()  # as if its process had died
        assert pool.used == 4
        until(lambda: pool.used == 0)
        assert server.report().models["main"].sessions == 0


def test_a_client_that_is_connected_but_thinks_keeps_its_memory():
    with running(source(), silence=1.0) as server:
        player = RemotePlayer(server.address, "main", SPEC, matches=4)
        player.act(rows())
        sleep(4)
        assert server.models["main"].pool.used == 4
        player.act(rows())
        assert player.counters.hellos == 1
        player.close()


def test_a_request_repeated_after_its_answer_is_not_acted_twice():
    with running(source()) as server:
        player = RemotePlayer(server.address, "main", SPEC, matches=4, keep_policy=True)
        decisions = rows()
        number = player.submit(decisions)
        asked = player._pending[number]
        first = player.collect(number)
        memory = server.models["main"].engine.snapshot()
        player._pending[number] = asked
        player._send(asked)
        second = player.collect(number)
        np.testing.assert_array_equal(first.policy, second.policy)
        for name, slab in server.models["main"].engine.snapshot().items():
            np.testing.assert_array_equal(slab, memory[name])
        assert server.report().models["main"].repeated == 1
        player.close()


def test_a_player_goes_on_after_the_server_was_restarted():
    with running(source()) as server:
        port = int(server.address.rsplit(":", 1)[1])
        player = RemotePlayer(server.address, "main", SPEC, matches=4, timeout=20)
        decisions = rows()
        player.act(decisions)
    with running(source(), port=port):
        later = decisions.take(np.arange(4))
        later.first[:] = False
        answers = player.act(later)
        assert answers.action.shape == (4,)
        assert player.counters.hellos == 2
        assert player.counters.lost == 4
        player.close()


def test_an_absent_server_is_named_in_the_time_out():
    with tcp.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(InputError, match=rf"policy server {address}: no answer to hello for [1-9] s"):
            RemotePlayer(address, "main", SPEC, matches=1, timeout=1.0)


def test_nobody_at_an_address_of_this_machine_is_told_within_seconds():
    with tcp.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        started = monotonic()
        with pytest.raises(
            InputError, match=rf"policy server {address}: nobody listens there; `sparring serve` starts"
        ):
            RemotePlayer(address, "main", SPEC, matches=1)
        assert monotonic() - started < 20


def test_a_checkpoint_is_reloaded_on_command_without_losing_memory_or_requests(tmp_path):
    save(tmp_path / "c", 1, version=1)
    with running(ModelSource.from_checkpoint("main", tmp_path / "c")) as server:
        player = RemotePlayer(server.address, "main", SPEC, matches=4, keep_policy=True)
        before = player.act(rows())
        save(tmp_path / "c", 2, version=2)
        assert reload_model(server.address, "main") == 2
        after = player.act(rows())
        assert player.version == 2
        assert np.abs(before.policy - after.policy).max() > 1e-3
        assert server.models["main"].pool.used == 4
        player.close()


def test_a_watched_run_folder_is_reloaded_by_itself(tmp_path):
    save(tmp_path / "run" / "checkpoints" / "00000001", 1, version=1)
    with running(ModelSource.from_checkpoint("main", tmp_path / "run"), watch=True) as server:
        save(tmp_path / "run" / "checkpoints" / "00000002", 2, version=2)
        until(lambda: server.models["main"].version == 2)


def test_a_checkpoint_that_does_not_fit_is_refused_and_the_old_one_stays(tmp_path):
    save(tmp_path / "c", 1, version=1)
    with running(ModelSource.from_checkpoint("main", tmp_path / "c")) as server:
        (tmp_path / "c" / "policy.safetensors").write_bytes(b"garbage")
        with pytest.raises(InputError, match="keeps version 1"):
            reload_model(server.address, "main")
        player = RemotePlayer(server.address, "main", SPEC, matches=4)
        player.act(rows())
        player.close()


def test_several_models_are_served_at_once():
    with running(source("a", 1), source("b", 2)) as server:
        policies = []
        for name in ("a", "b"):
            player = RemotePlayer(server.address, name, SPEC, matches=4, keep_policy=True)
            policies.append(player.act(rows()).policy)
            player.close()
        assert np.abs(policies[0] - policies[1]).max() > 1e-3


def test_requests_larger_than_the_server_takes_are_cut():
    with running(source(), rows=3) as server:
        player = RemotePlayer(server.address, "main", SPEC, matches=10, keep_policy=True)
        assert player.act(rows(10)).policy.shape == (10, 25)
        assert player.counters.requests == 4
        player.close()


def test_a_server_without_free_memory_says_so():
    with running(source(), slots=8) as server:
        first = RemotePlayer(server.address, "main", SPEC, matches=4)
        first.act(rows(4))
        second = RemotePlayer(server.address, "main", SPEC, matches=4)
        second.act(rows(4))
        with pytest.raises(RunError, match="no memory slot left"):
            second.act(replace(rows(4), seat=np.ones(4, np.int32)))
        first.close()
        second.close()


def test_a_row_that_breaks_the_model_fails_only_its_own_request():
    class Picky(type(lstm_policy())):
        def step(self, observation, legal, memory):
            if (observation["planes"] == 77).any():
                raise IndexError("index out of range")
            return super().step(observation, legal, memory)

    policy = lstm_policy()
    policy.__class__ = Picky
    with running(ModelSource("main", SPEC, policy, 1), timeout=0.2) as server:
        good, bad = (RemotePlayer(server.address, "main", SPEC, matches=4) for _ in range(2))
        broken = rows()
        broken.observation["planes"][:] = 77
        numbers = bad.submit(broken), good.submit(rows())
        with pytest.raises(RunError, match="the model failed on these rows: IndexError"):
            bad.collect(numbers[0])
        assert good.collect(numbers[1]).action.shape == (4,)
        good.close()
        bad.close()


def test_status_tells_health_versions_and_latency():
    with running(source()) as server:
        player = RemotePlayer(server.address, "main", SPEC, matches=4)
        for _ in range(5):
            player.act(rows())
        report = server_status(server.address)
        model = report.models["main"]
        assert (model.requests, model.rows, model.version, model.sessions, model.queue) == (5, 20, 1, 1, 0)
        assert 0 < model.p50 <= model.p95 <= model.p99 < 5
        text = prometheus_text(report)
        assert 'sparring_requests_total{model="main"} 5' in text
        http = serve_metrics(0, lambda: text)
        page = urllib.request.urlopen(f"http://127.0.0.1:{http.server_address[1]}/metrics").read().decode()
        http.shutdown()
        http.server_close()
        assert page == text
        player.close()


def test_a_port_in_use_is_one_clear_line():
    with running(source()) as server:
        port = int(server.address.rsplit(":", 1)[1])
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1:{port}"):
            PolicyServer([source()], device=CPU, settings=ServerSettings(), port=port)


def test_other_interfaces_need_a_key():
    for host in ("0.0.0.0", "192.168.1.5", "*", "[::]"):
        with pytest.raises(InputError, match="other machines could reach it"):
            check_bind(host, None)
    for host in ("127.0.0.1", "localhost", "[::1]"):
        check_bind(host, None)


def test_a_client_without_the_key_gets_nothing(tmp_path):
    server_key, client_key = make_keys(tmp_path / "mine")
    _, stranger = make_keys(tmp_path / "theirs")
    right = read_client_key(client_key)
    knows_the_server = read_client_key(stranger)
    knows_the_server = ClientKey(server=right.server, public=knows_the_server.public, secret=knows_the_server.secret)
    with running(source(), key=read_server_key(server_key)) as server:
        player = RemotePlayer(server.address, "main", SPEC, matches=4, key=right)
        assert player.act(rows()).action.shape == (4,)
        for key in (None, read_client_key(stranger), knows_the_server):
            with pytest.raises(InputError, match="is the key right"):
                server_status(server.address, key=key, timeout=1.0)
        player.close()
    assert server_key.stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="exists already"):
        make_keys(tmp_path / "mine")


FRAMES = RowLayout(SPEC).write_ask(rows(), np.zeros(4, np.float32), np.empty(0, np.int32))


@pytest.fixture(scope="module")
def attacked():
    with running(source(), rows=64) as server:
        yield server


@fuzz(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hostile_frames_never_stop_the_server(attacked, data):
    """Garbage headers, truncated, swapped, oversized and random frames; honest clients are answered all along."""
    socket = raw_socket(attacked.address)
    socket.send(hello(in_flight=4))
    session = reply(socket)
    assert isinstance(session, Welcome)
    for sequence in range(3):
        ask = Ask(
            session=session.session,
            sequence=sequence,
            rows=data.draw(st.sampled_from([1, 4, 64, 65, 2**60])),
            temperature=data.draw(st.sampled_from([0.0, 1.0, 1e-30, float("nan")])),
            waited=data.draw(st.sampled_from([0.0, float("inf"), 1.0])),
        )
        frames = [encode(ask), *FRAMES]
        for _ in range(data.draw(st.integers(0, 3))):
            place = data.draw(st.integers(0, len(frames) - 1))
            frames[place] = data.draw(
                st.one_of(
                    st.binary(max_size=200),
                    st.just(frames[place][:-1]),
                    st.just(b"\xff" * len(frames[place])),
                    st.just(frames[0]),
                    st.just(hello(slots=data.draw(st.integers(1, 2**62)))),
                )
            )
        if data.draw(st.booleans()):
            frames = frames[: data.draw(st.integers(0, len(frames)))] or [b""]
        socket.send_multipart(frames)
    socket.close()
    player = RemotePlayer(attacked.address, "main", SPEC, matches=4, timeout=10)
    assert player.act(rows()).action.shape == (4,)
    player.close()


def test_a_frame_beyond_the_limit_is_not_read(attacked):
    socket = raw_socket(attacked.address)
    socket.send(b"\0" * (64 << 20))
    assert not socket.poll(300)
    socket.close()
    assert server_status(attacked.address).models["main"].queue == 0


class Forgetful:
    """A socket that refuses to send until it is asked for events: ZMQ learns late that a client has read."""

    def __init__(self, socket):
        self._socket, self._looked = socket, False

    def __getattr__(self, name):
        return getattr(self._socket, name)

    def getsockopt(self, option):
        self._looked |= option == zmq.EVENTS
        return self._socket.getsockopt(option)

    def send_multipart(self, frames, flags):
        if not self._looked:
            raise zmq.Again
        self._looked = False
        self._socket.send_multipart(frames, flags)


def test_no_answer_is_lost_because_zmq_has_not_looked_whether_the_last_was_read():
    with running(source()) as server:
        server._socket = Forgetful(server._socket)
        socket = raw_socket(server.address)
        for _ in range(3):
            socket.send(hello())
            assert isinstance(reply(socket), Welcome)
        socket.close()
