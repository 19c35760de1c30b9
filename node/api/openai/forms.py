"""Answers in the two forms of OpenAI's API: as a chat completion and as a response, whole or as a stream of
well-formed events. Pure: what is stored, found or handed on is somebody else's to know.

A stream that is replayed from the cache has the same events as one that is made. Pieces that were shown and
do not stand cannot be taken back in these forms: the finished answer then follows behind an empty line, and
the ``neuroswarm`` object says ``replaced``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import orjson

from node.core.model import Usage

REPLAY_CHARS = 64
"""So many characters make one piece of a replay."""
_APART = "\n\n"


class Form(ABC):
    """One reply. ``shown`` is what of its text went out."""

    def __init__(self, request_id: str, created: int, model: str, *, wants_usage: bool = False) -> None:
        self.created = created
        self.model = model
        self.wants_usage = wants_usage
        self.shown = ""
        self.replaced = False
        self._id = request_id

    @abstractmethod
    def whole(self, text: str, reason: str, usage: Usage, own: Mapping[str, Any]) -> dict[str, Any]:
        """The reply without a stream. ``own``: the ``neuroswarm`` object."""

    @abstractmethod
    def opening(self) -> bytes:
        """What a stream begins with."""

    @abstractmethod
    def _piece(self, text: str) -> bytes: ...

    @abstractmethod
    def _closing(self, text: str, reason: str, usage: Usage, own: Mapping[str, Any]) -> bytes: ...

    @abstractmethod
    def error(self, said: Mapping[str, Any]) -> bytes:
        """What a stream ends with that broke off."""

    def piece(self, text: str) -> bytes:
        """The next piece of the answer."""
        if not text:
            return b""
        self.shown += text
        return self._piece(text)

    def ending(self, text: str, reason: str, usage: Usage, own: Mapping[str, Any]) -> bytes:
        """The rest of the answer ``text``, and the end."""
        if text.startswith(self.shown):
            rest = text[len(self.shown) :]
        else:
            self.replaced, rest = True, _APART + text
        pieces = [rest[at : at + REPLAY_CHARS] for at in range(0, len(rest), REPLAY_CHARS)]
        own = {**own, "replaced": True} if self.replaced else own
        return b"".join(map(self.piece, pieces)) + self._closing(self.shown, reason, usage, own)


class ChatForm(Form):
    """``chat.completion`` and ``chat.completion.chunk``."""

    def whole(self, text: str, reason: str, usage: Usage, own: Mapping[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "refusal": None}
        return {
            "id": f"chatcmpl-{self._id}",
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
            "usage": _counts(usage),
            "neuroswarm": own,
        }

    def opening(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def _piece(self, text: str) -> bytes:
        return self._chunk({"content": text})

    def _closing(self, text: str, reason: str, usage: Usage, own: Mapping[str, Any]) -> bytes:
        last = self._chunk({}, reason, own)
        if self.wants_usage:
            last += data({**self._head(), "choices": [], "usage": _counts(usage)})
        return last + DONE

    def error(self, said: Mapping[str, Any]) -> bytes:
        return data({"error": said})

    def _head(self) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self._id}",
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
        }

    def _chunk(
        self, delta: Mapping[str, Any], reason: str | None = None, own: Mapping[str, Any] | None = None
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        chunk = {**self._head(), "choices": [choice]}
        chunk |= {"usage": None} if self.wants_usage else {}
        return data(chunk if own is None else {**chunk, "neuroswarm": own})


class ResponsesForm(Form):
    """``response`` and the events of its stream."""

    _number = -1

    def whole(self, text: str, reason: str, usage: Usage, own: Mapping[str, Any]) -> dict[str, Any]:
        is_cut = reason == "length"
        return {
            **self._head("incomplete" if is_cut else "completed"),
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "output": [self._item(text, "incomplete" if is_cut else "completed")],
            "usage": {
                "input_tokens": usage.prompt_tokens,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": usage.completion_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            },
            "neuroswarm": own,
        }

    def opening(self) -> bytes:
        begun = {**self._head("in_progress"), "output": [], "usage": None}
        item = {**self._item("", "in_progress"), "content": []}
        return (
            self._event("created", response=begun)
            + self._event("in_progress", response=begun)
            + self._event("output_item.added", output_index=0, item=item)
            + self._event("content_part.added", **self._at(), part=_part(""))
        )

    def _piece(self, text: str) -> bytes:
        return self._event("output_text.delta", **self._at(), delta=text, logprobs=[])

    def _closing(self, text: str, reason: str, usage: Usage, own: Mapping[str, Any]) -> bytes:
        whole = self.whole(text, reason, usage, own)
        return (
            self._event("output_text.done", **self._at(), text=text, logprobs=[])
            + self._event("content_part.done", **self._at(), part=_part(text))
            + self._event("output_item.done", output_index=0, item=whole["output"][0])
            + self._event(whole["status"], response=whole)
        )

    def error(self, said: Mapping[str, Any]) -> bytes:
        self._number += 1
        event = {name: said.get(name) for name in ("code", "message", "param")}
        return data({"type": "error", "sequence_number": self._number, **event, "error": said}, name="error")

    def _head(self, status: str) -> dict[str, Any]:
        return {
            "id": f"resp_{self._id}",
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self.model,
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "store": False,
        }

    def _item(self, text: str, status: str) -> dict[str, Any]:
        item = {"type": "message", "id": f"msg_{self._id}", "status": status, "role": "assistant"}
        return {**item, "content": [_part(text)]}

    def _at(self) -> dict[str, Any]:
        return {"item_id": f"msg_{self._id}", "output_index": 0, "content_index": 0}

    def _event(self, name: str, **facts: Any) -> bytes:
        self._number += 1
        kind = f"response.{name}"
        return data({"type": kind, "sequence_number": self._number, **facts}, name=kind)


def data(value: object, *, name: str = "") -> bytes:
    """One server-sent event."""
    head = b"event: " + name.encode() + b"\n" if name else b""
    return head + b"data: " + orjson.dumps(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _counts(usage: Usage) -> dict[str, Any]:
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
