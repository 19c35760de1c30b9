"""Governance questions and questions about the node's own records, and their slots.

Rules of this file:
- Slot names are fixed: ``proposal, metric, topic, when``; values are canonical text or None.
- A proposal's number is text without leading zeros, sign or separators ("#0123" is "123"), or a prefixed id
  ("nip-4"). Two numbers in one question are no single proposal.
- ``key`` is given only when the question is about one proposal and holds nothing else that the answer could
  depend on: equal keys mean that the same answer serves. A word too many costs a slot hit, never a wrong one.
- Words are data: ``node/language/data/*/records.toml``.
- Public politics, wedding proposals and business proposals are not this community's governance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from node.core.model import Slots
from node.language import numbers, tables
from node.language.reading import Reading, word_list

TEXT_CHARS = 600
_TOPIC_WORDS = 8

WORDS = tables.classes("records")
_TABLE = tables.language_table(tables.ENGLISH, "records")


def _pattern(template: str) -> re.Pattern[str]:
    return tables.pattern((), WORDS, template)


_SIGN = r"\.?(?:\s*<sign>){0,3}\s*"
_DIGITS = r"(\d{1,3}(?:,\d{3})+|\d{1,12})(?![\d%]|[.,]\d|-\d)"

_NUMBERED = _pattern(rf"(?<![^\W_])<noun>{_SIGN}#?\s*{_DIGITS}")
_NUMBERED_BACK = _pattern(rf"(?:#|第)\s*{_DIGITS}\s*(?:号|号の|番の?|条)?\s*<noun>")
_ORDINAL = _pattern(r"(?<!\d)(\d{1,6})(?:st|nd|rd|th|e|a|o|\.) <noun>")
_ALSO = _pattern(rf"\s*(?:,|<also>)\s*<noun>?{_SIGN}#?\s*\d")
_PREFIXED = re.compile(r"(?<![^\W_])(nip)[\s-]?#?0*(\d{1,6})(?![\d.])")
_STANDARD = re.compile(r"(?<![^\W_])(eip|bip|sip|aip|zip|fip|cip|pip|uip|mip)[\s-]?#?0*(\d{1,6})(?![\d.])")
_WORDED = re.compile(r"(?<![^\W_])(?:proposal|motion|resolution)(?: number| no)? ((?:[a-z]+[ -]?){1,8})")
_IS_ON_A_VOTE = re.compile(r"\b(?:proposals?|vote[ds]?|passed|approved|rejected|quorum|council)\b")

_UNITS = numbers.below(20, "en")
_TENS = numbers.below(100, "en", start=20)

_OTHER_PROPOSALS = tables.pattern(_TABLE["patterns"]["other_proposals"], WORDS)
_PUBLIC_POLITICS = _pattern(r"\b<public>\b")
_HOW_TO = _pattern(r"\b<how_to>\b")
_NEGATED = _pattern(r"\b<negated>\b")


@dataclass(frozen=True, slots=True)
class _Cue:
    """Wording that asks for records. ``own``: it says whose governance it is, so that the names of public
    politics do not matter."""

    name: str
    pattern: re.Pattern[str]
    own: bool = False


_CUES = (
    *(_Cue(row["name"], tables.pattern(row["fits"], WORDS), row.get("own", False)) for row in _TABLE["cues"]),
    _Cue("asks about governance (other language)", _pattern(r"\b<cues>\b|<cues_inside>"), own=True),
)
_METRICS = (
    *((name, _pattern(rf"\b<{name}>\b|<{name}_inside>")) for name in ("quorum", "author")),
    ("result", re.compile(r"\b(?:results?|outcomes?)\b")),  # the plain words before what was voted on
    *(
        (name, _pattern(rf"\b<{name}>\b|<{name}_inside>"))
        for name in ("votes", "amount", "date", "status", "result", "summary")
    ),
)
_PLAIN_METRICS = frozenset({"summary"})
_FRAME = frozenset(WORDS["frame"])
_STOP = _FRAME | frozenset(WORDS["stop"])

_ISO = re.compile(r"\b(\d{4}-\d{2}-\d{2})\b")
_MONTHS = {
    name: at + 1
    for at, name in enumerate(
        word_list("january february march april may june july august september october november december")
    )
}
_MONTH_YEAR = re.compile(r"\b(" + "|".join(_MONTHS) + r")(?: of)? (\d{4})\b")
_YEAR = _pattern(r"\b<in_year> ((?:19|20)\d{2})\b")
_RELATIVE = re.compile(
    r"\b(yesterday|today|tomorrow|(?:last|this|next) (?:week|month|quarter|year|night|season))\b"
)
_LAST = _pattern(r"\b<last>\b|<last_inside>")


@dataclass(frozen=True, slots=True)
class Governance:
    """A question about records: its slots, its key (None unless an equal key means an equal answer), why."""

    slots: Slots
    key: str | None
    reason: str
    numbered: bool


def recognise(reading: Reading) -> Governance | None:
    """Read a governance question; None when the text is not one. Total and bounded."""
    plain, flat = _spelt(reading.plain[:TEXT_CHARS]), _spelt(reading.flat[:TEXT_CHARS])
    numbers, spans = _numbers(plain)
    if numbers and not _OTHER_PROPOSALS.search(flat):
        return _numbered(plain, flat, numbers, spans)
    if _OTHER_PROPOSALS.search(flat) or _HOW_TO.search(flat):
        return None
    public = _PUBLIC_POLITICS.search(flat) is not None
    target = plain if reading.script not in ("latin", "none") else flat
    for cue in _CUES:
        if cue.pattern.search(target) and (cue.own or not public):
            slots: Slots = {
                "proposal": None,
                "metric": _metric(target),
                "topic": _topic(flat),
                "when": _when(plain),
            }
            return Governance(slots, None, cue.name, numbered=False)
    return None


def _one_slip(word: str) -> frozenset[str]:
    """``word`` with one letter added, missing, wrong or two swapped."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    slips = {head + tail[1:] for head, tail in cuts}
    slips |= {head + tail[1:2] + tail[:1] + tail[2:] for head, tail in cuts}
    slips |= {head + letter + tail[drop:] for head, tail in cuts for letter in letters for drop in (0, 1)}
    return frozenset(slips - {word})


