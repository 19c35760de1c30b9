"""Questions about the node itself, answered from its own records and decisions, without a model.

Which source answered, how sure it was, why; how many answers are stored, under which CID and since when; what
was asked last. It keeps the ``node.ports.Adapter`` contract, and lives here because adapters see no store.

Rules:
- A caller is told of records in ``Caller.visible_scopes`` only, and of turns of the own session only.
- Nothing of it is stored, shared or a turn itself: it is about this moment and this asker
  (``Recognition.about_node``).
- A text is recognised as a whole or not at all (``own_facts.toml``): "how many answers does a multiple choice
  test have" is a question like any other.
"""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import lru_cache
from importlib.resources import files
from typing import Final

from node.errors import NodeError, Unavailable
from node.governance.explain import in_brief
from node.ipfs.cid import Cid
from node.model import (
    PPM,
    Answer,
    Budget,
    Check,
    Evidence,
    Failed,
    Found,
    Freshness,
    Kind,
    Outcome,
    Query,
    Recognition,
    SourceRef,
)
from node.ports import RecordStore, Semantics, StoredRecord
from node.reading import fold, read, word_list, words_of
from node.record import AnswerRecord

NAME: Final = "node-facts"
WORDS_MAX: Final = 24
SESSIONS_MAX: Final = 2_000
TURNS_MAX: Final = 6
NEWEST_MAX: Final = 500
"""So many of the newest records are looked through for the words of a topic."""
NEAR_MAX: Final = 16
WHY_CHARS_MAX: Final = 1_200
_SHOWN_CHARS: Final = 120
_STRENGTH: Final = 0.97
_NOT_TOPIC = frozenset(
    word_list(
        "a an the of in on at for to is are was were do does did what which who how why when where"
        " der die das und ist was wer wie el la los las de que es le les du des est"
    )
)

_SOURCES: Final[Mapping[str, str]] = {
    "adapter": "the adapter {id}",
    "cache": "a stored answer, first made by {id}",
    "llm": "the language model {id}",
    "extractive": "sentences quoted from {id}",
    "documents": "the document {id}",
    "client": "an answer that was stored by {id}",
    "statement": "the node itself, for nothing was asked",
    "fallback": "nobody: the node could not find out",
    "composite": "several sources, one for each part",
}


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[tuple[str, re.Pattern[str]], ...], re.Pattern[str], Mapping[str, str]]:
    """The patterns with what each asks, the openers and closers, and the spans of time by their words."""
    data = tomllib.loads((files("node") / "own_facts.toml").read_text(encoding="utf-8"))
    words = {name: f"(?:{'|'.join(data[name])})" for name in ("that", "about", "when")}
    words["about"] += " (?P<topic>.+)"
    found = []
    for ask, texts in data["asks"].items():
        for text in texts:
            for name, pattern in words.items():
                text = text.replace(f"{{{name}}}", pattern)
            found.append((ask, re.compile(text)))
    around = re.compile(rf"^(?:(?:{data['openers']}) )+|(?: (?:{data['closers']}))+$")
    spans = {word: name for name, words in data["days"].items() for word in words}
    return tuple(found), around, spans


@dataclass(frozen=True, slots=True)
class Told:
    """One answer of a session, as far as it is asked about. ``why`` is the decision in words."""

    question: str
    sources: tuple[tuple[str, SourceRef], ...]
    confidence: float
    parts: Mapping[str, float]
    cid: str | None
    why: str


