"""A stand-in for W&B's server on this machine: it accepts runs as the real one does, and keeps what it is sent."""

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Run:
    """A run as the server knows it. rows: line of its history → values."""

    def __init__(self) -> None:
        self.project, self.group, self.name = "", "", ""
        self.tags: list[str] = []
        self.config: dict[str, Any] = {}
        self.summary: dict[str, Any] = {}
        self.rows: dict[int, dict[str, Any]] = {}
        self.exit_code: int | None = None


class Server(ThreadingHTTPServer):
    """runs: id → run. views: dashboards. refuse: ids of runs that it does not accept."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.runs: dict[str, Run] = {}
        self.views: list[dict[str, Any]] = []
        self.refuse: set[str] = set()
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: clients may leave without a word."""

    def query(self, text: str, given: dict[str, Any]) -> dict[str, Any]:
        """The answer to a GraphQL query."""
        kind = re.search(r"(?:query|mutation)\s+(\w+)", text)[1]
        owner = {"id": "owner", "name": "somebody"}
        if kind in ("Viewer", "GetDefaultEntity"):
            return {"viewer": {"id": "viewer", "entity": "somebody", "username": "somebody", "flags": "{}"}}
        if kind == "UpsertBucket":
            name = given["name"]
            new = name not in self.runs
            run = self.runs.setdefault(name, Run())
            run.group = given.get("groupName") or run.group
            run.project = given["project"] or run.project
            run.name = given.get("displayName") or run.name
            run.tags = given["tags"] if given.get("tags") is not None else run.tags
            for key, value in json.loads(given.get("config") or "{}").items():
                run.config[key] = value["value"]
            project = {"id": "project", "name": run.project, "entity": owner}
            bucket = {"id": name, "name": name, "displayName": run.name, "project": project, "historyLineCount": 0}
            return {"upsertBucket": {"bucket": bucket, "inserted": new}}
        if kind == "CreateRunFiles":
            files = [{"name": name, "uploadUrl": f"{self.address}/upload"} for name in given["files"]]
            return {"createRunFiles": {"runID": given["run"], "uploadHeaders": [], "files": files}}
        if "upsertView" in text:
            self.views.append(given)
            return {"upsertView": {"view": {"id": "view", "name": given["name"]}, "inserted": True}}
        return {}

    def stream(self, run: str, sent: dict[str, Any]) -> None:
        """Keeps lines of a run's files; they replace earlier ones at the same place."""
        files = sent.get("files") or {}
        history = files.get("wandb-history.jsonl", {"offset": 0, "content": []})
        for at, line in enumerate(history["content"], history["offset"]):
            self.runs[run].rows[at] = json.loads(line)
        for line in files.get("wandb-summary.json", {"content": []})["content"]:
            self.runs[run].summary = json.loads(line)
        if sent.get("complete"):
            self.runs[run].exit_code = sent["exitcode"]


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """A server that answers."""
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer: dict[str, Any] = {}
        with self.server.lock:
            if self.path == "/graphql":
                asked = json.loads(content)
                given = asked.get("variables") or {}
                if given.get("name") in self.server.refuse:
                    # The real one answers 409 for a deleted run, but that is tried again for a minute and a half.
                    self._answer({"errors": [{"message": "permission denied"}]}, 403)
                    return
                answer = {"data": self.server.query(asked["query"], given)}
            elif self.path.endswith("/file_stream"):
                self.server.stream(self.path.split("/")[-2], json.loads(content))
        self._answer(answer)

    def do_PUT(self) -> None:
        self.do_POST()

    def _answer(self, value: dict[str, Any], status: int = 200) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass
