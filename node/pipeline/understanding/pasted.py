"""A message that brings a text of its own: what is asked, and the text that it is asked of.

Rules of this file:
- A text is brought in a fence, in several lines, in a long quotation, in sentences that stand apart from the
  question, or behind "summarise this:". One line of ordinary length and a few lines of ordinary sentences are
  a question, and stay whole.
- The question stands at one end: the first or the last lines, if they ask. A question in the middle of a text
  is the text's. Several questions, one a line, are no text.
- The question is one line; the text keeps its lines, its indentation and everything else.
- The work is bounded: ``LINES_READ`` lines at each end are looked at, each to ``LINE_CHARS``.
Pure and total. It knows words (``pasted.json``), not what they mean, and neither adapters nor sessions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from node.language.reading import read
from node.pipeline.understanding import rules
from node.pipeline.understanding.question import guess, judge

LINES_READ = 60
LINE_CHARS = 300
QUESTION_CHARS = 400
TEXT_CHARS = 200
"""From this length on lines that only tell are a text that was brought, whatever they look like."""
LONG_LINE_CHARS = 400
QUOTED_CHARS = 120
_HANDED_CHARS, _HANDED_WORDS = 40, 8
"""Behind "summarise:" in one line stands at least so much."""
_OF_CHARS = 12
"""So much of a text there must be for a question that points at it."""
_TOLD_CHARS = 40
"""So long several sentences apart from the question have to be."""
_NAME_CHARS = 4
_SALUTATION_WORDS = 3
_MAIL_CHARS = 60
_QUESTION_LINES = 3
_POINTER_WORDS = 2
"""A question without a mark at its end points with one of its last words: "what is wrong with this code"."""


@dataclass(frozen=True, slots=True)
class Message:
    """``question`` is empty where nothing is asked of the text; ``pasted`` where no text was brought."""

    question: str
    pasted: str = ""


@lru_cache(maxsize=1)
def _words() -> dict[str, Any]:
    found = json.loads(
        files("node.pipeline.understanding").joinpath("pasted.json").read_text(encoding="utf-8")
    )
    for name in ("points", "works", "looks", "nouns", "headers", "salutations"):
        found[name] = frozenset(found[name].split())
    return dict(found)


def reply(pasted: str) -> str:
    """What is said where a text came without a question, in the text's language as far as that shows."""
    replies = _words()["replies"]
    reading = read(pasted[: LINE_CHARS * 4])
    by_script = {"cyrillic": "ru", "japanese": "ja", "chinese": "zh"}
    code = guess(reading.words)[0].code if reading.script == "latin" else by_script.get(reading.script, "en")
    return str(replies.get(code, replies["en"]))


def part(text: str) -> Message:
    """The message in its two parts."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    if not lines:
        return Message(text)
    if len(lines) == 1:
        return _of_one_line(lines[0]) or Message(text)
    return _of_fences(lines) or _of_lines(lines) or Message(text)


# --- what a line says -----------------------------------------------------------------------------


_QUESTION_MARKS = ("?", "？", "؟")
_INSIDE = "a question inside the sentence"
_REQUEST = "asks for something"
"""As ``question`` says it: many a sentence that tells reads so ("the process by which plants grow")."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What a line does: it asks, it orders work on a text, it points at one, it greets."""

    asks: bool = False
    orders: bool = False
    points: bool = False
    ends: bool = False
    is_told: bool = False
    """In a text it tells what to do: an order that names no text."""

    @property
    def is_question(self) -> bool:
        return self.asks or self.orders


@lru_cache(maxsize=256)
def _said(line: str) -> _Said:
    if not line.strip() or len(line) > QUESTION_CHARS:
        return _Said()
    reading, known = read(line), _words()
    words = reading.words
    found = judge(reading)
    orders = any(word in known["works"] or word in known["looks"] for word in words[:6])
    points = any(word in known["points"] for word in words)
    if reading.script != "latin":
        orders = orders or any(word in reading.plain for word in known["works_in"])
        points = points or any(word in reading.plain for word in known["points_in"])
    tells = found.reason == _INSIDE and not points and line.rstrip().endswith(".")
    asks = found.asks and not found.topic and not tells
    return _Said(
        asks=asks or line.rstrip().endswith(_QUESTION_MARKS),
        orders=orders and (points or len(words) <= 4 or found.asks),
        points=points,
        is_told=found.reason == _REQUEST and not (orders or points),
        ends=line.rstrip().endswith((":", "?", ".", "!", "…", "：", "？", "。", "؟")),
    )


def _works(head: str) -> bool:
    """Whether it orders what can only be done with a text (to sum it up, to translate it), or names one."""
    reading, known = read(head), _words()
    return (
        any(word in known["works"] for word in reading.words[:6])
        or (reading.script != "latin" and any(word in reading.plain for word in known["works_in"]))
        or (_said(head).points and any(word in known["nouns"] for word in reading.words))
    )


# --- what a text looks like -----------------------------------------------------------------------

