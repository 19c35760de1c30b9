"""A sentence parted at its conjunctions, as far as that is beyond doubt. Pure; rules as in ``split``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from node.core.model import CERTAIN, Recognition
from node.language import tables, tongue
from node.language.reading import read
from node.pipeline.understanding import rules
from node.pipeline.understanding.looks import FRAGMENT_WORDS, Looks
from node.pipeline.understanding.question import judge

_TOPIC_WORDS = 3
_CUTS_MAX = 10
_NARROWING = ("region", "country")
"""Slots that say which of several places is meant."""

CUT = rules.pattern(
    r"\s*,\s+(?:<after_comma>|<joining>)(?:\s+<after_joining>)?,?\s+"
    r"|\s+(?:<joining>|&)(?:\s+<after_joining>)?,?\s+|(?P<either>\s+<either>\s+)|(?P<comma>\s*,\s+)",
    re.IGNORECASE,
)
CUT_EAST = rules.pattern(r"[、，,]?\s*<joining_east>[、，,]?\s*|(?P<comma>[、，]\s*)|<pairing_east>")
LEAD = rules.pattern(
    r"^[\s,、，;&–-]*(?:(?:<joining>|<after_joining>|<lead>)[\s,:]+)+(?=\S)|^[\s、，]*<lead_east>[、，,:：\s]*",
    re.IGNORECASE,
)

QUOTED = re.compile(
    r"\"[^\"\n]{1,600}\"|“[^”]{1,600}”|«[^»]{1,600}»|「[^」]{1,600}」|`[^`]{1,600}`|\([^()]{1,600}\)"
    r"|\[[^\[\]]{1,600}\]"
    r"|(?<!\w)'[^'\n]{1,600}'(?!\w)|https?://\S{1,600}"
)
_SUBORDINATE = rules.pattern(r"^<subordinate>\s")
_PAIRING = frozenset(rules.WORDS["pairing"])
"""After these the next "and" joins what they speak of."""
_CUT_OFF = frozenset(rules.WORDS["cut_off"])
"""No question ends with one of these, unless it is nothing else or the verb stands before it."""
_ENDS_STRANDED = rules.named("ends_stranded")

_PRONOUNS = frozenset(rules.WORDS["pronouns"])
_LEANS_AT_END = rules.named("leans_at_end")
_IS_THE_TIME = rules.named("is_the_time")
_NAMES_A_THING = rules.named("names_a_thing")
_LEANING_ASK = rules.named("leaning_ask")
_QUESTION_ASK = rules.named("question_ask")
_IMPERATIVE = rules.named("imperative")
_DEFINES = rules.pattern(r"^(?:(?:please|can you|could you) ){0,2}<defines>\b")
_ROLE_ALONE = rules.named("one_role_alone")


@dataclass(frozen=True, slots=True)
class _Pair:
    """The two sides of a cut, connectives off. ``either``: they stand as alternatives ("or")."""

    left: str
    right: str
    comma: bool
    either: bool = False


def is_question(part: str, looks: Looks) -> bool:
    """A sentence that can be asked alone."""
    claim = looks.claim(part)
    if claim is not None and claim.strength >= CERTAIN:
        return not leans(part) or claim.local
    return not leans(part) and (claim is not None or _stands_alone(part))


def _stands_alone(part: str) -> bool:
    reading = read(part)
    if not judge(reading).asks or len(reading.sentences) != 1:
        return False
    if rules.names_nothing(reading.words):
        return False
    return reading.script != "latin" or len(reading.words) >= 2 or any(char.isdigit() for char in part)


def leans(part: str) -> bool:
    """Whether it goes on from something said before."""
    reading = read(part)
    flat = reading.flat[: rules.TEXT_CHARS]
    if rules.follow_up(flat) is not None or not _PRONOUNS.isdisjoint(reading.words):
        return True
    return _LEANS_AT_END.search(flat) is not None and _IS_THE_TIME.search(flat) is None


def is_fragment(part: str, looks: Looks) -> bool:
    """Too short to be a question of its own: words that an earlier question lacks."""
    if looks.is_certain(part) and not leans(part):
        return False
    words = read(part).words
    return len(words) <= FRAGMENT_WORDS and (
        looks.claim(part) is None or leans(part) or _looks_cut(part) or not _opens(part)
    )


def of_clauses(piece: str, looks: Looks, *, handed: bool) -> list[str]:
    """``piece`` parted at its conjunctions as far as that is beyond doubt; the last one that parts it first,
    so that "between X and Y" on the left is whole when it is looked at."""
    if looks.is_certain(piece):
        return [piece]
    for pair in reversed(pairs(piece)):
        if _dangles(pair.left):
            continue
        if handed and not (looks.is_certain(pair.right) and not leans(pair.right)):
            continue
        verdict = _both(pair, looks)
        if verdict == "questions":
            left = of_clauses(pair.left, looks, handed=handed)
            # "how many days until May and how many until June"
            made = looks.completed(pair.right, left[-1]) if looks.claim(pair.right) is None else None
            return left + ([made] if made is not None else of_clauses(pair.right, looks, handed=False))
        if verdict == "tail":
            both = looks.shared(pair.right, [pair.left])
            if both is not None:
                return both
        if verdict == "fragment":
            listed = _of_list(pair.left, looks)
            left = listed or of_clauses(pair.left, looks, handed=handed)
            made = looks.completed(pair.right, left[-1])
            if made is not None:
                return [*left, made]
            before, named = ([], left) if listed else (left[:-1], left[-1:])
            both = looks.shared(pair.right, named)
            if both is not None:
                return [*before, *both]
    return [piece]


_LAST_OF_LIST = re.compile(r"^(?P<head>.{3,200}),\s+(?P<tail>[^,]{2,40})$")


def _of_list(left: str, looks: Looks) -> list[str] | None:
    """ "weather in Paris, London" before "and Rome", unless London is said of Paris ("Paris, Texas")."""
    match = _LAST_OF_LIST.match(left)
    whole = looks.claim(left)
    if match is None or (whole is not None and any(whole.slots.get(name) for name in _NARROWING)):
        return None
    head = _of_list(match["head"], looks) or [match["head"]]
    made = looks.completed(match["tail"], head[-1])
    return None if made is None else [*head, made]


@cache
def _leads_on(language: str | None) -> frozenset[str]:
    """Words that join in another language and in this one say where or when ("en Lima")."""
    if language is None:
        return frozenset()
    return frozenset(tables.language_table(language, "dialogue")["words"].get("not_joining", "").split())


def pairs(piece: str) -> list[_Pair]:
    """The two sides of each place to cut."""
    reading = read(piece)
    leading = _leads_on(tongue.language_of(piece, sure=False))
    kept = [match.span() for match in QUOTED.finditer(piece)]
    pattern = CUT_EAST if reading.script in ("japanese", "chinese") else CUT
    pairs = []
    for match in pattern.finditer(piece):
        if any(low < match.start() < high for low, high in kept) or match[0].strip().lower() in leading:
            continue
        left, right = piece[: match.start()].strip(" ,、，"), piece[match.end() :].strip(" ,、，")
        right = LEAD.sub("", right)
        if left and right:
            pairs.append(
                _Pair(
                    left,
                    right,
                    comma=match["comma"] is not None,
                    either=bool(match.groupdict().get("either")),
                )
            )
    return pairs if len(pairs) <= _CUTS_MAX else []


def _dangles(left: str) -> bool:
    """Whether the left side is no whole clause: it ends in mid-phrase or only says under which condition."""
    reading = read(left)
    if not reading.words or _SUBORDINATE.match(reading.flat):
        return True
    if reading.script == "latin" and reading.words[-1] in _CUT_OFF:
        return _ENDS_STRANDED.match(reading.flat[: rules.TEXT_CHARS]) is None
    pairing = [at for at, word in enumerate(reading.words) if word in _PAIRING]
    return bool(pairing) and set(rules.WORDS["both_words"]).isdisjoint(reading.words[pairing[-1] :])


def _opens(part: str) -> bool:
    """Whether the words themselves ask: not merely a mark at the end, not merely a topic."""
    asked = judge(read(part.rstrip(" ?？؟!.")))
    return asked.asks and not asked.topic


def _both(pair: _Pair, looks: Looks) -> str:
    """``questions``: each side can be asked alone; ``fragment``: the right one may be completed from the
    left; ``tail``: only its tail may be, and then both sides have it; empty: no cut here."""
    left, right = looks.claim(pair.left), looks.claim(pair.right)
    if pair.either:
        # alternatives are one question, unless they are places that are looked up one by one
        named = left is not None and left.slots.get("place") is not None
        return "fragment" if named and right is None and looks.is_certain(pair.left) else ""
    opens = _opens(pair.right)
    if right is not None and not opens and _looks_cut(pair.right, right):
        right = None
    if pair.comma and (left is None or right is None or not (opens or right.strength >= CERTAIN)):
        return ""
    if left is not None and right is not None and left.adapter == right.adapter:
        return _alike(pair, left, right, opens=opens)
    if left is not None and right is not None:
        return "" if leans(pair.right) and not right.local else "questions"
    if left is not None:
        if opens:
            return "questions" if _asks_alone(pair.right, beside_a_claim=True) else "fragment"
        return "fragment"
    if not (_opens(pair.left) and _stands_alone(pair.left)) or not opens or leans(pair.right):
        return ""
    if right is not None:
        return "" if leans(pair.left) or _is_of_the_left(pair) else "questions"
    return "questions" if _asks_alone(pair.left) and _asks_alone(pair.right) else ""


def _is_of_the_left(pair: _Pair) -> bool:
    """ "who runs the evening class and what time is it": the class is meant, not the clock."""
    right, left = read(pair.right).flat, read(pair.left).flat
    return _IS_THE_TIME.search(right) is not None and _NAMES_A_THING.search(left) is not None


def _alike(pair: _Pair, left: Recognition, right: Recognition, *, opens: bool) -> str:
    """Both sides are one adapter's: what only one of them names may be meant for both."""
    if _lacks(right, left):
        return "fragment" if not (opens and right.strength >= CERTAIN) else "questions"
    if _lacks(left, right) and not opens:
        return "tail"
    return "" if leans(pair.right) and not right.local else "questions"


