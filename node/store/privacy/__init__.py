"""What may not become public: the gate over everything that a public record would show.

Pure: no clock, network, file or event loop. A hit keeps the record on this node; it never refuses an answer.
The rules, in the order in which they are tried:

- texts are read as people see them: full-width digits, invisible characters, odd spaces and dashes, letters
  of other alphabets that look like Latin ones are folded first (``text``);
- e-mail addresses, also written out; IP and MAC addresses, log-ins in URLs (``network``);
- keys, tokens, passwords and PINs, by known forms and by the words before them, never by entropy (``keys``,
  ``codes``);
- wallets by their checksums (``wallets``);
- bank, card, tax, health and identity numbers by checksums, or by the words before them (``numbers``);
- telephone numbers (``phones``), precise coordinates and street addresses (``places``);
- names, birth dates and addresses in the fields of forms and in signatures (``labels``);
- what people say about themselves: names, homes, birth dates, employers, accounts, health and legal matters,
  in English, German, French and Spanish and the commonest forms of Italian, Portuguese and Dutch
  (``statements``); names on documents, in messages and signatures (``people``); illness and treatment of
  theirs and of their relatives (``illness``).

A knowledge question stays free although it says "my" ("How do I sort my list?"), holds long numbers, or names
addresses that belong to nobody: loopback and documentation ranges, private ones that name no machine,
networks, versions, ISBNs, CIDs.

Time is linear in the text's length, for hostile texts too: every repetition is bounded or cannot be read in
two ways, and the rules that call a library are called a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from node.store.privacy.text import Text

_CHARS_MAX = 65_536


@cache
def _rules() -> tuple[Callable[[Text], str | None], ...]:
    """The rules, imported at the first use: the libraries behind them take a few tenths of a second and
    some twenty megabytes, which a node that publishes nothing has no use for."""
    from node.store.privacy import (
        codes,
        illness,
        keys,
        labels,
        network,
        numbers,
        people,
        phones,
        places,
        statements,
        wallets,
    )

    numbers.load()
    phones.load()
    return (
        network.find,
        keys.find,
        codes.find,
        wallets.find,
        numbers.find,
        phones.find,
        places.find,
        labels.find,
        statements.find,
        people.find,
        illness.find,
    )


def load() -> None:
    """Load the rules and the tables of numbers behind them. Blocks: for the start, in a thread."""
    _rules()


def private_reason(*texts: str) -> str | None:
    """The name of the first rule that any of ``texts`` meets, None when all may be public.
    A text longer than the gate reads is private as well."""
    for text in texts:
        if len(text) > _CHARS_MAX:
            return "too_long_to_screen"
        if not text:
            continue
        read = Text.of(text)
        for rule in _rules():
            if (reason := rule(read)) is not None:
                return reason
    return None
