"""Sums with times of day: "how long from 8:15 to 17:40", "45 minutes after 10:50".

Rules: every word is one of ``clock_sums.toml``; there are two times and a question how long it is between
them, or one time and a duration after or before it. Past midnight it is the next day. Pure and bounded.
"""

from __future__ import annotations

import re

from adapters.math_calculator.solution import Solution
from node.language import tables

CHARS_MAX = 80
_ROWS = {
    name: frozenset(row.split())
    for name, row in tables.read_table(__package__, "clock_sums.toml")["words"].items()
}
_DAY = 24 * 60
_TIME = re.compile(
    r"(?<![\w.:])(?P<hour>[01]?\d|2[0-4])"
    r"(?:(?::|h)(?P<minute>[0-5]\d)(?: ?(?P<half>[ap])\.?m\b\.?)?(?: ?(?:uhr|h)\b)?"
    r"| ?(?P<whole>uhr\b|[ap]\.?m\b))(?![:\d])"
)
_AMOUNT = re.compile(r"(\d{1,4})(?: ?([a-z]+))?")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\S")


def solve(text: str) -> Solution | None:
    """The answer to such a sum that is all of ``text`` (folded), or None."""
    text = text.lower().strip(" ?!.=")
    if len(text) > CHARS_MAX or (":" not in text and "h" not in text and "m" not in text):
        return None
    times = [_minutes(match) for match in _TIME.finditer(text)]
    rest = _TIME.sub(" ", text)
    if len(times) == 2:
        return _between(*times) if _has(rest, "asks") and _is_known(rest) else None
    span = _span(rest) if len(times) == 1 else None
    is_after, is_before = _has(rest, "after"), _has(rest, "before")
    if span is None or is_after == is_before or not _is_known(_AMOUNT.sub(" ", rest)):
        return None
    found = times[0] + (span if is_after else -span)
    day = {-1: " the day before", 0: "", 1: " the next day"}.get(found // _DAY)
    if day is None:
        return None
    said = f"{span} minutes {'after' if is_after else 'before'} {_shown(times[0])}"
    return Solution(
        said, "date", "a time of day and a duration", f"{said} is {_shown(found)}{day}.", _shown(found)
    )


def _minutes(match: re.Match[str]) -> int:
    hour, half = int(match["hour"]), (match["half"] or match["whole"] or "")[:1]
    if half in ("a", "p") and hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    return (hour * 60 + int(match["minute"] or 0)) % _DAY


def _span(text: str) -> int | None:
    """Minutes of "2 hours 45"."""
    total, last = 0, ""
    for amount, unit in _AMOUNT.findall(text):
        if unit in _ROWS["hours"]:
            total, last = total + int(amount) * 60, "hours"
        elif unit in _ROWS["minutes"] or last == "hours":
            total, last = total + int(amount), "minutes"
        else:
            return None
    return total or None


def _between(start: int, end: int) -> Solution:
    hours, minutes = divmod((end - start) % _DAY, 60)
    parts = [f"{n} {name}{'' if n == 1 else 's'}" for n, name in ((hours, "hour"), (minutes, "minute")) if n]
    said = " ".join(parts) or "no time"
    expr = f"how long from {_shown(start)} to {_shown(end)}"
    night = " the next day" if end < start else ""
    sentence = f"From {_shown(start)} to {_shown(end)}{night} it is {said}."
    return Solution(expr, "date", "the time between two times of day", sentence, said)


def _shown(minutes: int) -> str:
    hour, minute = divmod(minutes % _DAY, 60)
    return f"{hour:02}:{minute:02}"


def _has(text: str, row: str) -> bool:
    return not _ROWS[row].isdisjoint(_WORD.findall(text))


def _is_known(text: str) -> bool:
    known = frozenset().union(*_ROWS.values())
    return all(word in known or word in ",?.-'" for word in _WORD.findall(text))
