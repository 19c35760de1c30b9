"""Reading what a source says: checked figures, bounded lists, clean text. Pure.

Every function takes the value as decoded, the name of the source and of the thing, and raises ``Rejected``
with a clause for people when the value is not what the source's documentation says. Outside text is
printable, in one line and cut; a figure is finite and within ``FIGURE_MAX``; nothing is guessed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from node.core.errors import Rejected

FIGURE_MAX = Decimal(10) ** 24
READ_CHARS = 12_000
"""Characters of an outside text that are looked at for markup."""

_MARKUP = re.compile(
    r"<!--[^<]{0,2000}?-->"
    r"|<(?:script|style)\b(?:(?!<(?:script|style)\b).){0,1000}?</(?:script|style)\s*>"
    r"|</?[A-Za-z!?][^<>]{0,2000}>",
    re.DOTALL | re.IGNORECASE,
)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\s?\([^()\n]{0,300}(?:\([^()\n]{0,300}\)[^()\n]{0,300})?\)")
_LINK_BEGUN = re.compile(r"\]\s*\(")
_ANGLES = str.maketrans("<>", "‹›")
_QUOTES = re.compile('["“”„‟«»]')


def mapping(value: object, source: str, what: str) -> Mapping[str, object]:
    """An object."""
    if not isinstance(value, dict):
        raise Rejected(f"{source} gave no {what}")
    return value


def listing(value: object, source: str, what: str, *, most: int) -> Sequence[object]:
    """The first ``most`` entries of an array."""
    if not isinstance(value, list):
        raise Rejected(f"{source} gave no {what}")
    return value[:most]


def number(value: object, source: str, what: str) -> Decimal:
    """A finite JSON number; text, true and null are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Rejected(f"{source} gave no number for the {what}")
    if isinstance(value, int) and abs(value) > FIGURE_MAX:
        raise Rejected(f"{source} gave an impossible {what}")
    figure = Decimal(repr(value))
    if not figure.is_finite() or abs(figure) > FIGURE_MAX:
        raise Rejected(f"{source} gave an impossible {what}")
    return figure


def whole(value: object, source: str, what: str, *, most: int) -> int:
    """An integer from 0 to ``most``, also as text of digits, as some sources write scores."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 12:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise Rejected(f"{source} gave no number for the {what}")
    return value


def text(value: object, *, most: int) -> str:
    """Printable text in one line, at most ``most`` characters, cut at a word; empty for anything else."""
    if not isinstance(value, str):
        return ""
    line = " ".join("".join(char if char.isprintable() else " " for char in value[: most * 4]).split())
    if len(line) <= most:
        return line
    return line[: most - 1].rsplit(" ", 1)[0].rstrip(",;:-") + "…"


def plain(value: object, *, most: int) -> str:
    """Outside text as ``text`` gives it, without HTML and without the targets of markdown links; an angle
    that is left is a sign like any other ("5 ‹ 6"). Empty for anything but text."""
    if not isinstance(value, str):
        return ""
    said = value[: min(most * 20, READ_CHARS)]
    for _ in range(3):  # escaped once more than it should be: seen in real feeds, and in attacks
        said = html.unescape(_MARKUP.sub(" ", said))
    said = _MARKUP.sub(" ", said).translate(_ANGLES)
    return text(_LINK_BEGUN.sub("] (", _LINK.sub(r"\1", said)), most=most)


def unquoted(said: str) -> str:
    """``said`` without double quotes, to stand between a pair of them."""
    return " ".join(_QUOTES.sub("", said).split())
