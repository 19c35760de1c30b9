"""A text as the rules see it: bounded, folded, cut into sentences and words.

Rules of this file:
- Only the first ``HEAD_CHARS`` and the last ``TAIL_CHARS`` characters are read, so that the work is bounded
  for any input; an instruction usually stands at one end of a long paste.
- Case, Latin accents, full-width forms and curly quotes are folded away; other scripts are kept as they are
  (folding would turn Japanese が into か, which asks).
- English contractions are written out ("what's" becomes "what is"), so that the rules need one form only.
- It knows words, not what they mean.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from node.language.tables import ENGLISH, language_table

HEAD_CHARS = 2_000
TAIL_CHARS = 500
SENTENCES_HEAD = 40
SENTENCES_TAIL = 20


def word_list(words: str) -> list[str]:
    """The words of a table row written as one text, in order."""
    return words.split()


_QUOTES = str.maketrans({"’": "'", "‘": "'", "´": "'", "`": "'", "“": '"', "”": '"', "ё": "е", "Ё": "Е"})

# A sentence ends at marks before white space, a closing quote or the end; at CJK and Arabic marks anywhere.
_END = re.compile(r"[.!?…]+(?=[\"')\]»]*(?:\s|$))|[。！？؟\n]+|[!?]+(?=[^\x00-\x7f])")
# "dr. smith" and "no. 123" go on after the stop.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|no|nr|num|vs|etc|approx|e\.g|i\.e|u\.s|u\.k)$"
)
# 'He asked "why?" and left': a mark inside a quotation that the sentence goes on after.
_QUOTED_ON = re.compile(r"[\"')\]»]+\s+[a-z]")

_WORD = re.compile(
    r"(?:qu|lorsqu|jusqu|puisqu|quelqu|dell|nell|all|dall|sull|[jldcnmts])'(?=[^\W_])"  # elided articles
    r"|[^\W_]+(?:[-'.][^\W_]+)*"
    r"|,(?!\d)"
)
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_HAN_KANA = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")

_CONTRACTED = language_table(ENGLISH, "contractions")
_NOT: Mapping[str, str] = _CONTRACTED["negations"]
_SUFFIX: Mapping[str, str] = _CONTRACTED["endings"]
_BARE: Mapping[str, str] = _CONTRACTED["bare"]
_IS_AFTER = frozenset(_CONTRACTED["is_after"].split())


@dataclass(frozen=True, slots=True)
class Sentence:
    """``words`` without commas; ``canon`` the same with commas, joined by blanks; ``mark`` is ``?``, ``!``,
    ``.`` or empty: how the sentence ends. ``plain`` is the folded text itself, for scripts without blanks."""

    plain: str
    words: tuple[str, ...]
    canon: str
    mark: str

    @property
    def flat(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True, slots=True)
class Reading:
    """``plain`` is the folded window in one line, ``words`` all its words, ``script`` one of latin,
    cyrillic, japanese, chinese, other, none (nothing but punctuation and pictures)."""

    plain: str
    words: tuple[str, ...]
    sentences: tuple[Sentence, ...]
    script: str

    @property
    def flat(self) -> str:
        return " ".join(self.words)


@lru_cache(maxsize=8)
def read(text: str) -> Reading:
    """Read ``text``; total, and linear in the window only. The last few are kept, for every adapter reads the
    same one."""
    window = _window(text)
    folded = fold(window)
    sentences = tuple(_sentences(folded))
    words = tuple(word for sentence in sentences for word in sentence.words)
    return Reading(" ".join(folded.split()), words, sentences, _script(folded))


def fold(text: str) -> str:
    """Lower case without Latin accents, figures of every writing as 0 to 9; lengths may differ from the
    original by a little."""
    if text.isascii():
        return text.replace("`", "'").lower()
    out: list[str] = []
    for char in text.translate(_QUOTES):
        code = ord(char)
        if 0xC0 <= code <= 0x24F or 0x1E00 <= code <= 0x1EFF:
            out.append(unicodedata.normalize("NFD", char)[0])
        elif 0x300 <= code <= 0x36F:
            continue
        elif 0xFF01 <= code <= 0xFF5E:
            out.append(chr(code - 0xFEE0))
        elif code > 0x7F and char.isdecimal():
            out.append(str(unicodedata.decimal(char)))
        else:
            out.append(char)
    return "".join(out).casefold()


def words_of(folded: str) -> list[str]:
    """Words and commas of a folded text, contractions written out."""
    out: list[str] = []
    for match in _WORD.finditer(folded):
        out.extend(_expand(match.group()))
    return out


def _window(text: str) -> str:
    head = text[: HEAD_CHARS + TAIL_CHARS].strip() if len(text) <= HEAD_CHARS + TAIL_CHARS else None
    if head is not None:
        return head
    # Surrounding blanks must not change what is read; scanning them is linear and cheap.
    stripped = text.strip()
    if len(stripped) <= HEAD_CHARS + TAIL_CHARS:
        return stripped
    return stripped[:HEAD_CHARS] + "\n" + stripped[-TAIL_CHARS:]


def _sentences(folded: str) -> list[Sentence]:
    found: list[Sentence] = []
    start = 0
    for match in _END.finditer(folded):
        if match.start() < start:
            continue
        marks = match.group()
        if marks == "." and _ABBREVIATION.search(folded[max(0, match.start() - 8) : match.start()]):
            continue
        if _QUOTED_ON.match(folded, match.end()):
            continue
        _append(found, folded[start : match.start()], marks)
        start = match.end()
    _append(found, folded[start:], "")
    if len(found) > SENTENCES_HEAD + SENTENCES_TAIL:
        return found[:SENTENCES_HEAD] + found[-SENTENCES_TAIL:]
    return found


def _append(found: list[Sentence], piece: str, marks: str) -> None:
    tokens = words_of(piece)
    words = tuple(word for word in tokens if word != ",")
    asked = "¿" in piece or any(mark in marks for mark in "?？؟")
    mark = "?" if asked else "!" if "!" in marks or "！" in marks else "." if marks.strip() else ""
    if words:
        found.append(Sentence(piece.strip(), words, " ".join(tokens), mark))
    elif asked and found and found[-1].mark != "?":
        last = found[-1]
        found[-1] = Sentence(last.plain, last.words, last.canon, "?")


def _expand(word: str) -> list[str]:
    if word in _BARE:
        return _BARE[word].split()
    if word in _NOT:
        return [_NOT[word], "not"]
    if "'" not in word or word.endswith("'"):
        return [word]
    if word.endswith("n't"):
        return [word[:-3], "not"]
    base, mark, tail = word.rpartition("'")
    if mark + tail in _SUFFIX:
        return [base, _SUFFIX[mark + tail]]
    if tail == "s":
        return [base, "is"] if base in _IS_AFTER else [base]
    return [word]


def _script(folded: str) -> str:
    if _HAN_KANA.search(folded):
        return "japanese" if _KANA.search(folded) else "chinese"
    if _CYRILLIC.search(folded):
        return "cyrillic"
    match = _LETTER_OR_DIGIT.search(folded)
    if match is None:
        return "none"
    return "latin" if any(char.isascii() and char.isalnum() for char in folded) else "other"
