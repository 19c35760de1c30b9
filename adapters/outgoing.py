"""What may leave the node: the one look at words of an asker before a public source gets them. Pure.

A question for a source of figures sends codes only (a coin's id, a place). Some send words as they were
typed: the title of an article, the topic of a proposal, the name of an unknown coin, a search for stories.
Those words may be somebody's secret or tell of a person, and a public source keeps what it is asked. So each
such text passes ``may_leave`` first, and what does not pass is not asked at all.

It promises: identifiers do not pass (mail addresses and handles, numbers of phones, accounts and persons,
street addresses, keys, hashes, tokens that look like passwords), nor does a text that speaks of a secret or
of somebody's record (see ``_WORDS``), nor of what the asker calls their own. It errs towards staying silent:
a refused article costs context, a sent password cannot be taken back. It cannot know whether a bare name is a
private person's.
"""

from __future__ import annotations

import re
import unicodedata

from node.language.reading import fold
from node.language.tables import any_of, lexicon, pattern

TEXT_CHARS = 1_000
"""A longer text is no title, topic or name."""
TOKEN_MIN = 6
"""From this length on a mix of letters and digits may be a password or a key."""
DIGITS_MIN = 6
"""A run of so many digits is a number of something; more in groups, for dates and scores come in groups."""
GROUPED_MIN = 7

_TABLE = lexicon(__package__).tables["words"]
_ALONE = r"(?<![^\W_])<any>(?![^\W_])"
"""As words, not within one."""
_WORDS = pattern([*_TABLE["opens"], *_TABLE["finds"], *_TABLE["record"]], {}, _ALONE)
"""What opens something (passwords, keys), what identifies or finds a person, what a record says of one."""
_SCRIPT_WORDS = pattern(_TABLE["script_words"], {})
_TERMS = pattern(_TABLE["terms"], {}, _ALONE)
"""Names of public things that hold such a word."""
_OWN = re.compile(f"{pattern(_TABLE['own'], {}, _ALONE).pattern}|{any_of(_TABLE['script_own'])}")

