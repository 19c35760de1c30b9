"""What may not become public: a first, strict screen over everything a public record would show.

Pure. A hit keeps the record on this node; it never refuses an answer. The rules err on the private side:
texts that name the asker, hold contact data, long digit groups or key-like strings stay here.
"""

from __future__ import annotations

import re

_CHARS_MAX = 65_536

_DATES_AND_TIMES = re.compile(r"\b\d{4}-\d\d-\d\d\b|\b\d\d:\d\d(?::\d\d)?\b")

_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("email", re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{2,63}")),
    ("long_number", re.compile(r"(?:\d[ .()/-]?){9,}")),
    ("url_login", re.compile(r"://[^\s/:@]{1,64}:[^\s/@]{1,64}@")),
    # Tried only where a run begins: at each word in it, a long run of "a-a-a-" took a minute.
    ("key_like", re.compile(r"(?<![A-Za-z0-9_-])(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z0-9_-]{24}")),
    ("private_key", re.compile(r"-----BEGIN [A-Z ]{0,32}PRIVATE KEY")),
    (
        "self_statement",
        re.compile(
            r"\b(?:my|mine|our|i\s+live|i\s+work|i\s+am|i'm|i\s+was|call\s+me|password|passwort|"
            r"mi|mein|meine|mon|ma|mes)\b",
            re.IGNORECASE,
        ),
    ),
)


def private_reason(*texts: str) -> str | None:
    """The name of the first rule that any of ``texts`` meets, None when all may be public.
    A text longer than the screen reads is private as well."""
    for text in texts:
        if len(text) > _CHARS_MAX:
            return "too_long_to_screen"
        shown = _DATES_AND_TIMES.sub("#", text)
        for name, pattern in _RULES:
            if pattern.search(shown):
                return name
    return None
