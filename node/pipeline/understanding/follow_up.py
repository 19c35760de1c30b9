"""Follow-ups ("and ETH?", "and tomorrow?", "why?", "who founded it?") as questions to be asked alone. Pure.

It promises a ``Resolved`` question only where one reading is possible: an adapter is certain of what it made,
or a rule below has exactly one thing that the words can stand for. A text that goes on from earlier turns
otherwise is ``Leaning``; a text that can be asked as it stands is None. Bounded: long texts and long turns
are not looked into, and adapters are asked a handful of times. It knows adapters only by what they claim.

Rules, first that holds:
1. A text that an adapter computes here and accounts for whole stands alone ("and 7*8?").
2. A text that leans by its wording (``leaning``), a bare fragment ("Paris", "in euros") and a question whose
   claim lacks what the last one named are completed by the adapter of the last question, or for leaning ones
   of the one before.
3. What any adapter claims with certainty, and what does not lean, stands alone.
4. After a question of one proposal by its number, another number takes its place, and a pronoun or what is
   asked of nothing ("who voted against?") is of that proposal.
5. "Why?" and its like are joined to a last question that stands alone and is not looked up live.
6. A pronoun becomes the one subject of the last question: he and she only that of a question of who.
7. "And Y?" asks the last question of Y in the place of the one name at its end.
8. Everything else that leans is left to its history.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from node.core.model import CERTAIN, CLAIM, Kind, Recognition
from node.language.reading import read, word_list
from node.pipeline.understanding import history, rules
from node.pipeline.understanding.question import judge

Claims: TypeAlias = Callable[[str], Recognition | None]
Follow: TypeAlias = Callable[[str, str], str | None]

CHARS_MAX = 200
"""A longer text says what it is about."""
TURN_CHARS_MAX = 400
_TURNS_READ = 2
_FRAGMENT_WORDS = 8
_BARE_WORDS = 2
_LEANING_WORDS = 10
_SUBJECT_WORDS = 6
_NEW_SUBJECT_WORDS = 4

_IDENTITY = ("place", "team", "ids", "proposal")
"""Slots without which a live question cannot be looked up."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """``text`` can be asked alone; ``reason`` says in words how it was made."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Leaning:
    """Goes on from earlier turns and cannot be resolved with certainty; ``reason`` says by which wording."""

    reason: str


def resolve(text: str, turns: Sequence[str], *, claims: Claims, follow: Follow) -> Resolved | Leaning | None:
    """What ``text`` asks after ``turns``, the earlier questions in their resolved form, oldest first.

    ``claims(text)`` is the strongest adapter recognition, None where none claims it; ``follow(fragment,
    earlier)`` the self-contained question that an adapter makes of a fragment after an earlier question."""
    reading = read(text)
    if not turns or not reading.words or len(text) > CHARS_MAX:
        return None
    claim = claims(text)
    certain = claim is not None and claim.strength >= CERTAIN
    if claim is not None and certain and claim.local:
        return None
    leans = leaning(text)
    completed = _completed(text, turns, claim, claims, follow, leans=leans is not None)
    if completed is not None:
        return completed
    if certain:
        return None
    if claim is None or claim.kind is Kind.HISTORICAL:
        of_proposal = _of_proposal(text, turns[-1])
        if of_proposal is not None:
            return of_proposal
    if leans is None:
        return None
    return _by_rule(text, turns[-1], claims) or Leaning(leans)


# --- what leans -----------------------------------------------------------------------------------

_SCRIPT_LEANS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "asks back in one or two words",
        re.compile(
            r"^(?:なぜ|なんで|どうして|何故|どういう意味|本当|例えば|たとえば|いつから|为什么|為什麼|为啥|怎么会|真的吗"
            r"|真的|比如|例如|почему|а почему|зачем|отчего|как так|правда|например|с каких пор)"
            r"(?:です)?(?:か|呢)?$"
        ),
    ),
    (
        "goes on from what was said",
        re.compile(
            r"^(?:じゃあ|じゃ|では|それじゃ|あと|那么?|那|还有|還有)?[、，,\s]*[^はがを的是什么几多]{1,12}(?:は|なら|呢|とか)$"
            r"|^(?:а|и)(?: (?:в|на|что насчет|как насчет|если))?(?: [\w.-]+){1,3}$"
        ),
    ),
    (
        "its pronoun stands for something said before",
        re.compile(
            r"^(?:それ|これ|彼|彼女|它|他|她|这个|那个)(?:は|が|の|を|的|是|有)"
            r"|^(?:(?:а|и|кто|когда|где|как|что|сколько|почему|какой|какая) ){1,3}(?:он|она|оно|они|его|ее"
            r"|их|это)\b"
        ),
    ),
)


