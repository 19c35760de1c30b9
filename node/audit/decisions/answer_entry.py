"""What an answer leaves behind in the log: why it was given, and whether it was stored. ``entry`` states the
rules. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from node.audit.decisions.entry_fields import (
    CODE,
    MODEL_SOURCES,
    NAMED_SOURCES,
    NAMES_MAX,
    PART_STEPS_MAX,
    PARTS_MAX,
    STEPS_MAX,
    VERSION,
    Entry,
    cid_of,
    client_of,
    confidence_of,
    digest_of,
    is_cid,
    microseconds,
    ppm,
    request_of,
    safe_code,
    safe_step,
    scope_class,
    seconds,
    token,
)
from node.core.caller import SCOPE_PUBLIC
from node.core.model import Answer, Client, Confidence, HitInfo, Json, Route, SourceRef, Step
from node.core.ports import EmbedderInfo

_DECISIONS = {"statement": "acknowledged", "fallback": "refused"}
"""By kind of source: nothing was asked, nothing could be found out. All others: served."""


def _source(
    source: SourceRef, scope: str, private: dict[str, str], *, name: str = "source"
) -> dict[str, Json]:
    """Kind and id; an id that could carry a user's words or a private CID is committed to instead.
    ``client``: who stored it, where a client did, never what that calls its source."""
    kind = safe_code(source.kind)
    named = kind in NAMED_SOURCES and token(source.id) is not None and not is_cid(source.id)
    public_record = kind == "cache" and scope == SCOPE_PUBLIC and is_cid(source.id)
    if not named and not public_record and source.id:
        private[name] = source.id
    return {
        "kind": kind,
        "id": source.id if named or public_record else None,
        "client": client_of(source.client, scope, private, name=name),
    }


def _model(source: SourceRef) -> dict[str, Json] | None:
    if source.kind not in MODEL_SOURCES:
        return None
    return {"id": token(source.id), "digest": digest_of(source.digest)}


def _hit(hit: HitInfo | None, confidence: Confidence, asked: str) -> dict[str, Json] | None:
    """How a stored answer was matched: the record's part of the decision."""
    if hit is None:
        return None
    origin = token(hit.origin)
    return {
        "kind": safe_code(hit.kind),
        "similarity_ppm": ppm(hit.similarity),
        "confidence_ppm": ppm(confidence.value),
        "threshold_ppm": ppm(hit.threshold),
        "score_ppm": ppm(hit.score),
        "p_correct_ppm": ppm(hit.p_correct),
        "age_s": max(0, hit.age_s),
        "origin": None if origin is None or is_cid(origin) else origin,
        "reason": safe_code(hit.code or hit.reason, asked=asked),
    }


def _adapters(route: Route, trace: Sequence[Step], asked: str) -> list[Json]:
    """Which adapters were asked, and why: the names of the slots that matched, never their values. One that
    was due and never asked, because the cache answered, stands there as such."""
    steps: dict[str, Step | None] = {
        name: step
        for step in trace
        if (name := step.stage.removeprefix("adapter:")) != step.stage and token(name) is not None
    }
    rows = list(steps.items())[:NAMES_MAX]
    if route.adapter is not None and token(route.adapter) is not None and route.adapter not in steps:
        rows.insert(0, (route.adapter, None))
    return [
        {
            "name": name,
            "why": "slots_matched" if route.slots else "pattern_matched",
            "slots": [slot for slot in sorted(route.slots)[:NAMES_MAX] if CODE.match(slot)],
            "asked": step is not None,
            "outcome": None if step is None else safe_code(step.outcome, asked=asked),
            "latency_us": None if step is None else microseconds(step.ms),
        }
        for name, step in rows
    ]


# --- one request ----------------------------------------------------------------------------------


def _user_texts(answer: Answer) -> str:
    """Everything about the request that came from people, in lower case: no code may repeat it."""
    query = answer.query
    texts = [query.asked, query.text, query.session or "", query.caller.tenant]
    for one in (answer, *answer.parts[:PARTS_MAX]):
        texts += [one.text, one.query.text]
        texts += [str(value) for value in one.route.slots.values() if value is not None]
        if one.source.kind not in NAMED_SOURCES:
            texts.append(one.source.id)
    return "\n".join(texts).lower()