_PROPOSAL_SLIPS = _one_slip("proposal") - {"proposals"}
_MAYBE_PROPOSAL = re.compile(r"\b[a-z]{7,10}(?=\b|\d)")


def _spelt(text: str) -> str:
    """ "propsal 12": the word that everything here hangs on, with one letter amiss."""
    return _MAYBE_PROPOSAL.sub(
        lambda match: (
            "proposal"
            if match[0] in _PROPOSAL_SLIPS
            else "proposals"
            if match[0].endswith("s") and match[0][:-1] in _PROPOSAL_SLIPS
            else match[0]
        ),
        text,
    )


def _numbered(plain: str, flat: str, numbers: list[str], spans: list[tuple[int, int]]) -> Governance:
    rest = list(plain)
    for start, end in spans:
        rest[start:end] = " " * (end - start)
    without = "".join(rest)
    one = numbers[0] if len(set(numbers)) == 1 else None
    metric = _metric(without)
    when = _when(without)
    topic = _topic(without) if one else _topic(flat)
    negated = _NEGATED.search(without)
    residue = [word for word in _content(without, _FRAME) if word not in ("", one)]
    slots: Slots = {"proposal": one, "metric": metric, "topic": topic, "when": when}
    key = None
    if one is not None and not residue and when is None and not negated and without.isascii():
        key = f"proposal:{one}" + (f":{metric}" if metric and metric not in _PLAIN_METRICS else "")
    return Governance(slots, key, "names a proposal by its number", numbered=True)


def _numbers(plain: str) -> tuple[list[str], list[tuple[int, int]]]:
    numbers: list[str] = []
    spans: list[tuple[int, int]] = []
    for pattern in (_NUMBERED, _NUMBERED_BACK, _ORDINAL):
        for match in pattern.finditer(plain):
            if any(start < match.end() and match.start() < end for start, end in spans):
                continue
            numbers.append(match.group(1).replace(",", "").lstrip("0") or "0")
            spans.append(match.span())
            if _ALSO.match(plain, match.end()) and not plain[match.end() :].lstrip().startswith("-"):
                numbers.append("several")
    patterns = [_PREFIXED]
    if not numbers and _IS_ON_A_VOTE.search(plain):
        patterns.append(_STANDARD)
    for pattern in patterns:
        for match in pattern.finditer(plain):
            numbers.append(f"{match.group(1)}-{match.group(2)}")
            spans.append(match.span())
    if not numbers:
        for match in _WORDED.finditer(plain):
            value = _worded(match.group(1))
            if value is not None:
                numbers.append(str(value[0]))
                spans.append((match.start(), match.start(1) + value[1]))
    return numbers, spans


def _worded(text: str) -> tuple[int, int] | None:
    """A number written in English words at the start of ``text``: its value and how many characters it
    takes."""
    total = 0
    part = 0
    end = 0
    seen = False
    for match in re.finditer(r"[a-z]+", text):
        word = match.group()
        if word in _UNITS:
            part += _UNITS[word]
        elif word in _TENS:
            part += _TENS[word]
        elif word == "hundred" and seen:
            part = (part or 1) * 100
        elif word == "thousand" and seen:
            total, part = total + (part or 1) * 1000, 0
        elif word == "and" and seen:
            continue
        else:
            break
        seen = True
        end = match.end()
    return (total + part, end) if seen else None


def _metric(text: str) -> str | None:
    return next((name for name, pattern in _METRICS if pattern.search(text)), None)


def _when(plain: str) -> str | None:
    if match := _ISO.search(plain):
        return match.group(1)
    if match := _MONTH_YEAR.search(plain):
        return f"{match.group(2)}-{_MONTHS[match.group(1)]:02d}"
    if match := _RELATIVE.search(plain):
        return match.group(1)
    if match := _YEAR.search(plain):
        return match.group(1)
    return "last" if _LAST.search(plain) else None


def _content(text: str, stop: frozenset[str]) -> list[str]:
    return [
        word for word in re.findall(r"[^\W_]+(?:[-'][^\W_]+)*", text) if word.removesuffix("'s") not in stop
    ]


def _topic(text: str) -> str | None:
    words = _content(text, _STOP)
    return " ".join(words[:_TOPIC_WORDS]) or None
