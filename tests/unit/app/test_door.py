"""The port: free, taken by another node, taken by something else."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from node.app import door
from node.core.errors import Misconfigured


@contextmanager
def answering(body: object) -> Iterator[int]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            return

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("body", "who"),
    [
        ({"root": "did:key:z6Mk"}, "another neuroswarm node"),
        ({"root": 7}, "another program"),
        ([], "another"),
    ],
)
def test_a_taken_port_is_one_sentence_with_what_to_type(body: object, who: str) -> None:
    with answering(body) as port, pytest.raises(Misconfigured) as told:
        door.check("127.0.0.1", port)
    assert f"port {port} of 127.0.0.1 is taken by {who}" in str(told.value)
    assert f"neuroswarm serve --port {port + 1 if port < 65_535 else port - 1}" in str(told.value)
    assert "\n" not in str(told.value)


def test_who_holds_it_without_a_word_is_waited_for_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "ASK_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(Misconfigured, match="taken by another program"):
            door.check("127.0.0.1", silent.getsockname()[1])


def test_a_free_port_stays_free() -> None:
    [one] = door.bound("127.0.0.1", 0)
    port = one.getsockname()[1]
    one.close()
    door.check("127.0.0.1", port)
    door.check("127.0.0.1", port)
