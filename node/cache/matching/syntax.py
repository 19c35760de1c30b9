"""Which question a sentence asks, and who does what to whom: the little syntax under ``features``.

Rules: the first question word that opens the sentence (or a part of it) says what is asked; a passive with
its doer is turned round ("Rome was sacked by the Goths" reads "the Goths sacked Rome"), as is a question for
the object ("who did Rome beat" reads "Rome beat who"). Reckoning is read as its operator ("subtract 3 from
9" as "9 - 3"), a conversion as amount, unit "to" unit, "is A younger than B" as "is B older than A",
"whose son is Luke" as "Luke son of who".

Promises: pure, total, linear. It reads tokens whose phrases are already rewritten: ``@…`` marks what is
asked. Must not know: content, kinds, other texts.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import pairwise

from node.cache.matching import words
from node.cache.matching.stem import canonical
from node.cache.matching.token import CODE, NOTHING, NUMBER, SYMBOL, WORD, Token, token_at

DOER = "@doer"
"""Stands where the sentence asks for a person."""
WHO_WHEN = {word: word for word in ("who", "when", "where", "why", "how")} | {"whom": "who", "whose": "who"}
WHAT = frozenset({"what", "which"})
_PASSIVE_SPAN = 5
_HEAD_SPAN = 6
_OPEN_SUBJECT = frozenset({("how", "to"), ("way", "to"), ("ways", "to"), ("way", "of"), ("ways", "of")})
"""Forms without a subject that ask how whoever asks can do something."""


def asked_for(tokens: Sequence[Token], ordered: bool) -> tuple[str, int | None]:
    """What a sentence asks for and at which token it says so."""
    if conversion(tokens) is not None:
        return "what", None
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
        word, before = token.text, tokens[index - 1].text if index else ","
        if _asks_mark(token):
            return word[1:], index
        opens = before in (",", "and", "but", "so", "or", "then")
        late = 0 < index == len(tokens) - 1 or (index >= len(tokens) - 3 and before in words.PREPOSITIONS)
        if word == "why" or ((opens or late) and (word in WHO_WHEN or word in WHAT)):
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
    at = _place(tokens[:_HEAD_SPAN], words.SUBJECT_AUXILIARIES)
    if at is None:
        pairs = {(one.text, other.text) for one, other in pairwise(tokens)}
        return "" if pairs & _OPEN_SUBJECT else _agent(tokens)
    if token_at(tokens, at - 1).text in words.GENERIC_SUBJECTS:
        return ""
    if any(token.text in ("be", "been", "being", "get", "got") for token in tokens[at + 1 :]):
        return _agent(tokens)
    for token in tokens[at + 1 : at + 4]:
        word = token.text
        if word in words.GENERIC_SUBJECTS:
            return ""
        if not (word in words.ARTICLES or word in words.POSSESSIVES or word in words.NEGATIONS):
            return None if word in words.FILLER or word.startswith("@") else word
    return None


def _place(tokens: Sequence[Token], wanted: Container[str]) -> int | None:
    """Where the first of these words stands."""
    return next((at for at, token in enumerate(tokens) if token.kind == WORD and token.text in wanted), None)


def _agent(tokens: Sequence[Token]) -> str | None:
    """The first word of who acts in a passive that asks for a yes or no; None where nobody is named."""
    if not tokens or tokens[0].text not in words.AUXILIARIES:
        return None
    for before, by, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if by.text == "by" and is_participle(before.text):
            named = [token.text for token in tokens if token.start >= after.start]
            head = next((text for text in named if text not in words.ARTICLES), "")
            if head in words.GENERIC_SUBJECTS:
                return ""
            return head if head and head not in words.FILLER and head not in words.NEGATIONS else None
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
    converted = conversion(tokens)
    if converted is not None:
        return converted
    out = _greater(_belonging(_reckoned(_marked(list(tokens)))))
    if len(out) != len(tokens) or any(one is not two for one, two in zip(out, tokens, strict=True)):
        at = _place(out[:3], (DOER,))
    if at is not None and out[at].text == DOER:
        following, then = token_at(out, at + 1).text, token_at(out, at + 2).text
        named = then not in words.FILLER or then in words.ARTICLES or then in words.PRONOUNS
        if following in ("do", "does", "did") and named:
            out = [*out[:at], *out[at + 1 :], out[at]]
    return _active(out)


def _active(tokens: list[Token]) -> list[Token]:
    """A passive turned round; anything else as it is."""
    by = _place(tokens, ("by",))
    if by is None:
        return tokens
    agent, before = tokens[by + 1 :], tokens[:by]
    if agent and agent[0].text == DOER:
        rest = agent[1:] if not before else []
        before, agent = before + rest, agent[: len(agent) - len(rest)]
    elif not agent:
        agent = [token for token in before if token.text == DOER]
        before = [token for token in before if token.text != DOER]
    first = max(-1, len(before) - _PASSIVE_SPAN)
    verb = next((at for at in range(len(before) - 1, first, -1) if is_participle(before[at].text)), None)
    be = any(token.text in words.BE for token in before)
    if verb is None or not agent or not (be or verb == len(before) - 1):
        return tokens
    return [*agent, before[verb], *before[:verb], *before[verb + 1 :]]


def is_participle(word: str) -> bool:
    return word.endswith(_PARTICIPLE_ENDS) or word in words.IRREGULAR


_PARTICIPLE_ENDS = tuple(words.TABLE["words"]["participle_ends"].split())
_AMOUNT_WORDS = words.table("amount_words")
_TARGET_BEFORE = words.table("target_before")


def conversion(tokens: Sequence[Token]) -> list[Token] | None:
    """A conversion between units as amount, unit, "to", unit; None for any other sentence.

    "convert 5 km to miles", "what is 5 km in miles", "how many miles are in 5 km", "5 km is how many miles".
    """
    if not 3 <= len(tokens) <= _CONVERSION_SPAN:
        return None
    amount = first = target = one = None
    asked = False
    before = NOTHING
    for token in tokens:
        counts = before.text in ("@howmany", "@howmuch")
        if token.text in ("@howmany", "@howmuch"):
            asked = True
        elif token.kind == NUMBER and amount is None:
            amount = token
        elif _is_unit(token, before):
            if before is amount and first is None:
                first = token
            elif before.text in ("a", "an", "one") and asked and first is None:
                first, one = token, before
            elif target is None and (counts or before.text in _TARGET_BEFORE):
                target = token
            else:
                return None
        elif token.text not in _AMOUNT_WORDS:
            return None
        before = token
    if first is None or target is None or canonical(first.text) == canonical(target.text):
        return None
    if amount is None and one is not None:
        amount = Token("1", NUMBER, one.raw, one.start, one.end)
    if amount is None:
        return None
    return [amount, first, Token("to", WORD, "to", target.start, target.start), target]


_CONVERSION_SPAN = 14


def _is_unit(token: Token, before: Token) -> bool:
    if token.kind == WORD:
        return token.text in words.UNIT_WORDS or canonical(token.text) in words.UNIT_WORDS
    return token.kind == CODE and (before.kind == NUMBER or token.text in words.CURRENCIES)


_SIGNS = {name: words.pairs(f"sign_{name}") for name in ("between", "behind", "verbs", "done", "results")}
"""The sign that a word means: between two figures, as a verb before them or done to them between them, as the
name of a result; ``behind``: the word that stands with a verb, by its sign."""
_SUBTRACTS = "-"
"""From the second figure, where it is said with a verb."""
_RECKON = words.table("reckon")
_COMMUTES = frozenset("+*")


def _reckoned(tokens: list[Token]) -> list[Token]:
    """Two figures reckoned with, as figure, operator, figure."""
    figures = [index for index, token in enumerate(tokens) if token.kind == NUMBER]
    if len(figures) != 2:
        return tokens
    low, high = figures
    between, behind, verbs, done, results = _SIGNS.values()
    verb, before = token_at(tokens, low - 1).text, token_at(tokens, low - 2).text
    middle = [
        token.text for token in tokens[low + 1 : high] if token.text not in words.BE and token.text != ","
    ]
    first, rest = (middle[0], middle[1:]) if middle else ("", [])
    sign, turn, start, end = "", False, low, high + 1
    if first in between and not rest:
        sign = between[first]
    elif first in done and rest == [behind[done[first]]]:
        sign = done[first]
        turn = sign == _SUBTRACTS
    elif verb in verbs and middle in ([behind[verbs[verb]]], ["and"], ["with"]):
        sign, start = verbs[verb], low - 1
        turn = sign == _SUBTRACTS
        if middle != [behind[sign]] and sign not in _COMMUTES:
            return tokens
    elif verb == "of" and before in results and middle == ["and"]:
        sign, start = results[before], low - 2
    elif middle in (["to", "the", "power", "of"], ["to", "the", "power"], ["raised", "to"]):
        sign = "^"
    elif middle == ["to", "the"] and token_at(tokens, high + 1).text == "power":
        sign, end = "^", high + 2
        start = low - 1 if verb == "raise" else low
    if not sign:
        return tokens
    one, two = (tokens[high], tokens[low]) if turn else (tokens[low], tokens[high])
    two = replace(two, text=two.text.removeprefix("#"))
    operator = Token(sign, SYMBOL, sign, tokens[low].end, tokens[high].start)
    head = [token for token in tokens[:start] if token.text not in _RECKON]
    return [*head, one, operator, two, *tokens[end:]]


_LESSER = words.pairs("lesser")


def _greater(tokens: list[Token]) -> list[Token]:
    """ "is A younger than B" as "is B older than A"."""
    at = next(
        (
            at
            for at, (one, after) in enumerate(pairwise(tokens))
            if one.text in _LESSER and after.text == "than"
        ),
        None,
    )
    if at is None:
        return tokens
    be = next((index for index, token in enumerate(tokens[:at]) if token.text in words.BE), None)
    if be is None or any(token.text.startswith("@") for token in tokens[be + 1 : at]):
        return tokens
    left, right = tokens[be + 1 : at], tokens[at + 2 :]
    plain = not any(
        token.text in words.PREPOSITIONS or token.text in ("and", "or", ",", "not") or token.text in words.BE
        for token in (*left, *right)
    )
    if not left or not right or not plain or len(left) > _SIDE_MAX or len(right) > _SIDE_MAX:
        return tokens
    grade = Token(_LESSER[tokens[at].text], WORD, tokens[at].raw, tokens[at].start, tokens[at].end)
    return [*tokens[: be + 1], *right, grade, tokens[at + 1], *left]


_SIDE_MAX = 5


def _marked(tokens: list[Token]) -> list[Token]:
    """Small words that ask or tell more, as marks: "… and by whom", "keep a pump from running", "… in the
    whole world" where nothing is called the best or biggest of it."""
    texts = [token.text for token in tokens]
    out: list[Token] = []
    skip = 0
    for index, token in enumerate(tokens):
        if skip:
            skip -= 1
            continue
        text = token.text
        asks = text in WHO_WHEN or text in WHAT or text == DOER
        if asks and index > 1 and "and" in texts[index - 2 : index]:
            token = replace(token, text="and-" + text.lstrip("@"), kind=CODE)
        elif text == "keep" and "from" in texts[index + 1 : index + 5]:
            token = replace(token, text="prevent", kind=WORD)
        elif text in ("in", "of") and texts[index + 1 : index + 2] == ["the"]:
            size = 4 if texts[index + 2 : index + 3] in (["whole"], ["entire"]) else 3
            if texts[index + size - 1 : index + size] == ["world"]:
                last = tokens[index + size - 1]
                skip = size - 1
                if size == 3 or any(map(_is_superlative, texts)):
                    continue
                token = replace(last, text="whole-world", kind=CODE)
        out.append(token)
    return out


