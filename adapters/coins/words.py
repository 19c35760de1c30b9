"""The words of a question about coins: the closed vocabulary and the cutting of a sentence. Pure.

Rules of this file and of ``languages/<code>.toml``:
- Case is kept beside the lower form, for capitals may show a ticker (SOL); Latin accents are gone before.
- ``[parts]`` give words a part: how much, price, market cap, a polite filler … with its value behind a blank;
  words of one phrase are joined by ``_``. Adding a wording is adding words to a row.
- ``orders`` turn other orders of words into the one that is read. ``traps`` name a coin's price without
  asking for it, ``judges`` ask for a judgement of a coin.
- It knows words, not questions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from rapidfuzz.distance import OSA

from adapters.coins.aliases import COINS, CURRENCIES, EVERYDAY, NO_TICKERS, OTHER_THINGS, TYPED
from node.language import numbers
from node.language.tables import lexicon

_LEXICON = lexicon(__package__)
TABLES = _LEXICON.tables
WORDS = _LEXICON.words
PATTERNS = _LEXICON.patterns
finds = _LEXICON.finds

WORDS_MAX = 60
DATE_MARK = "\ue000"
"""Stands in a sentence for the time that was taken out of it."""

_QUOTES = str.maketrans({"’": "'", "‘": "'", "´": "'", "`": "'", "“": '"', "”": '"', "\u00a0": " "})


def plain(text: str) -> str:
    """``text`` without Latin accents and curly quotes, its case kept; other scripts stay as they are."""
    if text.isascii():
        return text.replace("`", "'")
    out: list[str] = []
    for char in unicodedata.normalize("NFC", text.translate(_QUOTES)):
        code = ord(char)
        if char == "ß":
            out.append("ss")
        elif 0xC0 <= code <= 0x24F or 0x1E00 <= code <= 0x1EFF:
            out.append(unicodedata.normalize("NFD", char)[0])
        elif 0xFF01 <= code <= 0xFF5E:
            out.append(chr(code - 0xFEE0))
        elif not 0x300 <= code <= 0x36F:
            out.append(char)
    return "".join(out)


# --- cutting ------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"(?P<number>(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+,\d{1,2}(?!\d)|\d+\.\d+|\d+|\.\d+)[kmb]?(?![^\W_]))"
    r"|(?P<ticker>\$[a-z][a-z0-9]{0,19}(?![^\W_]))"
    r"|(?P<word>[^\W_]+(?:'[^\W_]{1,3}(?![^\W_]))?)"
    r"|(?P<sign>[$€£¥₹₩₽₴₺₪₫₦%&])"
    r"|(?P<mark>\ue000)"
    r"|(?P<space>\s+)"
    r"|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_IGNORED = frozenset("¿¡,.:()[]'\"-–—/~’")


@dataclass(frozen=True, slots=True)
class Token:
    """``joined`` is the ``/`` or ``-`` that ties it to the word before without a blank; ``split`` says
    that a comma stands before it."""

    text: str
    low: str
    kind: str
    joined: str = ""
    split: bool = False


def tokens_of(sentence: str) -> list[Token] | None:
    """The words, or None when something in it is neither word nor harmless punctuation, or it is too long."""
    out: list[Token] = []
    gap = " "
    for match in _TOKEN.finditer(sentence):
        kind = match.lastgroup or "other"
        piece = match.group()
        if kind == "space":
            gap += " "
            continue
        if kind == "other":
            if piece not in _IGNORED and unicodedata.category(piece) not in ("So", "Sk", "Mn", "Cf"):
                return None
            gap += piece
            continue
        if kind == "number" and gap.endswith(("-", "–")) and gap != "-":
            return None
        joined = gap if gap in ("/", "-") else ""
        if out and out[-1].low in ("how", "so") and one_apart(piece.lower(), "much"):
            piece = "much"
        for index, (low, text) in enumerate(_expanded(piece)):
            out.append(Token(text, low, kind, joined if index == 0 else "", "," in gap and index == 0))
        gap = ""
        if len(out) > WORDS_MAX:
            return None
    return out


_SUFFIXES = {"'s": "is", "'re": "are", "'d": "would", "'m": "am", "'ll": "will", "'ve": "have"}
_IS_AFTER = frozenset(("what", "how", "where", "that", "who", "it"))


def _expanded(piece: str) -> Iterator[tuple[str, str]]:
    low = piece.lower()
    if low in TYPED:
        yield from ((word, word) for word in TYPED[low])
        return
    base, mark, tail = low.partition("'")
    if mark and (mark + tail) in _SUFFIXES:
        yield base, piece[: len(base)]
        if tail != "s" or base in _IS_AFTER:
            yield _SUFFIXES[mark + tail], tail
        return
    if mark and base in ("l", "d", "dell", "del", "s", "quel", "qu"):
        yield base, piece[: len(base)]
        yield tail, piece[len(base) + 1 :]
        return
    yield low, piece


def one_apart(a: str, b: str) -> bool:
    """Whether one added, missing, wrong or swapped letter lies between them."""
    return OSA.distance(a, b, score_cutoff=1) == 1


def key_of(phrase: str) -> tuple[str, ...]:
    """A phrase as the tuple of lower words by which the tables are asked."""
    return tuple(token.low for token in tokens_of(plain(phrase)) or ())


# --- vocabulary ---------------------------------------------------------------------------------------


def _phrases() -> dict[tuple[str, ...], tuple[str, str]]:
    table: dict[tuple[str, ...], tuple[str, str]] = {}
    for part, phrases in TABLES["parts"].items():
        kind, _, value = part.partition(" ")
        for phrase in phrases:
            table[key_of(phrase.replace("_", " "))] = (kind, value)
    for word, number in numbers.single_words().items():
        if number > 1 and (word,) not in COIN_WORDS:
            table.setdefault((word,), ("number", str(number)))
    for code, names in CURRENCIES.items():
        for name in names:
            table[key_of(name)] = ("currency", code)
    for code, names in CURRENCIES.items():
        for key in map(key_of, names):  # dollars canadian
            table.setdefault((key[-1], *key[:-1]), ("currency", code))
    return table


def _coin_words() -> dict[tuple[str, ...], tuple[str, str]]:
    table: dict[tuple[str, ...], tuple[str, str]] = {}
    for coin in COINS:
        for alias in (*coin.names, *coin.symbols):
            table.setdefault(key_of(alias), (coin.id, alias))
        for alias in coin.names:
            if len(alias) >= 5 and alias.isalpha() and alias not in EVERYDAY and not alias.endswith("s"):
                table.setdefault((alias + "s",), (coin.id, alias))
        for alias in coin.symbols:
            if len(alias) >= 3 and alias not in EVERYDAY and not alias.endswith("s"):
                table.setdefault((alias + "s",), (coin.id, alias))
    table.setdefault(("dogecoins",), ("dogecoin", "dogecoin"))
    table.setdefault(("ethers",), ("ethereum", "ether"))
    return table


COIN_WORDS = _coin_words()
"""Words to (id, alias)."""
PHRASES = _phrases()
"""Words to (kind, value)."""
PHRASE_WORDS_MAX = max(len(key) for key in (*PHRASES, *COIN_WORDS))
FIAT = frozenset(CURRENCIES) | {"try"}
MONEY = "|".join(
    sorted(
        (re.escape(name) for names in CURRENCIES.values() for name in names if name.isalpha()),
        key=len,
        reverse=True,
    )
)
"""A pattern for the name of a currency."""

NAMED_ENDINGS = ("coin", "token")
"""A name that ends so says that it is a coin's (zorgcoin)."""
NOT_A_COIN_NAME = OTHER_THINGS
NOT_A_TICKER = NO_TICKERS
