"""Requests in OpenAI's form as values: what is asked, what it hangs on, and why it may go past the cache.

Fields that nobody knows are accepted: they are handed on, and part the cache (``node.pipeline.partition``).
Everything is bounded. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

import msgspec
import orjson
from msgspec import Meta

from node.answer.fitting import validator
from node.api.bodies import refuse_controls
from node.api.openai.faults import Fault
from node.core.errors import BadInput, Rejected
from node.core.model import Json
from node.core.talk import Talk
from node.pipeline.partition import is_long

OWN = "neuroswarm"
"""The model that is the whole walk; behind it and a slash stands the name of an upstream's model."""
AGENT = "neuroswarm-agent"
"""The model that chooses tools of this node itself."""
MESSAGES_MAX = 512
DEPTH_MAX = 48
STOP_MAX = 4
STOP_CHARS_MAX = 256
MODEL_CHARS_MAX = 200
SCHEMA_CHARS_MAX = 16_384
TOKENS_MAX = 1_000_000

Role = Literal["system", "developer", "user", "assistant", "tool", "function"]
_Stop = Annotated[str, Meta(max_length=STOP_CHARS_MAX)]


class Message(msgspec.Struct):
    role: Role
    content: str | list[dict[str, Any]] | None = None


class StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class Chat(msgspec.Struct):
    """What is checked of ``POST /v1/chat/completions``; the rest stays as it was sent."""

    model: Annotated[str, Meta(min_length=1, max_length=MODEL_CHARS_MAX)]
    messages: Annotated[list[Message], Meta(min_length=1, max_length=MESSAGES_MAX)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Meta(ge=1, le=128)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=TOKENS_MAX)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1, le=TOKENS_MAX)] | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    stop: _Stop | Annotated[list[_Stop], Meta(max_length=STOP_MAX)] | None = None
    response_format: dict[str, Any] | None = None
    logprobs: bool | None = None
    tools: Annotated[list[dict[str, Any]], Meta(max_length=128)] | None = None


@dataclass(frozen=True, slots=True)
class Bypass:
    """Why a request goes past the cache, and the field that says so."""

    param: str
    why: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request. ``upstream``: whose model it names, None for the node's own. ``before``: the messages before
    the last one, as far as they can be text. ``settings``: what differs from its default. ``body``: a chat
    for an upstream; ``raw`` and ``path``: as it came, for one that goes past the cache."""

    model: str
    upstream: str | None
    text: str
    before: tuple[Json, ...]
    settings: Mapping[str, Json]
    bypass: Bypass | None
    stream: bool
    wants_usage: bool
    body: dict[str, Any]
    raw: dict[str, Any]
    path: str = "chat/completions"

    @property
    def is_agent(self) -> bool:
        return self.model == AGENT

    @property
    def said(self) -> str:
        """Every text of the request, to count its tokens."""
        texts = [one["content"] for one in self.before if isinstance(one, dict)]
        return "\n".join([*(text for text in texts if isinstance(text, str)), self.text])

    def talk(self) -> Talk | None:
        """What the node's own model is told besides; None for a plain question."""
        if not (self.before or self.settings or "\n" in self.text or is_long(self.text)):
            return None
        stop = self.settings.get("stop", [])
        schema = _schema(self.settings.get("response_format"))
        given: dict[str, Any] = {
            "tokens_max": self.settings.get("max_tokens"),
            "temperature": self.settings.get("temperature"),
            "seed": self.settings.get("seed"),
        }
        return Talk(
            instructions=_instructions(self.before),
            turns=_turns(self.before),
            stop=tuple(one for one in (stop if isinstance(stop, list) else [stop]) if isinstance(one, str)),
            schema=schema,
            verbatim=bool(schema) or is_long(self.text),
            **given,
        )


@cache
def _fields() -> Mapping[str, Any]:
    return tomllib.loads((files("node.api.openai") / "fields.toml").read_text("utf-8"))


def read(body: bytes) -> dict[str, Any]:
    """The body as an object. Raises ``Fault``."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise Fault(f"the body is not valid JSON: {exc}", param=None, code="invalid_json") from exc
    if not isinstance(value, dict):
        raise Fault("the body must be a JSON object", param=None, code="invalid_json")
    _check_depth(value)
    return value


def _check_depth(value: object) -> None:
    level: list[object] = [value]
    for _ in range(DEPTH_MAX):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise Fault(f"the body is nested deeper than {DEPTH_MAX} levels", param=None, code="nested_too_deep")


def checked(value: Mapping[str, Any], kind: type[Any]) -> Any:
    """``value`` as ``kind`` says. Raises ``Fault`` that names the field."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as exc:
        said, _, at = str(exc).partition(" - at `$")
        missing = re.search(r"required field `(\w+)`", said)
        param = at.rstrip("`").lstrip(".").replace("[...]", "[]")
        if missing:
            param = f"{param}.{missing[1]}" if param else missing[1]
        code = "missing_required_parameter" if missing else "invalid_value"
        raise Fault(f"{param or 'body'}: {said}", param=param or None, code=code) from exc


