"""Descriptions of documents by a language model, behind the ingest: a few sentences apart from the text, by
which the profile ``file`` finds whole files.

Promises: one document after the other, only while nobody waits for an answer, at most so many a day; what was
described is kept with the document's bytes, so that it is not made again after a restart or for another
embedder; tags outside the list are dropped; what cannot be read is tried again the next day."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import date

import orjson

from node.core.clock import Clock
from node.core.errors import Rejected
from node.core.model import Draft
from node.core.ports import Prompt
from node.knowledge.profiles import Taxonomy, packaged_tags
from node.knowledge.rows import Row
from node.knowledge.store import DocumentStore
from node.language.orders import CHAT_TOKEN
from node.language.sentences import one_line
from node.language.tables import read_table
from node.models.deadline import GaveWay

WORDS_MAX = 120
TAGS_MAX = 5
TEXT_CHARS_MAX = 2_000
_SAID_CHARS_MAX = 2_000
_CHUNKS, _AT_ONCE, _TOKENS_MAX = 12, 20, 260
_SCHEMA = (
    '{"type":"object","properties":{"description":{"type":"string"},"tags":{"type":"array",'
    '"items":{"type":"string"}}},"required":["description","tags"]}'
)
_SAID = re.compile(r'"description"\s*:\s*"((?:[^"\\]|\\.)+)"?')
_LIST = re.compile(r'"tags"\s*:\s*\[([^\]]*)')
_END = re.compile(r"(?<=[.!?。])\s+")


def prompt(row: Row, text: str, tags: Taxonomy) -> Prompt:
    """What is asked of a document, a manifest in words of its own."""
    table = read_table(__package__, "describing.toml")
    system = table["system"].format(words=WORDS_MAX, tags=", ".join(tags.names)).strip()
    kind = "manifest" if "profile=manifest" in row["media_type"] else "document"
    clean = CHAT_TOKEN.sub(" ", text[:TEXT_CHARS_MAX])
    user = table[kind].format(title=one_line(row["title"] or row["path"], 200), text=clean)
    return Prompt(system, user, _TOKENS_MAX, continuation=f"{system}\n\n{user}\n", schema=_SCHEMA)


def read(reply: str, tags: Taxonomy) -> tuple[str, tuple[str, ...], bool]:
    """The description, at most ``WORDS_MAX`` words and empty where there is none, its tags of the list, and
    whether the reply was the JSON that was asked for; else it is read by patterns."""
    try:
        found = orjson.loads(reply)
        said, listed, is_json = str(found["description"]), [str(one) for one in found["tags"]], True
    except (ValueError, KeyError, TypeError):
        texts, lists = _SAID.search(reply), _LIST.search(reply)
        said = texts[1].replace('\\"', '"').replace("\\n", " ") if texts else ""
        listed, is_json = re.findall(r'"([^"]*)"', lists[1]) if lists else [], False
    return _within_words(one_line(said, _SAID_CHARS_MAX)), tags.kept(listed)[:TAGS_MAX], is_json


def _within_words(text: str) -> str:
    """Whole sentences of at most ``WORDS_MAX`` words; of a longer first one its beginning."""
    kept = ""
    for sentence in _END.split(text.strip()):
        longer = f"{kept} {sentence}".strip()
        if len(longer.split()) > WORDS_MAX:
            break
        kept = longer
    return kept or " ".join(text.split()[:WORDS_MAX])


@dataclass(slots=True)
class Describer:
    """``ask``: a model, which gives way when somebody waits for an answer (``GaveWay``); ``count`` hears an
    outcome: described, no_json (read by patterns), unreadable."""

    store: DocumentStore
    ask: Callable[[Prompt], Awaitable[Draft]]
    count: Callable[[str], None]
    clock: Clock
    per_day: int
    _day: date | None = None
    _done: int = 0
    _unreadable: set[int] = field(default_factory=set)

    async def work(self) -> int:
        """Describe some of what has no description yet; how many were. Raises ``Unavailable``: no model
        answers, or the store does not."""
        today = self.clock.now().date()
        if today != self._day:
            self._day, self._done, self._unreadable = today, 0, set()
        described, wanted = 0, min(self.per_day - self._done, _AT_ONCE)
        if wanted <= 0:
            return 0
        rows = await self.store.undescribed(wanted + len(self._unreadable))
        for row in [row for row in rows if row["id"] not in self._unreadable][:wanted]:
            try:
                described += await self._describe(row)
            except GaveWay:
                break
        return described

    async def _describe(self, row: Row) -> bool:
        text = "\n".join(await self.store.texts(row["id"], _CHUNKS))
        tags = packaged_tags()
        try:
            reply = (await self.ask(prompt(row, text, tags))).text
        except Rejected:  # nothing usable was said
            reply = ""
        said, found, is_json = read(reply, tags)
        self._done += 1
        self.count("unreadable" if not said else "described" if is_json else "no_json")
        if said:
            await self.store.describe(row["id"], row["sha256"], said, found)
        else:
            self._unreadable.add(row["id"])
        return bool(said)
