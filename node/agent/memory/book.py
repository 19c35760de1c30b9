"""One file of memory: a line a fact, ``- `` in front, the newest last; and how a new fact joins it.

Pure. A person may edit the file: what is no line of the form is read over, and stays in front. A fact that is
there in the same or in other words is not written twice (the cache's own gate tells); one that says otherwise
of the same thing takes the old line's place, and the old one goes to the history beside the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from node.agent.memory.facts import FACT_CHARS_MAX
from node.cache.matching.gate import agree
from node.language.phrases import languages
from node.language.reading import fold, words_of
from node.language.sentences import content_words, one_line
from node.language.tables import any_of, read_table

LINES_MAX = 200
FILE_BYTES_MAX = 256 * 1024
_BULLET = "- "
_ALIKE_MIN = 0.5
_SAME_COSINE = 0.9
_VALUES = frozenset(("number", "unit", "negation", "opposite", "time"))
"""Differences of which only one can hold where the rest is the same."""
_TABLE = read_table("node.agent.memory", "words.toml")
_CHANGE = re.compile(rf"\b(?:{any_of(_TABLE['changed'])})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Joined:
    """``lines``: the book after it; ``at``: where the fact stands now, from 0; ``was``: the line whose place
    it took; ``is_new``: False where the book said it already."""

    lines: tuple[str, ...]
    at: int
    was: str = ""
    is_new: bool = True


def read(text: str) -> tuple[str, ...]:
    """The facts of a file."""
    found = (line.strip() for line in text.splitlines())
    facts = (one_line(line[len(_BULLET) :], FACT_CHARS_MAX) for line in found if line.startswith(_BULLET))
    return tuple(dict.fromkeys(fact for fact in facts if fact))


def remarks(text: str) -> tuple[str, ...]:
    """What else a person wrote into the file."""
    return tuple(line for line in text.splitlines() if line.strip() and not line.strip().startswith(_BULLET))


def write(lines: Sequence[str], remarks: Sequence[str] = ()) -> str:
    """The file."""
    return "".join([*(f"{line}\n" for line in remarks), *(f"{_BULLET}{line}\n" for line in lines)])


def join(lines: Sequence[str], fact: str, said: str = "", alike: Sequence[float] = ()) -> Joined:
    """A new fact among the lines: not there yet, there already, or in another one's place. ``said``: the
    message that told it, whose words may say that something has changed; ``alike``: the cosine of the fact
    with each line, where an embedder is there."""
    for at, line in enumerate(lines):
        if _is_same(fact, line, alike[at] if len(alike) == len(lines) else 0.0):
            return Joined(tuple(lines), at, is_new=False)
    has_changed = _CHANGE.search(said) is not None
    for at in reversed(range(len(lines))):
        if _says_otherwise(fact, lines[at], has_changed=has_changed):
            rest = (*lines[:at], *lines[at + 1 :])
            return Joined((*rest, fact), len(rest), was=lines[at])
    is_full = len(lines) >= LINES_MAX
    kept = tuple(lines[is_full:])
    return Joined((*kept, fact), len(kept), was=lines[0] if is_full else "")


def _is_same(fact: str, line: str, cosine: float) -> bool:
    if fact.casefold() in line.casefold():
        return True
    veto = agree(fact, line).veto
    return veto is None or (veto == "word" and cosine >= _SAME_COSINE)


def _says_otherwise(fact: str, line: str, *, has_changed: bool) -> bool:
    new, old = set(content_words(fact)), set(content_words(line))
    if len(new & old) < _ALIKE_MIN * max(len(new), len(old)):
        return has_changed and _begins_alike(fact, line)
    if agree(fact, line).veto in _VALUES:
        return True
    return _is_one_word_apart(fact, line) and (has_changed or all(map(_names_language, (fact, line))))


def _begins_alike(fact: str, line: str) -> bool:
    """ "Is the …" and "Is the …": what one is, which is one thing at a time."""
    new, old = fact.casefold().split()[:2], line.casefold().split()[:2]
    return new[:1] == old[:1] and not content_words(new[0])


def _is_one_word_apart(fact: str, line: str) -> bool:
    new, old = fact.casefold().split(), line.casefold().split()
    return len(new) == len(old) and sum(one != other for one, other in zip(new, old, strict=True)) == 1


def _names_language(text: str) -> bool:
    words = tuple(words_of(fold(text)))
    return any(one.named(words) for one in languages())
