"""Several questions in one text, parted into questions that can each be asked alone. Pure.

It promises at most ``PARTS_MAX`` parts, in order, each of them self-contained; in doubt the text stays whole,
for a model that reads all of it loses nothing while a wrong cut answers what nobody asked. The work is
bounded: a text beyond ``CHARS_MAX`` or with more than a few places to cut is not looked into, and adapters
are asked at most ``LOOKS_MAX`` times. It knows adapters only by what they claim.

Rules, first that holds:
- What one adapter claims with certainty is one question ("price of btc and eth", "5 feet 3 inches in cm").
- Sentences are parted if each is a question of its own, or a fragment that ``follow`` completes from the part
  before ("And in London?"). Greetings fall away; a plain statement keeps the text whole unless every part is
  an adapter's with certainty.
- A conjunction parts two questions if an adapter claims either, or if both open like questions and name what
  they are about. A bare topic on its right ("and weather in Berlin") counts only beside a claimed left side.
- A tail on its right that the left lacks ("weather in Paris and London tomorrow") belongs to both sides where
  ``follow`` completes both with it; what one adapter claims as a whole while it holds only one of two times
  is parted at them.
- What leans on the left side (a pronoun, "an example", a subject left out) is never cut off.
- Nothing is cut inside quotation marks or brackets, nor in a text handed over to be worked on ("translate:").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from node.core.model import CERTAIN, CLAIM, Recognition
from node.language import conversation, tables, tongue
from node.language.reading import read
from node.pipeline.understanding import rules
from node.pipeline.understanding.question import judge

Claims: TypeAlias = Callable[[str], Recognition | None]
Follow: TypeAlias = Callable[[str, str], str | None]

PARTS_MAX = 4
"""A text with more questions stays whole."""
CHARS_MAX = 2_000
LOOKS_MAX = 64
"""Texts that adapters are asked about for one message."""
_SENTENCES_MAX = 12
_CUTS_MAX = 10
_FRAGMENT_WORDS = 6
_TOPIC_WORDS = 3
_IDENTITY = ("place", "team")
"""What a question of a live topic cannot do without."""
_TAILS = ("when", "date", "unit", "vs")
"""What is said once, after the last of several names, and meant for all of them."""
_NARROWING = ("region", "country")
"""Slots that say which of several places is meant."""

_GREETING = judge(read("hello")).reason


# --- where a text may be cut ----------------------------------------------------------------------

_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]»]*(?=\s)|[。！？؟]+[」』]?|[\n;；]+|[?!]+(?=[^\x00-\x7f])")
_NO_END = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|no|nr|num|prop|vs|etc|approx|e\.g|i\.e|u\.s|u\.k|jr|sr|inc|bzw|z\.b|sra?"
    r"|\d{1,2}|[^\W\d_])\.$",
    re.IGNORECASE,
)
_ITEM_MARK = re.compile(r"^\s*(?:\(?\d{1,2}[.)]|[-*•–])\s+")

_CUT = rules.pattern(
    r"\s*,\s+(?:<after_comma>|<joining>)(?:\s+<after_joining>)?,?\s+"
    r"|\s+(?:<joining>|&)(?:\s+<after_joining>)?,?\s+|(?P<either>\s+<either>\s+)|(?P<comma>\s*,\s+)",
    re.IGNORECASE,
)
_CUT_EAST = rules.pattern(r"[、，,]?\s*<joining_east>[、，,]?\s*|(?P<comma>[、，]\s*)|<pairing_east>")
_LEAD = rules.pattern(
    r"^[\s,、，;&–-]*(?:(?:<joining>|<after_joining>|<lead>)[\s,:]+)+(?=\S)|^[\s、，]*<lead_east>[、，,:：\s]*",
    re.IGNORECASE,
)

_QUOTED = re.compile(
    r"\"[^\"\n]{1,600}\"|“[^”]{1,600}”|«[^»]{1,600}»|「[^」]{1,600}」|`[^`]{1,600}`|\([^()]{1,600}\)"
    r"|\[[^\[\]]{1,600}\]"
    r"|(?<!\w)'[^'\n]{1,600}'(?!\w)|https?://\S{1,600}"
)
_HANDED_OVER = rules.pattern(r"^(?:<please>[ ,]+){0,3}<hands_over>\b")
_SUBORDINATE = rules.pattern(r"^<subordinate>\s")
_PAIRING = frozenset(rules.WORDS["pairing"])
"""After these the next "and" joins what they speak of."""
_CUT_OFF = frozenset(rules.WORDS["cut_off"])
"""No question ends with one of these, unless it is nothing else or the verb stands before it."""
_ENDS_STRANDED = rules.named("ends_stranded")

# --- what leans on something said before ----------------------------------------------------------

_PRONOUNS = frozenset(rules.WORDS["pronouns"])
_LEANS_AT_END = rules.named("leans_at_end")
_IS_THE_TIME = rules.named("is_the_time")
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


class _Looks:
    """What adapters say of parts of one text, each asked once and no more than ``LOOKS_MAX`` in all."""

    def __init__(self, claims: Claims, follow: Follow) -> None:
        self._claims = claims
        self._follow = follow
        self._seen: dict[str, Recognition | None] = {}
        self._left = LOOKS_MAX

    def claim(self, part: str) -> Recognition | None:
        """The claim to a text that asks, or that is claimed with certainty."""
        if part not in self._seen:
            found = self._claims(part) if self._take() else None
            if found is not None and found.strength < CERTAIN:
                found = found if found.strength >= CLAIM and judge(read(part)).asks else None
            self._seen[part] = found
        return self._seen[part]

    def is_certain(self, part: str) -> bool:
        found = self.claim(part)
        return found is not None and found.strength >= CERTAIN

    def completed(self, fragment: str, earlier: str) -> str | None:
        """The question that a fragment makes after ``earlier``, if an adapter is certain of it."""
        before = self.claim(earlier)
        words = read(fragment).words
        if before is None or not 1 <= len(words) <= _FRAGMENT_WORDS or not self._take():
            return None
        made = self._follow(fragment, earlier)
        if made is None:
            made = self._carried(fragment, before)
        after = self._sure(made, before)
        if after is None:
            return None
        changed, added = _changes(before, after)
        # a tail that was named only once ("Paris and London tomorrow") may belong to both: see ``shared``
        return made if changed and (not added or len(changed) == 1) else None

    def shared(self, fragment: str, earlier: list[str]) -> list[str] | None:
        """The questions that a fragment with a tail makes after several of one kind: each of them with the
        tail, and its own at the end."""
        last = self.claim(earlier[-1])
        words = fragment.rstrip(" ?？.!").split()
        if last is None or not 2 <= len(words) <= _FRAGMENT_WORDS or not self._take():
            return None
        made = self._follow(fragment, earlier[-1])
        after = self._sure(made, last)
        if made is None or after is None:
            return None
        changed, added = _changes(last, after)
        if not added or len(changed) == len(added) or not set(added) <= set(_TAILS):
            return None
        for start in range(1, len(words)):
            tail = " ".join(words[start:])
            if self._take() and self._with_tail(tail, earlier[-1], after, added) is not None:
                tailed = [self._with_tail(tail, each, after, added) for each in earlier]
                whole = [each for each in tailed if each is not None]
                return [*whole, made] if len(whole) == len(earlier) else None
        return None

    def _with_tail(self, tail: str, earlier: str, after: Recognition, added: list[str]) -> str | None:
        before = self.claim(earlier)
        if before is None or not self._take():
            return None
        made = self._follow(tail, earlier)
        found = self._sure(made, before)
        if found is None or _changes(before, found)[0] != added:
            return None
        return made if all(found.slots.get(name) == after.slots.get(name) for name in added) else None

    def _sure(self, made: str | None, before: Recognition) -> Recognition | None:
        """The certain claim to ``made`` by the adapter of ``before``."""
        if made is None or not self.is_certain(made):
            return None
        after = self.claim(made)
        return after if after is not None and after.adapter == before.adapter else None

    def _carried(self, part: str, before: Recognition) -> str | None:
        """A claimed question without its place or team, completed with the one that was just named."""
        claim = self.claim(part)
        if claim is None or claim.adapter != before.adapter:
            return None
        for name in _IDENTITY:
            value = before.slots.get(name)
            if claim.slots.get(name) is None and isinstance(value, str) and self._take():
                return self._follow(value, part)
        return None

    def _take(self) -> bool:
        self._left -= 1
        return self._left >= 0


def _changes(before: Recognition, after: Recognition) -> tuple[list[str], list[str]]:
    """The slots that differ, and those of them that were not said before."""
    changed = [name for name, value in after.slots.items() if value != before.slots.get(name)]
    return changed, [name for name in changed if before.slots.get(name) is None]


def split(text: str, *, claims: Claims, follow: Follow) -> tuple[str, ...]:
    """The self-contained questions of ``text``, in order; ``(text,)`` when it is one question or in doubt.

    ``claims(part)`` is the strongest adapter recognition of a text, None where none claims it;
    ``follow(fragment, earlier)`` the self-contained question that an adapter makes of a fragment after an
    earlier question."""
    whole = (text,)
    if not text.strip() or len(text) > CHARS_MAX or not _may_be_cut(text):
        return whole
    looks = _Looks(claims, follow)
    if looks.is_certain(text):
        return _of_two_tails(text, looks) or whole
    flat = read(text).flat
    handed = _HANDED_OVER.match(flat) is not None
    kept = [match.span() for match in _QUOTED.finditer(text)]
    if handed and (kept or ":" in text or "\n" in text.strip()):
        return whole
    parts = _of_sentences(text, kept, looks, handed=handed)
    if parts is None or not 2 <= len(parts) <= PARTS_MAX or _is_worked_out(text, parts, looks):
        return whole
    if any(map(conversation.is_manner, parts[1:])):
        return whole  # "how do planes fly? easy words"
    return tuple(parts)


def _of_two_tails(text: str, looks: _Looks) -> tuple[str, str] | None:
    """ "weather in Berlin today and tomorrow": claimed as a whole, and holding neither time."""
    whole, pairs = looks.claim(text), _pairs(text)
    if whole is None or len(pairs) != 1:
        return None
    [pair] = pairs
    left = looks.claim(pair.left)
    lost = [] if left is None else [name for name in _TAILS[:2] if left.slots.get(name) is not None]
    if (
        left is None
        or left.adapter != whole.adapter
        or not any(whole.slots.get(name) is None for name in lost)
    ):
        return None
    if not looks.is_certain(pair.left):
        return None
    made = looks.completed(pair.right, pair.left)
    return None if made is None else (pair.left, made)


_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def _is_worked_out(text: str, parts: list[str], looks: _Looks) -> bool:
    """ "16 rows of 24 seats, how many people fit? 16*24": a sum that an adapter computes here, for the
    question before it, which names its figures."""
    *before, last = parts
    claim, all_of_it = looks.claim(last), looks.claim(text)
    if claim is None or all_of_it is None or not claim.local or claim.key != all_of_it.key:
        return False
    figures = _FIGURE.findall(" ".join(before))
    return not set(figures).isdisjoint(_FIGURE.findall(last)) and all(
        looks.claim(part) is None for part in before
    )


def _may_be_cut(text: str) -> bool:
    """Whether there is any place to cut at all; adapters are asked about no other text."""
    if _CUT.search(text) or (not text.isascii() and _CUT_EAST.search(text)):
        return True
    return len(_sentences(_itemised(text), [])) > 1


# --- sentences ------------------------------------------------------------------------------------


def _sentences(text: str, kept: list[tuple[int, int]]) -> list[str]:
    found, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        before = text[max(start, match.start() - 10) : match.start() + 1]
        if match.group() == "." and _NO_END.search(before):
            continue
        if any(low < match.start() < high - 1 for low, high in kept):
            continue
        found.append(text[start : match.end()])
        start = match.end()
    found.append(text[start:])
    # an opening mark belongs to what follows; a piece of marks alone to nothing
    return [piece.strip(" \t\n;；") for piece in found if any(char.isalnum() for char in piece)]


def _of_sentences(text: str, kept: list[tuple[int, int]], looks: _Looks, *, handed: bool) -> list[str] | None:
    """The parts, or None when something in the text is neither a question nor can be left out."""
    sentences = _sentences(_itemised(text), kept)
    if len(sentences) > _SENTENCES_MAX:
        return None
    parts: list[str] = []
    told = False
    for at, sentence in enumerate(sentences):
        body = _LEAD.sub("", _ITEM_MARK.sub("", sentence)).strip() or sentence
        body = _with_place(body, sentences[:at], looks)
        if parts and _is_fragment(body, looks):
            made = looks.completed(body, parts[-1])
            if made is not None:
                parts.append(made)
                continue
        if _is_question(body, looks):
            parts += _of_clauses(body, looks, handed=handed)
            continue
        clauses = _of_clauses(body, looks, handed=handed)
        if len(clauses) > 1 and looks.is_certain(clauses[0]):
            # "btc price and did it rain in Paris" sounds told as a whole; its sides ask
            parts += clauses
            continue
        judged = judge(read(body))
        if judged.asks or len(parts) > PARTS_MAX:
            return None
        told = told or judged.reason != _GREETING
    if told and not all(looks.is_certain(part) for part in parts):
        return None
    return parts


_ITEMS = re.compile(r"\s+(?=\(?([2-9])[.)]\s)")


def _itemised(text: str) -> str:
    """ "1) this 2) that" in one line as lines, if the items count from one up. Keeps the text's length."""
    if not re.match(r"\s*\(?1[.)]\s", text):
        return text
    found = list(_ITEMS.finditer(text))
    if [int(match[1]) for match in found] != list(range(2, len(found) + 2)):
        return text
    for match in found:
        text = f"{text[: match.start()]}{chr(10) * (match.end() - match.start())}{text[match.end() :]}"
    return text


