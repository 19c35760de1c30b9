"""What a peer's text must not hold: anything that is written for the model that may read it, not for people.

Rules, in this order; the first that holds is the name of the refusal:
1. ``chat_token``: marks by which chat models tell who speaks.
2. ``hidden_text``: characters that do not show (zero width, direction overrides, tags), but for the joiners
   of emoji and Indic and Persian script.
3. ``control``: control characters but for line ends and tabs.
4. ``orders``: a sentence that speaks to the model (``node.orders``).
5. ``calls_home``: an image or link in markup whose address would carry what was said to somebody else.

A net with holes: paraphrase gets through it. What is admitted is a quoted source behind marks all the same,
and no tool can be reached from where it is read. ``bench/injection.py`` has the rates. Pure; linear in the
length of the text.
"""

from __future__ import annotations

import re
import unicodedata

from node.orders import CHAT_TOKEN, gives_orders

_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_CALLS_HOME = re.compile(
    r"!\[[^\]\n]{0,200}\]\(\s{0,4}(?:https?:)?//[^)\s]{1,500}[?{<][^)\s]{0,500}\)"
    r"|<\s{0,4}(?:img|iframe|script|object|embed|link|form)\b[^>\n]{0,500}"
    r"|\]\(\s{0,4}(?:javascript|data|vbscript):",
    re.IGNORECASE,
)
_SENTENCE_CHARS_MAX = 4_000


def screen(text: str) -> str | None:
    """The name of the rule that ``text`` breaks; None for a text that breaks none."""
    if CHAT_TOKEN.search(text):
        return "chat_token"
    if not text.isascii() or not text.isprintable():
        for char in text:
            kind = unicodedata.category(char)
            if kind in ("Cf", "Co", "Cs") and char not in _JOINERS and char != "\N{SOFT HYPHEN}":
                return "hidden_text"
            if kind == "Cc" and char not in "\n\r\t":
                return "control"
    # an order may be wrapped over lines as well as stand alone in one
    for read in (text, " ".join(text.split())):
        if any(gives_orders(one.group()[:_SENTENCE_CHARS_MAX].strip()) for one in _SENTENCE.finditer(read)):
            return "orders"
    return "calls_home" if _CALLS_HOME.search(text) else None
