"""A scripted child process that speaks ``node.models.llama.wire`` and can misbehave. It is not llama.cpp.

Started by ``tests.simulators.llama.LlamaStandIn``, it asks there for its script over a Unix socket and tells
there what happens, so that tests wait for events and never for time. Its process side (descriptors, niceness,
death with the parent, stop) is that of the real child. It imports little, because it is started often."""

from __future__ import annotations

import array
import base64
import json
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

from node.models.llama.child import Inbox, die_with, protocol_out, stay_small
from node.models.llama.wire import encode
from node.models.stops import Stops

DIM = 32
ANSWER = (
    "Here is a short explanation of this question. First, the idea was worked out over many years by people "
    "in several countries. Second, it rests on a few simple principles that anyone can learn with patience."
)


@dataclass(frozen=True, slots=True)
class Script:
    """What one process does. ``answer``: this text instead of a sensible one. ``loading``: ok, hang, fail
    (says so and ends), crash, garbage, endless (a line without end), huge (a window no model has).

    In a generation, after ``after`` pieces: ``then`` is go_on, stall (and hear "stop"), deaf (stall and not
    hear it), crash, killed (as when memory runs out), garbage, long_line, stranger (an answer to another
    request), no_text (a piece without text), endless (pieces without end), fail (says that it failed).
    ``vectors``: good, none, few, many, short, zero, nan, text."""

    answer: str = ""
    window: int = 4_096
    loading: str = "ok"
    after: int = 0
    then: str = "go_on"
    vectors: str = "good"
    noise: bool = False
    threads: bool = False
    """Several requests at once, as xllamacpp's child does."""