_OBJECT_LEANS = rules.named("object_leans")
_IS_IT = rules.named("is_it")
_ROLE_ALONE = rules.named("role_alone")
_ROLE_OF = rules.named("role_of")

# What a thing has one of: asked of nothing, it is that of the thing spoken of before.
_REFERS = rules.rows("refers")
_REFERRING_WORDS = 12


def leaning(text: str) -> str | None:
    """Why the text, by its wording alone, goes on from something said before; None when it does not."""
    reading = read(text)
    flat = reading.flat[: rules.TEXT_CHARS]
    found = rules.follow_up(flat)
    if found is None and len(reading.words) <= _LEANING_WORDS:
        if _OBJECT_LEANS.match(flat) or _IS_IT.match(flat):
            found = "its pronoun stands for something said before"
        elif _ROLE_ALONE.match(flat):
            found = "names a part of something said before"
    if found is None and len(reading.words) <= _REFERRING_WORDS:
        found = next((rule.name for rule in _REFERS if rule.fits(flat, flat)), None)
    if found is not None or reading.script == "latin":
        return found
    plain = reading.plain.strip(" ?？!！。.")
    return next((name for name, pattern in _SCRIPT_LEANS if pattern.search(plain)), None)


# --- completed by an adapter ----------------------------------------------------------------------


def _completed(
    text: str,
    turns: Sequence[str],
    claim: Recognition | None,
    claims: Claims,
    follow: Follow,
    *,
    leans: bool,
) -> Resolved | None:
    if _names_nothing(text):
        return None
    last = claims(turns[-1])
    lacking = last is not None and claim is not None and _lacks(claim, last)
    if not leans and not lacking and not _may_be_completed(text, claim, last):
        return None
    for turn in reversed(turns[-_TURNS_READ if leans else -1 :]):
        made = follow(text, turn)
        found = claims(made) if made is not None else None
        if made is None or found is None or found.strength < CERTAIN:
            continue
        if lacking and claim is not None and not _keeps(found, claim):
            continue
        return Resolved(made, f"{found.adapter} completes it from an earlier question")
    return _carried(text, claim, last, claims, follow) if lacking else None


_EMPTY = frozenset(
    word_list(
        "what how about and so but or ok then the same for of is it its this that these those he him his"
        " she her they them their one ones other others"
    )
)


def _names_nothing(text: str) -> bool:
    """Nothing but pronouns and words like "what about": no slot may be filled with them."""
    return _EMPTY.issuperset(read(text).words)


def _carried(
    text: str, claim: Recognition | None, last: Recognition | None, claims: Claims, follow: Follow
) -> Resolved | None:
    """What the last question named, as a fragment that completes this one: "is it raining?" of "Paris"."""
    for name in _IDENTITY:
        value = last.slots.get(name) if last is not None else None
        if claim is None or not isinstance(value, str) or claim.slots.get(name) is not None:
            continue
        made = follow(value, text)
        found = claims(made) if made is not None else None
        if made is not None and found is not None and found.strength >= CERTAIN and _keeps(found, claim):
            return Resolved(made, f"{found.adapter} completes it with “{value}” from the last question")
    return None


def _lacks(claim: Recognition, last: Recognition) -> bool:
    return (
        not claim.local
        and claim.adapter == last.adapter
        and any(claim.slots.get(name) is None and last.slots.get(name) is not None for name in _IDENTITY)
    )


def _keeps(made: Recognition, claim: Recognition) -> bool:
    """Whether what was made still asks all that the text itself said."""
    return all(value is None or made.slots.get(name) == value for name, value in claim.slots.items())