class OwnFacts:
    """``node.ports.Adapter`` for the node itself."""

    def __init__(self, records: RecordStore, semantics: Semantics) -> None:
        self._records = records
        self._semantics = semantics
        self._sessions: OrderedDict[tuple[str, str], deque[Told]] = OrderedDict()

    @property
    def name(self) -> str:
        return NAME

    @property
    def is_local(self) -> bool:
        return True

    def hear(self, answer: Answer, entry: Mapping[str, object]) -> None:
        """Remember what was answered in a session, and why; ``entry`` is the decision as logged."""
        query = answer.query
        if query.session is None or answer.route.about_node:
            return
        parts = answer.parts or (answer,)
        cid = next((part.cid for part in parts if part.cid is not None), None)
        told = Told(
            _cut(query.asked),
            tuple((_cut(part.query.text), part.source) for part in parts),
            answer.confidence.value,
            answer.confidence.parts,
            cid,
            " ".join(in_brief(entry, answer.route.reason))[:WHY_CHARS_MAX],
        )
        turns = self._sessions.setdefault((query.caller.tenant, query.session), deque(maxlen=TURNS_MAX))
        turns.append(told)
        self._sessions.move_to_end((query.caller.tenant, query.session))
        while len(self._sessions) > SESSIONS_MAX:
            self._sessions.popitem(last=False)

    # --- the adapter ------------------------------------------------------------------------------

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        reading = read(text)
        if not 2 <= len(reading.words) <= WORDS_MAX or reading.script != "latin":
            return None
        patterns, around, spans = _patterns()
        flat = around.sub("", reading.flat)
        for ask, pattern in patterns:
            if (match := pattern.fullmatch(flat)) is not None:
                groups = match.groupdict()
                slots = {
                    "metric": ask,
                    "topic": groups.get("topic"),
                    "when": _span_in(flat, spans) if ask == "count" else None,
                }
                reason = f"asks about the node itself ({ask})"
                return Recognition(
                    NAME, slots, None, True, reason, _STRENGTH, kind=Kind.HISTORICAL, about_node=True
                )
        return None

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        return None

    def warm(self) -> None:
        _patterns()

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        slots = recognition.slots
        topic, when = slots.get("topic"), slots.get("when")
        try:
            text = await self._say(
                str(slots.get("metric")),
                topic if isinstance(topic, str) else None,
                when if isinstance(when, str) else None,
                query,
            )
        except NodeError as exc:
            return Failed("unavailable", f"the node's own records could not be read: {exc}")
        return Found(Evidence(text, SourceRef("adapter", NAME), 1.0, Freshness.COMPUTED))

    def health(self) -> Check:
        return Check(NAME, "pass")

    def budgets(self) -> Sequence[Budget]:
        return ()

    async def close(self) -> None:
        """Nothing is held."""

    # --- what is said -----------------------------------------------------------------------------

    async def _say(self, ask: str, topic: str | None, when: str | None, query: Query) -> str:
        if ask == "count":
            return await self._count(when, query)
        turns = tuple(self._sessions.get((query.caller.tenant, query.session or ""), ()))
        told = _turn_about(turns, topic)
        if told is not None and (topic is None or ask in ("source", "confidence", "why")):
            return await self._of_turn(ask, told, query)
        if topic is not None:
            stored = await self._about(topic, query)
            if stored is not None:
                return _of_record(ask, stored)
            return f"Nothing that is stored here and that you may see is about “{_cut(topic)}”."
        if query.session is None:
            return (
                "No earlier question is known: this one came without a session (session_id, or --session with"
                " neuroswarm ask)."
            )
        return "Nothing was asked in this session before, as far as this node remembers."

    async def _of_turn(self, ask: str, told: Told, query: Query) -> str:
        asked = f"“{told.question}”"
        if ask == "last":
            return f"Your last question was {asked}."
        if ask == "why":
            return f"On {asked}: {told.why}"
        if ask == "confidence":
            parts = ", ".join(f"{name.replace('_', ' ')} {part:.2f}" for name, part in told.parts.items())
            return f"The answer to {asked} had a confidence of {told.confidence:.2f}{_from(parts)}."
        if ask == "source":
            if len(told.sources) == 1:
                return f"{asked} was answered by {_named(told.sources[0][1])}."
            each = "; ".join(f"“{question}” by {_named(source)}" for question, source in told.sources)
            return f"Each part of it had its own source: {each}."
        if told.cid is None:
            return f"The answer to {asked} was not stored, so it has no CID."
        found = (await self._records.live([Cid.parse(told.cid)])).values()
        stored = next((one for one in found if one.record.scope in query.caller.visible_scopes), None)
        if stored is None:
            return f"The answer to {asked} was stored as {told.cid}, and is not kept any more."
        return _of_record(ask, stored)

    async def _count(self, when: str | None, query: Query) -> str:
        scopes, today = query.caller.visible_scopes, datetime.combine(query.local.date(), time(), query.zone)
        since, before, said = {
            "today": (today, None, "today"),
            "yesterday": (today - timedelta(days=1), today, "yesterday"),
            "week": (today - timedelta(days=today.weekday()), None, "this week"),
            "month": (today.replace(day=1), None, "this month"),
        }.get(when or "", (None, None, ""))
        number = await self._records.tally(scopes=scopes, since=since, before=before)
        if since is None:
            return f"{_answers(number)} that you may see {_are(number)} stored here."
        return f"{_answers(number)} that you may see {_are(number, past=True)} stored {said} and kept since."

    async def _about(self, topic: str, query: Query) -> StoredRecord | None:
        """The record whose question, or else whose answer, holds the words of the topic: first of those that
        are near in meaning, then of the newest."""
        scopes = query.caller.visible_scopes
        words = _words(topic)
        if not words:
            return None
        near = await self._near(topic, scopes)
        newest = await self._records.newest(scopes=scopes, limit=NEWEST_MAX)
        both = [
            one for one in (*near, *newest) if isinstance(one.record, AnswerRecord) and not one.record.context
        ]
        return _holding(both, words, answers_too=False) or _holding(both, words, answers_too=True)

    async def _near(self, topic: str, scopes: tuple[str, ...]) -> list[StoredRecord]:
        """The records nearest in meaning; none where no embedder serves."""
        try:
            [embedded] = await self._semantics.embed([topic]) if self._semantics.info.dim else [None]
        except Unavailable:
            return []
        index = None if embedded is None else self._semantics.index(embedded.info)
        if embedded is None or index is None:
            return []
        found = await asyncio.to_thread(
            index.search, embedded.vector, scopes=scopes, context=None, k=NEAR_MAX
        )
        live = await self._records.live([one.cid for one in found])
        return [live[one.cid] for one in found if one.cid in live]