def _is_superlative(word: str) -> bool:
    return (len(word) > 4 and word.endswith("est")) or word in _SUPERLATIVES


_SUPERLATIVES = words.table("superlatives")


def _belonging(tokens: list[Token]) -> list[Token]:
    """What stands in a relation to what is asked for, told apart from what is asked for and its relation.

    "whose son is Luke" and "who is Luke the son of" become "Luke son" and a mark; so does "what is Oslo the
    capital of", and "what is made of glass", which asks for what is made.
    """
    if len(tokens) < _BELONGING_MIN:
        return tokens
    first, last = tokens[0], tokens[-1]
    be = next((index for index, token in enumerate(tokens[:_HEAD_SPAN]) if token.text in words.BE), 0)
    if first.text == DOER and first.raw.casefold() == "whose":
        if be < 2 or be + 1 >= len(tokens):
            return tokens
        return [*tokens[be + 1 :], *tokens[1:be], replace(first, text="of-who", kind=CODE)]
    if be and last.text == "of" and tokens[-3].text in words.ARTICLES:
        if first.text == DOER:
            return [*tokens[be + 1 : -1], replace(last, text="of-who", kind=CODE)]
        if first.text in ("@what", "@which"):
            return [*tokens[:-1], replace(last, text="of-what", kind=CODE)]
    made = be == 1 and tokens[2].text in _DONE_WITH and tokens[3].text in _DONE_ROLES
    if made and first.text in ("@what", "@which"):
        return [first, replace(first, text="what-is", kind=CODE), *tokens[1:]]
    return tokens


_BELONGING_MIN = 4
_DONE_ROLES = words.table("done_roles")
_DONE_WITH = words.table("done_with")
