"""What HTTP says about caches: a request's ``Cache-Control`` (RFC 9111), a reply's ``Cache-Status`` (RFC
9211) and ``Age``. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from node.api.openai.faults import Fault
from node.core.model import Answer

_NAME = "neuroswarm"
_SECONDS_MAX = 2**31


@dataclass(frozen=True, slots=True)
class Directives:
    """What the client wants of the cache."""

    no_cache: bool = False
    no_store: bool = False
    max_age_s: int | None = None
    only_if_cached: bool = False


def directives(headers: Iterable[str]) -> Directives:
    """Of every ``Cache-Control`` header. Raises ``Fault`` for a ``max-age`` that is no number; what is not
    known is not heeded."""
    found: dict[str, str] = {}
    for one in ",".join(headers).lower().split(","):
        name, _, value = one.strip().partition("=")
        found[name.strip()] = value.strip().strip('"')
    max_age_s = None
    if "max-age" in found:
        if not (found["max-age"].isascii() and found["max-age"].isdigit()):
            raise Fault(
                "max-age must be a whole number of seconds", param="Cache-Control", code="invalid_value"
            )
        max_age_s = min(int(found["max-age"][:12]), _SECONDS_MAX)
    return Directives("no-cache" in found, "no-store" in found, max_age_s, "only-if-cached" in found)


def headers(answer: Answer, *, bypass: str = "", fwd_status: int | None = None) -> dict[str, str]:
    """``Cache-Status``, and of an answer from the cache its ``Age``. ``bypass``: why the cache was passed
    over; ``fwd_status``: of the upstream that was asked."""
    hit = answer.hit
    if hit is not None:
        return {"Cache-Status": f"{_NAME}; hit; detail={hit.kind}", "Age": str(hit.age_s)}
    if answer.stale or answer.draft:
        return {"Cache-Status": f"{_NAME}; hit; detail={'stale' if answer.stale else 'draft'}"}
    steps = {(step.stage, step.outcome) for step in answer.trace}
    if bypass or answer.source.kind == "statement":
        said = ["fwd=bypass", f'detail="{bypass or "statement"}"']
    else:
        said = ["fwd=request" if answer.query.no_cache else "fwd=miss"]
    said += [] if fwd_status is None else [f"fwd-status={fwd_status}"]
    said += ["stored"] if answer.stored else []
    said += ["collapsed"] if ("single_flight", "joined") in steps else []
    return {"Cache-Status": "; ".join([_NAME, *said])}