_CODE = re.compile(
    r"\s*(?:def |class |import |from [\w.]+ import |#include|function\b|const |let |var |public |private "
    r"|return\b|print\(|console\.|SELECT |INSERT |UPDATE |CREATE |fn |package |using "
    r"|</?\w+[^<>]{0,80}>|\$ \w|>>> )"
    r"|.*[{};]\s*\Z|.*\):?\s*\Z|\s*[\w.\[\]]{1,40}\s*[-+*/]?=\s*\S"
    r"|\s*(?:if|for|while|elif|else|try|except|with)\b.*:\s*\Z"
)
_LOG = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d"
    r"|.*\b(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|Traceback|Exception)\b"
    r"|\s+at \S|\s*File \"|\w*(?:Error|Exception): "
)
_BULLET = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)])\s+\S")
_INDENT = re.compile(r"(?: {2,}|\t)\S")


def _is_salutation(line: str) -> bool:
    """``Dear Anna,`` or, as people type it, ``hi Tom``."""
    words = line[:LINE_CHARS].lower().rstrip(" ,").split()
    ends = line.rstrip().endswith(",") or (1 < len(words) <= _SALUTATION_WORDS and words[-1].isalpha())
    return ends and any(word in _words()["salutations"] for word in words[:3])


def _is_header(line: str) -> bool:
    """A line of a mail's head: ``Subject: invoice``."""
    name, colon, _ = line.partition(": ")
    return bool(colon) and name.lower() in _words()["headers"]


