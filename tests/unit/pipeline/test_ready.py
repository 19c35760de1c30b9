"""Hits that are served again from memory, against a plain model of what the store holds."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo

import orjson
import pytest

from node.api import views
from node.cache.recall import Recall, Recalled
from node.core.caller import Caller
from node.core.ipld.cid import RAW, Cid
from node.core.model import (
    Answer,
    Confidence,
    DecisionRef,
    Freshness,
    HitInfo,
    Kind,
    Query,
    Route,
    Source,
    SourceRef,
    Step,
)
from node.core.normalise import query_hash
from node.core.ports import StoredRecord
from node.pipeline.ready import Again, Attempt, ReadyHits
from node.store.touched import Touched
from tests.each import each
from tests.manual_clock import ManualClock
from tests.record_builders import Author

US = Author(1)
TEXTS = ("The tools, 100 % of them.", 'größe \u2028 "@age_s" %s \\', "@decision", "@request")
REFS = (DecisionRef("log/one", 7), DecisionRef('a "log" of ü %d', 2**40), None)
WORDS = tuple(f"what is {word}" for word in ("tin", "wax", "hemp", "jute", "boron"))
CALLERS = (Caller(), Caller("b", "private:b"))
ZONES: tuple[tzinfo, ...] = (UTC, timezone(timedelta(hours=9)))
STEPS = 100_000


class Model:
    """What a walk finds: for each question and scope the newest record, as long as it lives."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.held: dict[tuple[str, str], tuple[int, datetime | None]] = {}
        self.number = 0

    def put(self, text: str, scope: str, lives_s: int | None) -> Touched:
        self.number += 1
        expires = None if lives_s is None else self.clock.now() + timedelta(seconds=lives_s)
        self.held[text, scope] = (self.number, expires)
        return self.touched(text, scope)

    def drop(self, text: str, scope: str) -> Touched:
        self.held.pop((text, scope), None)
        return self.touched(text, scope)

    @staticmethod
    def touched(text: str, scope: str) -> Touched:
        if scope == "shared":
            return Touched(frozenset({query_hash(text)}), frozenset())
        return Touched(frozenset(), frozenset({scope}))

    def found(self, text: str, caller: Caller) -> tuple[int, datetime | None] | None:
        now = self.clock.now()
        some = [self.held.get((text, scope)) for scope in ("shared", f"private:{caller.tenant}")]
        live = [one for one in some if one is not None and (one[1] is None or one[1] > now)]
        return max(live, key=lambda one: one[0], default=None)


def query_of(clock: ManualClock, text: str, caller: Caller, zone: tzinfo) -> Query:
    return Query("r", f"{text}?", text, caller, clock.now(), clock.monotonic() + 30, zone=zone)


def keep(ready: ReadyHits, attempt: Attempt, query: Query, found: tuple[int | str, datetime | None]) -> None:
    number, expires = found
    record = US.answer(query.text, answer=str(number), timestamp=query.received, expires=expires)
    stored = StoredRecord(Cid.of(str(number).encode(), RAW), record, 1, "live", "local", 0, 0)
    hit = HitInfo("exact", 1.0, 0.9, None, 1.0, 0, "local", "same question", "same_question")
    route = Route(Kind.GENERATIVE, (Source.CACHE,), 0.8, "")
    answer = Answer(
        query,
        str(number),
        route,
        SourceRef("llm", "m"),
        Confidence(0.9, {}),
        Freshness.GENERAL,
        hit=hit,
        trace=(Step("understand", "generative"), Step("record", "logged")),
    )
    recall = Recall(Recalled(stored, record, hit), "same_question", "")
    ready.keep(attempt, query.text, answer, recall, lambda kept: ({"kind": "answer", "hit": {}}, {}))


@pytest.mark.parametrize("steps", [STEPS // 5, pytest.param(STEPS, marks=pytest.mark.slow)])
def test_it_says_what_a_walk_would_say_over_a_hundred_thousand_steps(steps: int) -> None:
    chance, clock = random.Random(20_261_128), ManualClock()
    ready, model = ReadyHits(bytes_max=90_000), Model(clock)
    served = 0
    for _ in range(steps):
        text, caller, zone = chance.choice(WORDS), chance.choice(CALLERS), chance.choice(ZONES)
        scope = chance.choice(("shared", "shared", f"private:{caller.tenant}"))
        match chance.random():
            case x if x < 0.04:
                ready.touched(model.put(text, scope, chance.choice((None, 20, 400))))
            case x if x < 0.06:
                ready.touched(model.drop(text, scope))
            case x if x < 0.09:
                clock.advance(chance.choice((1, 30, 700, 40_000)))
            case x if x < 0.095:
                ready.clear()
            case _:
                found, again = model.found(text, caller), ready.find(f"{text}?", caller, zone, clock.now())
                if again is not None:
                    served += 1
                    assert found is not None
                    assert again.answer.text == str(found[0])
                    asked = again.answer.query
                    assert asked.local.date() == clock.now().astimezone(zone).date()
                    assert {step.stage for step in again.answer.trace} == {"understand"}
                elif found is not None:
                    query = query_of(clock, text, caller, zone)
                    attempt = ready.begin(query)
                    assert attempt is not None
                    if chance.random() < 0.1:  # the store changes under the walk
                        ready.touched(model.put(text, scope, None))
                    keep(ready, attempt, query, found)
                    ready.end(attempt)
    assert served > steps / 4


def test_only_what_hangs_on_the_words_alone_is_kept() -> None:
    clock = ManualClock()
    ready, query = ReadyHits(), query_of(clock, WORDS[0], CALLERS[0], UTC)
    changes = (
        {"session": "s"},
        {"context": "c"},
        {"tags": ("t",)},
        {"no_cache": True},
        {"no_store": True},
        {"max_age_s": 5},
        {"ttl_s": 5},
    )
    for change in changes:
        assert ready.begin(replace(query, **change)) is None
    assert ready.begin(query) is not None


@each("text", TEXTS)
@each("ref", REFS)
def test_a_reply_from_memory_has_the_bytes_of_one_written_anew(text: str, ref: DecisionRef | None) -> None:
    clock, ready = ManualClock(), ReadyHits()
    query = query_of(clock, WORDS[0], CALLERS[0], UTC)
    attempt = ready.begin(query)
    assert attempt is not None
    keep(ready, attempt, query, (text, None))
    found = ready.find(query.asked, query.caller, query.zone, clock.now())
    assert found is not None
    for request, age_s in (("one", 0), ("two", 86_400)):
        again = Again(found, request, request, clock.now(), age_s, ref)
        assert again.answer.query.id == request
        assert views.again(again) == orjson.dumps(views.answer(again.answer, verbose=False))
