"""A child process that holds one GGUF model, whatever library loads it.

Promises:
- speaks ``wire`` on the descriptors it was started with; whatever the library prints goes to stderr;
- ends with its parent, also in the middle of a token; is the first to go when memory runs out, and leaves no
  core file; has no network where the kernel lets a process give it up.

It must not know who asks, or why. Its only clock is the parent's patience."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import queue
import resource
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol

from node.models.llama.prompts import Refused
from node.models.llama.wire import LINE_BYTES_MAX, decode, encode

SEED = 1
REASON_CHARS = 200
_REQUESTS_MAX = 4
_STOPS_KEPT = 1_024
_OOM_SCORE = 800
_PR_SET_PDEATHSIG = 1
_CLONE_NEWNET = 0x40000000
_CLONE_NEWUSER = 0x10000000

Request = dict[str, Any]
Send = Callable[[dict[str, Any]], None]
Stopped = Callable[[], bool]


class Model(Protocol):
    """A loaded model. ``errors``: what its library may raise."""

    window: int
    dim: int
    errors: tuple[type[Exception], ...]

    def answer(self, request: Request, send: Send, stopped: Stopped) -> None:
        """Send what the request asks for, its ``done`` last. Raises ``Refused``, ``errors``."""
        ...


def never() -> bool:
    """Nobody has said stop."""
    return False


# --- the process ----------------------------------------------------------------------------------


def protocol_out() -> BinaryIO:
    """The real standard output; from now on whatever is printed goes to standard error."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


def stay_small(nice: int) -> None:
    """Polite to the processor, first to go when memory runs out, no core file of gigabytes."""
    if nice:
        os.nice(nice)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE), encoding="ascii")


def leave_the_network() -> None:
    """An empty network namespace, where the kernel allows it: as root, or in a user namespace of its own."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWNET) != 0:
            libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)


def die_with(parent: int) -> None:
    """Be killed when ``parent`` ends (Linux); elsewhere the end of standard input does it."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def threads_for_reading(threads: int) -> int:
    """How many read a prompt where so many write. On two cores both read: it takes half the time, and is
    over before it disturbs. If both wrote, a hit beside it would take 57 ms in place of 15 (p50)."""
    return max(threads, min(2, os.cpu_count() or 1))


class Inbox:
    """Reads standard input in a thread of its own, so that "stop" and the end are heard at any time."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._stdin = stdin
        self._requests: queue.Queue[Request] = queue.Queue(_REQUESTS_MAX)
        self._stopped: set[int] = set()
        threading.Thread(target=self._read, name="inbox", daemon=True).start()

    def _read(self) -> None:
        while True:
            line = self._stdin.readline(LINE_BYTES_MAX + 1)
            if not line.endswith(b"\n"):
                os._exit(0)  # the parent is gone, or does not speak this protocol
            try:
                message = decode(line)
                op, request_id = message["op"], int(message["id"])
            except (ValueError, KeyError, TypeError):
                os._exit(2)  # whoever writes this is not the node
            if op == "stop":
                kept = {one for one in self._stopped if one > request_id - _STOPS_KEPT}
                self._stopped = kept | {request_id}
            else:
                self._requests.put(message)

    def next(self) -> Request:
        """Wait for the next request."""
        return self._requests.get()

    def stopped(self, request_id: int) -> bool:
        """Whether the parent has given that request up."""
        return request_id in self._stopped


def last_words(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
    """End at once, the reason in stderr's last line: the interpreter's own end would wait for ``Inbox``."""
    sys.__excepthook__(kind, exc, trace)
    sys.stderr.flush()
    os._exit(70)


# --- the requests ---------------------------------------------------------------------------------


def done(
    request: Request,
    reason: str,
    prompt_tokens: int = 0,
    completion_tokens: int = 0,
    logprobs: Sequence[float] = (),
    first: Sequence[tuple[str, float]] = (),
) -> dict[str, Any]:
    return {
        "event": "done",
        "id": request["id"],
        "reason": reason,
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "logprobs": [round(one, 5) for one in logprobs],
        "first": [[text, round(logprob, 5)] for text, logprob in first],
    }


def serve(model: Model, request: Request, send: Send, stopped: Stopped) -> None:
    """Answer one request, come what may."""
    try:
        model.answer(request, send, stopped)
    except Refused as exc:
        send({"event": "failed", "id": request["id"], "kind": "rejected", "reason": str(exc)})
    except model.errors as exc:
        if stopped():
            send(done(request, "stopped"))
            return
        reason = str(exc)[:REASON_CHARS] or type(exc).__name__
        send({"event": "failed", "id": request["id"], "kind": "unavailable", "reason": reason})


def run(load: Callable[[argparse.Namespace], Model], *, at_once: bool) -> None:
    """Load the model, which raises ``Refused``, and serve until the parent is gone; ``at_once``: several
    requests at a time, each in a thread."""
    sys.excepthook = last_words
    parser = argparse.ArgumentParser(prog="llama_child")
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--purpose", choices=("generate", "embed"), required=True)
    for name in ("threads", "nice", "window", "slots"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("model", type=Path)
    arguments = parser.parse_args()
    stay_small(arguments.nice)
    leave_the_network()
    die_with(arguments.parent)
    out, lock = protocol_out(), threading.Lock()

    def send(message: dict[str, Any]) -> None:
        try:
            with lock:
                out.write(encode(message))
                out.flush()
        except OSError:
            os._exit(0)  # nobody listens any more

    inbox = Inbox(sys.stdin.buffer)
    try:
        model = load(arguments)
    except Refused as exc:
        send({"event": "failed", "reason": str(exc)})
        os._exit(1)
    send({"event": "ready", "window": model.window, "dim": model.dim})
    while True:
        request = inbox.next()
        work = partial(serve, model, request, send, partial(inbox.stopped, int(request["id"])))
        if at_once:
            threading.Thread(target=work, daemon=True).start()
        else:
            work()
