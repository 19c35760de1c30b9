"""Replay of an operator's own traffic: what this cache would have saved and what it would have got wrong.

Reads lines of JSON, one question each, in order of arrival: ``{"query", "answer"?, "class"? | "id"?,
"time"?}`` or an OpenAI-style ``{"messages": [...]}`` with one question of the user (an assistant's message
behind it is the answer). Each is looked up in a throw-away node as a client would; on a miss the true answer
is stored. Beside it, caches by plain cosine see the same stream with the same vectors.

A hit is right or wrong by ``class`` (``id``), where both questions have one, else by their answers
(``score.same_answer``); where neither tells, it is undecided and said so. ``time`` (ISO 8601, or seconds
since 1970) sets the clock, so that lifetimes count.

Bounded: ``limit`` lines, ``LINE_BYTES_MAX`` each. Must not know how the node is built: the service is handed
in.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from node.cache.quality.estimate import Estimate
from node.core.caller import Caller
from node.core.clock import SystemClock, new_id
from node.core.errors import BadInput, Rejected
from node.core.normalise import normalise
from node.core.ports import Vector
from node.language.same_answer import RIGHT, UNDECIDED, WRONG, same_answer
from node.pipeline.requests import Ask, Entry
from node.pipeline.service import Service

if TYPE_CHECKING:
    from numpy.typing import NDArray

LIMIT = 20_000
LIMIT_MAX = 1_000_000
LINE_BYTES_MAX = 256 * 1024
COSINES = (0.9, 0.8, 0.7)
WORST_MAX = 10
BAD_SHOWN_MAX = 20
_CHUNK = 64
_TIMES = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 12, 31, tzinfo=UTC)
_CALLER = Caller()
_OURS = "this cache"


class ReplayClock(SystemClock):
    """The system's clock, its wall time shifted so that the traffic's own times pass."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self._ahead

    def set_to(self, when: datetime) -> None:
        """From now on it is ``when`` and later."""
        self._ahead = when - super().now()


@dataclass(frozen=True, slots=True)
class Line:
    """One question of the traffic. ``label``: equal ones mean that the same answer serves."""

    query: str
    answer: str | None = None
    label: str | None = None
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A wrong hit: the question, the stored one that answered it, and why it was served."""

    similarity: float
    query: str
    stored: str
    u: float | None
    reason: str


@dataclass(slots=True)
class Tally:
    """What one cache did with the traffic. ``found`` by tier; ``judged`` by verdict."""

    name: str
    lookups: int = 0
    found: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)

    @property
    def hits(self) -> int:
        return self.found.total()

    @property
    def of_lookups(self) -> Estimate:
        """Wrong hits among all questions but those whose hit could not be judged."""
        undecided = self.judged[UNDECIDED]
        return Estimate(self.lookups - undecided - self.judged[WRONG], self.judged[WRONG], undecided)

    @property
    def of_hits(self) -> Estimate:
        """Wrong hits among the judged ones."""
        return Estimate(self.judged[RIGHT], self.judged[WRONG], self.judged[UNDECIDED])

    def add(self, tier: str, verdict: str) -> None:
        self.found[tier] += 1
        self.judged[verdict] += 1


@dataclass(slots=True)
class Report:
    """Everything that ``cache replay`` tells. ``repeats``: questions whose label came before."""

    ours: Tally
    cosines: list[Tally]
    worst: list[Example] = field(default_factory=list)
    bad: list[tuple[int, str]] = field(default_factory=list)
    bad_lines: int = 0
    not_stored: int = 0
    repeats: int = 0
    stopped_at_limit: bool = False


# --- reading --------------------------------------------------------------------------------------


def parse(raw: bytes) -> Line:
    """One line. Raises ``BadInput`` with a clause that says what is wrong with it."""
    if len(raw) > LINE_BYTES_MAX:
        raise BadInput(f"is longer than {LINE_BYTES_MAX // 1024} KiB")
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError as exc:
        raise BadInput(f"is not JSON: {exc}") from exc
    if not isinstance(found, dict):
        raise BadInput("is not an object")
    query, answer = found.get("query"), found.get("answer")
    if query is None and "messages" in found:
        query, said = _turns(found["messages"])
        answer = said if answer is None else answer
    if not isinstance(query, str) or not normalise(query):
        raise BadInput('has no "query" with a question in it')
    if answer is not None and not isinstance(answer, str):
        raise BadInput('has an "answer" that is not text')
    label = found.get("id") if found.get("class") is None else found["class"]
    if label is not None and not isinstance(label, str | int):
        raise BadInput('has a "class" or "id" that is neither text nor a whole number')
    return Line(query, answer or None, None if label is None else str(label), _time(found.get("time")))


def _turns(messages: object) -> tuple[str, str | None]:
    """The one question of a conversation, and what answered it."""
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        raise BadInput('has "messages" that are not a list of objects')
    turns = [(one.get("role"), one.get("content")) for one in messages if one.get("role") != "system"]
    if not turns or len(turns) > 2 or turns[0][0] != "user":
        raise BadInput("is a conversation of several turns: its question is not asked by itself")
    if any(not isinstance(content, str) for _, content in turns):
        raise BadInput("has a message whose content is not text")
    return str(turns[0][1]), str(turns[1][1]) if len(turns) == 2 else None


def _time(value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            when = datetime.fromtimestamp(value, UTC)
        else:
            when = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError) as exc:
        raise BadInput('has a "time" that is neither ISO 8601 nor seconds since 1970') from exc
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    if not _TIMES[0] <= when <= _TIMES[1]:
        raise BadInput('has a "time" before 1970 or after 2200')  # lifetimes must not leave the calendar
    return when


def _raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """Lines that are never longer than one byte past the limit; the rest of a longer one is skipped."""
    while line := file.readline(LINE_BYTES_MAX + 1):
        rest = line
        while len(rest) > LINE_BYTES_MAX and not rest.endswith(b"\n"):
            rest = file.readline(LINE_BYTES_MAX + 1)
        yield line


# --- plain cosine ---------------------------------------------------------------------------------


class CosineCache:
    """What most semantic caches are: the nearest stored question serves from one cosine on."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._exact: dict[str, Line] = {}
        self._rows: NDArray[Any] | None = None
        self._lines: list[Line] = []
        self.tally = Tally(f"cosine {threshold:g}")

    def ask(self, text: str, line: Line, vector: Vector | None) -> None:
        """Look up, judge, and store on a miss."""
        self.tally.lookups += 1
        known = self._exact.get(text)
        if known is not None:
            self.tally.add("exact", _verdict(known, line, text))
            return
        if vector is not None and self._rows is not None and self._lines:
            scores = self._rows[: len(self._lines)] @ vector
            best = int(scores.argmax())
            if float(scores[best]) >= self._threshold:
                self.tally.add("semantic", _verdict(self._lines[best], line, text))
                return
        self._exact[text] = line
        if vector is not None:
            self._keep(line, vector)

    def _keep(self, line: Line, vector: Vector) -> None:
        import numpy as np

        if self._rows is None:
            self._rows = np.zeros((256, len(vector)), np.float32)
        elif len(self._lines) == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[len(self._lines)] = vector
        self._lines.append(line)


