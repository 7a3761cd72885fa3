"""What a policy server counts, and how it tells: as a report over its own socket, and as Prometheus text."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from sparring.core import InputError
from sparring.serving.protocol import Report


def percentiles(values: Sequence[float] | NDArray[np.float32], *shares: int) -> dict[int, float]:
    """By each of `shares` (per cent), the value that so many of `values` are not above; 0 if there are none."""
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
    """Events a second over the last ten ticks."""

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
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise InputError(f"--metrics-port {port}: {error.strerror}") from error
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def _labels(model: str, quantile: str | None = None) -> str:
    escaped = model.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{model="{escaped}"}}' if quantile is None else f'{{model="{escaped}",quantile="{quantile}"}}'
