"""What a policy server counts, and how it reports that: over its own socket, and as Prometheus text."""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from threading import Semaphore, Thread, Timer
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import InputError
from sparring.serving.protocol import Report

_NOTICE_PAUSE = 60.0
"""Seconds between two lines about refused messages."""
_SCRAPES = 8
"""Requests for a page that are answered at the same time; more are refused."""
_SCRAPE_SECONDS = 5.0


def percentiles(values: Sequence[float] | NDArray[np.float32], *shares: int) -> dict[int, float]:
    """The percentiles `shares` of `values`; 0 if there are none."""
    if len(values) == 0:
        return dict.fromkeys(shares, 0.0)
    return {share: float(value) for share, value in zip(shares, np.percentile(values, shares), strict=True)}


class RecentSeconds:
    """The last few thousand durations, for percentiles."""

    def __init__(self, kept: int = 8192) -> None:
        self._ring: NDArray[np.float32] = np.zeros(kept, np.float32)
        self._count = 0

    def add(self, seconds: float) -> None:
        """Notes one."""
        self._ring[self._count % len(self._ring)] = seconds
        self._count += 1

    def percentiles(self, *shares: int) -> dict[int, float]:
        """See `percentiles`."""
        return percentiles(self._ring[: self._count], *shares)


@dataclass
class ModelCounters:
    """What was asked of one model."""

    requests: int = 0
    repeated: int = 0
    lost: int = 0
    failed: int = 0
    latency: RecentSeconds = field(default_factory=RecentSeconds)


class Rate:
    """Events per second over the last ten ticks."""

    def __init__(self) -> None:
        self._ticks: deque[tuple[float, int]] = deque(maxlen=11)

    def tick(self, now: float, total: int) -> None:
        """Notes that `total` events have happened by `now`."""
        self._ticks.append((now, total))

    @property
    def per_second(self) -> float:
        """Over the ticks noted; 0 with fewer than two."""
        if len(self._ticks) < 2:
            return 0.0
        (start, before), (end, after) = self._ticks[0], self._ticks[-1]
        return (after - before) / max(end - start, 1e-9)


class Notices:
    """Reports refused messages, at most once a minute."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._count = 0
        self._latest = ""
        self._next = 0.0

    def add(self, reason: str) -> None:
        """Notes one."""
        self._count += 1
        self._latest = reason

    def tick(self, now: float) -> None:
        """Reports, if there is something new and it is time."""
        if self._count and now >= self._next:
            latest = "".join(letter if letter.isprintable() else "?" for letter in self._latest[:200])
            self._say(f"refused {self._count:,} messages; the latest: {latest}")
            self._count, self._next = 0, now + _NOTICE_PAUSE


_PER_MODEL = {
    "requests": ("sparring_requests_total", "counter", "Requests answered."),
    "rows": ("sparring_rows_total", "counter", "Rows answered."),
    "forwards": ("sparring_forwards_total", "counter", "Forward passes."),
    "forward_seconds": ("sparring_forward_seconds_total", "counter", "Time spent in forward passes."),
    "repeated": ("sparring_repeated_requests_total", "counter", "Requests that came again and got a stored answer."),
    "lost": ("sparring_lost_memory_rows_total", "counter", "Rows in mid-match whose memory was gone."),
    "failed": ("sparring_failed_requests_total", "counter", "Requests the model raised an error on."),
    "sessions": ("sparring_sessions", "gauge", "Clients that have said hello."),
    "queue": ("sparring_queue_rows", "gauge", "Rows that wait."),
    "slots_used": ("sparring_memory_slots_used", "gauge", "Memory slots in use."),
    "version": ("sparring_model_version", "gauge", "Version of the weights."),
}


def prometheus_text(report: Report) -> str:
    """`report` in Prometheus' text format."""
    lines = [
        "# TYPE sparring_uptime_seconds gauge",
        f"sparring_uptime_seconds {report.uptime:.3f}",
        "# TYPE sparring_refused_messages_total counter",
        f"sparring_refused_messages_total {report.refused}",
    ]
    for key, (name, kind, text) in _PER_MODEL.items():
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{_labels(model)} {getattr(values, key)}" for model, values in report.models.items()]
    name = "sparring_latency_seconds"
    lines += [f"# HELP {name} Round trips as clients measured them.", f"# TYPE {name} summary"]
    for model, values in report.models.items():
        for quantile, seconds in (("0.5", values.p50), ("0.95", values.p95), ("0.99", values.p99)):
            lines.append(f"{name}{_labels(model, quantile)} {seconds:.6f}")
    return "\n".join(lines) + "\n"


class _MetricsServer(ThreadingHTTPServer):
    """An HTTP server of few threads: silent connections are cut, as are those that come while all threads are busy."""

    daemon_threads = True

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self._places = Semaphore(_SCRAPES)
        super().__init__(("127.0.0.1", port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Starts a thread for `request`, if one is free."""
        if not self._places.acquire(blocking=False):
            return self.shutdown_request(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers in the thread."""
        too_late = Timer(_SCRAPE_SECONDS, _cut, (request,))
        too_late.daemon = True
        too_late.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            too_late.cancel()
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: a client that disconnects is not news."""


def _cut(connection: socket) -> None:
    with suppress(OSError):
        connection.shutdown(SHUT_RDWR)


def serve_metrics(port: int, text: Callable[[], str]) -> ThreadingHTTPServer:
    """Answers GET /metrics and /health on 127.0.0.1:`port` from a thread of its own, until `shutdown`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages: dict[str, Callable[[], str]] = {"/metrics": text, "/health": lambda: "ok\n"}
            page = pages.get(self.path)
            body = page().encode() if page else b"not found; there are /metrics and /health\n"
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: a scrape every few seconds is not news."""

    try:
        server = _MetricsServer(port, Handler)
    except (OSError, OverflowError) as error:
        raise InputError(f"--metrics-port {port}: {getattr(error, 'strerror', None) or error}") from error
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def _labels(model: str, quantile: str | None = None) -> str:
    escaped = model.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{model="{escaped}"}}' if quantile is None else f'{{model="{escaped}",quantile="{quantile}"}}'