def chat(body: bytes) -> Wanted:
    """A request of ``POST /v1/chat/completions``. Raises ``Fault``."""
    raw = read(body)
    return wanted(raw, raw, path="chat/completions")


def wanted(chat: dict[str, Any], raw: dict[str, Any], *, path: str, bypass: Bypass | None = None) -> Wanted:
    """``chat``: the request as a chat; ``raw``: as it came at ``path``. Raises ``Fault``."""
    checked(chat, Chat)
    model: str = chat["model"]
    own, _, upstream = model.partition("/")
    if (own != OWN and model != AGENT) or ("/" in model and not upstream):
        raise Fault(
            f"there is no model {model[:MODEL_CHARS_MAX]!r} here",
            param="model",
            code="model_not_found",
            status=404,
        )
    settings = _settings(chat, own=not upstream)
    messages = [_as_text(one) for one in chat["messages"]]
    bypass = bypass or _bypass(chat, settings, messages)
    last = messages[-1]["content"] if bypass is None else ""
    found = Wanted(
        model=model,
        upstream=upstream or None,
        text=last,
        before=tuple(messages[:-1]),
        settings=settings,
        bypass=bypass,
        stream=bool(chat.get("stream")),
        wants_usage=bool((chat.get("stream_options") or {}).get("include_usage")),
        body={**chat, "model": upstream},
        raw={**raw, "model": upstream},
        path=path,
    )
    if bypass is None and not upstream:
        _check_own(found)
    return found


def _check_own(found: Wanted) -> None:
    """What the node's own walk needs of a request."""
    if not found.text.strip():
        raise Fault("the last message is empty", param="messages", code="invalid_value")
    for name, text in (("messages", found.text), ("messages", _instructions(found.before))):
        try:
            refuse_controls(name, text)
        except BadInput as exc:
            raise Fault(str(exc), param=name, code="invalid_value") from exc
    if schema := _schema(found.settings.get("response_format")):
        if found.is_agent:
            said = f"the model {AGENT} answers in words, not in a format"
            raise Fault(said, param="response_format", code="unsupported_parameter")
        try:
            validator(schema)
        except Rejected as exc:
            raise Fault(str(exc), param="response_format", code="invalid_json_schema") from exc


def _settings(chat: Mapping[str, Any], *, own: bool) -> dict[str, Json]:
    """The settings that differ from their default, under one name each."""
    defaults, delivery = _fields()["defaults"], _fields()["delivery"]
    found: dict[str, Json] = {}
    for name, value in chat.items():
        if name in ("model", "messages") or name in delivery or value is None:
            continue
        if any(_same(value, one) for one in defaults.get(name, ())):
            continue
        if own and name == "temperature" and value == 0:
            continue  # the node's own choice
        found["max_tokens" if name == "max_completion_tokens" else name] = value
    if isinstance(stop := found.get("stop"), str):
        found["stop"] = [stop]
    if not any(name in found for name in ("tools", "functions")):  # they choose among nothing
        for name in ("tool_choice", "function_call"):
            found.pop(name, None)
    return found


def _same(value: object, default: object) -> bool:
    return value == default and isinstance(value, bool) == isinstance(default, bool)


def _bypass(
    chat: Mapping[str, Any], settings: Mapping[str, Json], messages: Sequence[Mapping[str, Any]]
) -> Bypass | None:
    for name, why in _fields()["bypass"].items():
        if name in settings:
            return Bypass(name, why)
    for place, (sent, message) in enumerate(zip(chat["messages"], messages, strict=True)):
        if sent["role"] in ("tool", "function") or sent.get("tool_calls") or sent.get("function_call"):
            return Bypass(f"messages[{place}]", "tools")
        if not isinstance(message["content"], str):
            return Bypass(f"messages[{place}].content", "messages that are no text")
    if chat["messages"][-1]["role"] != "user":
        return Bypass("messages", "a last message that is not the user's")
    return None


