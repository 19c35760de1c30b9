"""Headlines as one natural line of text. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from adapters.news.merge import Entry
from adapters.news.slots import NewsQuestion
from adapters.outside import unquoted

_NOT_IN_NAMES = re.compile('[()\\[\\]"“”„;]')


def answer(question: NewsQuestion, entries: Sequence[Entry], *, stale_as_of: datetime | None) -> str:
    """ "Top headlines: 1. “Title” (BBC News, 2026-05-18 08:10 UTC); 2. …". ``stale_as_of``: read then, for a
    source cannot be reached now."""
    opening = "Top headline" if len(entries) == 1 else "Top headlines"
    if question.topic is not None:
        opening += f" on {question.topic}"
    if question.when is not None and question.when.said != "now":
        opening += f" {_days(question)}"
    listed = "; ".join(f"{number}. {_one(entry)}" for number, entry in enumerate(entries, 1))
    text = f"{opening}: {listed}."
    if stale_as_of is not None:
        text += f" Some were read at {stamp(stale_as_of)}: their source cannot be reached now."
    return text


def stamp(time: datetime) -> str:
    """A UTC time to the minute."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _one(entry: Entry) -> str:
    # A title cannot end its own quotation, nor a source's name its bracket, to pass for another headline.
    title = unquoted(entry.title).rstrip(".;: ")
    source = " ".join(_NOT_IN_NAMES.sub(" ", entry.source).split()) or entry.host
    when = "undated" if entry.time is None else stamp(entry.time)
    return f"“{title}” ({source}, {when})"


def _days(question: NewsQuestion) -> str:
    if question.when is None:
        return ""
    if question.when.first == question.when.last:
        return f"of {question.when.first.isoformat()}"
    return f"from {question.when.first.isoformat()} to {question.when.last.isoformat()}"
