"""Members of log entries: codes in the place of words, integers in the place of figures, commitments in the
place of what nobody may see. ``entry`` states the rules. Pure."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import TypeAlias

from node.core.caller import LOCAL, SCOPE_PUBLIC, SCOPE_SHARED
from node.core.ipld.cid import Cid
from node.core.model import PPM, Client, Confidence, Json, Step
from node.language.tables import read_table, words

Entry: TypeAlias = tuple[dict[str, Json], dict[str, str]]

VERSION = 1

STEPS_MAX = 32
PARTS_MAX = 10
PART_STEPS_MAX = 12
"""Together these keep the longest entry under the log's 65,535 bytes."""
NAMES_MAX = 12

KNOWN_CODES = words(read_table(__package__, "entry.toml")["known_codes"])
"""Codes that stay readable even where the question happens to hold the same word."""

CODE = re.compile(r"[a-z0-9_]{1,40}\Z")
_STAGE = re.compile(r"[a-z0-9_.:-]{1,40}\Z")  # too short for a CID or a hash
_TOKEN = re.compile(r"[A-Za-z0-9_.:@/+-]{1,128}\Z")
_VKEY = re.compile(r"[A-Za-z0-9./:_-]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+\Z")
_VKEY_CHARS_MAX = 512
_REQUEST = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_HEX_64 = re.compile(r"[0-9a-f]{64}\Z")

NAMED_SOURCES = frozenset({"adapter", "llm", "fallback", "statement", "composite"})
"""Kinds of source whose id is a name from this program or its settings; a document's is a user's text."""
MODEL_SOURCES = frozenset({"llm"})


def safe_code(said: str, *, asked: str = "") -> str:
    """``said`` if it is a code (``[a-z0-9_]{1,40}``), else ``other``; empty stays empty.

    A code that also occurs in ``asked`` (what users wrote, in lower case) may be a slot value or name that a
    station passed on, so it is kept only when this program is known to use it.
    """
    if not said or said in KNOWN_CODES:
        return said
    if not CODE.match(said) or said in asked:
        return "other"
    return said


def safe_step(step: Step, *, asked: str = "") -> dict[str, Json]:
    """One line of the trace as it may be published: stage, outcome and reason as codes, and the time."""
    return {
        "stage": step.stage if _STAGE.match(step.stage) else "other",
        "outcome": safe_code(step.outcome, asked=asked),
        "reason": safe_code(step.code or step.reason, asked=asked),
        "latency_us": microseconds(step.ms),
    }


def scope_class(scope: str) -> str:
    """public, shared or private: who may see it, without naming the tenant."""
    return scope if scope in (SCOPE_PUBLIC, SCOPE_SHARED) else "private"


def ppm(score: float | None) -> int | None:
    """Whole millionths, clamped to [-1, 1] (a cosine may be negative); None for what is not a number."""
    if score is None or not math.isfinite(score):
        return None
    return max(-PPM, min(PPM, round(score * PPM)))


def microseconds(milliseconds: float) -> int | None:
    if not math.isfinite(milliseconds) or not 0 <= milliseconds < 1e9:
        return None
    return round(milliseconds * 1_000)


def seconds(when: datetime | None) -> int | None:
    return None if when is None else int(when.astimezone(UTC).timestamp())


def token(text: str | None) -> str | None:
    """A name from this program or its settings, or None when it does not look like one."""
    return text if text is not None and _TOKEN.match(text) else None


def vkey_of(text: str) -> str | None:
    """A verifier key: longer than other names."""
    return text if text and len(text) <= _VKEY_CHARS_MAX and _VKEY.match(text) else None


def digest_of(text: str | None) -> str | None:
    return text if text is not None and _HEX_64.match(text) else None


def is_cid(text: str) -> bool:
    return Cid.find(text) is not None


def request_of(request: str, private: dict[str, str]) -> str | None:
    """The request's id if it has the shape of one; else it is kept as a commitment only."""
    if _REQUEST.match(request):
        return request
    private["request"] = request
    return None


def cid_of(cid: str | None, scope: str, private: dict[str, str], *, name: str = "cid") -> str | None:
    """The CID itself for public records; else None, and a commitment to it."""
    if cid is None:
        return None
    if scope == SCOPE_PUBLIC and is_cid(cid):
        return cid
    private[name] = cid
    return None


def client_of(client: Client | None, scope: str, private: dict[str, str], *, name: str = "") -> str | None:
    """Who stored an answer: ``local``, or the id of a key. Of what is private the key is a commitment."""
    if client is None:
        return None
    if client.by == LOCAL or (scope in (SCOPE_PUBLIC, SCOPE_SHARED) and token(client.by) == client.by):
        return client.by
    private["client" + name.removeprefix("source")] = client.by
    return None


def confidence_of(confidence: Confidence) -> dict[str, Json]:
    parts: dict[str, Json] = {
        name: ppm(part) for name, part in sorted(confidence.parts.items())[:NAMES_MAX] if CODE.match(name)
    }
    return {"confidence_ppm": ppm(confidence.value), "confidence_parts_ppm": parts}