def _as_text(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message whose content is one text where it consists of texts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [
            one.get("text") for one in content if one.get("type") in ("text", "input_text", "output_text")
        ]
        texts = [part for part in parts if isinstance(part, str)]
        content = "\n".join(texts) if texts and len(texts) == len(content) else content
    more = {name: value for name, value in message.items() if value not in (None, [], {})}
    return {**more, "content": "" if content is None else content}


def _instructions(before: Sequence[Json]) -> str:
    told = ("system", "developer")
    texts = [str(one["content"]) for one in before if isinstance(one, dict) and one["role"] in told]
    return "\n\n".join(filter(None, texts))


def _turns(before: Sequence[Json]) -> tuple[tuple[str, str], ...]:
    """Who said what before, in pairs; either may be missing."""
    turns: list[tuple[str, str]] = []
    for one in before:
        assert isinstance(one, dict)
        text = str(one["content"])
        if one["role"] == "user":
            turns.append((text, ""))
        elif one["role"] == "assistant":
            if turns and not turns[-1][1]:
                turns[-1] = (turns[-1][0], text)
            else:
                turns.append(("", text))
    return tuple(turns)


def _schema(wanted: object) -> str:
    """The JSON Schema of a ``response_format`` as text; empty where there is none. Raises ``Fault``."""
    if not isinstance(wanted, dict):
        return ""
    kind = wanted.get("type")
    if kind == "json_object":
        return '{"type":"object"}'
    inner = wanted.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, dict) else None
    if kind != "json_schema" or not isinstance(schema, dict):
        raise Fault(
            "response_format must have the type text, json_object, or json_schema with a schema",
            param="response_format",
            code="invalid_value",
        )
    text = orjson.dumps(schema).decode()
    if len(text) > SCHEMA_CHARS_MAX:
        said = f"the schema has {len(text)} characters, the limit is {SCHEMA_CHARS_MAX}"
        raise Fault(said, param="response_format", code="invalid_json_schema")
    return text


# --- /v1/responses --------------------------------------------------------------------------------


class Responses(msgspec.Struct):
    """What is checked of ``POST /v1/responses`` before it is read as a chat."""

    model: Annotated[str, Meta(min_length=1, max_length=MODEL_CHARS_MAX)]
    input: str | Annotated[list[dict[str, Any]], Meta(min_length=1, max_length=MESSAGES_MAX)]
    instructions: str | None = None
    stream: bool | None = None
    max_output_tokens: Annotated[int, Meta(ge=1, le=TOKENS_MAX)] | None = None
    text: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None


def responses(body: bytes) -> Wanted:
    """A request of ``POST /v1/responses``. Raises ``Fault``."""
    raw = read(body)
    checked(raw, Responses)
    fields = _fields()
    found = {
        name: value
        for name, value in raw.items()
        if value is not None and name not in ("input", "instructions", "model", "text", "reasoning")
    }
    bypass = next(
        (
            Bypass(name, name.replace("_", " "))
            for name, harmless in fields["responses_only"].items()
            if name in found and not any(_same(found[name], one) for one in harmless)
        ),
        None,
    )
    messages: list[dict[str, Any]] = []
    if raw.get("instructions"):
        messages.append({"role": "system", "content": raw["instructions"]})
    items = [{"role": "user", "content": raw["input"]}] if isinstance(raw["input"], str) else raw["input"]
    for place, item in enumerate(items):
        if item.get("type", "message") != "message" or "role" not in item:
            bypass = bypass or Bypass(f"input[{place}]", "tools")
            continue
        messages.append({"role": item["role"], "content": _as_text(item)["content"]})
    chat = {
        fields["responses"].get(name, name): value
        for name, value in found.items()
        if name not in fields["responses_only"]
    }
    chat |= _of_text(raw.get("text") or {}) | _of_reasoning(raw.get("reasoning") or {})
    messages = messages or [{"role": "user", "content": ""}]
    return wanted({**chat, "model": raw["model"], "messages": messages}, raw, path="responses", bypass=bypass)


def _of_text(text: Mapping[str, Any]) -> dict[str, Any]:
    """``text`` as a chat says it."""
    chat = {name: value for name, value in text.items() if name != "format"}
    given = text.get("format")
    if isinstance(given, dict) and given.get("type") == "json_schema":
        inner = {name: value for name, value in given.items() if name != "type"}
        chat["response_format"] = {"type": "json_schema", "json_schema": inner}
    elif given is not None:
        chat["response_format"] = given
    return chat


def _of_reasoning(reasoning: Mapping[str, Any]) -> dict[str, Any]:
    """``reasoning`` as a chat says it; a summary is nothing that a chat has."""
    effort = reasoning.get("effort")
    return {} if effort is None else {"reasoning_effort": effort}
