"""One spelling per word: light stemming, British to American spelling, a modest synonym table.

Promises: pure, total, linear; degrees stay apart (big, bigger, biggest), as do figures and code. Two words
with equal results stand for each other in a question. Must not know: what is compared.
"""

from __future__ import annotations

from functools import lru_cache

from node.cache.matching import words

_VOWELS = frozenset("aeiouy")
_SPELLINGS = words.pairs("spellings").items()
_BEGINNINGS = words.pairs("beginnings").items()
_KEEP_SPELLING = words.table("keep_spelling")
_KEEP_LY = words.table("keep_ly")
_KEEP_OES = words.table("keep_oes")
_KEEP_S = ("ss", "us", "is", "ics", "ias")


def _spelling(word: str) -> str:
    if word in _KEEP_SPELLING or len(word) < 5:
        return word
    for british, american in _BEGINNINGS:
        if word.startswith(british):
            word = american + word[len(british) :]
            break
    for british, american in _SPELLINGS:
        if word.endswith(british) and len(word) - len(british) >= 3:
            return word[: -len(british)] + american
    return word


def _lost_e(stem: str) -> bool:
    """Whether a stem before -ing or -ed most likely lost a silent e ("mak", "manag"; not "open", "treat")."""
    if stem[-2] in _VOWELS and stem[-3:-2] and stem[-3] in _VOWELS and stem[-3:-1] != "ui":
        return stem[-1] in "sv"
    if stem[-1] in "vcuz" or stem.endswith(("rg", "dg", "rv", "lv")) or (stem[-1] == "s" and stem[-2] != "s"):
        return True
    if stem[-1] == "l":
        return stem[-2] in "bdtpgfkz"
    if stem[-1] in _VOWELS or stem[-2] not in _VOWELS or stem[-1] in "wx":
        return False
    one_syllable = not _VOWELS & set(stem[:-2])
    return one_syllable or stem.endswith(
        ("at", "ut", "ir", "ar", "ur", "in", "id", "ag", "ad", "ud", "od", "ib", "ap", "ok", "sum")
    )


def _base(word: str) -> str:
    """The stem of a regular form."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 5 and word.endswith("oes") and word not in _KEEP_OES:
        return word[:-2]
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(_KEEP_S):
        return word[:-1]
    if len(word) > 6 and word.endswith("ly") and word not in _KEEP_LY:
        return word[:-3] + "y" if word.endswith("ily") else word[:-2]
    for ending in ("ied", "ing", "ed"):
        if word.endswith(ending):
            stem = word[: -len(ending)]
            if ending == "ied":
                return stem + "y" if len(stem) > 1 else word
            if len(stem) < 3 or not _VOWELS & set(stem) or stem.endswith("e"):
                return word
            if (stem[-1] == stem[-2] and stem[-1] not in "lsz") or (stem.endswith("ll") and len(stem) > 7):
                return stem[:-1]
            return stem + "e" if _lost_e(stem) else stem
    return word


@lru_cache(maxsize=8_192)
def _stem(word: str) -> str:
    word = words.MISSPELLED.get(word, word)
    stem = words.IRREGULAR.get(word)
    if stem is None:
        stem = _base(_spelling(word))
        stem = words.IRREGULAR.get(stem, stem) if stem != word else stem
    if len(stem) > 4 and stem.endswith("ie"):
        return stem[:-2] + "y"
    return stem


def _by_stem() -> dict[str, str]:
    table: dict[str, str] = {}
    for word, first in words.SYNONYMS.items():
        table.setdefault(_stem(word), first)
    return table


_SYNONYMS = _by_stem()


def canonical(word: str) -> str:
    """The word that stands for ``word`` (lower case) when questions are compared. Names of ``aliases`` and
    dates, which hold a hyphen, stand for themselves."""
    if "-" in word:
        return word
    stem = _stem(word[:64]) + word[64:]
    return _SYNONYMS.get(stem, stem)