def _lacks(one: Recognition, other: Recognition) -> bool:
    return any(
        value is None and other.slots.get(name) is not None and name not in ("answer", "unit")
        for name, value in one.slots.items()
    )


def _looks_cut(part: str, claim: Recognition | None = None) -> bool:
    """Whether a bare phrase is so short that it may be the second half of another one ("... and bitcoin")."""
    reading = read(part)
    if reading.script != "latin":
        return False
    if claim is not None and claim.local:
        return False
    if len(reading.words) < 2:
        return True
    certain = claim is not None and claim.strength >= CERTAIN
    return (
        not certain
        and len(reading.words) <= _TOPIC_WORDS
        and rules.follow_up(f"and {reading.flat}") is not None
    )


def _asks_alone(part: str, *, beside_a_claim: bool = False) -> bool:
    """Whether a side that no adapter claims is a whole question: it opens like one, leans on nothing and
    names what it is about."""
    reading = read(part)
    flat = reading.flat
    if not _opens(part) or not _stands_alone(part) or leans(part) or _LEANING_ASK.match(flat):
        return False
    content = [word for word in reading.words if word not in rules.NO_CONTENT]
    if reading.script == "latin" and len(content) < 2 and not _DEFINES.match(flat):
        return False
    if beside_a_claim:
        return True
    if _IMPERATIVE.match(flat) and not _QUESTION_ASK.match(flat):
        return False
    return not _ROLE_ALONE.match(flat)
