"""Reading questions that an encyclopedia's article can answer or help to answer.

Rules of this file:
- One slot, ``title``: the subject as written, without its article, the first letter large, as the site
  writes titles. The key folds it, so that case and accents do not matter.
- Certain only where Wikipedia is named as the place to look; any other question about a clear subject gets a
  weak claim: the article is context for a model, never the answer.
- Never: what may not leave the node (see ``adapters.outgoing``), opinions, private matters ("who is my
  ..."), what other sources answer (prices, weather, scores, news, time, sums), this node's own things, and
  subjects that are clauses rather than names.
- Patterns read the text as written, not folded: a title needs its case and its accents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from adapters.outgoing import may_leave
from node.language.reading import fold
from node.language.tables import fill, later, lexicon

TEXT_CHARS = 300
TITLE_CHARS = 90
TITLE_WORDS = 7

LIKELY = 0.8
"""Wikipedia is named, but in words that may tell as well as ask ("a fine article on wikipedia")."""
NAMED = 0.45
PLAIN = 0.35

_PUNCTUATION = " \t\n.,;:!?¿¡？。\"'“”‘’()"
_LEXICON = lexicon(__package__)
WORDS = _LEXICON.words
PATTERNS = _LEXICON.patterns


def _compiled(template: str) -> re.Pattern[str]:
    """A template with the words of the languages in it. The text is read as it is written."""
    return later(fill(template, _LEXICON.tables["words"]), re.IGNORECASE)


_LEAD = _compiled(r"^(?:<leads>\b[\s,:-]*)+")
_TAIL = _compiled(r"(?:[\s,]+<tails>)+$")
_ARTICLE = _compiled(r"^<articles>\s+(?=\S)")
_AND = _compiled(r"^(?:<joins>\b[\s,]*)+")
_WIKI = _compiled(r"<wiki>")
_IS_WIKI = _compiled(r"^wh\w+ (?:is|was) <wiki>$")
_PER_WIKI = _compiled(r"[\s,]*\b(?:according to|on|per) <wiki>[\s,]*")

_OF_WIKIPEDIA = (
    *((_compiled(said), True, 1.0) for said in _LEXICON.tables["named_site"]),
    *((_compiled(said), False, 1.0) for said in _LEXICON.tables["named_after"][:-1]),
    (_compiled(_LEXICON.tables["named_after"][-1]), False, LIKELY),
)
"""Wordings that name the site. After the first ones whatever is left is a title; the others may be anything
said about the site too, so that what is left must look like a subject."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A way of asking. ``again`` asks the same of another subject, with ``{}``; empty where a bare name after
    it could mean too much. ``strict``: the subject must be written as a name."""

    pattern: re.Pattern[str]
    again: str
    strict: bool


_FORMS = tuple(_Form(_compiled(said), again, strict) for said, again, strict in _LEXICON.tables["forms"])

_OTHERS = re.compile(PATTERNS["others"].pattern, re.IGNORECASE)
"""What others answer, what is asked of a person, what holds only today, and what is no subject."""
_FORBIDDEN = re.compile(r"[\[\]{}|#<>=+*/\\^%$€£@~_\x00-\x1f\x7f]")
_SUPERLATIVE = re.compile(PATTERNS["superlative"].pattern, re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked about. ``again`` is the form for a follow-up; ``strength`` as in ``Recognition``."""

    title: str
    strength: float
    again: str = ""

    @property
    def key(self) -> str:
        return f"wikipedia:{folded(self.title)}"


def folded(title: str) -> str:
    """A title with case, accents and runs of blanks folded away."""
    return " ".join(fold(title).split())


