"""When a tool may write. Pure.

Rules, each of which holds by itself:
- nothing is written in a turn once texts of others were read in it, or came with its message: what a
  document, a page or a stored note says can then be no reason to write;
- every word and figure that is to be written stands in the turn's own message, so that neither an earlier
  answer nor the model's own idea is written as the user's word.

So a tool writes what the turn's user said, in the turn in which they said it, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from node.language.sentences import content_words, unsupported_figures

AFTER_READING = "texts of others were read in this turn; ask for it in a message of its own"
NOT_SAID = "only what your own message says may be written"


def refusal(arguments: Mapping[str, Any], message: str, *, has_read: bool) -> str:
    """Why these arguments may not be written; empty where they may."""
    if has_read:
        return AFTER_READING
    texts = list(_texts(arguments))
    said = set(content_words(message))
    strange = any(set(content_words(text)) - said or unsupported_figures(text, (message,)) for text in texts)
    return NOT_SAID if strange or not texts else ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
