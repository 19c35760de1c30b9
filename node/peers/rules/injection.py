"""What a text of a peer or a client must not hold: anything that is written for the model that may read it,
not for people.

Rules (own; facts on trust B, "cached text as LLM context"), in this order; the first that is broken names the
refusal:
1. ``control``: control characters but for line ends and tabs.
2. ``hidden_text``: characters that do not show: overrides of direction, tags, private use, fillers; and two
   in a row of those that have a place alone (joiners, soft hyphens, direction marks, variation selectors),
   which is how bytes are smuggled.
3. ``chat_token``: marks by which chat models or prompts tell who speaks.
4. ``orders``: a sentence that speaks to the model (``node.language.orders``), or tells it in another language
   to ignore what came before.
5. ``calls_home``: markup that loads something from elsewhere, which tells somebody that and what was read;
   a link that is a program.
3 to 5 are read in the text as it stands and as it looks: compatibility forms and look-alike letters made
plain, what does not show left out, spaced-out words joined.

A net with holes: it stops two thirds of the payloads that were written to try it, 7 of 15 of a list by other
hands, and nothing that is said in other words, in code or in most other languages. It stops none of the
starter set, no ordinary question, and one in seven honest texts of those that come close to a rule
(``bench/injection.py``). So it only lowers the odds: what is admitted is a quoted source behind marks all the
same, and no tool can be reached from where it is read. Pure; linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from node.language.orders import CHAT_TOKEN, gives_orders

RULES = {
    "control": "control characters",
    "hidden_text": "characters that do not show",
    "chat_token": "marks by which chat models tell who speaks",
    "orders": "a sentence that gives orders to a model",
    "calls_home": "markup or a link that loads or runs something",
}
"""Rule → what a text that breaks it holds."""
_ALONE = "\u00ad\u061c\u200b-\u200f\u2060\ufeff"
"""Soft hyphen, breaks and joiners of zero width, direction marks: honest in ones."""
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_SHOWN = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Format characters that do show: signs before Arabic, Syriac and Kaithi numbers."""
_FILLERS = "\u115f\u1160\u3164\uffa0"
_QUIET = re.compile(f"[{_ALONE}{_SELECTORS}]")
_HARMLESS = re.compile(
    "\U0001f3f4[\U000e0061-\U000e007a]{5}\U000e007f"  # the flags of England, Scotland and Wales
    f"|(?<![{_ALONE}])[{_ALONE}](?![{_ALONE}])|(?<![{_SELECTORS}])[{_SELECTORS}](?![{_SELECTORS}])"
    f"|[{_SHOWN}]"
)
_HIDDEN = re.compile(f"[{_ALONE}{_SELECTORS}{_FILLERS}]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

_MARKS = re.compile(
    r"</?(?:system|instructions?|context|prompt)>"
    r"|(?:\A|\n)\W{0,4}#{2,4} ?(?:system|instructions?|user|assistant)\b ?:?"
    r"|(?:\A|\n)\s{0,4}(?:human|user) ?:[^\n]{0,300}\n\s{0,4}(?:assistant|ai) ?:",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    "|".join(
        (
            r"\bignore[sz]? (?:toute?s?|les|tou[st]es? les)\b[^.!?\n]{0,30}\b(?:instructions|consignes)\b",
            r"\b(?:ignorier|vergiss|missacht)\w{0,4}\b[^.!?\n]{0,30}\b(?:anweisung|regel|befehl)",
            r"\b(?:ignora|olvida|ignore|esqueça|dimentica)\b[^.!?\n]{0,30}"
            r"\b(?:instrucciones|instruções|istruzioni|reglas|regras|regole)\b",
            r"\b(?:игнорируй|забудь)(?:те)?\b[^.!?\n]{0,30}\b(?:инструкци|указани|правил)",
            r"(?:忽略|无视|無視|忘记|忘記)[^。！？\n]{0,12}(?:指令|指示|提示|规则|規則)",
            r"(?:指示|命令|ルール)(?:を|は)[^。！？\n]{0,8}(?:無視|忘れ)",
        )
    ),
    re.IGNORECASE,
)
"""Ignore what you were told, in seven languages beside English."""
_CALLS_HOME = re.compile(
    r"!\[[^\]\n]{0,200}\](?:\(\s{0,4}<?(?:https?:)?//|\[)"
    r"|<\s{0,4}(?:img|iframe|script|object|embed|link|form|video|audio|source|base)\b[^<>]{0,500}"
    r"""=\s{0,4}["']?\s{0,4}(?:https?:)?//"""
    r"|\]\(\s{0,4}<?(?:javascript|data|vbscript):",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_WINDOW, _OVERLAP = 2_000, 200
"""A run of words without an end is read in pieces, which overlap by more than the longest order."""
_SPACED = re.compile(r"(?<!\S)(?:\w ){4,}\w(?!\S)")
_WORD_BREAKS = re.compile(r"(?<=\w)[-_](?=\w)")
# letters of other scripts (first line) that look like Latin ones (second line)
_PLAIN_LETTERS = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧοινα",
    "ABESIJKMHOPCTYXaeopcyxijsABEZHIKMNOPTYXoiva",
)


def screen(text: str) -> str | None:
    """The name of the rule that ``text`` breaks; None for a text that breaks none."""
    if (rule := _what_hides(text)) is not None:
        return rule
    looks = _as_it_looks(text)
    for read in (text,) if looks == text else (text, looks):
        if CHAT_TOKEN.search(read) or _MARKS.search(read):
            return "chat_token"
        if _ELSEWHERE.search(read) or any(gives_orders(one) for one in _sentences(read)):
            return "orders"
        if _CALLS_HOME.search(read):
            return "calls_home"
    return None


def screen_all(texts: Iterable[str], addresses: Iterable[str | None] = ()) -> str | None:
    """The first rule that any of these breaks. ``addresses``: what a reader may be given as a link; only
    those of the web and of content are (``calls_home``), and 4 does not apply to them."""
    for text in texts:
        if (rule := screen(text)) is not None:
            return rule
    for address in addresses:
        if address is not None and (rule := _screen_address(address)) is not None:
            return rule
    return None


def _screen_address(address: str) -> str | None:
    if (rule := _what_hides(address)) is not None:
        return rule
    if not address.isprintable():
        return "control"
    if CHAT_TOKEN.search(address):
        return "chat_token"
    is_link = address.lower().startswith(("http://", "https://", "ipfs://", "ipns://"))
    return None if is_link else "calls_home"


def _what_hides(text: str) -> str | None:
    if text.isascii() and text.isprintable():
        return None
    if _CONTROL.search(text):
        return "control"
    rest = _HARMLESS.sub("", text)
    is_hidden = any(unicodedata.category(char) in ("Cf", "Co", "Cs") for char in rest)
    return "hidden_text" if is_hidden or _HIDDEN.search(rest) else None


def _sentences(text: str) -> Iterator[str]:
    """Sentences line by line; then, for an order that is wrapped over lines, without regard to lines."""
    flat = " ".join(text.split())
    for read in (text, flat) if "\n" in text else (text,):
        for one in _SENTENCE.finditer(read):
            sentence = one.group().strip()
            for start in range(0, max(1, len(sentence) - _OVERLAP), _WINDOW - _OVERLAP):
                yield sentence[start : start + _WINDOW]


def _as_it_looks(text: str) -> str:
    """What somebody sees who reads it."""
    if not text.isascii():
        shown = unicodedata.normalize("NFKC", _QUIET.sub("", text))
        text = shown.translate(_PLAIN_LETTERS)
    joined = _SPACED.sub(lambda run: run.group().replace(" ", ""), text)
    return _WORD_BREAKS.sub(" ", joined)
