"""Names and towns by which people introduce themselves, in languages of which the classifier has seen little.

Pure. What follows the words for it ("меня зовут", "私の名前は") has to look like a name: a capital letter, or
a writing that has none; what stands in quotation marks is asked about, not told.
"""

from __future__ import annotations

import re

from node.privacy.text import Text
from node.privacy.words import entries, fill

_HITS_MAX = 32
_GAP = " :=-,"
_BEFORE = re.compile(fill(r"(?<![\w\"'“„«‹「『])<introduced>"))


def find(read: Text) -> str | None:
    """``self_statement`` or None."""
    for count, found in enumerate(_BEFORE.finditer(read.lower)):
        behind = read.text[found.end() : found.end() + 24]
        name = behind.lstrip(_GAP)
        is_apart = not found[0].isascii() or name != behind
        if count >= _HITS_MAX or (is_apart and _is_name(name)):
            return "self_statement"
    return None


def _is_name(shown: str) -> bool:
    has_case = shown[:1].lower() != shown[:1].upper()
    asks = shown.startswith(entries("asks_name"))
    return shown[:2].isalpha() and (shown[0].isupper() or not has_case) and not asks
