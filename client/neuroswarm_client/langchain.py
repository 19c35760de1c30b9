"""A LangChain cache in a node: ``set_llm_cache(NeuroSwarmCache())``. Needs the extra ``langchain``.

What a model was told besides the question (its name and settings as LangChain's ``llm_string`` has them,
system message, earlier turns) is hashed into the context of the entry, so a stored answer is only ever given
to a question with the same; within it the node decides, by words and by meaning. Kept are plain texts that
ended by themselves: tool calls, several choices, pictures and cut answers go past it. A node that fails is a
miss.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.caches import RETURN_VAL_TYPE, BaseCache
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, Generation

from neuroswarm_client.calls import EntryOptions, Scope
from neuroswarm_client.client import AsyncClient, Client
from neuroswarm_client.errors import NeuroSwarmError
from neuroswarm_client.values import Found

log = logging.getLogger("neuroswarm_client.langchain")

TAG = "langchain"
_CLEAR_MAX = 1_000
"""Rounds of at most 1,000 records."""
_ENDED = (None, "", "stop", "end_turn", "STOP", "stop_sequence")


@dataclass(frozen=True, slots=True)
class _Key:
    query: str
    context: str
    is_chat: bool


class NeuroSwarmCache(BaseCache):
    """``ttl_s``: how long an answer holds (None: the node's choice); ``scope``: who may see it (None: the
    caller's default)."""

    def __init__(
        self,
        client: Client | None = None,
        *,
        async_client: AsyncClient | None = None,
        ttl_s: int | None = None,
        scope: Scope | None = None,
    ) -> None:
        self._client = client or Client()
        self._async_client = async_client or AsyncClient()
        self._options: EntryOptions = {"tags": [TAG], "source": TAG}
        if ttl_s is not None:
            self._options["ttl_s"] = ttl_s
        if scope is not None:
            self._options["scope"] = scope

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        key = _key(prompt, llm_string)
        if key is None:
            return None
        try:
            return _found(key, self._client.lookup(key.query, context=key.context))
        except NeuroSwarmError as exc:
            log.warning("no look-up: %s", exc)
            return None

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        key, text = _key(prompt, llm_string), _text(return_val)
        if key is None or text is None:
            return
        try:
            self._client.remember(key.query, text, **self._options | {"context": key.context})
        except NeuroSwarmError as exc:
            log.warning("not stored: %s", exc)

    def clear(self, **kwargs: Any) -> None:
        """Withdraw what was stored by caches like this one, as far as the caller may."""
        for _ in range(_CLEAR_MAX):
            if not self._client.invalidate(tag=TAG):
                return

    async def alookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        key = _key(prompt, llm_string)
        if key is None:
            return None
        try:
            return _found(key, await self._async_client.lookup(key.query, context=key.context))
        except NeuroSwarmError as exc:
            log.warning("no look-up: %s", exc)
            return None

    async def aupdate(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        key, text = _key(prompt, llm_string), _text(return_val)
        if key is None or text is None:
            return
        try:
            await self._async_client.remember(key.query, text, **self._options | {"context": key.context})
        except NeuroSwarmError as exc:
            log.warning("not stored: %s", exc)

    async def aclear(self, **kwargs: Any) -> None:
        """See ``clear``."""
        for _ in range(_CLEAR_MAX):
            if not await self._async_client.invalidate(tag=TAG):
                return


def _key(prompt: str, llm_string: str) -> _Key | None:
    """What is asked, and the context of it; None where the last word is no plain text of a person. The prompt
    of a chat model is its messages as LangChain serialises them."""
    try:
        messages = json.loads(prompt)
    except (ValueError, RecursionError):
        messages = None
    if not isinstance(messages, list) or not all(map(_is_message, messages)):
        return _Key(prompt, _context(llm_string, ""), False) if prompt.strip() else None
    if not messages or messages[-1]["id"][-1] != "HumanMessage":
        return None
    asked = messages[-1]["kwargs"].get("content")
    if not isinstance(asked, str) or not asked.strip():
        return None
    return _Key(asked, _context(llm_string, json.dumps(messages[:-1], sort_keys=True)), True)


def _is_message(one: object) -> bool:
    return (
        isinstance(one, dict)
        and one.get("type") == "constructor"
        and isinstance(one.get("id"), list)
        and bool(one["id"])
        and isinstance(one.get("kwargs"), dict)
    )


def _context(llm_string: str, earlier: str) -> str:
    told = json.dumps(["langchain", llm_string, earlier])
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def _found(key: _Key, found: Found) -> RETURN_VAL_TYPE | None:
    if found.answer is None:
        return None
    told = {"neuroswarm": {"cid": found.cid, "hit": found.hit and found.hit.kind, "reason": found.reason}}
    if not key.is_chat:
        return [Generation(text=found.answer, generation_info=told)]
    return [ChatGeneration(message=AIMessage(content=found.answer, response_metadata=told))]


def _text(answers: RETURN_VAL_TYPE) -> str | None:
    """The one plain text that ended by itself, else None."""
    if len(answers) != 1:
        return None
    [one] = answers
    facts: Mapping[str, Any] = one.generation_info or {}
    if isinstance(one, ChatGeneration):
        message = one.message
        is_plain = isinstance(message, AIMessage) and isinstance(message.content, str)
        if not is_plain or message.additional_kwargs or getattr(message, "tool_calls", None):
            return None
        facts = {**facts, **message.response_metadata}
    reasons = [facts.get(name) for name in ("finish_reason", "stop_reason", "done_reason")]
    return one.text if one.text.strip() and all(reason in _ENDED for reason in reasons) else None