def _route_reason(answer: Answer, asked: str) -> str:
    """Why the question went where it went: the code of the step that understood it."""
    understood = next((step.code for step in answer.trace if step.stage == "understand"), "")
    return safe_code(understood or answer.route.reason, asked=asked)


def _walked(
    answer: Answer, scope: str, asked: str, private: dict[str, str], *, suffix: str = ""
) -> dict[str, Json]:
    """What an answer and each part of a composite one have in common."""
    steps_max = PART_STEPS_MAX if suffix else STEPS_MAX
    cid = cid_of(answer.cid, scope, private, name="cid" + suffix)
    hit = _hit(answer.hit, answer.confidence, asked)
    return {
        "class": answer.route.kind.value,
        "route_reason": _route_reason(answer, asked),
        "floor_ppm": ppm(answer.route.floor),
        "sources": [source.value for source in answer.route.sources[:NAMES_MAX]],
        "adapters": _adapters(answer.route, answer.trace, asked),
        "steps": [safe_step(step, asked=asked) for step in answer.trace[:steps_max]],
        "steps_left_out": max(0, len(answer.trace) - steps_max),
        "source": _source(answer.source, scope, private, name="source" + suffix),
        "model": _model(answer.source),
        "cid": cid,
        "hit": hit,
        "stale": answer.stale,
        "freshness": answer.freshness.value,
        "decision": _DECISIONS.get(answer.source.kind, "served"),
        **confidence_of(answer.confidence),
    }


def decision_entry(
    answer: Answer,
    *,
    policy: str,
    embedder: EmbedderInfo | None,
    will_store: bool,
    store_reason: str,
    scope: str,
) -> Entry:
    """The entry of one answered request (kind ``answer``, or ``refuse`` when nothing could be found out).

    ``policy`` names the rules in force; ``scope`` is that of the answer and of its record, if it has one;
    ``store_reason`` is a code. Private texts: ``query``, ``answer``, ``tenant``, and where they
    apply ``cid``, ``source``, ``request`` and ``cid_1``, ``source_1`` … of the parts.
    """
    asked = _user_texts(answer)
    private = {"query": answer.query.text, "answer": answer.text, "tenant": answer.query.caller.tenant}
    walked = _walked(answer, scope, asked, private)
    parts: list[Json] = [
        _walked(part, scope, asked, private, suffix=f"_{number}")
        for number, part in enumerate(answer.parts[:PARTS_MAX], start=1)
    ]
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "refuse" if walked["decision"] == "refused" else "answer",
        "request": request_of(answer.query.id, private),
        "policy": token(policy),
        "scope": scope_class(scope),
        "has_context": answer.query.context is not None,
        "embedder": None
        if embedder is None
        else {"id": token(embedder.model), "digest": digest_of(embedder.digest)},
        "storage": {
            "decision": "will_store" if will_store else "skipped",
            "reason": safe_code(store_reason, asked=asked),
        },
        "tokens": {"prompt": answer.usage.prompt_tokens, "completion": answer.usage.completion_tokens},
        **walked,
        "parts": parts,
        "parts_left_out": max(0, len(answer.parts) - PARTS_MAX),
    }
    return entry, private


def store_entry(
    *,
    request: str,
    outcome: str,
    reason: str,
    scope: str,
    policy: str,
    cid: str | None = None,
    expires: datetime | None = None,
    confidence: float | None = None,
    client: Client | None = None,
) -> Entry:
    """What became of a write-back. ``outcome``: stored, failed or skipped; ``reason``: a code. ``client``:
    who stored it through a door."""
    private: dict[str, str] = {}
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "store",
        "request": request_of(request, private),
        "policy": token(policy),
        "decision": {"stored": "stored"}.get(outcome, "not_stored"),
        "outcome": safe_code(outcome),
        "reason": safe_code(reason),
        "scope": scope_class(scope),
        "client": client_of(client, scope, private),
        "cid": cid_of(cid, scope, private),
        "expires_s": seconds(expires),
        "confidence_ppm": ppm(confidence),
    }
    return entry, private
