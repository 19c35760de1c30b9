"""``neuroswarm eval run`` and ``eval diff`` against a stand-in of a node and of a judge."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from node.cli import main

ASKED = {
    "id": "q1",
    "category": "answerable",
    "question": "How many nights?",
    "language": "en",
    "gold": ["policies/guests.md"],
    "facts": ["seven nights"],
    "holds": None,
    "split": "train",
}
NOWHERE = ASKED | {"id": "q2", "category": "unanswerable", "question": "Who?", "gold": [], "facts": []}


class Node(BaseHTTPRequestHandler):
    replies: dict[str, tuple[int, dict[str, Any]]] = {}  # noqa: RUF012 - one server a test
    keys: set[tuple[str, str | None]] = set()  # noqa: RUF012 - as above

    def do_GET(self) -> None:
        self._send(200, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.keys.add((self.path, self.headers["Authorization"]))
        key = f"{self.path} {body['query']}" if "query" in body else self.path
        self._send(*self.replies.get(key, (404, {"title": "Not found"})))

    def _send(self, status: int, reply: dict[str, Any]) -> None:
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    Node.replies = {
        "/chat How many nights?": (
            200,
            {
                "answer": "Seven nights.",
                "citations": [{"source": "guests.md"}],
                "source": {"kind": "documents", "id": "qwen2.5"},
                "usage": {"prompt_tokens": 90, "completion_tokens": 4},
            },
        ),
        "/chat Who?": (
            200,
            {"answer": "I could not find it.", "citations": [], "source": {"kind": "fallback"}},
        ),
        "/v1/passages How many nights?": (200, {"passages": [{"source": "policies/guests.md"}]}),
        "/v1/passages Who?": (200, {"passages": []}),
        "/judge/chat/completions": (200, {"choices": [{"message": {"content": '{"grade": 3}'}}]}),
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), Node)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in (ASKED, NOWHERE)))
    return path


@pytest.mark.enable_socket
def test_a_run_measures_both_sides_and_names_the_judge(
    address: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.json"
    judge = ["--judge", "qwen3", "--judge-url", f"{address}/judge"]
    assert main.main(["eval", "run", str(file), "--url", address, "--out", str(out), *judge]) == 0
    made = json.loads(out.read_text())
    whole = made["all"]
    assert (whole["recall_at_10"], whole["fact"], whole["abstained"], whole["quality"]) == (1, 1, 1, 3)
    assert (whole["citation_precision"], whole["tokens_read"]) == (1, 90)
    assert made["judge"]["generator"] == "qwen2.5"
    assert "one family (qwen)" in capsys.readouterr().out


@pytest.mark.enable_socket
def test_without_the_route_retrieval_is_not_measured_and_failures_are_told(
    address: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del Node.replies["/v1/passages How many nights?"]
    Node.replies["/chat Who?"] = (503, {"title": "Busy"})
    assert main.main(["eval", "run", str(file), "--url", address, "--json"]) == 1
    made = json.loads(capsys.readouterr().out)
    assert "not measured" in made["retrieval"]
    assert "recall_at_10" not in made["all"]
    assert made["rows"][1]["error"] == "HTTP 503: Busy "


@pytest.mark.enable_socket
def test_the_node_is_asked_with_the_key_of_the_environment_and_the_judge_is_not(
    address: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Node.keys.clear()
    judge = ["--judge", "qwen3", "--judge-url", f"{address}/judge"]
    monkeypatch.setenv("NEUROSWARM_API_KEY", "nsk_x")
    assert main.main(["eval", "run", str(file), "--url", address, *judge]) == 0
    assert Node.keys == {
        ("/chat", "Bearer nsk_x"),
        ("/v1/passages", "Bearer nsk_x"),
        ("/judge/chat/completions", None),
    }


def test_diff_names_the_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, fact in (("a", 1.0), ("b", 0.0)):
        rows = [{"id": "q1", "fact": fact}]
        (tmp_path / name).write_text(json.dumps({"version": 1, "rows": rows}))
    files = [str(tmp_path / name) for name in ("a", "b")]
    assert main.main(["eval", "diff", *files]) == 1
    assert "  q1: fact 1 → 0" in capsys.readouterr().out
    assert main.main(["eval", "diff", *files[::-1]]) == 0
    (tmp_path / "a").write_text("no")
    assert main.main(["eval", "diff", *files]) == 1
    assert "a report is no JSON" in capsys.readouterr().err
