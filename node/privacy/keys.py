"""Keys and tokens, by the forms that their issuers gave them and by the words before them.

Pure, and without entropy: a random-looking word alone says nothing (CIDs and hashes look so, too). The forms
stand in ``tokens.toml``; further ones are the expressions of ``detect-secrets`` (it is never asked to look
anything up), read in bounded pieces of the text and only where a piece holds what each of them needs, as some
of them take time that grows with the square of a text.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from itertools import pairwise

from node.language.tables import read_table
from node.privacy.text import Text
from node.privacy.words import fill, listed, word

_PIECE = 1_024
_OVERLAP = 256

_KNOWN = re.compile(fill(r"(?<![A-Za-z0-9])<tokens>"))
_KNOWN_URL = re.compile(fill(r"<token_addresses>"), re.IGNORECASE)
_PEM = re.compile(r"BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY|PuTTY-User-Key-File-\d|BEGIN PGP MESSAGE")
_PUBLIC = re.compile(fill(r"<public_codes>"))
_LONG = re.compile(r"(?<![\w/+=.-])[A-Za-z0-9_+/=-]{32,256}(?![\w/+=-])")
_SHORT = re.compile(
    r"(?<![\w/+=.-])(?=[A-Za-z_+/=-]{0,40}\d)(?=[\d_+/=-]{0,40}[A-Za-z])[A-Za-z0-9_+/=-]{16,256}(?![\w/+=-])"
)


def find(read: Text) -> str | None:
    """``private_key``, ``secret`` (a key or token) or None."""
    if _PEM.search(read.text) is not None:
        return "private_key"
    if read.longest < 12:
        return None
    is_known = _KNOWN.search(read.text) or ("/" in read.text and _KNOWN_URL.search(read.text))
    return "secret" if is_known or _by_context(read) or _by_plugin(read) else None


def _by_context(read: Text) -> bool:
    """Whether a code that looks random stands behind the word for a key, or is long and speaks of no hash."""
    for found in _SHORT.finditer(read.text) if read.longest >= 16 else ():
        before = read.before(found.start(), 40)
        is_named = word("key_words").search(before) and not word("hash_words").search(before)
        is_random = _turns(found[0]) >= 4 and "--" not in found[0] and not _PUBLIC.fullmatch(found[0])
        if is_named and is_random:
            return True
    for found in _LONG.finditer(read.text) if read.longest >= 32 else ():
        code = found[0]
        has_all = all(any(map(kind, code)) for kind in (str.isdigit, str.islower, str.isupper))
        is_free = _PUBLIC.fullmatch(code) is not None or not listed("hash_words").isdisjoint(read.words)
        if has_all and not is_free and code.count("/") < 3 and _turns(code) >= 12:
            return True
    return False


def _turns(code: str) -> int:
    """How often digits, small and capital letters and signs take turns."""
    kinds = [
        "d" if char.isdigit() else "u" if char.isupper() else "l" if char.isalpha() else "s" for char in code
    ]
    return sum(one != other for one, other in pairwise(kinds))


@cache
def _plugins() -> tuple[tuple[tuple[str, ...], tuple[re.Pattern[str], ...]], ...]:
    """What a text must hold, and the expressions that are then tried."""
    out = []
    for name, needed in read_table("node.privacy", "tokens.toml")["plugins"].items():
        module, _, plugin = name.partition(".")
        expressions = getattr(import_module(f"detect_secrets.plugins.{module}"), plugin)().denylist
        out.append((tuple(needed.split()), tuple(expressions)))
    return tuple(out)


def load() -> None:
    """Import the plugins now, not at the first long word."""
    _plugins()


def _by_plugin(read: Text) -> bool:
    for start in range(0, len(read.text), _PIECE):
        piece = read.text[start : start + _PIECE + _OVERLAP]
        lower = read.lower[start : start + _PIECE + _OVERLAP]
        if not any(map(str.isdigit, piece)):
            continue
        for needed, expressions in _plugins():
            if any(part in lower or part in piece for part in needed):
                for expression in expressions:
                    found = expression.search(piece)
                    if found is not None and any(map(str.isdigit, found[0])):
                        return True
    return False
