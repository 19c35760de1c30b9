"""Values as the JSON of the documented replies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from node import __version__
from node.cache.quality.estimate import Estimate
from node.cache.recall import Recall
from node.core.model import CLAIM, PPM, Answer, Check, Citation, DecisionRef, HitInfo, Route, Slots
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord, as_map, format_time
from node.pipeline.health import worst
from node.pipeline.requests import CacheStats, Merged


def _time(when: datetime | None) -> str | None:
    return None if when is None else format_time(when)


def _slots(slots: Slots) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in slots.items()}


def _citation(one: Citation) -> dict[str, Any]:
    return {
        "source": one.source,
        "locator": one.locator,
        "snippet": one.snippet,
        "url": one.url,
        "time": _time(one.time),
    }


def _hit(hit: HitInfo | None) -> dict[str, Any] | None:
    if hit is None:
        return None
    return {
        "kind": hit.kind,
        "similarity": None if hit.similarity is None else round(hit.similarity, 6),
        "score": round(hit.score, 6),
        "threshold": hit.threshold,
        "p_correct": hit.p_correct,
        "age_s": hit.age_s,
        "origin": hit.origin,
        "reason": hit.reason,
    }


def decision(ref: DecisionRef | None) -> dict[str, Any] | None:
    """Where a decision stands in the log."""
    return None if ref is None else {"log": ref.log, "index": ref.index}


def answer(value: Answer, *, verbose: bool, receipt: str | None = None) -> dict[str, Any]:
    """The reply of ``POST /chat``. ``receipt`` proves its decision, shown when ``verbose``."""
    body: dict[str, Any] = {
        "request_id": value.query.id,
        "answer": value.text,
        "route": str(value.route.kind),
        "source": {"kind": value.source.kind, "id": value.source.id},
        "citations": [_citation(one) for one in value.citations],
        "confidence": round(value.confidence.value, 6),
        "confidence_parts": {name: round(part, 6) for name, part in value.confidence.parts.items()},
        "found": None if value.confidence.found is None else round(value.confidence.found, 6),
        "support": None if value.confidence.support is None else round(value.confidence.support, 6),
        "cid": value.cid,
        "stored": value.stored,
        "store_reason": value.store_reason,
        "draft": value.draft,
        "unverified": value.unverified,
        "hit": _hit(value.hit),
        "stale": value.stale,
        "logged": value.decision is not None,
        "decision": decision(value.decision),
        "usage": {
            "prompt_tokens": value.usage.prompt_tokens,
            "completion_tokens": value.usage.completion_tokens,
        },
    }
    if value.retry_after_s is not None:
        body["retry_after_s"] = value.retry_after_s
    if verbose or value.parts:
        body["parts"] = [
            {
                "query": part.query.text,
                "answer": part.text,
                "route": str(part.route.kind),
                "source": {"kind": part.source.kind, "id": part.source.id},
                "confidence": round(part.confidence.value, 6),
                "cid": part.cid,
                "unverified": part.unverified,
            }
            for part in value.parts
        ]
    if verbose and value.decision is not None:
        body["decision"]["receipt"] = receipt
    if verbose:
        body["slots"] = _slots(value.route.slots)
        body["trace"] = [
            {"stage": step.stage, "outcome": step.outcome, "reason": step.reason, "ms": step.ms}
            for step in value.trace
        ]
    return body


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
    return {
        name: first[name]
        for name in ("route", "adapter", "slots", "key", "context", "threshold", "sources", "reason")
    } | {"parts": shown if len(shown) > 1 else []}


def search(recall: Recall, ref: DecisionRef | None) -> dict[str, Any]:
    """The reply of ``POST /v1/cache/search``."""
    found = recall.found
    return {
        "hit": None if found is None else _hit(found.hit),
        "answer": None if found is None else found.record.answer,
        "cid": None if found is None else str(found.stored.cid),
        "confidence": None if found is None else found.record.confidence / PPM,
        "reason": recall.reason,
        "candidates": [
            {
                "cid": seen.judged.candidate.cid,
                "similarity": seen.judged.candidate.similarity,
                "score": seen.judged.score,
                "u": seen.judged.u,
                "reason": seen.judged.reason,
            }
            for seen in recall.seen
        ],
        "decision": decision(ref),
    }


def _estimate(value: Estimate) -> dict[str, Any]:
    return {
        "right": value.right,
        "wrong": value.wrong,
        "undecided": value.undecided,
        "wrong_share": value.share,
        "low": value.low,
        "high": value.high,
        "upper": value.upper,
    }


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
        "state": value.state,
        "origin": value.origin,
        "issuer": record.issuer,
        "key": record.key,
        "scope": record.scope,
        "timestamp": format_time(record.timestamp),
        "expires": _time(record.expires),
        "sig": record.sig.hex(),
    }
    if isinstance(record, AnswerRecord):
        embedding = record.embedding
        body |= {
            "query": record.query,
            "query_hash": record.query_hash,
            "normaliser": record.normaliser,
            "answer": record.answer,
            "route": record.route,
            "slots": None if record.slots is None else _slots(record.slots),
            "slot_key": record.slot_key,
            "source": as_map(record.source),
            "citations": as_map(record.citations),
            "unverified": record.is_unverified,
            "confidence": record.confidence / PPM,
            "confidence_parts": {name: part / PPM for name, part in record.confidence_parts.items()},
            "embedding": None
            if embedding is None
            else {"model": embedding.model, "digest": embedding.digest, "dim": embedding.dim},
            "llm": None if record.llm is None else {"id": record.llm.id, "digest": record.llm.digest},
            "tags": list(record.tags),
            "supersedes": record.supersedes,
            "validations": {"valid": value.valid, "invalid": value.invalid},
            "merged": [
                {
                    "cid": str(one.cid),
                    "query": one.query,
                    "query_hash": one.query_hash,
                    "source": {"kind": one.source_kind, "id": one.source_id},
                    "timestamp": format_time(one.timestamp),
                    "origin": one.origin,
                }
                for one in merged.aliases
            ],
            "merged_into": None if merged.into is None else str(merged.into),
        }
    return body


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
