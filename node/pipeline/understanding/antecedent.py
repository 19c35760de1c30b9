"""What a pronoun, a part of something, or a number stands for: the one thing the last question was about.
Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from node.language.reading import read
from node.pipeline.understanding import history, rules
from node.pipeline.understanding.leaning import REQUESTS, ROLE_ALONE, Resolved, leaning
from node.pipeline.understanding.question import judge

TURN_CHARS_MAX = 400
_WHO_IS = rules.named("who_is_x", re.IGNORECASE)
_ABOUT = rules.each("about_x", re.IGNORECASE)
_ROLE_OF = rules.named("role_of")
NOT_A_NAME = frozenset(rules.WORDS["no_name"])
SUBJECT_WORDS = 6
NEW_SUBJECT_WORDS = 4
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
_CONJUNCTION = rules.named("conjunction", re.IGNORECASE)


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
    if asked.topic and len(body.split()) <= NEW_SUBJECT_WORDS:
        return _as_subject(body, person=False, many=False)
    return None


def _as_subject(name: str, *, person: bool, many: bool) -> _Subject | None:
    words = name.split()
    folded = [read(word).flat for word in words]
    if folded and folded[0] in ("a", "an") and len(words) > 1:
        words[0] = "the"  # "a blockchain" is "the blockchain" when it is spoken of again
    if not 1 <= len(words) <= SUBJECT_WORDS or (folded[0] in _LEADING_THE and len(words) == 1):
        return None
    not_names = NOT_A_NAME - {"of", "in"} if person else NOT_A_NAME
    if not not_names.isdisjoint(folded) or not any(char.isalpha() for char in name):
        return None
    return _Subject(" ".join(words), person, many)


def with_subject(text: str, turn: str) -> Resolved | None:
    """The pronoun as the one subject of the last question."""
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
    made = _replaced(text, subject.name)
    if text[:1].isupper():
        made = made[:1].upper() + made[1:]
    if leaning(made) is not None:
        return None
    return Resolved(_ended(made), f"its pronoun stands for “{subject.name}”")


def _replaced(text: str, name: str) -> str:
    """``text`` with the name for its pronouns, and nothing that joins it to what was said before."""
    return _CONJUNCTION.sub("", _PRONOUN.sub(lambda found: _in_form(name, found, text), text).strip())


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
    return text + ("." if read(text).words[:1] and read(text).words[0] in REQUESTS else "?")


def of_subject(text: str, turn: str) -> Resolved | None:
    """ "who is the founder?" of the one thing that the last question was about."""
    flat = read(text).flat
    role = ROLE_ALONE.match(flat)
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


def of_proposal(text: str, turn: str) -> Resolved | None:
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
    return Resolved(_ended(_replaced(text, name)), f"its pronoun stands for {name}")
