"""Run in the environment of people's clients: the LlamaIndex model, and what it sends to ``/v1``."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from llama_index.core.base.llms.types import ChatMessage

from neuroswarm_client.llama_index import NeuroSwarm

SENT: list[tuple[str, str | None, dict[str, Any]]] = []
REPLY = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "neuroswarm",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "four"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


class Node(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        SENT.append((self.path, self.headers.get("Authorization"), body))
        data = json.dumps(REPLY).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def main() -> None:
    server = HTTPServer(("127.0.0.1", 0), Node)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    model = NeuroSwarm(address=address)
    assert model.metadata.is_chat_model
    assert model.complete("What is 2+2?").text == "four"
    os.environ["NEUROSWARM_API_KEY"] = "k"
    said = NeuroSwarm("neuroswarm/llama3.2", address=address + "/").chat(
        [ChatMessage(role="system", content="Be short."), ChatMessage(role="user", content="Hello")]
    )
    assert said.message.content == "four"
    (path, key, body), (_, other_key, other) = SENT
    assert (path, key) == ("/v1/chat/completions", "Bearer none")
    assert (body["model"], body["temperature"]) == ("neuroswarm", 1.0)
    assert [one["role"] for one in body["messages"]] == ["user"]
    # Nothing but the words: the same context in the cache as that of /chat.
    assert set(body) <= {"model", "messages", "temperature", "stream"}, body
    assert (other["model"], other_key) == ("neuroswarm/llama3.2", "Bearer k")
    server.shutdown()


main()
print("ok")