def _may_be_completed(text: str, claim: Recognition | None, last: Recognition | None) -> bool:
    """Few words that no adapter claims, or a bare word, after a question that an adapter answers."""
    reading = read(text)
    if last is None or (claim is not None and claim.strength >= CERTAIN):
        return False
    size = len(reading.words) if reading.script in ("latin", "cyrillic") else len(reading.plain) // 3
    return size <= (_FRAGMENT_WORDS if claim is None else _BARE_WORDS)


# --- joined: why? ---------------------------------------------------------------------------------

_ASK_BACK = rules.pattern(r"^(?:<and_word> )?(?P<asks><asks_why>)(?:ですか|です|か|呢)?$")
_OPENING_WORD = rules.pattern(r"^[\s¿¡]*(?:<and_word>\b[\s,]*)+(?=[^\s?])", re.IGNORECASE)


def _joined(text: str, turn: str) -> Resolved | None:
    reading = read(text)
    subject = reading.flat if reading.script in ("latin", "cyrillic") else reading.plain.strip(" ?？。.!！")
    if _ASK_BACK.match(subject) is None:
        return None
    question = turn.rstrip()
    if question[-1:] not in "?？.。!！؟":
        question += _mark_for(question)
    asks_back = _OPENING_WORD.sub("", text.strip()).strip()
    asks_back = asks_back.rstrip(" ?？.!") + ("？" if reading.script in ("japanese", "chinese") else "?")
    start = next((at for at, char in enumerate(asks_back) if char.isalpha()), 0)
    asks_back = asks_back[:start] + asks_back[start : start + 1].upper() + asks_back[start + 1 :]
    if "¿" in question and not asks_back.startswith("¿"):
        asks_back = "¿" + asks_back
    return Resolved(f"{question} {asks_back}", "joined to the last question, which it asks the reason of")


def _mark_for(question: str) -> str:
    reading = read(question)
    if reading.script in ("japanese", "chinese"):
        return "？"
    first = reading.words[0] if reading.words else ""
    return "." if first in _REQUESTS else "?"


_REQUESTS = frozenset(rules.WORDS["orders"])

# --- a pronoun and its one antecedent -------------------------------------------------------------

_DROP = r"(?:(?:please|ok|so|and|hey|hi|can you|could you) )*"
_WHO_IS = re.compile(rf"^{_DROP}who(?:'s|s| is| was| are| were) (?P<x>.+)$", re.IGNORECASE)
_ABOUT = (
    re.compile(rf"^{_DROP}what(?:'s|s| is| was| are| were) (?:meant by )?(?P<x>.+)$", re.IGNORECASE),
    re.compile(
        rf"^{_DROP}(?:tell me (?:more )?about|explain|describe|define|where is|where are) (?P<x>.+)$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_DROP}who (?:founded|invented|created|wrote|discovered|built|designed|painted|composed"
        rf"|directed|made|owns"
        r"|started|developed) (?P<x>.+)$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_DROP}(?:when|where|how|by whom) (?:was|were|is|are) (?P<x>.+?) (?:founded|invented|created"
        rf"|written|built"
        r"|discovered|made|released|launched|established|started|designed)$",
        re.IGNORECASE,
    ),
    re.compile(rf"^{_DROP}how (?:does|do|did) (?P<x>.+?) works?$", re.IGNORECASE),
    re.compile(
        rf"^{_DROP}how (?:old|tall|big|large|long|high|deep|far|heavy|wide) (?:is|was|are|were) (?P<x>.+)$",
        re.IGNORECASE,
    ),
)
_NOT_A_NAME = frozenset(
    word_list(
        "and or but nor versus vs than between of who what when where which why how is are was were do"
        " does did can"
        " could will would should may might must has have had i you he she it we they me him her us them"
        " my your his"
        " its our their this that these those there here to for with about if because so not like doing"
        " going up new"
        " happening best worst better most more less first last next same difference differences meaning"
        " reason wrong"
        " time weather one ones somebody someone something anything everything nothing"
    )
)
_LEADING_THE = frozenset({"the", "a", "an"})