_MAIL = re.compile(
    r"@|(?<![^\W_])at [^\W_]{2,40} dot [a-z]{2,6}(?![^\W_])|[^\W_]\s?[\[(](?:at|a)[\])]\s?[^\W_]",
    re.IGNORECASE,
)
_RUN = re.compile(rf"\d{{{DIGITS_MIN}}}")
_GROUPS = re.compile(r"\d{1,5}(?:[\s()./+\u2010-\u2015-]{1,3}\d{1,5}){1,12}")
_DATE = re.compile(
    r"(?:1\d|20)\d\d([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/. ])\d{1,2}\2(?:1\d|20)\d\d"
    r"|(?:\d{1,2}[\s]){0,2}(?:1\d|20)\d\d(?:[\s/\u2010-\u2015-]{1,3}(?:(?:1\d|20)\d\d|\d{1,2}))?"
)
"""Days, years and spans of years."""
_HEX = re.compile(r"(?<![^\W_])0x[0-9a-f]{1,}|(?<![^\W_])[a-f]{12,}(?![^\W_])", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W_]+(?:[_'’!$&#*^][^\W_]+)*")
_KNOWN_TOKEN = re.compile(
    # 1980s, 100th, 1080p, 1000km
    r"\d{1,5}(?:s|st|nd|rd|th|er|eme|p|k|km|kg|mm|cm|hz|mhz|ghz|kb|mb|gb|tb|bit|inch|px|fps|bn|mph|kwh)"
    # names that are written with a short number behind them
    r"|(?:covid|iphone|ipad|android|windows|ubuntu|debian|python|galaxy|pixel|xbox|playstation|apollo|area|catch"
    r"|formula|fifa|euro|cop|rtx|gtx|sha|md|base|utf|iso|ipv|web|brexit|blink|maroon|type|level|boeing|airbus"
    r"|vitamin|rfc|eip|erc|bep|bip|aip|http|usb|hdmi|ieee)\d{1,5}"
)
_FORMULA = re.compile(r"(?:(?:He|Li|Na|Mg|Al|Si|Cl|Ca|Mn|Fe|Cu|Zn|Br|Ag|Pb|H|B|C|N|O|F|P|S|K|I)\d{0,2}){2,8}")
"""C6H12O6"""
_CASES = re.compile(r"[a-z][A-Z]")
_STREET = re.compile(
    r"(?<![^\W_])\d{1,5}[a-z]?,? (?:[^\W\d_]+\.? ){1,3}(?:street|st|avenue|ave|road|rd|lane|ln|drive"
    r"|boulevard|blvd|terrace|crescent|close)(?![^\W_])"
    r"|(?<![^\W_])\d{1,4}(?: ?(?:bis|ter|[a-z]))?,? (?:rue|avenue|boulevard|chemin|impasse|quai) [^\W\d_]"
    r"|[^\W\d_]{2,}[- ]?(?:strasse|str|weg|allee|platz|gasse|ring|damm)\.?,? \d{1,4}(?: ?[a-z])?(?![^\W_])"
    r"|(?<![^\W_])(?:calle|avenida|avda|paseo|plaza|via|viale|piazza|corso|rua|travessa|largo)"
    r"(?: [^\W\d_]+\.?){1,4},? (?:n\.? ?)?\d{1,4}(?![^\W_])"
)
_KNOWN_STREET = re.compile(
    r"(?<![^\W_])(?:10,? downing street|11,? downing street|221 ?b,? baker street|21 jump street"
    r"|1600 pennsylvania ave(?:nue)?)(?![^\W_])"
)
_SMALL = frozenset(_TABLE["small"])
_ARTICLE = pattern(_TABLE["articles"], {}, r"^<any>\s+")


def may_leave(text: str) -> bool:
    """Whether ``text``, words of an asker, may be sent to a public source. Total and linear; see the module.

    A word of ``_WORDS`` alone is a term to look up ("what is a private key"); with anything beside it, it is
    somebody's. "My Fair Lady" is a name, "my notes" are the asker's."""
    if len(text) > TEXT_CHARS:
        return False
    shown = "".join(
        char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) not in ("Cf", "Mn")
    )
    shown = " ".join(shown.split())
    plain = fold(shown)
    if _MAIL.search(shown) or _HEX.search(shown) or _is_numbered(plain) or _is_key(shown):
        return False
    if _STREET.search(_KNOWN_STREET.sub(" ", plain)):
        return False
    if _OWN.search(plain) and not _is_name(shown):
        return False
    return not _tells(plain)


def _is_numbered(plain: str) -> bool:
    """A number of a phone, an account or a person; not a year, a date or a number with separators."""
    bare = re.sub(r"(?<!\d)\d{1,3}(?:,\d{3})+(?!\d)", " ", plain)
    if _RUN.search(bare):
        return True
    return any(
        sum(char.isdigit() for char in match.group()) >= GROUPED_MIN and not _DATE.fullmatch(match.group())
        for match in _GROUPS.finditer(bare)
    )


def _is_key(shown: str) -> bool:
    """A token that looks like a password, a key or a hash."""
    for match in _TOKEN.finditer(shown):
        token = match.group()
        if len(token) < TOKEN_MIN:
            continue
        mixed = any(char.isdigit() for char in token) and any(char.isalpha() for char in token)
        if mixed and not (_KNOWN_TOKEN.fullmatch(fold(token)) or _FORMULA.fullmatch(token)):
            return True
        if len(token) >= 20 and len(_CASES.findall(token)) >= 3:
            return True
    return False


def _tells(plain: str) -> bool:
    """Whether it speaks of a secret or of somebody's record, rather than naming one as a term."""
    bare = _TERMS.sub(" ", plain)
    if _WORDS.search(bare) is None and _SCRIPT_WORDS.search(bare) is None:
        return False
    alone = _ARTICLE.sub("", bare.strip(" .,;:!?\"'()"))
    return _WORDS.fullmatch(alone) is None and _SCRIPT_WORDS.fullmatch(alone) is None


def _is_name(shown: str) -> bool:
    """Written as a name, a large letter at every word but the small ones."""
    words = [word for word in re.findall(r"[^\W_][^\s]*", shown) if fold(word) not in _SMALL]
    return len(words) > 1 and all(word[0].isupper() for word in words)
