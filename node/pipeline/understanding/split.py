"""Several questions in one text, parted into questions that can each be asked alone. Pure.

It promises at most ``PARTS_MAX`` parts, in order, each of them self-contained; in doubt the text stays whole,
for a model that reads all of it loses nothing while a wrong cut answers what nobody asked. The work is
bounded: a text beyond ``CHARS_MAX`` or with more than a few places to cut is not looked into, and adapters
are asked at most ``LOOKS_MAX`` times. It knows adapters only by what they claim.

Rules, first that holds:
- What one adapter claims with certainty is one question ("price of btc and eth", "5 feet 3 inches in cm").
- Sentences are parted if each is a question of its own, or a fragment that ``follow`` completes from the part
  before ("And in London?"). Greetings fall away; a plain statement keeps the text whole unless every part is
  an adapter's with certainty.
- A conjunction parts two questions if an adapter claims either, or if both open like questions and name what
  they are about. A bare topic on its right ("and weather in Berlin") counts only beside a claimed left side.
- A tail on its right that the left lacks ("weather in Paris and London tomorrow") belongs to both sides where
  ``follow`` completes both with it; what one adapter claims as a whole while it holds only one of two times
  is parted at them.
- What leans on the left side (a pronoun, "an example", a subject left out) is never cut off.
- Nothing is cut inside quotation marks or brackets, nor in a text handed over to be worked on ("translate:").
"""

from __future__ import annotations

import re

from node.language import conversation
from node.language.reading import read
from node.pipeline.understanding import rules
from node.pipeline.understanding.clauses import (
    CUT,
    CUT_EAST,
    LEAD,
    QUOTED,
    is_fragment,
    is_question,
    of_clauses,
    pairs,
)
from node.pipeline.understanding.looks import TAILS, Claims, Follow, Looks
from node.pipeline.understanding.question import judge

PARTS_MAX = 4
"""A text with more questions stays whole."""
CHARS_MAX = 2_000
_SENTENCES_MAX = 12
_GREETING = judge(read("hello")).reason


# --- where a text may be cut ----------------------------------------------------------------------

_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]»]*(?=\s)|[。！？؟]+[」』]?|[\n;；]+|[?!]+(?=[^\x00-\x7f])")
_NO_END = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|no|nr|num|prop|vs|etc|approx|e\.g|i\.e|u\.s|u\.k|jr|sr|inc|bzw|z\.b|sra?"
    r"|\d{1,2}|[^\W\d_])\.$",
    re.IGNORECASE,
)
_ITEM_MARK = re.compile(r"^\s*(?:\(?\d{1,2}[.)]|[-*•–])\s+")

_HANDED_OVER = rules.pattern(r"^(?:<please>[ ,]+){0,3}<hands_over>\b")


def split(text: str, *, claims: Claims, follow: Follow) -> tuple[str, ...]:
    """The self-contained questions of ``text``, in order; ``(text,)`` when it is one question or in doubt.

    ``claims(part)`` is the strongest adapter recognition of a text, None where none claims it;
    ``follow(fragment, earlier)`` the self-contained question that an adapter makes of a fragment after an
    earlier question."""
    whole = (text,)
    if not text.strip() or len(text) > CHARS_MAX or not _may_be_cut(text):
        return whole
    looks = Looks(claims, follow)
    if looks.is_certain(text):
        return _of_two_tails(text, looks) or whole
    flat = read(text).flat
    handed = _HANDED_OVER.match(flat) is not None
    kept = [match.span() for match in QUOTED.finditer(text)]
    if handed and (kept or ":" in text or "\n" in text.strip()):
        return whole
    parts = _of_sentences(text, kept, looks, handed=handed)
    if parts is None or not 2 <= len(parts) <= PARTS_MAX or _is_worked_out(text, parts, looks):
        return whole
    if any(map(conversation.is_manner, parts[1:])):
        return whole  # "how do planes fly? easy words"
    return tuple(parts)


def _of_two_tails(text: str, looks: Looks) -> tuple[str, str] | None:
    """ "weather in Berlin today and tomorrow": claimed as a whole, and holding neither time."""
    whole, cuts = looks.claim(text), pairs(text)
    if whole is None or len(cuts) != 1:
        return None
    [pair] = cuts
    left = looks.claim(pair.left)
    lost = [] if left is None else [name for name in TAILS[:2] if left.slots.get(name) is not None]
    if (
        left is None
        or left.adapter != whole.adapter
        or not any(whole.slots.get(name) is None for name in lost)
    ):
        return None
    if not looks.is_certain(pair.left):
        return None
    made = looks.completed(pair.right, pair.left)
    return None if made is None else (pair.left, made)


_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def _is_worked_out(text: str, parts: list[str], looks: Looks) -> bool:
    """ "16 rows of 24 seats, how many people fit? 16*24": a sum that an adapter computes here, for the
    question before it, which names its figures."""
    *before, last = parts
    claim, all_of_it = looks.claim(last), looks.claim(text)
    if claim is None or all_of_it is None or not claim.local or claim.key != all_of_it.key:
        return False
    figures = _FIGURE.findall(" ".join(before))
    return not set(figures).isdisjoint(_FIGURE.findall(last)) and all(
        looks.claim(part) is None for part in before
    )


