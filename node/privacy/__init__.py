"""What may not become public: the gate over everything that a public record would show.

Pure: no clock, network, file or event loop. A hit keeps the record on this node; it never refuses an answer.
The rules, in the order in which they are tried:

- texts are read as people see them: full-width digits, invisible characters, odd spaces and dashes, letters
  of other alphabets that look like Latin ones are folded first (``text``); samples of standards and handbooks
  and lines of films are left out (``famous``);
- e-mail addresses, also written out; IP and MAC addresses, log-ins in URLs (``network``);
- keys, tokens, passwords and PINs, by known forms and by the words before them, never by entropy (``keys``,
  ``codes``, ``told``);
- wallets by their checksums (``wallets``);
- bank, card, tax, health and identity numbers by checksums, or by the words before them (``numbers``);
- numbers of accounts, contracts and cases by the words beside them (``accounts``);
- telephone numbers (``phones``), precise coordinates and street addresses (``places``);
- names, birth dates and addresses in the fields of forms and in signatures (``labels``);
- what people say about themselves: names, homes, birth dates, employers, accounts, health and legal matters,
  in English, German, French and Spanish and the commonest forms of Italian, Portuguese and Dutch
  (``statements``); names on documents, in messages and signatures (``people``); illness and treatment of
  theirs and of their relatives (``illness``): asked only of passages whose shape leaves room for it;
- names, birth dates and streets told in some thirty other languages (``selves``);
- passages that look like these by their shape as a whole, whatever the wording (``likely``): ``personal``.

A knowledge question stays free although it says "my" ("How do I sort my list?"), holds long numbers, or names
addresses that belong to nobody: loopback and documentation ranges, private ones that name no machine,
networks, versions, ISBNs, CIDs.

Time is linear in the text's length, for hostile texts too: every repetition is bounded or cannot be read in
two ways, and the rules that call a library are called a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from node.privacy.famous import bared
from node.privacy.text import Text

_CHARS_MAX = 65_536
_UNCLEAR_MAX = 8_192
_BESIDE = 80
Rule = Callable[[Text], str | None]


@cache
def rules() -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """The rules of known forms, and those of wording, imported at the first use: the libraries behind them
    take a few tenths of a second and some twenty megabytes, which a node that publishes nothing has no use
    for."""
    from node.privacy import (
        accounts,
        codes,
        illness,
        keys,
        labels,
        likely,
        network,
        numbers,
        people,
        phones,
        places,
        selves,
        statements,
        told,
        wallets,
    )

    numbers.load()
    phones.load()
    likely.packaged()
    known: tuple[Rule, ...] = (
        network.find,
        keys.find,
        codes.find,
        told.find,
        wallets.find,
        numbers.find,
        accounts.find,
        phones.find,
        places.find,
        selves.find,
    )
    return known, (places.find_address, labels.find, statements.find, people.find, illness.find)


def load() -> None:
    """Load the rules and the tables of numbers behind them. Blocks: for the start, in a thread."""
    rules()


def private_reason(*texts: str) -> str | None:
    """The name of the first rule that any of ``texts`` meets, None when all may be public.
    A text longer than the gate reads is private as well."""
    for text in texts:
        if len(text) > _CHARS_MAX:
            return "too_long_to_screen"
        if text and (reason := _reason(Text.of(text))) is not None:
            return reason
    return None


def _reason(read: Text) -> str | None:
    known, worded = rules()
    read = bared(read)
    for rule in known:
        if (reason := rule(read)) is not None:
            return reason
    is_likely = False
    for part, score in _unclear(read):
        for rule in worded:
            if (reason := rule(part)) is not None:
                return reason
        is_likely = is_likely or score
    return "personal" if is_likely else None


def _unclear(read: Text) -> Iterator[tuple[Text, bool]]:
    """The parts of a text that are not clear by their shape, those that touch joined, each with whether its
    shape alone says private: so it does as well where there are more such parts than the rules will read."""
    from node.privacy import likely

    start = end = -1
    chars = 0
    is_private = False
    for passage in likely.passages(read):
        if passage.score <= likely.CLEAR:
            continue
        if end >= 0 and passage.start > end:
            yield read.part(max(0, start - _BESIDE), end + _BESIDE), is_private
            start, is_private = -1, False
        start = passage.start if start < 0 else start
        chars += passage.end - max(end, passage.start)
        end = passage.end
        is_private = is_private or passage.score > likely.PRIVATE
        if chars > _UNCLEAR_MAX:
            yield Text("", ""), True
            return
    if end >= 0:
        yield read.part(max(0, start - _BESIDE), end + _BESIDE), is_private
