"""Names and towns by which people introduce themselves, in languages of which the classifier has seen little.

Pure. What goes before a name ("меня зовут", "私の名前は") stands in ``introductions.txt``. What follows it
has to look like a name: a capital letter, or a writing that has none; what stands in quotation marks is
asked about, not told.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from node.privacy.text import Text

_HITS_MAX = 32
_GAP = " :=-,"
_ASKED = ("什么", "什麼", "谁", "何", "なん", "뭐", "누구", "क्या", "ما ", "ماذا", "מה", "อะไร")


@cache
def _before() -> re.Pattern[str]:
    text = (files("node.privacy") / "introductions.txt").read_text(encoding="utf-8")
    phrases = sorted(text.replace("\n", "|").strip("|").split("|"), key=len, reverse=True)
    return re.compile(r"(?<![\w\"'“„«‹「『])(?:" + "|".join(map(re.escape, phrases)) + ")")


def find(read: Text) -> str | None:
    """``self_statement`` or None."""
    for count, found in enumerate(_before().finditer(read.lower)):
        name = read.text[found.end() : found.end() + 24].lstrip(_GAP)
        is_apart = not found[0].isascii() or name != read.text[found.end() : found.end() + 24]
        if count >= _HITS_MAX or (is_apart and _is_name(name)):
            return "self_statement"
    return None


def _is_name(shown: str) -> bool:
    has_case = shown[:1].lower() != shown[:1].upper()
    return shown[:2].isalpha() and (shown[0].isupper() or not has_case) and not shown.startswith(_ASKED)
