"""An answer that a program reads: one JSON value that is valid against the schema that was asked for.

A schema comes from outside: it names nothing that would have to be fetched, and its patterns are matched by
an engine whose time is linear in the text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from node.core.errors import Rejected

if TYPE_CHECKING:
    from jsonschema_rs import Validator

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL | re.IGNORECASE)
_SAID_CHARS = 120


def _fetched(uri: str) -> Any:
    raise ValueError("a schema may not point outside of itself")


@lru_cache(maxsize=64)
def validator(schema: str) -> Validator:
    """What checks values against this schema (JSON text). Raises ``Rejected`` for one that is none."""
    from jsonschema_rs import RegexOptions, validator_for  # it takes a moment to load

    try:
        options = RegexOptions(size_limit=2**20, dfa_size_limit=2**20)
        return validator_for(orjson.loads(schema), retriever=_fetched, pattern_options=options)
    except (ValueError, TypeError, RecursionError) as exc:
        raise Rejected(f"the schema is not valid: {str(exc).splitlines()[0][:_SAID_CHARS]}") from exc


def fitting(text: str, schema: str) -> str:
    """A model's text without a fence round it; as it is where there is no schema. Raises ``Rejected``."""
    if not schema:
        return text
    fenced = _FENCE.match(text)
    text = fenced[1] if fenced else text.strip()
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise Rejected("the model's answer is not JSON") from exc
    if not validator(schema).is_valid(value):
        raise Rejected("the model's answer does not fit the schema")
    return text
