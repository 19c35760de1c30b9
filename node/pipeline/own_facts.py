"""Questions about the node itself, answered from its own records and decisions, without a model.

Which source answered, how sure it was, why; how many answers are stored, under which CID and since when; how
many questions were answered; what was asked last. It keeps the ``node.core.ports.Adapter`` contract, and
lives here because adapters see no store.

Rules:
- A caller is told of records in ``Caller.visible_scopes`` only, and of turns of the own session only.
- Nothing of it is stored, shared or a turn itself: it is about this moment and this asker
  (``Recognition.about_node``).
- A text is recognised as a whole or not at all (``own_facts.toml``): "how many answers does a multiple choice
  test have" is a question like any other.
- The answer is in the language of the form that the question was read by, and in words for whoever asks;
  technical reasons are for the trace.
- What is stored outlives a restart. Turns ("that", "my last question", "why") and the count of questions are
  in memory only: the last ``TURNS_MAX`` turns of a session, the last ``DAYS_MAX`` days of a tenant.
"""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from importlib.resources import files
from typing import Final

from node.audit.decisions.explain import in_brief
from node.core.errors import NodeError, Unavailable
from node.core.ipld.cid import Cid
from node.core.model import (
    PPM,
    Answer,
    Budget,
    Check,
    Evidence,
    Found,
    Freshness,
    Kind,
    Outcome,
    Query,
    Recognition,
    SourceRef,
    Unclear,
)
from node.core.ports import RecordStore, Semantics, StoredRecord
from node.core.record import AnswerRecord
from node.language.reading import fold, read, word_list, words_of

NAME: Final = "node-facts"
WORDS_MAX: Final = 24
SESSIONS_MAX: Final = 2_000
TURNS_MAX: Final = 6
DAYS_MAX: Final = 40
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

_NOT_ANSWERED = frozenset({"statement", "fallback"})
_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))


@lru_cache(maxsize=1)
def _patterns() -> tuple[
    tuple[tuple[str, str, re.Pattern[str]], ...],
    re.Pattern[str],
    Mapping[str, str],
    Mapping[str, dict[str, str]],
]:
    """The patterns with their language and what each asks, the openers and closers, the spans of time by
    their words, and the replies by language."""
    data = tomllib.loads((files("node.pipeline") / "own_facts.toml").read_text(encoding="utf-8"))
    words = {name: f"(?:{'|'.join(data[name])})" for name in ("that", "about", "named", "when")}
    words["about"] += " (?P<topic>.+)"
    found = []
    for language, asks in data["asks"].items():
        for ask, texts in asks.items():
            for text in texts:
                for name, pattern in words.items():
                    text = text.replace(f"{{{name}}}", pattern)
                found.append((language, ask, re.compile(text)))
    around = re.compile(rf"^(?:(?:{data['openers']}) )+|(?: (?:{data['closers']}))+$")
    spans = {word: name for name, words in data["days"].items() for word in words}
    return tuple(found), around, spans, data["replies"]


@dataclass(frozen=True, slots=True)
class _Tongue:
    """The replies of one language."""

    code: str

    def has(self, key: str) -> bool:
        return key in _patterns()[3][self.code]

    def say(self, key: str, **values: object) -> str:
        return _patterns()[3][self.code][key].format(**values)

    def number(self, number: int) -> str:
        return f"{number:,}".replace(",", self.say("thousands"))

    def share(self, share: float) -> str:
        return f"{share:.2f}".replace(".", self.say("decimal"))

    def source(self, source: SourceRef) -> str:
        """Whoever stored it here under no name of his own is not named."""
        for key in (f"by_{source.kind}_{source.id}", f"by_{source.kind}"):
            if self.has(key):
                return self.say(key, id=_cut(source.id))
        return f"{_cut(source.kind)} {_cut(source.id)}"

    def parts(self, parts: Mapping[str, float]) -> str:
        """The parts of a confidence, as far as the language has words for them."""
        named = [(self.say(key), part) for name, part in parts.items() if self.has(key := f"parts_{name}")]
        return ", ".join(f"{said} {self.share(part)}" for said, part in named)