_THERE = re.compile(r"\bthere\b(?=[\s?,.!]|$)(?! (?:is|are|was|were|a|an|any|will)\b)", re.IGNORECASE)
_NAMES_PLACE = re.compile(
    r"\b(?:to|in|at|near|for|around)\s+(?P<name>[A-Z][\w'-]+(?:\s+[A-Z][\w'-]+){0,2}|[a-z][\w'-]+)"
)
_PLACES_MAX = 4


def _with_place(body: str, before: list[str], looks: _Looks) -> str:
    """``body`` with the place for its "there": the one that the sentences before it name. An adapter must
    be certain of what comes of it, for a place that it lacked, and must read no more out of it together with
    the sentence that named the place (the day of a journey may be the day that is meant)."""
    found = list(_THERE.finditer(body))
    if len(found) != 1 or _opens_there(body):
        return body
    named = {match["name"]: each for each in before for match in _NAMES_PLACE.finditer(each)}
    if not 1 <= len(named) <= _PLACES_MAX:
        return body
    end = next((match.start() for match in _CUT.finditer(body, found[0].end())), len(body))
    head, tail = body[: found[0].start()], body[found[0].end() : end]
    made = {f"{head}in {name}{tail}": sentence for name, sentence in named.items()}
    placed = {text: each for text, each in made.items() if looks.is_certain(text) and _has_place(text, looks)}
    if len(placed) != 1 or _has_place(body[:end], looks):
        return body
    [(clause, sentence)] = placed.items()
    claim, together = looks.claim(clause), looks.claim(f"{sentence.rstrip(' .!?')}, {clause}")
    if (
        claim is not None
        and together is not None
        and together.adapter == claim.adapter
        and together.slots != claim.slots
    ):
        return body
    return clause + body[end:]