def _verdict(stored: Line, asked: Line, text: str) -> str:
    if stored.label is not None and asked.label is not None:
        return RIGHT if stored.label == asked.label else WRONG
    if stored.answer is not None and asked.answer is not None:
        return same_answer(stored.answer, asked.answer, question=text).verdict
    return UNDECIDED


# --- replaying ------------------------------------------------------------------------------------


class Replay:
    """One run over one file."""

    def __init__(self, service: Service, clock: ReplayClock) -> None:
        self._service = service
        self._clock = clock
        self._stored: dict[str, Line] = {}
        self._labels: set[str] = set()
        self._cosines = [CosineCache(threshold) for threshold in COSINES]
        self._worst: list[tuple[float, int, Example]] = []
        self._report = Report(Tally(_OURS), [one.tally for one in self._cosines])

    async def run(
        self, path: Path, *, limit: int = LIMIT, show: Callable[[int], None] = lambda _: None
    ) -> Report:
        """Replay a file. Raises ``BadInput`` when it cannot be read, ``Unavailable`` when the node cannot go
        on."""
        try:
            file = await asyncio.to_thread(path.open, "rb")
        except OSError as exc:
            raise BadInput(f"cannot read {path}: {exc.strerror}") from exc
        report, number = self._report, 0
        try:
            lines = _raw_lines(file)
            while chunk := await asyncio.to_thread(lambda: list(islice(lines, _CHUNK))):
                for raw in chunk:
                    if report.ours.lookups >= limit:
                        report.stopped_at_limit = True
                        return self._done()
                    number += 1
                    if raw.strip():
                        await self._line(number, raw)
                show(report.ours.lookups)
        except OSError as exc:
            raise BadInput(f"cannot read {path}: {exc.strerror}") from exc
        finally:
            await asyncio.to_thread(file.close)
        return self._done()

    def _done(self) -> Report:
        self._report.worst = [one for _, _, one in sorted(self._worst, reverse=True)]
        return self._report

    async def _line(self, number: int, raw: bytes) -> None:
        try:
            line = parse(raw)
        except BadInput as exc:
            self._report.bad_lines += 1
            if len(self._report.bad) < BAD_SHOWN_MAX:
                self._report.bad.append((number, str(exc)))
            return
        if line.time is not None:
            self._clock.set_to(line.time)
        if line.label is not None:
            self._report.repeats += line.label in self._labels
            self._labels.add(line.label)
        await self._ours(number, line)
        text = normalise(line.query)
        vector = await self._service.embed(text)
        for cache in self._cosines:
            cache.ask(text, line, vector)

    async def _ours(self, number: int, line: Line) -> None:
        tally = self._report.ours
        tally.lookups += 1
        recall, _ = await self._service.search(Ask(line.query, _CALLER), None, new_id())
        found = recall.found
        if found is None:
            await self._store(number, line)
            return
        cid, text = str(found.stored.cid), normalise(line.query)
        stored = self._stored.get(cid, Line(found.record.query))
        verdict = _verdict(stored, line, text)
        tally.add(found.hit.kind, verdict)
        if verdict != WRONG:
            return
        judged = next((one.judged for one in recall.seen if one.judged.candidate.cid == cid), None)
        similarity = 1.0 if found.hit.similarity is None else found.hit.similarity
        example = Example(
            similarity, text, found.record.query, None if judged is None else judged.u, found.hit.reason
        )
        heapq.heappush(self._worst, (similarity, number, example))
        if len(self._worst) > WORST_MAX:
            heapq.heappop(self._worst)

    async def _store(self, number: int, line: Line) -> None:
        answer = line.answer or (f"answer of {line.label}" if line.label else f"answer of line {number}")
        try:
            kept = await self._service.put(Entry(line.query, answer, _CALLER), new_id())
        except (Rejected, BadInput):  # too long for a record, say: then the cache could not have had it
            self._report.not_stored += 1
            return
        self._stored[kept.cid] = line