def _may_be_cut(text: str) -> bool:
    """Whether there is any place to cut at all; adapters are asked about no other text."""
    if CUT.search(text) or (not text.isascii() and CUT_EAST.search(text)):
        return True
    return len(_sentences(_itemised(text), [])) > 1


# --- sentences ------------------------------------------------------------------------------------


def _sentences(text: str, kept: list[tuple[int, int]]) -> list[str]:
    found, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        before = text[max(start, match.start() - 10) : match.start() + 1]
        if match.group() == "." and _NO_END.search(before):
            continue
        if any(low < match.start() < high - 1 for low, high in kept):
            continue
        found.append(text[start : match.end()])
        start = match.end()
    found.append(text[start:])
    # an opening mark belongs to what follows; a piece of marks alone to nothing
    return [piece.strip(" \t\n;；") for piece in found if any(char.isalnum() for char in piece)]


def _of_sentences(text: str, kept: list[tuple[int, int]], looks: Looks, *, handed: bool) -> list[str] | None:
    """The parts, or None when something in the text is neither a question nor can be left out."""
    sentences = _sentences(_itemised(text), kept)
    if len(sentences) > _SENTENCES_MAX:
        return None
    parts: list[str] = []
    told = False
    for at, sentence in enumerate(sentences):
        body = LEAD.sub("", _ITEM_MARK.sub("", sentence)).strip() or sentence
        body = _with_place(body, sentences[:at], looks)
        if parts and is_fragment(body, looks):
            made = looks.completed(body, parts[-1])
            if made is not None:
                parts.append(made)
                continue
        if is_question(body, looks):
            parts += of_clauses(body, looks, handed=handed)
            continue
        clauses = of_clauses(body, looks, handed=handed)
        if len(clauses) > 1 and looks.is_certain(clauses[0]):
            # "btc price and did it rain in Paris" sounds told as a whole; its sides ask
            parts += clauses
            continue
        judged = judge(read(body))
        if judged.asks or len(parts) > PARTS_MAX:
            return None
        told = told or judged.reason != _GREETING
    if told and not all(looks.is_certain(part) for part in parts):
        return None
    return parts


_ITEMS = re.compile(r"\s+(?=\(?([2-9])[.)]\s)")


def _itemised(text: str) -> str:
    """ "1) this 2) that" in one line as lines, if the items count from one up. Keeps the text's length."""
    if not re.match(r"\s*\(?1[.)]\s", text):
        return text
    found = list(_ITEMS.finditer(text))
    if [int(match[1]) for match in found] != list(range(2, len(found) + 2)):
        return text
    for match in found:
        text = f"{text[: match.start()]}{chr(10) * (match.end() - match.start())}{text[match.end() :]}"
    return text


_THERE = re.compile(r"\bthere\b(?=[\s?,.!]|$)(?! (?:is|are|was|were|a|an|any|will)\b)", re.IGNORECASE)
_NAMES_PLACE = re.compile(
    r"\b(?:to|in|at|near|for|around)\s+(?P<name>[A-Z][\w'-]+(?:\s+[A-Z][\w'-]+){0,2}|[a-z][\w'-]+)"
)
_PLACES_MAX = 4


def _with_place(body: str, before: list[str], looks: Looks) -> str:
    """``body`` with the place for its "there": the one that the sentences before it name. An adapter must
    be certain of what comes of it, for a place that it lacked, and must read no more out of it together with
    the sentence that named the place (the day of a journey may be the day that is meant)."""
    found = list(_THERE.finditer(body))
    if len(found) != 1 or _opens_there(body):
        return body
    named = {match["name"]: each for each in before for match in _NAMES_PLACE.finditer(each)}
    if not 1 <= len(named) <= _PLACES_MAX:
        return body
    end = next((match.start() for match in CUT.finditer(body, found[0].end())), len(body))
    head, tail = body[: found[0].start()], body[found[0].end() : end]
    made = {f"{head}in {name}{tail}": sentence for name, sentence in named.items()}
    placed = {text: each for text, each in made.items() if looks.is_certain(text) and _has_place(text, looks)}
    if len(placed) != 1 or _has_place(body[:end], looks):
        return body
    [(clause, sentence)] = placed.items()
    claim, together = looks.claim(clause), looks.claim(f"{sentence.rstrip(' .!?')}, {clause}")
    if (
        claim is not None
        and together is not None
        and together.adapter == claim.adapter
        and together.slots != claim.slots
    ):
        return body
    return clause + body[end:]


def _has_place(text: str, looks: Looks) -> bool:
    claim = looks.claim(text)
    return claim is not None and claim.slots.get("place") is not None


def _opens_there(body: str) -> bool:
    return read(body).words[:1] == ("there",)
