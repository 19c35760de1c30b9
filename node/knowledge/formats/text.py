"""Plain text, Markdown with its head, and subtitles of meetings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from node.core.errors import Rejected
from node.knowledge.formats.extracted import Bounds, Extracted, decoded, said

_HEAD = re.compile(r"---[ \t]*\n(.{0,16384}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_CUE = re.compile(r"(?:(\d{1,2}:\d\d:\d\d|\d{1,2}:\d\d)[.,]\d{1,3})[ \t]+-->")
_VOICE = re.compile(r"<v(?:\.[\w.]+)?[ \t]+([^>\n]{1,100})>")
_SPEAKER = re.compile(r"\s*(?:[\[(][^\])\n]{1,40}[\])]\s*)?[^\W\d_][^:\n]{0,40}:\s")
_SPOKEN_SHARE = 0.6
_TAG = re.compile(r"</?[a-z][^>\n]{0,100}>")


class _NoAliases(yaml.SafeLoader):  # type: ignore[misc] # it has no types
    """YAML without anchors: with them a few lines can stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def read(data: bytes, bounds: Bounds, path: str = "") -> Extracted:
    """As it is."""
    text = decoded(data)
    return Extracted(text, is_lines=_is_spoken(text))


def _is_spoken(text: str) -> bool:
    """Whether most lines say who speaks, as in transcripts of meetings."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and sum(_SPEAKER.match(line) is not None for line in lines) >= _SPOKEN_SHARE * len(
        lines
    )


def read_markdown(data: bytes, bounds: Bounds, path: str = "") -> Extracted:
    """The text behind the head; a head that cannot be read stays part of the text."""
    text = decoded(data)
    head = _HEAD.match(text)
    if head is None:
        return Extracted(text, is_marked=True)
    try:
        found = yaml.load(head.group(1), _NoAliases)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as exc:
        return Extracted(text, is_marked=True, note=f"its head is no YAML: {str(exc).splitlines()[0][:80]}")
    if not isinstance(found, dict):
        return Extracted(text, is_marked=True)
    return Extracted(text[head.end() :].lstrip("\n"), is_marked=True, fields=said(found))


def read_cues(data: bytes, bounds: Bounds, path: str = "") -> Extracted:
    """Subtitles as lines ``[time] speaker: words``. Raises ``Rejected``."""
    lines = list(_cues(decoded(data)))
    if not lines:
        raise Rejected("it has no subtitle with a time")
    return Extracted("\n".join(lines), is_lines=True)


def _cues(text: str) -> Iterator[str]:
    for block in re.split(r"\n[ \t]*\n", text):
        before, arrow, after = block.partition("-->")
        begins = _CUE.search(f"{before}{arrow}")
        words = after.partition("\n")[2]
        if begins is not None and words:
            spoken = _TAG.sub("", _VOICE.sub(r"\1: ", words))
            yield f"[{begins.group(1)}] {' '.join(spoken.split())}"