def _has_place(text: str, looks: _Looks) -> bool:
    claim = looks.claim(text)
    return claim is not None and claim.slots.get("place") is not None


def _opens_there(body: str) -> bool:
    return read(body).words[:1] == ("there",)


def _is_question(part: str, looks: _Looks) -> bool:
    """A sentence that can be asked alone."""
    claim = looks.claim(part)
    if claim is not None and claim.strength >= CERTAIN:
        return not _leans(part) or claim.local
    return not _leans(part) and (claim is not None or _stands_alone(part))


def _stands_alone(part: str) -> bool:
    reading = read(part)
    if not judge(reading).asks or len(reading.sentences) != 1:
        return False
    if rules.names_nothing(reading.words):
        return False
    return reading.script != "latin" or len(reading.words) >= 2 or any(char.isdigit() for char in part)


def _leans(part: str) -> bool:
    reading = read(part)
    flat = reading.flat[: rules.TEXT_CHARS]
    if rules.follow_up(flat) is not None or not _PRONOUNS.isdisjoint(reading.words):
        return True
    return _LEANS_AT_END.search(flat) is not None and _IS_THE_TIME.search(flat) is None


def _is_fragment(part: str, looks: _Looks) -> bool:
    """Too short to be a question of its own: words that an earlier question lacks."""
    if looks.is_certain(part) and not _leans(part):
        return False
    words = read(part).words
    return len(words) <= _FRAGMENT_WORDS and (
        looks.claim(part) is None or _leans(part) or _looks_cut(part) or not _opens(part)
    )


