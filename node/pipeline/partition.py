"""Which partition of the cache a request in the form of a chat belongs to. Pure.

Rules:
1. The partition is the SHA-256 of everything but the last message that an answer may hang on: the model, the
   messages before, and the settings that differ from their default (``settings.toml`` of the door says which
   have one). What is not known here counts, so that a field nobody thought of parts rather than mixes.
2. A lone user message to the node's own model, in one line and with default settings, has none: it is a plain
   question, and shares what the node knows with ``/chat``.
3. Where the last message is no plain question (several lines, more than ``LOOKED_AT_CHARS_MAX``, earlier
   turns that it leans on, a statement or an order, an answer in a given format), its very bytes are in the
   hash: then only the same message is answered from the cache, never one in other words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from node.core.model import Json

_VERSION = "neuroswarm/context/v1"
LOOKED_AT_CHARS_MAX = 65_536
"""A longer message is not read as a question: it is known by its bytes alone."""


def is_long(text: str) -> bool:
    return len(text) > LOOKED_AT_CHARS_MAX


def is_plain(before: Sequence[Json], settings: Mapping[str, Json], last: str, *, is_question: bool) -> bool:
    """Whether the last message may be answered by what answered the same in other words (rule 3).
    ``is_question``: it is one question that can be asked alone."""
    leans = any(isinstance(one, dict) and one.get("role") not in ("system", "developer") for one in before)
    return is_question and not leans and "\n" not in last and "response_format" not in settings


def partition(
    model: str, before: Sequence[Json], settings: Mapping[str, Json], last: str, *, plain: bool
) -> str | None:
    """Hex SHA-256, or None (rule 2). ``model``: the upstream's name for it, empty for the node's own."""
    if "\n" not in last and not (model or before or settings or is_long(last)):
        return None
    # As JSON with its keys in order: every value has one form, and no text can pass for another's border.
    hashed = [_VERSION, model, list(before), dict(settings), None if plain else last]
    said = json.dumps(hashed, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(said.encode()).hexdigest()
