"""The metrics page: few threads, and nobody holds one for long."""

import socket
import threading
import urllib.error
import urllib.request

import pytest

from sparring.core import InputError
from sparring.serving import statistics
from sparring.serving.statistics import Notices, serve_metrics
from tests.serving.support import until


def threads():
    return sum("process_request_thread" in thread.name for thread in threading.enumerate())


def test_half_requests_hold_few_threads_and_are_cut(monkeypatch):
    monkeypatch.setattr(statistics, "_SCRAPE_SECONDS", 1.0)
    http = serve_metrics(0, lambda: "all is well\n")
    port = http.server_address[1]
    half = []
    for _ in range(40):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(b"GET /metr")
        half.append(connection)
    until(lambda: threads() > 0)
    assert threads() <= 8
    until(lambda: threads() == 0)
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read()
    assert page == b"all is well\n"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/other", timeout=5)
    http.shutdown()
    http.server_close()
    for connection in half:
        connection.close()


def test_a_port_that_cannot_be_had_is_one_clear_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"--metrics-port {port}: .*in use"):
            serve_metrics(port, str)
    with pytest.raises(InputError, match="--metrics-port 70000: "):
        serve_metrics(70_000, str)


def test_refusals_are_told_once_a_minute_and_in_letters():
    said = []
    notices = Notices(said.append)
    notices.tick(0.0)
    notices.add("first")
    notices.add("\x1b[31mred")
    notices.tick(1.0)
    notices.add("later")
    notices.tick(30.0)
    notices.tick(62.0)
    assert said == ["refused 2 messages; the latest: ?[31mred", "refused 1 messages; the latest: later"]