# --- clauses --------------------------------------------------------------------------------------


def _of_clauses(piece: str, looks: _Looks, *, handed: bool) -> list[str]:
    """``piece`` parted at its conjunctions as far as that is beyond doubt; the last one that parts it first,
    so that "between X and Y" on the left is whole when it is looked at."""
    if looks.is_certain(piece):
        return [piece]
    for pair in reversed(_pairs(piece)):
        if _dangles(pair.left):
            continue
        if handed and not (looks.is_certain(pair.right) and not _leans(pair.right)):
            continue
        verdict = _both(pair, looks)
        if verdict == "questions":
            left = _of_clauses(pair.left, looks, handed=handed)
            # "how many days until May and how many until June"
            made = looks.completed(pair.right, left[-1]) if looks.claim(pair.right) is None else None
            return left + ([made] if made is not None else _of_clauses(pair.right, looks, handed=False))
        if verdict == "tail":
            both = looks.shared(pair.right, [pair.left])
            if both is not None:
                return both
        if verdict == "fragment":
            listed = _of_list(pair.left, looks)
            left = listed or _of_clauses(pair.left, looks, handed=handed)
            made = looks.completed(pair.right, left[-1])
            if made is not None:
                return [*left, made]
            before, named = ([], left) if listed else (left[:-1], left[-1:])
            both = looks.shared(pair.right, named)
            if both is not None:
                return [*before, *both]
    return [piece]