class _Process:
    """The process's side."""

    def __init__(self, place: str, purpose: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(place)
        self._purpose = purpose
        with self._socket.makefile("rb") as lines:
            self.script = Script(**json.loads(lines.readline()))
        self._out = protocol_out()
        self._inbox = Inbox(sys.stdin.buffer)

    def tell(self, what: str, **more: Any) -> None:
        self._socket.sendall(json.dumps({"what": what, **more}).encode() + b"\n")

    def send(self, message: dict[str, Any]) -> None:
        self.raw(encode(message))

    def raw(self, data: bytes) -> None:
        try:
            self._out.write(data)
            self._out.flush()
        except OSError:
            os._exit(0)

    def hang(self) -> None:
        while True:
            time.sleep(3_600)

    def load(self) -> None:
        match self.script.loading:
            case "hang":
                self.tell("hanging")
                self.hang()
            case "fail":
                self.send({"event": "failed", "reason": "the model does not load:\nbad magic"})
                os._exit(1)
            case "crash":
                print("GGML_ASSERT: out of luck", file=sys.stderr, flush=True)
                os._exit(3)
            case "garbage":
                self.raw(b"llama_model_loader: hello\n")
                self.hang()
            case "endless":
                while True:
                    self.raw(b"x" * 65_536)
            case "huge":
                self.send({"event": "ready", "window": 10**12, "dim": DIM})
                self.hang()
        if self.script.noise:
            print("printed by the library")
            os.write(1, b"printed by its C code\n")
        self.send({"event": "ready", "window": self.script.window, "dim": DIM})

    def serve(self) -> None:
        while True:
            request = self._inbox.next()
            self.tell("request", request=request)
            if self.script.threads:
                threading.Thread(target=self.generate, args=(request,), daemon=True).start()
            elif request["op"] == "embed":
                self.embed(request)
            else:
                self.generate(request)

    def done(self, request: dict[str, Any], reason: str, said: int) -> None:
        words = len(request.get("user", "").split())
        self.send(
            {
                "event": "done",
                "id": request["id"],
                "reason": reason,
                "prompt_tokens": words,
                "completion_tokens": said,
                "logprobs": [-0.25] * said,
            }
        )
        self.tell("done", reason=reason)

    def generate(self, request: dict[str, Any]) -> None:
        said = [text for turn in request.get("turns", []) for text in turn]
        prompt = "\n".join([request["system"], *said, request["user"]])
        if len(prompt.split()) + request["tokens_max"] > self.script.window:
            reason = "the prompt does not fit the model's window"
            self.send({"event": "failed", "id": request["id"], "kind": "rejected", "reason": reason})
            return
        answer = self.script.answer or ANSWER
        words = answer.split(" ")
        stops = Stops(request["stop"])
        said = 0
        for place, word in enumerate(words):
            if place == self.script.after and self.misbehave(request):
                return
            if self._inbox.stopped(request["id"]) or said >= request["tokens_max"]:
                self.done(request, "length" if said >= request["tokens_max"] else "stopped", said)
                return
            said += 1
            if text := stops.push(word if place == 0 else f" {word}"):
                self.send({"event": "piece", "id": request["id"], "text": text})
            if stops.hit:
                break
        if rest := stops.rest():
            self.send({"event": "piece", "id": request["id"], "text": rest})
        self.done(request, "stop", said)

    def misbehave(self, request: dict[str, Any]) -> bool:
        """Whether the request is over by that."""
        request_id = request["id"]
        match self.script.then:
            case "stall":
                self.tell("stalled")
                while not self._inbox.stopped(request_id):
                    time.sleep(0.002)
                self.done(request, "stopped", self.script.after)
            case "deaf":
                self.tell("stalled")
                self.hang()
            case "crash":
                print("GGML_ASSERT: out of luck", file=sys.stderr, flush=True)
                os._exit(134)
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "garbage":
                self.raw(b"{this is not JSON}\n")
                self.hang()
            case "long_line":
                self.raw(b'{"event": "piece", "text": "' + b"x" * 2_000_000)
                self.hang()
            case "stranger":
                self.send({"event": "piece", "id": request_id + 7, "text": "hello"})
                self.hang()
            case "no_text":
                self.send({"event": "piece", "id": request_id, "text": None})
                self.hang()
            case "endless":
                while not self._inbox.stopped(request_id):
                    self.send({"event": "piece", "id": request_id, "text": f"word{time.monotonic_ns()} "})
                self.done(request, "stopped", 0)
            case "fail":
                reason = "llama_decode returned -1"
                self.send({"event": "failed", "id": request_id, "kind": "unavailable", "reason": reason})
            case _:
                return False
        return True

    def embed(self, request: dict[str, Any]) -> None:
        if self.script.then != "go_on" and self.misbehave(request):
            return
        texts = request["texts"]
        kind = self.script.vectors
        if kind == "few":
            texts = texts[1:]
        elif kind == "many":
            texts = [*texts, "more"]
        for text in texts:
            data = None if kind == "none" or len(text.split()) > self.script.window else self.vector(text)
            self.send({"event": "vector", "id": request["id"], "data": data})
        self.done(request, "stop", 0)

    def vector(self, text: str) -> str:
        from tests.simulators.hash_embedder import HashEmbedder

        values = HashEmbedder(DIM, by_word=True).vector_of(text).tolist()
        match self.script.vectors:
            case "short":
                values = values[:-1]
            case "zero":
                values = [0.0] * DIM
            case "nan":
                values = [float("nan")] * DIM
            case "text":
                return "not base64!"
        return base64.b64encode(array.array("f", values).tobytes()).decode("ascii")


def main(words: list[str]) -> None:
    place, options = words[0], dict(zip(words[1:-1:2], words[2:-1:2], strict=True))
    stay_small(int(options["--nice"]))
    die_with(int(options["--parent"]))
    process = _Process(place, options["--purpose"])
    process.tell(
        "started",
        pid=os.getpid(),
        nice=os.nice(0),
        options=options,
        environ=dict(os.environ),
        model=words[-1],
    )
    process.load()
    process.serve()


if __name__ == "__main__":
    main(sys.argv[1:])
