"""Local servers that speak what Showdown's replay site and Hugging Face's hub speak."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import parse_qs, unquote, urlsplit


@contextmanager
def serving(answer):
    """A server on this machine that answers each request with `answer(handler)`; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            answer(self)

        do_HEAD = do_POST = do_GET

        def log_message(self, *words):
            """Says nothing."""

        def reply(self, content, *, status=200, headers=()):
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **dict(headers)}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Showdown:
    """A replay site. `replays` are records by id; `faults` are answers, by path, that come first, once each."""

    def __init__(self, replays):
        self.replays = {record["id"]: record for record in replays}
        self.faults = {}
        self.seconds = 0.0
        """How long each answer takes."""
        self.requests = []
        """Time, path, query and user agent of each."""

    @property
    def fetched(self):
        return [path.removesuffix(".json") for _, path, _, _ in self.requests if path != "search.json"]

    @property
    def searches(self):
        return [query.get("before") for _, path, query, _ in self.requests if path == "search.json"]

    def answer(self, handler):
        url = urlsplit(handler.path)
        path, query = url.path.removeprefix("/"), {name: one for name, [one] in parse_qs(url.query).items()}
        self.requests.append((monotonic(), path, query, handler.headers["User-Agent"]))
        sleep(self.seconds)
        if self.faults.get(path):
            status, headers, body = self.faults[path].pop(0)
            handler.reply(body, status=status, headers=headers)
        elif path == "search.json":
            handler.reply(self.search(query))
        elif path.removesuffix(".json") in self.replays:
            handler.reply(self.replays[path.removesuffix(".json")])
        else:
            handler.reply(b"not found", status=404)

    def search(self, query):
        before = int(query.get("before", 1 << 60))
        rows = [
            {name: record[name] for name in ("id", "uploadtime", "format", "players", "rating")}
            for record in self.replays.values()
            if record["formatid"] == query["format"] and record["uploadtime"] < before
        ]
        return sorted(rows, key=lambda row: -row["uploadtime"])[:51]


class Hub:
    """Hugging Face's hub with one data set, whose files are those in a folder; counts the bytes that it sends."""

    def __init__(self, name: str, folder: Path):
        self.root = f"/datasets/{name}"
        self.api = f"/api/datasets/{name}"
        self.folder = folder
        self.sent = 0
        self.broken = 0
        """So many answers are 500."""
        self.paths = []

    def answer(self, handler):
        path = unquote(urlsplit(handler.path).path)
        self.paths.append(path)
        if length := int(handler.headers.get("Content-Length") or 0):
            handler.rfile.read(length)
        if self.broken:
            self.broken -= 1
            handler.reply(b"{}", status=500)
        elif path.startswith(f"{self.api}/tree/"):
            files = sorted(file for file in self.folder.rglob("*") if file.is_file())
            handler.reply([self.about(file) for file in files])
        elif path.startswith(f"{self.api}/paths-info/"):
            handler.reply([])
        elif path.startswith(self.api):
            name = self.root.removeprefix("/datasets/")
            handler.reply({"id": name, "sha": "0" * 40, "private": False, "tags": [], "downloads": 0, "likes": 0})
        elif path.startswith(f"{self.root}/resolve/"):
            self.send(handler, self.folder / path.removeprefix(f"{self.root}/resolve/").partition("/")[2])
        else:
            headers = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
            handler.reply(b"{}", status=404, headers=headers)

    def about(self, file):
        path = str(file.relative_to(self.folder))
        return {"type": "file", "path": path, "size": file.stat().st_size, "oid": "0" * 40}

    def send(self, handler, file):
        content = file.read_bytes()
        wanted = handler.headers.get("Range")
        headers = {"ETag": '"0"', "X-Repo-Commit": "0" * 40}
        if wanted:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            first, last = int(first), min(int(last or len(content)), len(content) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            content = content[first : last + 1]
        self.sent += len(content)
        handler.reply(content, status=206 if wanted else 200, headers=headers)
