"""``normalise/v1``: the one canonical form of a question's text, shared by keys, records and index.

Rules: Unicode NFC; every run of white space becomes one space; trimmed; trailing question marks
dropped. Case is kept (5 mW is not 5 MW) and compatibility forms are kept (10² is not 102).
Pure; the version is stored in each record, so that a later rule never reinterprets an old key.
"""

from __future__ import annotations

import hashlib
import unicodedata

VERSION = "normalise/v1"

_QUESTION_MARKS = "?\N{FULLWIDTH QUESTION MARK}\N{ARABIC QUESTION MARK}\N{GREEK QUESTION MARK}"


def normalise(text: str) -> str:
    """Return the canonical form of ``text``; idempotent, never longer than NFC makes the input."""
    collapsed = " ".join(unicodedata.normalize("NFC", text).split())
    return collapsed.rstrip(_QUESTION_MARKS + " ")


def query_hash(normalised: str) -> str:
    """Hex SHA-256 of the normalised text in UTF-8: the key of the exact tier."""
    return hashlib.sha256(normalised.encode()).hexdigest()
