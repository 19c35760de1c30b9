"""Which question a sentence asks, and who does what to whom: the little syntax under ``features``.

Rules: the first question word that opens the sentence (or a part of it) says what is asked; a passive with
its doer is turned round ("Rome was sacked by the Goths" reads "the Goths sacked Rome"), as is a question for
the object ("who did Rome beat" reads "Rome beat who").

Promises: pure, total, linear. It reads tokens whose phrases are already rewritten: ``@…`` marks what is
asked. Must not know: content, kinds, other texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from node.cache import words
from node.cache.tokens import WORD, Token

DOER = "@doer"
"""Stands where the sentence asks for a person."""
WHO_WHEN = {
    "who": "who",
    "whom": "who",
    "whose": "who",
    "when": "when",
    "where": "where",
    "why": "why",
    "how": "how",
}
WHAT = frozenset({"what", "which"})
_PASSIVE_SPAN = 5
_HEAD_SPAN = 6
_OPEN_SUBJECT = frozenset({("how", "to"), ("way", "to"), ("ways", "to"), ("way", "of"), ("ways", "of")})
"""Forms without a subject that ask how whoever asks can do something."""


def asked_for(tokens: Sequence[Token], ordered: bool) -> tuple[str, int | None]:
    """What a sentence asks for and at which token it says so."""
    for index, token in enumerate(tokens[:3]):
        word = token.text
        if _asks_mark(token):
            return word[1:], index
        if word in WHAT:
            return "what", index
        if word in WHO_WHEN:
            return WHO_WHEN[word], index
        if word in words.AUXILIARIES and index == 0:
            return "yesno", index
        if word not in words.PREPOSITIONS and word not in words.NEGATIONS and word not in words.ARTICLES:
            break
    if ordered:
        marked = next((token.text[1:] for token in tokens if token.text in ("@howmany", "@what")), "what")
        return marked, None
    for index, token in enumerate(tokens):
        word = token.text
        before = tokens[index - 1].text if index else ","
        if _asks_mark(token):
            return word[1:], index
        opens = before in (",", "and", "but", "so", "or", "then")
        if opens and (word in WHO_WHEN or word in WHAT):
            return WHO_WHEN.get(word, "what"), index
        last = index == len(tokens) - 1 and index > 0
        late = last or (index >= len(tokens) - 3 and before in words.PREPOSITIONS)
        if word == "why" or (late and (word in WHO_WHEN or word in WHAT)):
            return WHO_WHEN.get(word, "what"), index
    return "", None


def _asks_mark(token: Token) -> bool:
    return token.kind == WORD and token.text.startswith("@") and not token.text.startswith(("@in.", "@m."))


def is_fronted(tokens: Sequence[Token], at: int | None) -> bool:
    """Whether a sentence asks for the object of its verb: a question word, with its noun, before do, does,
    did."""
    if at is None or (tokens[at].text not in WHAT and tokens[at].text not in ("@howmany", "@howmuch")):
        return False
    head = tokens[at + 1 : at + 1 + _HEAD_SPAN]
    return any(token.text in ("do", "does", "did") and token.kind == WORD for token in head)


def subject(tokens: Sequence[Token]) -> str | None:
    """The first word of the subject behind a sentence's first do, can, should …; "" for whoever asks
    ("I", "you", "one"), None if the sentence is not built so or is a passive."""
    at = next(
        (
            index
            for index, token in enumerate(tokens[:_HEAD_SPAN])
            if token.text in words.SUBJECT_AUXILIARIES and token.kind == WORD
        ),
        None,
    )
    if at is None:
        pairs = {(one.text, other.text) for one, other in pairwise(tokens)}
        return "" if pairs & _OPEN_SUBJECT else None
    if at and tokens[at - 1].text in words.GENERIC_SUBJECTS:
        return ""
    if any(token.text in ("be", "been", "being", "get", "got") for token in tokens[at + 1 :]):
        return None
    for token in tokens[at + 1 : at + 4]:
        word = token.text
        if word in words.GENERIC_SUBJECTS:
            return ""
        if word in words.ARTICLES or word in words.POSSESSIVES or word in words.NEGATIONS:
            continue
        return None if word in words.FILLER or word.startswith("@") else word
    return None


def deed(tokens: Sequence[Token]) -> str:
    """The word directly behind "I", "you", "one" as the subject: what whoever asks would do; else ""."""
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.text in words.SUBJECT_AUXILIARIES and token.text in words.GENERIC_SUBJECTS:
            return after.text
    return ""


def turned_round(tokens: Sequence[Token], at: int | None) -> list[Token]:
    """Tokens in the order doer, deed, thing done to.

    "Rome was sacked by the Goths" becomes "the Goths sacked Rome", "who did Rome beat" becomes "Rome beat
    who". ``who`` itself is kept as a word where it takes part, so that doer and done-to are told apart.
    """
    out = list(tokens)
    if at is not None and out[at].text == DOER:
        doer = out[at]
        following = out[at + 1].text if at + 1 < len(out) else ""
        if following in ("do", "does", "did", "will", "would", "can", "could", "has", "have", "had"):
            subject = out[at + 2].text if at + 2 < len(out) else ""
            pronoun_or_noun = (
                subject not in words.FILLER or subject in words.ARTICLES or subject in words.PRONOUNS
            )
            if following in ("do", "does", "did") and pronoun_or_noun:
                out = [*out[:at], *out[at + 1 :], doer]
    return _active(out)


def _active(tokens: list[Token]) -> list[Token]:
    """A passive turned round; anything else as it is."""
    by = next(
        (index for index, token in enumerate(tokens) if token.text == "by" and token.kind == WORD), None
    )
    if by is None:
        return tokens
    agent, before = tokens[by + 1 :], tokens[:by]
    if agent and agent[0].text == DOER:
        rest = agent[1:] if not before else []
        before, agent = before + rest, agent[: len(agent) - len(rest)]
    elif not agent:
        agent = [token for token in before if token.text == DOER]
        before = [token for token in before if token.text != DOER]
    verb = next(
        (
            index
            for index in range(len(before) - 1, max(-1, len(before) - _PASSIVE_SPAN), -1)
            if is_participle(before[index].text)
        ),
        None,
    )
    be = any(token.text in words.BE for token in before)
    if verb is None or not agent or not (be or verb == len(before) - 1):
        return tokens
    return [*agent, before[verb], *before[:verb], *before[verb + 1 :]]


def is_participle(word: str) -> bool:
    return word.endswith(("ed", "en", "wn", "ught", "ung", "ade", "uilt", "on", "ost", "ept", "ead")) or (
        word in words.IRREGULAR
    )