def read_subject(text: str, *, hinted: bool = False) -> Subject | None:
    """The subject of ``text``; None when it is no question for an encyclopedia. Total and bounded."""
    if len(text) > TEXT_CHARS * 2:
        return None
    line = " ".join(text.split())
    if not 2 <= len(line) <= TEXT_CHARS:
        return None
    line = _trim(_LEAD.sub("", line.strip(_PUNCTUATION.replace("(", "").replace(")", ""))))
    for pattern, explicit, strength in _OF_WIKIPEDIA:
        if (match := pattern.match(line)) and (title := title_of(match[1], explicit=explicit)) is not None:
            return Subject(title, strength, "wikipedia article on {}")
    if _WIKI.search(line) and not _IS_WIKI.match(line):
        line = _trim(_PER_WIKI.sub(" ", line))
        if _WIKI.search(line):
            return None
    for form in _FORMS:
        match = form.pattern.match(line)
        if match is None:
            continue
        return _weak(match[1], form, line)
    if (about := re.match(r"^(?:tell me |something )?about (.+)$", line, re.IGNORECASE)) is not None:
        return _weak(about[1], _Form(form.pattern, "tell me about {}", strict=False), line)
    if hinted:
        title = title_of(line)
        return None if title is None or _OTHERS.search(line) else Subject(title, NAMED)
    return None


def _weak(said: str, form: _Form, line: str) -> Subject | None:
    if _OTHERS.search(line[: len(line) - len(said)]) and not re.match(r"^(?:how|why)\b", line, re.IGNORECASE):
        return None
    title = title_of(said)
    if title is None or _OTHERS.search(title):
        return None
    named = is_name(_ARTICLE.sub("", said.strip()))
    if form.strict and not named:
        return None
    return Subject(title, NAMED if named else PLAIN, form.again)


def _trim(line: str) -> str:
    for _ in range(3):
        line = _TAIL.sub("", line.strip(".,;:!?¿¡？。 "))
    return line


def title_of(said: str, *, explicit: bool = False) -> str | None:
    """A subject as a title, or None when it is none. ``explicit``: the asker named the place to look, so only
    what cannot be a title is refused."""
    title = said.strip(_PUNCTUATION) if not said.endswith(")") else said.strip(_PUNCTUATION[:-2])
    title = " ".join(_ARTICLE.sub("", title).replace("“", '"').replace("”", '"').split())
    words = fold(title).split()
    if not title or len(title) > TITLE_CHARS or len(words) > TITLE_WORDS * (2 if explicit else 1):
        return None
    if _FORBIDDEN.search(title) or _LETTER.search(title) is None or title[0] in ":.,;-":
        return None
    # "My Fair Lady" and "Formula one" are titles where the place to look is named; "my notes" is not.
    where = words[:1] if explicit else words
    personal = any(word.strip(_PUNCTUATION) in WORDS["personal"] for word in where)
    if personal and not (explicit and is_name(title)):
        return None
    if not explicit and any(word.strip(_PUNCTUATION) in WORDS["clause"] for word in words):
        return None
    if not explicit and _SUPERLATIVE.search(title):
        return None
    if not may_leave(title):
        return None
    return title[0].upper() + title[1:]


def is_name(said: str) -> bool:
    """Whether a subject is written as a name: a large letter at every word that is not a small one."""
    words = [word for word in re.findall(r"[^\W_][^\s]*", said) if fold(word) not in WORDS["small"]]
    return bool(words) and all(word[0].isupper() or word[0].isdigit() for word in words)


def follow_up(fragment: str, earlier: str) -> str | None:
    """The earlier question asked of the subject that ``fragment`` names; None beyond doubt only."""
    if len(fragment) > 120:
        return None
    before = read_subject(earlier)
    if before is None or not before.again:
        return None
    stripped = " ".join(fragment.split()).strip(".,;:!?¿¡？。 ")
    said = _AND.sub("", stripped)
    if not said or len(said.split()) > 5:
        return None
    opened = said != stripped
    words = fold(said).split()
    other = WORDS["not_alone"] | WORDS["personal"] | WORDS["clause"]
    if not other.isdisjoint(words) or _OTHERS.search(said):
        return None
    # A bare lower-case word may be anything; a name, or "and ..." after "what is", is the next subject.
    people = before.again.startswith(("who", "where"))
    if not is_name(_ARTICLE.sub("", said)) and (people or not opened):
        return None
    title = title_of(said)
    if title is None or folded(title) == folded(before.title):
        return None
    asked = before.again.format(said)
    again = read_subject(asked)
    return asked if again is not None and folded(again.title) == folded(title) else None