def _looks_brought(lines: Sequence[str]) -> bool:
    """Whether the lines have the form of code, a log, a table or a mail, which nobody types as a question."""
    some = [line[:LINE_CHARS] for line in lines if line.strip()][:LINES_READ]
    if len(some) < 2:
        return bool(some) and (_LOG.match(some[0]) is not None or some[0].rstrip()[-1] in "{};")
    many = max(2, len(some) * 3 // 10)
    if any(sum(form.match(line) is not None for line in some) >= many for form in (_CODE, _LOG)):
        return True
    if sum(map(_is_header, some)) >= many:
        return True
    is_mail = some[0].rstrip().endswith(",") or sum(map(len, some)) >= _MAIL_CHARS
    if _is_salutation(some[0]) and len(some) > 2 and is_mail:
        return True
    if sum(line.lstrip().startswith(">") for line in some) >= 2:
        return True
    return _is_table(some)


def _is_table(lines: Sequence[str]) -> bool:
    if any(sum(mark in line.strip() for line in lines) >= max(2, len(lines) // 2) for mark in "|\t"):
        return True
    for mark in ",;":
        counts = [line.count(mark) for line in lines if not line.rstrip().endswith((".", "?", mark))]
        if len(counts) >= 3 and counts[0] and counts.count(counts[0]) == len(counts) == len(lines):
            return True
    return False


# --- parting --------------------------------------------------------------------------------------

_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_QUOTATION = re.compile(r"“[^“”]+”|„[^„“”]+[“”]|«[^«»]+»|\"[^\"]+\"|「[^「」]+」")
_THE_QUOTATION = "the quoted text"
_HANDED = re.compile(r"([^:：\n]{3,200})[:：]\s*(\S.*)\Z")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")


def _of_fences(lines: Sequence[str]) -> Message | None:
    marks = [place for place, line in enumerate(lines) if _FENCE.match(line)]
    if not marks:
        return None
    begin, end = marks[0], marks[-1] if len(marks) % 2 == 0 else len(lines) - 1
    around = [line for line in (*lines[:begin], *lines[end + 1 :]) if line.strip()]
    text = "\n".join(lines[begin : end + 1])
    if sum(map(len, around)) > QUESTION_CHARS:
        return None  # a longer text with code in it
    question = _one(around)
    if question.endswith((":", "：")) and not any(_said(line).is_question for line in around):
        question = ""  # "Here is my code:"
    return Message(question, text)


def _of_lines(lines: Sequence[str]) -> Message | None:
    head, tail = _head(lines), _tail(lines)
    if head and tail and _said(lines[0]).is_told and lines[0].rstrip().endswith("."):
        head = 0  # "Book by mail.", above what is asked of it
    if head + tail >= len(lines):
        head, tail = (head, 0) if head else (0, 0)
    body = lines[head : len(lines) - tail]
    asked = [*lines[:head], *lines[len(lines) - tail :]]
    length = sum(map(len, body))
    full = [line for line in (*body[:LINES_READ], *body[LINES_READ:][-LINES_READ:]) if line.strip()]
    asking = sum(_said(line).asks for line in full)
    looks = _looks_brought(body)
    tells = _stands_apart(lines, head, tail) and _tells(body)
    tells = tells or (tail == 1 and not head and _is_asked_of(body, lines[-1]))
    if not (looks or tells) and asking * 2 >= len(full):
        return None  # several questions
    if not any(line.strip() for line in asked):
        if looks or (length >= TEXT_CHARS and not asking):
            return Message("", "\n".join(lines))
        return None
    points = any(said.points or said.orders for said in map(_said, asked))
    points = points or (_introduces(body) and tail > 0)
    if looks or tells or length >= TEXT_CHARS or (points and length >= _OF_CHARS):
        while body and not body[-1].strip():
            body = body[:-1]
        while body and not body[0].strip():
            body = body[1:]
        return Message(_one(asked), "\n".join(body))
    return None


def _stands_apart(lines: Sequence[str], head: int, tail: int) -> bool:
    """Whether a blank line parts question and text, or a question mark at the end of the first line."""
    if tail and not lines[-tail - 1].strip():
        return True
    return head > 0 and (not lines[head].strip() or lines[head - 1].rstrip().endswith(_QUESTION_MARKS))


def _tells(body: Sequence[str]) -> bool:
    """Whether it is several sentences, none of which asks; with a full stop "Book by mail." does not."""
    said = _SENTENCE.split(" ".join(body).strip()[: LINES_READ * LINE_CHARS])
    asks = any(_said(one).asks and not (one.endswith(".") and _said(one).is_told) for one in said)
    return len(said) > 1 and sum(map(len, said)) >= _TOLD_CHARS and not asks


def _is_asked_of(body: Sequence[str], question: str) -> bool:
    """Whether the line below sentences that only tell asks for something that they name."""
    told = " ".join(body).strip()[: LINES_READ * LINE_CHARS]
    if len(told) < _TOLD_CHARS or not told.endswith(".") or any(_said(one).asks for one in body):
        return False
    named = {one for one in read(question).words if len(one) >= _NAME_CHARS and one not in rules.NO_CONTENT}
    return not named.isdisjoint(read(told).words)


def _introduces(body: Sequence[str]) -> bool:
    """Whether the first line announces a text: "a mail from my landlord:", with the text in lines below."""
    some = [line for line in body if line.strip()]
    return len(some) > 2 and some[0].rstrip().endswith((":", "："))


def _head(lines: Sequence[str]) -> int:
    """How many lines from the top are the question; 0 where none is."""
    first = _said(lines[0])
    if first.is_question and (lines[0].rstrip().endswith((":", "：")) or _is_salutation(lines[1])):
        return 1
    blank = next((place for place, line in enumerate(lines[: _QUESTION_LINES + 1]) if not line.strip()), 0)
    if blank and any(_said(line).is_question for line in lines[:blank]) and not _is_salutation(lines[0]):
        return blank
    if not first.is_question:
        return 0
    if first.ends or _looks_brought(lines[1:]):
        return 1
    last_words = read(lines[0]).words[-_POINTER_WORDS:]
    points = any(word in _words()["points"] for word in last_words) or (
        first.orders and len(lines[0].split()) <= 4
    )
    return 1 if points and not lines[1][:1].islower() else 0


def _tail(lines: Sequence[str]) -> int:
    """How many lines at the end are the question; 0 where none is."""
    below = lines[-_QUESTION_LINES - 1 :]
    blank = next((back for back in range(1, len(below) + 1) if not below[-back].strip()), 0) - 1
    said = [_said(line) for line in lines[-blank:]] if blank > 0 else []
    if said and any(one.is_question for one in said) and (blank == 1 or any(one.points for one in said)):
        return blank
    last = _said(lines[-1])
    if not last.is_question or blank > 0 or _is_salutation(lines[0]):
        return 0
    before = lines[-2].rstrip()
    parted = before.endswith((".", "!", "…", ")", "}", ";", "。", "»", "”", '"')) or _INDENT.match(before)
    is_below = parted or _BULLET.match(before) or _introduces(lines[:-1]) or _looks_brought(lines[:-1])
    return 1 if is_below else 0


def _of_one_line(line: str) -> Message | None:
    for quotation in _QUOTATION.finditer(line[: LONG_LINE_CHARS * 100]):
        inner = quotation.group()[1:-1]
        if len(inner) >= QUOTED_CHARS:
            before, behind = line[: quotation.start()].strip(), line[quotation.end() :].strip()
            named = "" if not before or before.endswith((":", "：")) else _THE_QUOTATION
            question = _one([before, named, behind]).replace(" ?", "?")
            return Message(question if before or any(map(str.isalnum, behind)) else "", inner)
    handed = _HANDED.match(line)
    if handed is not None and _works(handed.group(1)):
        rest = handed.group(2)
        if len(rest) >= _HANDED_CHARS and len(rest.split()) >= _HANDED_WORDS:
            return Message(_one([handed.group(1)]), rest)
    return _of_a_long_line(line) if len(line) >= LONG_LINE_CHARS else None


def _of_a_long_line(line: str) -> Message | None:
    sentences = _SENTENCE.split(line.strip())
    if len(sentences) < 3:
        return None
    first, last = _said(sentences[0]), _said(sentences[-1])
    if any(_said(sentence).asks for sentence in sentences[1:-1][:LINES_READ]):
        return None
    if last.is_question:
        return Message(sentences[-1], line.strip()[: -len(sentences[-1])].rstrip())
    if first.is_question:
        return Message(sentences[0], line.strip()[len(sentences[0]) :].lstrip())
    return Message("", line.strip())


def _one(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())
