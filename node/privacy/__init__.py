"""What may not become public: the gate over everything that a public record would show.

Pure: no clock, network, file or event loop. A hit keeps the record on this node; it never refuses an answer.
The rules, in the order in which they are tried:

- texts are read as people see them: full-width digits, invisible characters, odd spaces and dashes, letters
  of other alphabets that look like Latin ones are folded first (``text``); samples of standards and handbooks
  and lines of films are left out (``samples``);
- e-mail addresses, also written out; IP and MAC addresses, log-ins in URLs (``network``);
- keys, tokens, passwords and PINs, by known forms and by the words before them, never by entropy (``keys``,
  ``codes``, ``passwords``);
- wallets by their checksums (``wallets``);
- bank, card, tax, health and identity numbers by checksums, or by the words before them (``numbers``);
- numbers of accounts, contracts and cases by the words beside them (``accounts``);
- telephone numbers (``phones``), precise coordinates and street addresses (``places``);
- names that people introduce themselves by (``introductions``);
- what people tell of themselves and theirs (names, homes, birth dates, employers, health, legal matters), in
  running words, forms and signatures: by a trained classifier (``personal``).

A knowledge question stays free although it says "my" ("How do I sort my list?"), holds long numbers, or names
addresses that belong to nobody: loopback and documentation ranges, private ones that name no machine,
networks, versions, ISBNs, CIDs.

Time is linear in the text's length, for hostile texts too: every repetition is bounded or cannot be read in
two ways, and the rules that call a library are called a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from node.privacy.samples import bared
from node.privacy.text import Text

_CHARS_MAX = 65_536
Rule = Callable[[Text], str | None]


@cache
def rules() -> tuple[Rule, ...]:
    """The rules, imported at the first use: the libraries behind them take a few tenths of a second and some
    twenty megabytes, which a node that publishes nothing has no use for."""
    from node.privacy import (
        introductions,
        keys,
        labelled,
        network,
        numbers,
        passwords,
        personal,
        phones,
        places,
        wallets,
    )

    numbers.load()
    phones.load()
    keys.load()
    personal.packaged()
    return (
        network.find,
        keys.find,
        passwords.find,
        wallets.find,
        numbers.find,
        labelled.find,
        phones.find,
        places.find,
        places.find_address,
        introductions.find,
        personal.find,
    )


def load() -> None:
    """Load the rules and the tables of numbers behind them. Blocks: for the start, in a thread."""
    rules()


def private_reason(*texts: str) -> str | None:
    """The name of the first rule that any of ``texts`` meets, None when all may be public.
    A text longer than the gate reads is private as well."""
    for text in texts:
        if len(text) > _CHARS_MAX:
            return "too_long_to_screen"
        if text and (reason := _reason(bared(Text.of(text)))) is not None:
            return reason
    return None


def _reason(read: Text) -> str | None:
    return next((reason for rule in rules() if (reason := rule(read)) is not None), None)
