"""Values as the JSON of the documented replies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from node import __version__
from node.cache.quality.estimate import Estimate
from node.cache.recall import Recall
from node.core.errors import Rejected
from node.core.model import (
    CLAIM,
    PPM,
    Answer,
    Check,
    Citation,
    DecisionRef,
    HitInfo,
    InDocuments,
    Route,
    Slots,
    SourceRef,
)
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord, as_map, format_time
from node.core.template import Template
from node.pipeline.health import worst
from node.pipeline.ready import Again
from node.pipeline.replies import client_of, source_of
from node.pipeline.requests import CacheStats, Feedback, Kept, Merged


def _time(when: datetime | None) -> str | None:
    return None if when is None else format_time(when)


def _of(value: object, names: str) -> dict[str, Any]:
    """Its attributes of these names, as they are."""
    return {name: getattr(value, name) for name in names.split()}


def _slots(slots: Slots) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in slots.items()}


def _source(source: SourceRef) -> dict[str, Any]:
    """``client``: of an answer that a client stored, who that was, and what it names as its source."""
    client = source.client
    return _of(source, "kind id") | ({} if client is None else {"client": _of(client, "by claim")})


def _citation(one: Citation) -> dict[str, Any]:
    shown = _of(one, "source locator snippet url") | {"time": _time(one.time)}
    if one.cid is not None:
        shown |= {"cid": one.cid, "status": one.status, "last_modified": shown["time"]}
    return shown


def documents(value: InDocuments | None) -> dict[str, Any]:
    """What an answer owes to documents, in fields of their own; none where none were searched."""
    if value is None:
        return {}
    disputes = [
        _of(one, "kind one other holds")
        | {
            "since": None if one.since is None else one.since.isoformat(),
            "said": list(filter(None, one.said)),
        }
        | {"is_suggestion": one.is_suggestion}
        for one in value.disputes
    ]
    return {
        "has_contradiction": value.has_contradiction,
        "contradictions": disputes,
        "orders_in": list(value.orders),
        "uncited_figures": list(value.uncited),
        "context_size": len(value.used),
    }


def _hit(hit: HitInfo | None) -> dict[str, Any] | None:
    if hit is None:
        return None
    rounded = {"similarity": _share(hit.similarity), "score": round(hit.score, 6)}
    return _of(hit, "kind similarity score threshold p_correct age_s origin reason") | rounded


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def decision(ref: DecisionRef | None) -> dict[str, Any] | None:
    """Where a decision stands in the log."""
    return None if ref is None else _of(ref, "log index")


def answer(value: Answer, *, verbose: bool, receipt: str | None = None) -> dict[str, Any]:
    """The reply of ``POST /chat``. ``receipt`` proves its decision, shown when ``verbose``."""
    body: dict[str, Any] = {
        "request_id": value.query.id,
        "answer": value.text,
        "route": str(value.route.kind),
        "source": _source(value.source),
        "citations": [_citation(one) for one in value.citations],
        "confidence": round(value.confidence.value, 6),
        "confidence_parts": {name: round(part, 6) for name, part in value.confidence.parts.items()},
        "found": _share(value.confidence.found),
        "support": _share(value.confidence.support),
        **_of(value, "cid stored store_reason draft unverified"),
        "hit": _hit(value.hit),
        "stale": value.stale,
        "logged": value.decision is not None,
        "decision": decision(value.decision),
        "usage": _of(value.usage, "prompt_tokens completion_tokens"),
    }
    if value.retry_after_s is not None:
        body["retry_after_s"] = value.retry_after_s
    body |= documents(value.documents)
    if verbose or value.parts:
        body["parts"] = [
            {
                "query": part.query.text,
                "answer": part.text,
                "route": str(part.route.kind),
                "source": _source(part.source),
                "confidence": round(part.confidence.value, 6),
                **_of(part, "cid unverified"),
            }
            for part in value.parts
        ]
    if verbose and value.decision is not None:
        body["decision"]["receipt"] = receipt
    if verbose:
        body["slots"] = _slots(value.route.slots)
        body["trace"] = [_of(step, "stage outcome reason ms") for step in value.trace]
    return body


_PLACES = ('"@request"', '"@age_s"', '"@logged"', '"@decision"')


def again(value: Again) -> bytes:
    """The reply of ``POST /chat`` to an answer from memory, in the bytes that ``answer`` comes to."""
    ready = value.ready
    if ready.reply is None:
        body = answer(ready.answer, verbose=False)
        body |= {"request_id": "@request", "logged": "@logged", "decision": "@decision"}
        body["hit"]["age_s"] = "@age_s"
        try:
            ready.reply = Template(orjson.dumps(body).decode(), _PLACES)
        except Rejected:  # a text of its own has the name of a place
            return orjson.dumps(answer(value.answer, verbose=False))
    logged, place, ref = "false", "null", value.decision
    if ref is not None:
        logged, place = "true", f'{{"log":{_quoted(ref.log)},"index":{ref.index}}}'
    return ready.reply.filled(f'"{value.request}"', value.age_s, logged, place)


@lru_cache(16)
def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def route(parts: Sequence[tuple[str, Route]]) -> dict[str, Any]:
    """The reply of ``POST /route``."""
    shown = [
        {
            "query": text,
            "route": str(one.kind),
            "adapter": one.adapter if one.strength >= CLAIM else None,
            "slots": _slots(one.slots) if one.strength >= CLAIM else {},
            "key": one.key,
            "context": None
            if one.strength >= CLAIM
            else {"adapter": one.adapter, "slots": _slots(one.slots)},
            "threshold": one.floor,
            "sources": [str(source) for source in one.sources],
            "reason": one.reason,
        }
        for text, one in parts
    ]
    first = shown[0]
    alone = {name: value for name, value in first.items() if name != "query"}
    return alone | {"parts": shown if len(shown) > 1 else []}


def search(recall: Recall, ref: DecisionRef | None) -> dict[str, Any]:
    """The reply of ``POST /v1/cache/search``."""
    found = recall.found
    return {
        "hit": None if found is None else _hit(found.hit),
        "answer": None if found is None else found.record.answer,
        "source": None if found is None else _source(source_of(found.stored, found.record)),
        "cid": None if found is None else str(found.stored.cid),
        "confidence": None if found is None else found.record.confidence / PPM,
        "reason": recall.reason,
        "candidates": [
            {
                "cid": seen.judged.candidate.cid,
                "similarity": seen.judged.candidate.similarity,
                **_of(seen.judged, "score u reason"),
            }
            for seen in recall.seen
        ],
        "decision": decision(ref),
    }


def _estimate(value: Estimate) -> dict[str, Any]:
    shares = {"wrong_share": value.share, **_of(value, "low high upper")}
    return _of(value, "right wrong undecided") | shares


def cache_stats(value: CacheStats) -> dict[str, Any]:
    """The reply of ``GET /v1/cache/stats``."""
    facts = value.facts
    return {
        "shadow": facts.shadow,
        "entries": value.counts["live"],
        "blocks": value.counts["blocks"],
        "bytes": value.counts["bytes"],
        "vectors": value.semantic.vectors,
        "evicted": value.evicted,
        "hits": [
            {"kind": kind, "tier": tier, "count": count} for (kind, tier), count in sorted(facts.hits.items())
        ],
        "gate": {
            "lookups": facts.lookups,
            "let_through": facts.gated,
            "would_be_hits": facts.would_be_hits,
        },
        "wrong_hits": _estimate(facts.overall),
        "wrong_hits_by_route": [
            {"kind": kind, "tier": tier, **_estimate(one)} for (kind, tier), one in facts.by_route.items()
        ],
        "feedback": _estimate(facts.feedback),
        "audits": dict(facts.audits),
        "labels": [
            {"source": source, "verdict": verdict, "count": count}
            for (source, verdict), count in sorted(facts.labels.items())
        ],
        "records_tightened": facts.tightened,
        "answers": {"from_cache": value.served, "made": value.made},
        "saved_s": value.saved_s,
    }


def stored(value: StoredRecord, merged: Merged) -> dict[str, Any]:
    """The reply of ``GET /v1/cache/entries/{cid}``."""
    record = value.record
    body: dict[str, Any] = {
        "cid": str(value.cid),
        "kind": record.kind,
        **_of(value, "state origin"),
        **_of(record, "issuer key scope"),
        "timestamp": format_time(record.timestamp),
        "expires": _time(record.expires),
        "sig": record.sig.hex(),
    }
    if isinstance(record, AnswerRecord):
        embedding, client = record.embedding, client_of(value, record)
        body |= {
            **_of(record, "query query_hash context normaliser answer route"),
            "slots": None if record.slots is None else _slots(record.slots),
            "slot_key": record.slot_key,
            "source": as_map(record.source) | ({} if client is None else {"client": _of(client, "by claim")}),
            "citations": as_map(record.citations),
            "unverified": record.is_unverified,
            "confidence": record.confidence / PPM,
            "confidence_parts": {name: part / PPM for name, part in record.confidence_parts.items()},
            "embedding": embedding and _of(embedding, "model digest dim"),
            "llm": record.llm and _of(record.llm, "id digest"),
            "tags": list(record.tags),
            "supersedes": record.supersedes,
            "validations": _of(value, "valid invalid"),
            "merged": [
                {
                    "cid": str(one.cid),
                    **_of(one, "query query_hash"),
                    "source": {"kind": one.source_kind, "id": one.source_id},
                    "timestamp": format_time(one.timestamp),
                    "origin": one.origin,
                }
                for one in merged.aliases
            ],
            "merged_into": None if merged.into is None else str(merged.into),
        }
    return body


def kept(value: Kept) -> dict[str, Any]:
    """``reason``: why the scope is narrower than was asked for; ``ends``: why it expires sooner."""
    said = {name: text for name in ("reason", "ends") if (text := getattr(value, name))}
    return _of(value, "cid scope by expires") | said


def feedback(done: Feedback) -> dict[str, Any]:
    """The reply of ``POST /feedback``."""
    return {
        **_of(done, "cid verdict validation"),
        "validations": _of(done, "valid invalid"),
        **_of(done, "served correction"),
        "decision": decision(done.decision),
    }


def health(checks: Sequence[Check], *, service_id: str) -> dict[str, Any]:
    """``application/health+json``."""
    return {
        "status": worst(checks),
        "version": "1",
        "releaseId": __version__,
        "serviceId": service_id,
        "checks": {
            check.name: [
                {
                    "status": check.status,
                    "output": check.output,
                    "time": _time(check.since),
                    "observedValue": check.observed,
                    "observedUnit": check.unit,
                }
            ]
            for check in checks
        },
    }