_THING = frozenset({"it", "its", "that", "this"})
_PERSON = frozenset({"he", "him", "his", "she", "her", "hers"})
_MANY = frozenset({"they", "them", "their", "theirs"})
_PRONOUN = re.compile(
    r"(?<![\w'’])(it|its|that|this|he|him|his|she|her|hers|they|them|their|theirs)(?P<is>['’]s)?(?!\w)",
    re.IGNORECASE,
)
_THAT_OF_THE_ANSWER = rules.named("that_of_the_answer")
_ON_THE_ANSWER = rules.named("on_the_answer")
_CONJUNCTION = re.compile(r"^(?:(?:and|so|but|ok|okay|then|also|well|now)[\s,]+)+(?=\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Subject:
    """The one thing that a question is about: its words, whether it is a person asked for by "who", and
    whether the question spoke of several."""

    name: str
    is_person: bool
    is_many: bool


def _subject(turn: str) -> _Subject | None:
    body = turn.strip().rstrip(" ?？.!").strip()
    if len(read(turn).sentences) != 1 or '"' in body or "," in body:
        return None
    person = _WHO_IS.match(body)
    if person:
        return _as_subject(
            person["x"], person=True, many=bool(re.match(r".*?\bwho (?:are|were) ", body, re.IGNORECASE))
        )
    for pattern in _ABOUT:
        match = pattern.match(body)
        if match:
            many = bool(re.search(r"\b(?:are|were)\b", body[: match.start("x")], re.IGNORECASE))
            return _as_subject(match["x"], person=False, many=many)
    asked = judge(read(body))
    if asked.topic and len(body.split()) <= _NEW_SUBJECT_WORDS:
        return _as_subject(body, person=False, many=False)
    return None


def _as_subject(name: str, *, person: bool, many: bool) -> _Subject | None:
    words = name.split()
    folded = [read(word).flat for word in words]
    if folded and folded[0] in ("a", "an") and len(words) > 1:
        words[0] = "the"  # "a blockchain" is "the blockchain" when it is spoken of again
    if not 1 <= len(words) <= _SUBJECT_WORDS or (folded[0] in _LEADING_THE and len(words) == 1):
        return None
    not_names = _NOT_A_NAME - {"of", "in"} if person else _NOT_A_NAME
    if not not_names.isdisjoint(folded) or not any(char.isalpha() for char in name):
        return None
    return _Subject(" ".join(words), person, many)


def _with_subject(text: str, turn: str) -> Resolved | None:
    subject = _subject(turn)
    found = list(_PRONOUN.finditer(text))
    if subject is None or not found:
        return None
    kinds = {_kind_of(match[1].lower()) for match in found}
    wanted = "many" if subject.is_many else "person" if subject.is_person else "thing"
    if kinds != {wanted}:
        return None
    flat = read(text).flat
    points = any(match[1].lower() in ("that", "this") for match in found)
    if _ON_THE_ANSWER.search(flat):
        return None
    if wanted == "thing" and points and (len(found) > 1 or _THAT_OF_THE_ANSWER.search(flat)):
        return None
    out, at = [], 0
    for match in found:
        out += [text[at : match.start()], _in_form(subject.name, match, text)]
        at = match.end()
    made = _CONJUNCTION.sub("", "".join((*out, text[at:])).strip())
    if text[:1].isupper():
        made = made[:1].upper() + made[1:]
    if leaning(made) is not None:
        return None
    return Resolved(_ended(made), f"its pronoun stands for “{subject.name}”")


def _kind_of(pronoun: str) -> str:
    return "thing" if pronoun in _THING else "person" if pronoun in _PERSON else "many"


def _in_form(name: str, match: re.Match[str], text: str) -> str:
    pronoun = match[1].lower()
    if match["is"]:
        return f"{name} is"
    owning = pronoun in ("its", "his", "their", "hers", "theirs")
    if pronoun == "her":
        # "her age" owns, "who married her" and "tell me about her now" do not
        following = re.match(r"\s+([^\W\d_]+)", text[match.end() :])
        owning = following is not None and following[1].lower() not in rules.NO_CONTENT
    if not owning:
        return name
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _ended(text: str) -> str:
    if text[-1:] in "?？.!":
        return text
    return text + ("." if read(text).words[:1] and read(text).words[0] in _REQUESTS else "?")


def _of_subject(text: str, turn: str) -> Resolved | None:
    """ "who is the founder?" of the one thing that the last question was about."""
    flat = read(text).flat
    role = _ROLE_ALONE.match(flat)
    subject = _subject(turn)
    if role is None or subject is None or subject.is_person or not _ROLE_OF.match(flat.partition(" the ")[2]):
        return None
    made = _CONJUNCTION.sub("", text.strip()).rstrip(" ?.!")
    if text[:1].isupper():
        made = made[:1].upper() + made[1:]
    return Resolved(f"{made} of {subject.name}?", f"asked of “{subject.name}”")


# --- proposals by number ----------------------------------------------------------------------------

_ANOTHER_NUMBER = rules.pattern(
    r"^(?:<same_for>[\s,]+){0,3}(?:<link>\s+){0,2}(?:<proposal>\s*)?(?:<number>\s*)?(?P<number>\d{1,9})"
    r"(?:\s+(?:then|too|as well|instead))?$"
)
_LIKE_A_YEAR = re.compile(r"(?:19|20)\d\d")
_SAYS_PROPOSAL = rules.pattern("<proposal>|<number>")
_ASKED_OF_NOTHING = rules.named("asked_of_nothing")


def _of_proposal(text: str, turn: str) -> Resolved | None:
    """What is asked about the one proposal that the last question named by its number."""
    record = history.recognise(read(turn))
    number = record.slots.get("proposal") if record is not None and record.numbered else None
    if not isinstance(number, str) or len(turn) > TURN_CHARS_MAX:
        return None
    reading = read(text)
    plain = reading.plain.strip(" ?？!！.¿¡")
    another = _ANOTHER_NUMBER.match(plain)
    if another is not None:
        said = list(re.finditer(rf"(?<![\w.,])0*{re.escape(number)}(?![\w]|[.,]\d)", turn))
        if len(said) != 1 or another["number"].lstrip("0") == number:
            return None
        if _LIKE_A_YEAR.fullmatch(
            plain[another.start("number") : another.end("number")]
        ) and not _SAYS_PROPOSAL.search(plain):
            return None
        made = f"{turn[: said[0].start()]}{another['number']}{turn[said[0].end() :]}"
        return Resolved(made, f"the last question asked of proposal {another['number']}")
    own = history.recognise(reading)
    if own is not None and own.numbered:
        return None
    name = f"proposal {number}"
    alone = _ASKED_OF_NOTHING.match(reading.flat)
    if alone is not None:
        bare = _CONJUNCTION.sub("", text.strip()).rstrip(" ?.!")
        made = f"{bare} {'on' if alone['who'] else 'of'} {name}?"
        return Resolved(made, f"asked of {name}")
    found = list(_PRONOUN.finditer(text))
    if leaning(text) is None or not found or {_kind_of(match[1].lower()) for match in found} != {"thing"}:
        return None
    if any(match[1].lower() in ("that", "this") for match in found) and _THAT_OF_THE_ANSWER.search(
        reading.flat
    ):
        return None
    out, at = [], 0
    for match in found:
        out += [text[at : match.start()], _in_form(name, match, text)]
        at = match.end()
    made = _CONJUNCTION.sub("", "".join((*out, text[at:])).strip())
    return Resolved(_ended(made), f"its pronoun stands for {name}")


# --- the same question of another name ------------------------------------------------------------

_OF_ANOTHER = rules.pattern(r"^(?P<lead><another>)[\s,]+(?P<y>[^?¿!.,]{1,60}?)\s*[?.!]*$", re.IGNORECASE)
_THE_OF = rules.pattern(
    r"^(?P<head>.{1,160}?\s<of>\s)(?P<the><definite> )?(?P<z>[^\s].{0,60})$", re.IGNORECASE
)
_SINGULAR_OF = rules.pattern(r"\b<singular>\s?[\w'-]+(?: [\w'-]+)?\s<of>\s$", re.IGNORECASE)
_DEFINITE = frozenset(rules.WORDS["definite"])
_ASKS_FOR_ONE = rules.pattern(r"^(?:(?:please|ok|so|hey|hi) )*<asks_for_one>\b")
_ABOUT_ONE = rules.pattern(
    r"^(?P<head>(?:(?:please|ok|so|hey|hi|can you|could you)\s+)*(?:(?P<who><who_is>)|<what_is>))\s+"
    r"(?P<z>.{1,60}?)(?P<tail> born| founded| built| invented| die)?$",
    re.IGNORECASE,
)
_NOT_ANOTHER = frozenset(rules.WORDS["not_another"])


def _of_another(text: str, turn: str) -> Resolved | None:
    match = _OF_ANOTHER.match(text.strip())
    body = turn.strip().rstrip(" ?？.!").strip()
    if match is None or len(read(turn).sentences) != 1 or "," in body:
        return None
    new = match["y"].strip()
    new_words = read(new).words
    if not 1 <= len(new_words) <= _NEW_SUBJECT_WORDS or not _NOT_ANOTHER.isdisjoint(new_words):
        return None
    if any(char.isdigit() for char in new) or (" and " in f" {new.lower()} "):
        return None
    made = _after_of(body, new) or _in_place(body, new, asks=match["lead"].lower())
    if made is None or leaning(made) is not None:
        return None
    mark = turn.strip()[-1:] if turn.strip()[-1:] in "?." else _mark_for(made)
    return Resolved(made + mark, f"the last question asked of “{new}”")


_IS_A_PART = rules.named("is_a_part")


def _has_article(name: str) -> bool:
    return name.split()[0].lower() in {*_DEFINITE, "a", "an"}


def _after_of(body: str, new: str) -> str | None:
    """ "the capital of X" with another X."""
    match = _THE_OF.match(body)
    if match is None or not _ASKS_FOR_ONE.match(read(body).flat):
        return None
    old = match["z"]
    if not _is_name(old) or not _is_name(new) or " of " in f" {new.lower()} ":
        return None
    if _IS_A_PART.match(read(new).flat) or (_has_article(new) and not _has_capital(new)):
        return None  # "and the melting point?" asks for something else of the same
    # a role in the definite article's singular: "the capital of", not "a bottle of" or "kinds of"
    if not _SINGULAR_OF.search(match["head"]):
        return None
    article = match["the"] or ""
    if new.lower().split()[0] in _DEFINITE:
        article = ""
    elif article and not article.lower().startswith("the"):
        return None  # which article the new name takes is not known
    elif article:
        article = "the " if new.endswith("s") and not new[0].islower() else ""
    return f"{match['head']}{article}{new}"


def _in_place(body: str, new: str, *, asks: str) -> str | None:
    """ "who is X" with another X: a person for a person, a name for a name, "a dog" for "a cat"."""
    match = _ABOUT_ONE.match(body)
    if match is None:
        return None
    old = match["z"]
    if not _is_name(old) or not _is_name(new):
        return None
    who = match["who"]
    alike = all(name.split()[0].lower() in rules.WORDS["indefinite"] for name in (old, new))
    alike = alike or _have_one_form(old, new)
    named = _has_capital(new) and _has_capital(old)
    if not (who or alike or named):
        return None
    if (who or named) and old.split()[0].lower() in _DEFINITE and not _has_capital(new):
        return None
    return f"{match['head']} {new}{match['tail'] or ''}"


def _have_one_form(old: str, new: str) -> bool:
    """ "proof of stake" and "proof of work": as many words, all but one the same."""
    olds, news = read(old).words, read(new).words
    return len(olds) == len(news) >= 2 and sum(a != b for a, b in zip(olds, news, strict=True)) == 1


def _is_name(text: str) -> bool:
    folded = read(text).words
    return (
        1 <= len(folded) <= _SUBJECT_WORDS
        and _NOT_A_NAME.isdisjoint(set(folded) - {"of"})
        and text[0].isalpha()
    )


def _has_capital(text: str) -> bool:
    return any(char.isupper() for char in text)


# --- together -------------------------------------------------------------------------------------


def _by_rule(text: str, turn: str, claims: Claims) -> Resolved | None:
    if len(turn) > TURN_CHARS_MAX or leaning(turn) is not None or not judge(read(turn)).asks:
        return None
    last = claims(turn)
    if last is not None and last.strength >= CLAIM:
        return None
    if len(read(turn).sentences) != 1:
        return None
    return (
        _joined(text, turn) or _with_subject(text, turn) or _of_subject(text, turn) or _of_another(text, turn)
    )


__all__ = ["CHARS_MAX", "Claims", "Follow", "Leaning", "Resolved", "leaning", "resolve"]
