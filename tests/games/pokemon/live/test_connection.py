"""Addresses and accounts: what people type, and what is refused before anything is sent."""

import io
import json
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

import pytest

from sparring.core import InputError
from sparring.games.pokemon.live.connection import Account, Pace, page_address, server_address, throttles


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("localhost:8000", "ws://localhost:8000/showdown/websocket"),
        ("ws://localhost:8000", "ws://localhost:8000/showdown/websocket"),
        ("ws://localhost:8000/", "ws://localhost:8000/showdown/websocket"),
        ("wss://sim3.psim.us/showdown/websocket", "wss://sim3.psim.us/showdown/websocket"),
    ],
)
def test_addresses_may_be_short(typed: str, address: str) -> None:
    assert server_address(typed) == address


@pytest.mark.parametrize(
    ("typed", "page"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("ws://127.0.0.1:8123/showdown/websocket", "http://localhost:8123"),
        ("wss://sim3.psim.us/showdown/websocket", None),
    ],
)
def test_a_browser_reaches_servers_of_this_machine(typed: str, page: str | None) -> None:
    assert page_address(typed) == page


@pytest.mark.parametrize("typed", ["http://localhost:8000", "ws://", "ws://host:nine", "ftp://x/y"])
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(InputError, match="--server"):
        server_address(typed)


@pytest.mark.parametrize("name", ["", "!!!", "averyveryverylongname"])
def test_names_that_showdown_cannot_have_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="--username"):
        Account(name)


def test_a_password_goes_over_https_only() -> None:
    with pytest.raises(InputError, match="https only"):
        Account("ourbot", password="secret", login="http://example.org/action.php")


@pytest.fixture
def login() -> Iterator[str]:
    """A login server that knows one password."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            right = form["act"] == ["login"] and form["pass"] == ["secret"] and form["challstr"] == ["4|abc"]
            body = "]" + json.dumps({"assertion": f"proof of {form['name'][0]}" if right else ";;wrong password"})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *words: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/action.php"
    server.shutdown()
    server.server_close()


def test_the_login_server_vouches_for_a_password(login: str) -> None:
    assert Account("ourbot", password="secret", login=login).assertion("4|abc") == "proof of ourbot"
    assert Account("ourbot").assertion("4|abc") == ""


def test_a_wrong_password_is_one_clear_line(login: str) -> None:
    with pytest.raises(InputError, match="ourbot: wrong password"):
        Account("ourbot", password="guess", login=login).assertion("4|abc")


@pytest.mark.parametrize("answer", ["]", "][]", "null", '{"assertion":5}', '{"assertion":"a\\nb"}', "[" * 90_000])
def test_a_login_server_that_makes_no_sense_is_one_clear_line(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda request, timeout: io.BytesIO(answer.encode()))
    with pytest.raises(InputError, match="--login"):
        Account("ourbot", password="secret").assertion("4|abc")


NOTICE = (
    '|raw|<strong class="message-throttle-notice">'
    "Your message was not sent because you've been typing too quickly.</strong>"
)


def test_only_the_servers_own_notices_slow_us_down() -> None:
    assert throttles(NOTICE)
    assert throttles("|popup|You're sending too many lines at once. Try using a paste service like [[Pastebin]].")
    for said in ("typing too quickly", "message-throttle-notice", "too many lines", NOTICE):
        assert not throttles(f"|c|Troll|{said}")
        assert not throttles(f"|c:|1700000000|Troll|{said}")
        assert not throttles(f"|pm| Troll| Ourbot|{said}")
        assert not throttles(f"|player|p2|{said}|1|")


@pytest.mark.parametrize("usual", [0.0, 0.65])
def test_the_pace_slows_and_recovers(usual: float) -> None:
    pace = Pace(usual)
    assert pace.seconds(1000.0) == usual
    for _ in range(20):
        pace.slow_down(1000.0)
    assert pace.seconds(1000.0) == 2.0
    assert pace.seconds(1059.0) == 2.0
    assert usual < pace.seconds(1061.0) < 2.0
    assert pace.seconds(1000.0 + 600.0) == usual
    pace.slow_down(2000.0)
    assert pace.seconds(2000.0) == max(0.65, 1.5 * usual)