# --- telling --------------------------------------------------------------------------------------


def as_json(report: Report) -> dict[str, Any]:
    """The report for programs."""
    return {
        "lookups": report.ours.lookups,
        "repeats": report.repeats,
        "stopped_at_limit": report.stopped_at_limit,
        "bad_lines": report.bad_lines,
        "bad": [{"line": number, "reason": reason} for number, reason in report.bad],
        "not_stored": report.not_stored,
        "caches": [_tally(one) for one in (report.ours, *report.cosines)],
        "worst": [
            {
                "query": one.query,
                "stored": one.stored,
                "similarity": one.similarity,
                "u": one.u,
                "reason": one.reason,
            }
            for one in report.worst
        ],
    }


def _tally(tally: Tally) -> dict[str, Any]:
    wrong, of_hits = tally.of_lookups, tally.of_hits
    return {
        "name": tally.name,
        "hits": tally.hits,
        "by_tier": {tier: tally.found[tier] for tier in ("exact", "slot", "semantic")},
        "saved_share": tally.hits / tally.lookups if tally.lookups else 0.0,
        "right": tally.judged[RIGHT],
        "wrong": tally.judged[WRONG],
        "undecided": tally.judged[UNDECIDED],
        "wrong_share": wrong.share,
        "wrong_share_upper": wrong.upper if wrong.decided else None,
        "wrong_of_hits": of_hits.share,
        "wrong_of_hits_upper": of_hits.upper if of_hits.decided else None,
    }


def as_text(report: Report) -> str:
    """The report for people."""
    tallies = (report.ours, *report.cosines)
    rows = [
        f"{report.ours.lookups} questions replayed; each hit is a computation saved",
        "",
        f"{'':<12} {'saved':>7} {'exact':>7} {'slot':>7} {'semantic':>9} {'right':>7} {'wrong':>7}"
        f" {'undecided':>10} {'wrong, of all':>14} {'at most':>8} {'of hits':>8}",
    ]
    for one in tallies:
        saved = f"{one.hits / one.lookups:.1%}" if one.lookups else "-"
        wrong, hits = one.of_lookups, one.of_hits
        rows.append(
            f"{one.name:<12} {saved:>7} {one.found['exact']:>7} {one.found['slot']:>7}"
            f" {one.found['semantic']:>9} {one.judged[RIGHT]:>7} {one.judged[WRONG]:>7}"
            f" {one.judged[UNDECIDED]:>10} {_percent(wrong.share):>14}"
            f" {_percent(wrong.upper if wrong.decided else None):>8} {_percent(hits.share):>8}"
        )
    rows.append("at most: one-sided 95 % upper limit, without the hits that nothing tells right from wrong")
    if report.repeats:
        rows.append(f"{report.repeats} questions had a class that came before")
    if report.ours.judged[UNDECIDED]:
        rows.append("undecided: neither class nor answer tells; give lines a class, an id or an answer")
    if report.not_stored:
        rows.append(
            f"{report.not_stored} answers cannot be stored (too long, or a limit of the record format)"
        )
    if report.stopped_at_limit:
        rows.append("stopped at --limit; there are more lines")
    rows += [f"line {number} {reason}" for number, reason in report.bad]
    if report.bad_lines > len(report.bad):
        rows.append(f"and {report.bad_lines - len(report.bad)} more lines that cannot be used")
    if report.worst:
        rows += ["", "wrong hits, the most similar first:"]
    for example in report.worst:
        rows.append(f"  {example.similarity:.3f}  {example.query[:100]}")
        rows.append(f"         {example.stored[:100]}  ({example.reason[:120]})")
    return "\n".join(rows)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.2%}"
