"""JSON: chats, governance proposals, and what is neither."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from node.core.errors import Rejected
from node.knowledge.formats.extracted import TITLE_CHARS_MAX, Bounds, Extracted, at, decoded, first, table
from node.language.sentences import one_line, plain

_MILLISECONDS_FROM = 10**11
_MESSAGE_CHARS_MAX = 20_000


def read(data: bytes, bounds: Bounds, path: str = "") -> Extracted:
    """Raises ``Rejected``."""
    try:
        value = orjson.loads(decoded(data).encode())
    except orjson.JSONDecodeError as exc:
        raise Rejected(f"it is no JSON: {str(exc)[:80]}") from exc
    if proposals := _listed(value, "proposal", _is_proposal):
        return _proposals(proposals)
    if messages := _listed(value, "chat", _is_message):
        return _chat(value, messages, path)
    return Extracted("\n".join(_lines(value, "")), is_lines=True)


def _listed(value: Any, section: str, fits: Any) -> list[Mapping[str, Any]]:
    """The objects of a kind that are there, where they are most of a list."""
    for found in (value, *(at(value, name) for name in table()[section]["lists"])):
        items = found if isinstance(found, list) else [found]
        fitting = [item for item in items if isinstance(item, Mapping) and fits(item)]
        if fitting and 2 * len(fitting) >= len(items):
            return fitting
    return []


# --- chats ----------------------------------------------------------------------------------------


def _is_message(item: Mapping[str, Any]) -> bool:
    names = table()["chat"]
    return first(item, names["user"]) is not None and first(item, names["text"]) is not None


def _chat(value: Any, messages: list[Mapping[str, Any]], path: str) -> Extracted:
    """One line a message: ``[time] #channel user: text``."""
    names, lines = table()["chat"], []
    room = _word(first(value, names["room"])) or path.rpartition("/")[2].rpartition(".")[0]
    times: list[str] = []
    for message in messages:
        text = _words(first(message, names["text"]))
        if not text:
            continue
        channel = _word(first(message, names["channel"])) or room
        sent, user = _time(first(message, names["time"])), _word(first(message, names["user"]))
        lines.append(f"[{sent}] #{channel.lstrip('#')} {user}: {text}")
        times.append(sent)
    fields = {"last_modified": [max(times)]} if times else {}
    title = f"#{room.lstrip('#')}"
    return Extracted("\n".join(lines), is_lines=True, title=title, fields=fields)


def _word(value: Any) -> str:
    return one_line(str(value), 100) if isinstance(value, (str, int)) else ""


def _words(value: Any) -> str:
    """A text, or pieces of one (Telegram)."""
    pieces = value if isinstance(value, list) else [value]
    texts = [piece.get("text", "") if isinstance(piece, Mapping) else piece for piece in pieces]
    return one_line("".join(str(text) for text in texts), _MESSAGE_CHARS_MAX)


def _time(value: Any) -> str:
    """Seconds or milliseconds since 1970 as a time in UTC; what is written already stays."""
    text = _word(value) or (str(value) if isinstance(value, float) else "")
    try:
        number = float(text)
        if number >= _MILLISECONDS_FROM:
            number /= 1000
        return datetime.fromtimestamp(number, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return text


# --- proposals --------------------------------------------------------------------------------------


def _is_proposal(item: Mapping[str, Any]) -> bool:
    return all(name in item for name in table()["proposal"]["needs"])


def _proposals(items: list[Mapping[str, Any]]) -> Extracted:
    titles = [one_line(str(item["title"]), TITLE_CHARS_MAX) for item in items]
    text = "\n\n".join(part for item in items for part in _proposal(item))
    dates = [_time(item[name]) for item in items for name in ("end", "created") if item.get(name)]
    fields = {"last_modified": [max(dates)]} if dates else {}
    return Extracted(text, is_marked=True, title=titles[0] if len(titles) == 1 else "", fields=fields)


def _proposal(item: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {one_line(str(item['title']), TITLE_CHARS_MAX)}"
    space = item.get("space")
    facts = {
        "Proposal": item.get("id"),
        "Space": space.get("name") or space.get("id") if isinstance(space, Mapping) else space,
        "State": item.get("state"),
        "Author": item.get("author"),
        "Voting": " to ".join(_time(item[name]) for name in ("start", "end") if item.get(name)),
        "Votes": item.get("votes"),
        "Quorum": item.get("quorum"),
    }
    yield "\n".join(
        f"{name}: {one_line(str(one), 300)}" for name, one in facts.items() if one not in (None, "")
    )
    if isinstance(item.get("body"), str):
        yield "\n".join(_below(line) for line in plain(item["body"]).split("\n"))
    choices, scores = item["choices"], item.get("scores")
    if isinstance(choices, list):
        counted = (
            scores if isinstance(scores, list) and len(scores) == len(choices) else [None] * len(choices)
        )
        results = [
            f"- {one_line(str(choice), 200)}" + ("" if score is None else f": {score}")
            for choice, score in zip(choices, counted, strict=True)
        ]
        yield "\n".join(("## Result" if any(one is not None for one in counted) else "## Choices", *results))


def _below(line: str) -> str:
    """A heading of the body stands below the proposal's title."""
    return f"#{line}" if line.startswith("#") and not line.startswith("######") else line


# --- anything else ----------------------------------------------------------------------------------


def _lines(value: Any, name: str) -> Iterator[str]:
    """``name: value``, a line each; orjson has bounded the depth."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _lines(one, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for one in value:
            yield from _lines(one, name)
    elif value not in (None, ""):
        yield f"{name}: {plain(str(value))}" if name else plain(str(value))
