"""Outside prose made fit to quote: one line of printable text, cut at the end of a sentence. Pure.

What it returns is still somebody else's words: whoever says it also says whose they are.
"""

from __future__ import annotations

import re

from adapters.outside import text

READ_MAX = 20_000
"""Characters of a text that are looked at."""

_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]{0,3}\s+(?=[\"'“‘(\[]{0,2}[^\W_a-z])")
_SHORT = re.compile(
    r"(?:^|[\s(])(?:[A-Za-z]|[A-Z][a-z]|\w+\.\w|(?i:mr|mrs|ms|dr|prof|st|no|vs|etc|approx|ca|fl|jr|sr|inc|ltd|co"
    r"|lit|pron|gen|col|lt|sgt|rev|hon|vol|est))\.[\"'”’)\]]{0,3}$"
)
_EMPTY_BRACKETS = re.compile(r"\s*[(\[]\s*[,;:\s]*[)\]]")
_BRACKET_START = re.compile(r"([(\[])\s*[,;:]\s*")
_FENCE = re.compile(r"```.{0,5000}?(?:```|\Z)", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,600}\)")
_TAG = re.compile(r"<[^<>\n]{1,300}>")
_ADDRESS = re.compile(r"https?://\S{1,600}")


def sentences(value: object, *, most: int) -> str:
    """The whole sentences of ``value`` that fit into ``most`` characters; a first sentence that is longer is
    cut at a word. Empty for anything that is no text."""
    if not isinstance(value, str):
        return ""
    line = text(value[:READ_MAX], most=READ_MAX)
    line = _BRACKET_START.sub(r"\1", _EMPTY_BRACKETS.sub("", line)).replace(" ,", ",").replace(" .", ".")
    if len(line) <= most:
        return line
    end = 0
    for match in _SENTENCE.finditer(line[: most + 2]):
        if match.start() > most:
            break
        if _SHORT.search(line[max(0, match.start() - 12) : match.start()]):
            continue
        end = match.start() + len(match.group().rstrip())
    return line[:end].rstrip() if end else text(line, most=most)


def unmarked(value: str) -> str:
    """Markdown without its marks, headings, code, tables and addresses; what remains may be one paragraph."""
    plain = _FENCE.sub(" ", value[:READ_MAX])
    plain = _TAG.sub(" ", _LINK.sub(r"\1", plain))
    plain = _ADDRESS.sub(" ", plain)
    kept = [
        line.strip().lstrip(">-*+ ").replace("**", "").replace("__", "").replace("`", "")
        for line in plain.split("\n")
        if line.strip() and not line.lstrip().startswith(("#", "|", "---", "===", "***"))
    ]
    return " ".join(line for line in kept if len(line.split()) > 3)