@dataclass(frozen=True, slots=True)
class Told:
    """One answer of a session, as far as it is asked about. ``why`` is the decision in English words; from
    ``kind`` and ``match`` (how a stored answer was found, or empty) the other languages tell it."""

    question: str
    sources: tuple[tuple[str, SourceRef], ...]
    confidence: float
    parts: Mapping[str, float]
    cid: str | None
    why: str
    kind: str
    match: str


class OwnFacts:
    """``node.core.ports.Adapter`` for the node itself."""

    def __init__(self, records: RecordStore, semantics: Semantics) -> None:
        self._records = records
        self._semantics = semantics
        self._sessions: OrderedDict[tuple[str, str], deque[Told]] = OrderedDict()
        self._days: OrderedDict[str, Counter[tuple[date, str]]] = OrderedDict()

    @property
    def name(self) -> str:
        return NAME

    @property
    def is_local(self) -> bool:
        return True

    def hear(self, answer: Answer, entry: Mapping[str, object]) -> None:
        """Remember what was answered in a session, and why; ``entry`` is the decision as logged."""
        query = answer.query
        self._count_in(answer)
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
            answer.route.kind.value,
            answer.hit.kind if answer.hit is not None else "",
        )
        turns = self._sessions.setdefault((query.caller.person, query.session), deque(maxlen=TURNS_MAX))
        turns.append(told)
        self._sessions.move_to_end((query.caller.person, query.session))
        while len(self._sessions) > SESSIONS_MAX:
            self._sessions.popitem(last=False)

    def _count_in(self, answer: Answer) -> None:
        """Count the questions of a request that were answered, and those that what is stored answered."""
        day, caller = answer.query.local.date(), answer.query.caller
        tenant = caller.person if caller.key else caller.tenant
        counted = self._days.get(tenant)
        if counted is None:
            counted = self._days[tenant] = Counter()
        self._days.move_to_end(tenant)
        for part in answer.parts or (answer,):
            if part.source.kind not in _NOT_ANSWERED and not part.route.about_node:
                counted[day, "questions"] += 1
                counted[day, "hits"] += part.hit is not None
        if len(counted) > 2 * DAYS_MAX:  # two counts a day
            for old in sorted({one for one, _ in counted})[:-DAYS_MAX]:
                del counted[old, "questions"], counted[old, "hits"]
        while len(self._days) > SESSIONS_MAX:
            self._days.popitem(last=False)

    # --- the adapter ------------------------------------------------------------------------------

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        reading = read(text)
        if not 2 <= len(reading.words) <= WORDS_MAX or reading.script != "latin":
            return None
        patterns, around, spans, _ = _patterns()
        flat = around.sub("", reading.flat)
        for language, ask, pattern in patterns:
            if (match := pattern.fullmatch(flat)) is not None:
                groups = match.groupdict()
                slots = {
                    "metric": ask,
                    "topic": groups.get("topic"),
                    "when": _span_in(flat, spans) if ask in ("count", "questions", "hits") else None,
                    "language": language,
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
        tongue = _Tongue(str(slots.get("language")))
        try:
            text = await self._say(
                str(slots.get("metric")),
                topic if isinstance(topic, str) else None,
                when if isinstance(when, str) else None,
                query,
                tongue,
            )
        except NodeError as exc:  # unclear, and not failed: a local source's failure is told as it is
            return Unclear(tongue.say("unreadable"), f"the node's own records could not be read: {exc}")
        return Found(Evidence(text, SourceRef("adapter", NAME), 1.0, Freshness.COMPUTED))

    def health(self) -> Check:
        return Check(NAME, "pass")

    def budgets(self) -> Sequence[Budget]:
        return ()

    async def close(self) -> None:
        """Nothing is held."""

    # --- what is said -----------------------------------------------------------------------------

    async def _say(self, ask: str, topic: str | None, when: str | None, query: Query, tongue: _Tongue) -> str:
        if ask in ("count", "questions", "hits"):
            return await self._count(ask, when, query, tongue)
        turns = tuple(self._sessions.get((query.caller.person, query.session or ""), ()))
        told = _turn_about(turns, topic)
        if told is not None and (topic is None or ask in ("source", "confidence", "why")):
            return await self._of_turn(ask, told, query, tongue)
        if topic is not None:
            stored = await self._about(topic, query)
            if stored is not None:
                return _of_record(ask, stored, tongue)
            return tongue.say("no_topic", topic=_cut(topic))
        return tongue.say("no_conversation" if query.session is None else "nothing_before")

    async def _of_turn(self, ask: str, told: Told, query: Query, tongue: _Tongue) -> str:
        asked = told.question
        if ask == "last":
            return tongue.say("last", asked=asked)
        if ask == "why":
            return tongue.say("why", asked=asked, why=_why(told, tongue))
        if ask == "confidence":
            parts, share = tongue.parts(told.parts), tongue.share(told.confidence)
            return tongue.say(
                "confidence_of" if parts else "confidence", asked=asked, share=share, parts=parts
            )
        if ask == "source":
            if len(told.sources) == 1:
                return tongue.say("source", asked=asked, source=tongue.source(told.sources[0][1]))
            each = [
                tongue.say("part", asked=part, source=tongue.source(source)) for part, source in told.sources
            ]
            return tongue.say("sources", each="; ".join(each))
        if told.cid is None:
            return tongue.say("not_stored", asked=asked)
        found = (await self._records.live([Cid.parse(told.cid)])).values()
        stored = next((one for one in found if one.record.scope in query.caller.visible_scopes), None)
        if stored is None:
            return tongue.say("gone", asked=asked, cid=told.cid)
        return _of_record(ask, stored, tongue)

    async def _count(self, ask: str, when: str | None, query: Query, tongue: _Tongue) -> str:
        scopes, today = query.caller.visible_scopes, datetime.combine(query.local.date(), time(), query.zone)
        since, before = {
            "today": (today, None),
            "yesterday": (today - timedelta(days=1), today),
            "week": (today - timedelta(days=today.weekday()), None),
            "month": (today.replace(day=1), None),
        }.get(when or "", (None, None))
        said = tongue.say(when or "ever")
        if ask != "count":
            sums: Counter[str] = Counter()
            for (day, what), times in self._days.get(query.caller.person, {}).items():
                if (since is None or day >= since.date()) and (before is None or day < before.date()):
                    sums[what] += times
            number, hits = tongue.number(sums["questions"]), tongue.number(sums["hits"])
            return tongue.say("asked_in", when=said, number=number, hits=hits)
        stored = await self._records.tally(scopes=scopes, since=since, before=before)
        key = ("count" if since is None else "count_of") + ("_one" if stored == 1 else "")
        return tongue.say(key, number=tongue.number(stored), when=said)

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


def _of_record(ask: str, stored: StoredRecord, tongue: _Tongue) -> str:
    record = stored.record
    assert isinstance(record, AnswerRecord)
    local, client = stored.origin == "local", record.source.client
    name = record.source.id if client is None else client.by
    return tongue.say(
        {"cid": "cid", "confidence": "share", "stored": "stored"}.get(ask, "made"),
        asked=_cut(record.query),
        cid=stored.cid,
        share=tongue.share(record.confidence / PPM),
        since=_moment(record.timestamp),
        until=tongue.say("until", until=_moment(record.expires)) if record.expires else "",
        peer="" if local else tongue.say("peer", peer=_cut(stored.origin)),
        source=tongue.source(SourceRef(record.source.kind, name)),
    )


def _why(told: Told, tongue: _Tongue) -> str:
    """The decision in words: for a language that is not the log's, from what is known of it."""
    if tongue.code == "en":
        return told.why
    said = [tongue.say(key) for key in (f"why_{told.kind}", f"why_{told.match}") if tongue.has(key)]
    source = "; ".join(dict.fromkeys(tongue.source(source) for _, source in told.sources))
    said += [
        tongue.say("why_source", source=source),
        tongue.say("why_share", share=tongue.share(told.confidence)),
    ]
    return " ".join(said)


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")


def _cut(text: str) -> str:
    """Somebody's words in one line, without the quotation marks that are put around them."""
    line = " ".join(text.translate(_QUOTES).split())
    return line if len(line) <= _SHOWN_CHARS else f"{line[:_SHOWN_CHARS]} …"
