"""Calls of tools by models that only write text: the form that they are asked for, and how it is read.

Where the engine can hold a model to a grammar it holds it to ``schema``. Everywhere else the text is parsed,
then mended (a fence or words round the object, another name for a field, a list of calls), then given up:
``Reply.trouble`` says why, and whoever counts fallbacks counts it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from node.core.model import Draft, Json
from node.core.ports import OnText, Tell
from node.core.tools import Call, Offered
from node.language.sentences import one_line

CALLS_MAX = 4
"""Calls that are taken of one reply."""
_NAMES = ("tool", "name", "function", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_OBJECT = re.compile(r"[{\[]")
_OBJECTS_MAX = 8
_ANSWER = re.compile(r'\A[^{]{0,40}\{\s*"answer"\s*:\s*"')
_WHOLE = re.compile(r'(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*')
_HIGH_HALF = re.compile(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2})\Z")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said: calls, or an answer, or neither (``trouble`` says why). ``is_mended``: it had to be
    put right."""

    calls: tuple[Call, ...] = ()
    answer: str = ""
    trouble: str = ""
    is_mended: bool = False


def schema(tools: Sequence[Offered]) -> str:
    """A call of one of the tools, or an answer, as a JSON Schema."""
    forms: list[dict[str, Any]] = [_object(answer={"type": "string"})]
    forms += [_object(tool={"const": one.name}, arguments=_strict(one.parameters)) for one in tools]
    return orjson.dumps({"anyOf": forms}).decode()


def _object(**fields: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def _strict(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Without descriptions, which no grammar needs."""
    shapes = {
        name: {key: value for key, value in shape.items() if key not in ("description", "default", "title")}
        for name, shape in parameters.get("properties", {}).items()
    }
    return {**parameters, "properties": shapes}


def listing(tools: Sequence[Offered]) -> str:
    """One line for each tool."""
    return "\n".join(f"{one.name}({_signature(one.parameters)}): {one.description}" for one in tools)


def _signature(parameters: Mapping[str, Any]) -> str:
    required = parameters.get("required", ())
    return ", ".join(f"{name}{'' if name in required else '?'}" for name in parameters.get("properties", {}))


def read(draft: Draft) -> Reply:
    """What a draft says."""
    if draft.calls:
        return Reply(draft.calls[:CALLS_MAX])
    text = draft.text.strip()
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return _mended(text)
    return _reply(value, is_whole=True) or Reply(trouble="it has neither a tool nor an answer")


def _mended(text: str) -> Reply:
    if (begun := answer_so_far(text)) and _ANSWER.match(text):
        return Reply(answer=begun, is_mended=True)  # it was cut off
    for value in _objects(text):
        if found := _reply(value, is_whole=False):
            return Reply(found.calls, found.answer, is_mended=True)
    if not text or text[0] in "{[<`":
        return Reply(trouble="it is not JSON")
    return Reply(answer=text)


def _reply(value: object, *, is_whole: bool) -> Reply | None:
    if isinstance(value, list):
        calls = [call for one in value[:CALLS_MAX] if (call := _call(one)) is not None]
        return Reply(tuple(calls), is_mended=True) if calls else None
    if not isinstance(value, dict):
        return Reply(answer=str(value), is_mended=True) if is_whole and value is not None else None
    if isinstance(answer := value.get("answer"), str) and answer.strip():
        return Reply(answer=answer.strip())
    if isinstance(inner := value.get("tool_calls"), list):
        return _reply(inner, is_whole=is_whole)
    call = _call(value)
    return None if call is None else Reply((call,), is_mended="tool" not in value)


def _call(value: object) -> Call | None:
    if not isinstance(value, dict):
        return None
    if isinstance(inner := value.get("function"), dict):
        value = inner
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    given = next((value[key] for key in _ARGUMENTS if isinstance(value.get(key), dict | str)), None)
    if name is None or (given is None and "tool" not in value):
        return None
    return Call(name, given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False))


def _objects(text: str) -> Iterator[object]:
    """The JSON values inside a text, from its beginning."""
    decoder, at = json.JSONDecoder(), 0
    for _ in range(_OBJECTS_MAX):
        found = _OBJECT.search(text, at)
        if found is None:
            return
        try:
            value, at = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = found.end()
            continue
        yield value


def answer_so_far(raw: str) -> str:
    """The answer in a reply that may still grow; empty where it is not one."""
    begun = _ANSWER.match(raw)
    if begun is None:
        return ""
    whole = _WHOLE.match(raw, begun.end())
    text = _HIGH_HALF.sub("", whole.group() if whole is not None else "")
    try:
        said = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return ""
    return str(said)


class Speech:
    """Hears a reply piece by piece, and hands on what of it is an answer, in whichever form it comes."""

    def __init__(self, add: OnText, tell: Tell) -> None:
        self._add, self._to = add, tell
        self._raw = self._told = ""

    def hear(self, piece: str) -> None:
        """Take the next piece."""
        self._raw += piece
        raw = self._raw.lstrip()
        text = answer_so_far(raw) if raw[:1] in ("{", "[", "<", "`", "") else raw
        if len(text) > len(self._told) and text.startswith(self._told):
            self._add(text[len(self._told) :])
            self._told = text

    def tell(self, event: str, facts: Mapping[str, Json]) -> None:
        """Pass an event on; at ``reset`` the next reply begins."""
        if event == "reset":
            self._raw = self._told = ""
        self._to(event, facts)


def shown(call: Call, chars_max: int = 160) -> str:
    """A call as one line."""
    return one_line(f"{call.name} {call.arguments}", chars_max)