# --- pieces ---------------------------------------------------------------------------------------


def _span_in(flat: str, spans: Mapping[str, str]) -> str | None:
    return next((name for word, name in spans.items() if re.search(rf"\b{re.escape(word)}\b", flat)), None)


def _turn_about(turns: Sequence[Told], topic: str | None) -> Told | None:
    """The last turn, or the last whose question holds every word of the topic."""
    if topic is None:
        return turns[-1] if turns else None
    words = _words(topic)
    return next((told for told in reversed(turns) if words and words <= _words(told.question)), None)


def _holding(
    found: Iterable[StoredRecord], words: frozenset[str], *, answers_too: bool
) -> StoredRecord | None:
    """Of those that hold all the words, the one whose question says least besides, the nearest of equals."""
    holding: list[tuple[int, int, StoredRecord]] = []
    for place, one in enumerate(found):
        assert isinstance(one.record, AnswerRecord)
        asked = _words(one.record.query)
        if words <= (asked | _words(one.record.answer) if answers_too else asked):
            holding.append((len(asked - words), place, one))
    return min(holding)[2] if holding else None


def _words(text: str) -> frozenset[str]:
    """Its words in one number, without those that say nothing."""
    words = (word.removesuffix("'s") for word in words_of(fold(text[:4_000])))
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") else word
        for word in words
        if word not in _NOT_TOPIC and any(char.isalnum() for char in word)
    )


def _of_record(ask: str, stored: StoredRecord) -> str:
    record = stored.record
    assert isinstance(record, AnswerRecord)
    asked = f"The answer to “{_cut(record.query)}”"
    if ask == "cid":
        return f"{asked} is stored as {stored.cid}."
    if ask == "confidence":
        return f"{asked} is stored with a confidence of {record.confidence / PPM:.2f}."
    since = record.timestamp.strftime("%Y-%m-%d %H:%M UTC")
    peer = "" if stored.origin == "local" else f", and came from the peer {_cut(stored.origin)}"
    source = SourceRef(record.source.kind, record.source.id)
    if ask == "stored":
        until = f", until {record.expires:%Y-%m-%d %H:%M UTC}" if record.expires else ""
        return f"{asked} is stored since {since}{until}{peer}."
    return f"{asked} was made by {_named(source)} on {since}{peer}; it is stored as {stored.cid}."


def _named(source: SourceRef) -> str:
    return _SOURCES.get(source.kind, f"{source.kind} {{id}}").format(id=_cut(source.id))


def _cut(text: str) -> str:
    """Somebody's words in one line, without the quotation marks that are put around them."""
    line = " ".join(text.translate({ord("“"): '"', ord("”"): '"'}).split())
    return line if len(line) <= _SHOWN_CHARS else f"{line[:_SHOWN_CHARS]} …"


def _from(parts: str) -> str:
    return f", from {parts}" if parts else ""


def _answers(number: int) -> str:
    return f"{number:,} answer{'' if number == 1 else 's'}"


def _are(number: int, *, past: bool = False) -> str:
    return ("was" if past else "is") if number == 1 else ("were" if past else "are")