_LAST_OF_LIST = re.compile(r"^(?P<head>.{3,200}),\s+(?P<tail>[^,]{2,40})$")


def _of_list(left: str, looks: _Looks) -> list[str] | None:
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


def _pairs(piece: str) -> list[_Pair]:
    reading = read(piece)
    leading = _leads_on(tongue.language_of(piece, sure=False))
    kept = [match.span() for match in _QUOTED.finditer(piece)]
    pattern = _CUT_EAST if reading.script in ("japanese", "chinese") else _CUT
    pairs = []
    for match in pattern.finditer(piece):
        if any(low < match.start() < high for low, high in kept) or match[0].strip().lower() in leading:
            continue
        left, right = piece[: match.start()].strip(" ,、，"), piece[match.end() :].strip(" ,、，")
        right = _LEAD.sub("", right)
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


def _both(pair: _Pair, looks: _Looks) -> str:
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
        return "" if _leans(pair.right) and not right.local else "questions"
    if left is not None:
        if opens:
            return "questions" if _asks_alone(pair.right, beside_a_claim=True) else "fragment"
        return "fragment"
    if not (_opens(pair.left) and _stands_alone(pair.left)) or not opens or _leans(pair.right):
        return ""
    if right is not None:
        return "questions" if not _leans(pair.left) else ""
    return "questions" if _asks_alone(pair.left) and _asks_alone(pair.right) else ""


def _alike(pair: _Pair, left: Recognition, right: Recognition, *, opens: bool) -> str:
    """Both sides are one adapter's: what only one of them names may be meant for both."""
    if _lacks(right, left):
        return "fragment" if not (opens and right.strength >= CERTAIN) else "questions"
    if _lacks(left, right) and not opens:
        return "tail"
    return "" if _leans(pair.right) and not right.local else "questions"


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
    if not _opens(part) or not _stands_alone(part) or _leans(part) or _LEANING_ASK.match(flat):
        return False
    content = [word for word in reading.words if word not in rules.NO_CONTENT]
    if reading.script == "latin" and len(content) < 2 and not _DEFINES.match(flat):
        return False
    if beside_a_claim:
        return True
    if _IMPERATIVE.match(flat) and not _QUESTION_ASK.match(flat):
        return False
    return not _ROLE_ALONE.match(flat)


__all__ = ["CHARS_MAX", "LOOKS_MAX", "PARTS_MAX", "Claims", "Follow", "split"]
