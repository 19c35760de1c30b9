"""Question families made by program: paraphrases and near-misses with labels, deterministic by seed.

A family is a few intents over shared slots. Questions of one intent with the same values ask the same
(they share a *class*); everything else asks something different, and the structure says how:

    another value            the slot's kind (name, number, unit, time …); ``near-name`` for names alike
    two values exchanged     ``role``
    another intent           the intent's kind (wh, opposite, negation, direction, comparison, scope …)
    several of these         ``several``
    another family           ``other``

The families stand in two text files, ``train_families.txt`` and ``test_families.txt``: no frame and no name
of the one is in the other, so what is learned from one can be judged by the other. Numbers, dates, months
and everyday words are shared. Format, one item a line:

    vocab NAME KIND: value | value~other spelling | …          an empty value may be left out of the text
    F NAME; DOMAIN; x=VOCAB n=int:2..40:2 y=KIND:value|value   a family with its slots; also year, date
    = frame / frame / frame                                    the first intent
    KIND: frame / frame ; r=VOCAB                              another one, with a slot of its own
    + phrase | phrase                          appended to frames of the first: one intent each
    … @sym                                                     exchanging the values asks the same
    … @eq                                                      it does, but paraphrases keep the order
    twist KIND: phrase | phrase                                may be appended to any question of the file

Promises: pure but for reading the two files; equal seeds give equal streams. Must not know: the gate.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path

from node.language.reading import word_list as listed

FOLDER = Path(__file__).parent
TRAIN = (FOLDER / "train_families.txt", FOLDER / "train_families_2.txt")
TEST = (FOLDER / "test_families.txt",)
TRAP = (FOLDER / "trap_families.txt",)
"""Written by somebody who had not seen the others; for reporting only."""

_KINDS = {"why": "wh", "yes": "intent", "gender": "scope"}
_WORDS = listed(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty"""
)
_MONTHS = listed("""January February March April May June July August September October November December""")
_DAYS_MAX = 28
_NEAR = 0.62
"""Likeness of letters from which two names are near-equal."""
_LEADS = (
    "Can you tell me {}", "please tell me {}", "hi, {}", "I'd like to know {}", "hello! {}", "tell me: {}",
    "Could you help me? {}", "I have a question: {}",
)  # fmt: skip
_TAILS = ("please", "thanks", "pls", "thank you")


@dataclass(frozen=True, slots=True)
class Slot:
    """What may stand in a frame. ``values`` hold spellings of each value; none: made by ``maker``."""

    kind: str
    values: tuple[tuple[str, ...], ...] = ()
    maker: str = ""
    low: int = 0
    high: int = 0
    step: int = 1


@dataclass(frozen=True, slots=True)
class Intent:
    """Frames that ask the same. ``slots`` are the names that stand in any frame, sorted. ``symmetric``:
    values may be exchanged, and are; ``equal``: they may be, but only a near-miss does so."""

    kind: str
    frames: tuple[str, ...]
    slots: tuple[str, ...]
    symmetric: bool = False
    equal: bool = False
    extra: Mapping[str, Slot] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    domain: str
    slots: Mapping[str, Slot]
    intents: tuple[Intent, ...]
    twists: tuple[tuple[str, str], ...] = ()

    def slot(self, intent: int, name: str) -> Slot:
        return self.intents[intent].extra.get(name) or self.slots[name]


@dataclass(frozen=True, slots=True)
class Concept:
    """What is asked, apart from the wording: a family's intent with a value for each of its slots."""

    family: str
    intent: int
    values: tuple[tuple[str, str], ...]
    symmetric: bool = False
    twist: tuple[str, str] = ("", "")
    """Kind and words of a phrase that is put behind the question."""

    @property
    def cls(self) -> str:
        """The class: equal exactly where one answer serves both."""
        values = [value for _, value in self.values]
        shown = sorted(values) if self.symmetric else values
        return f"{self.family}:{self.intent}:{'|'.join(shown)}:{self.twist[1]}"


@dataclass(frozen=True, slots=True)
class Question:
    """A text with its class; ``group`` is what may not be split between training and testing."""

    text: str
    cls: str
    group: str
    concept: Concept | None = None


def read_all(files: Iterable[Path]) -> dict[str, Family]:
    """The families of several files, each by its file's and its own name."""
    return {f"{file.stem}/{name}": family for file in files for name, family in read(file).items()}


def read(file: Path) -> dict[str, Family]:
    """The families of a file by name. Raises ``ValueError`` for a line that is none of the formats."""
    vocabularies: dict[str, Slot] = {}
    out: dict[str, Family] = {}
    header: tuple[str, str, dict[str, Slot]] | None = None
    intents: list[Intent] = []
    twists: list[tuple[str, str]] = []

    def close() -> None:
        if header is not None:
            out[header[0]] = Family(header[0], header[1], header[2], tuple(intents), tuple(twists))

    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("vocab "):
            head, _, values = line[len("vocab ") :].partition(":")
            name, kind = head.split()
            vocabularies[name] = _vocabulary(kind, values)
        elif line.startswith("twist "):
            kind, _, phrases = line[len("twist ") :].partition(":")
            twists.extend((kind, phrase.strip()) for phrase in phrases.split("|"))
        elif line.startswith("F "):
            close()
            name, domain, *slots = (part.strip() for part in line[2:].split(";"))
            header, intents = (name, domain, _slots(" ".join(slots), vocabularies)), []
        elif header is not None and line.startswith("+ "):
            for phrase in line[2:].split("|"):
                intents.append(_modified(intents[0], phrase.strip()))
        elif header is not None and (line.startswith("= ") or re.match(r"[a-z]+: ", line)):
            kind, _, text = line.partition(" ")
            kind = "intent" if kind == "=" else kind.rstrip(":")
            intents.append(_intent(_KINDS.get(kind, kind), text, vocabularies))
        else:
            raise ValueError(f"{file.name}, line {number}: no vocabulary, family or intent")
    close()
    return out


def _vocabulary(kind: str, text: str) -> Slot:
    values = tuple(tuple(part.strip() for part in value.split("~")) for value in text.split("|"))
    return Slot(kind, values)


def _slots(text: str, vocabularies: Mapping[str, Slot]) -> dict[str, Slot]:
    out = {}
    for spec in re.split(r"\s+(?=[a-z]=)", text.strip()):
        if not spec:
            continue
        name, _, what = spec.partition("=")
        if what.startswith("int:"):
            span, _, step = what[len("int:") :].partition(":")
            low, high = span.split("..")
            out[name] = Slot("number", maker="int", low=int(low), high=int(high), step=int(step or 1))
        elif what == "year":
            out[name] = Slot("date", maker="int", low=1850, high=2024)
        elif what == "date":
            out[name] = Slot("date", maker="date")
        elif ":" in what:
            kind, _, values = what.partition(":")
            out[name] = _vocabulary(kind, values)
        else:
            out[name] = vocabularies[what]
    return out


def _intent(kind: str, text: str, vocabularies: Mapping[str, Slot]) -> Intent:
    text, _, extra = text.partition(" ; ")
    symmetric, equal = "@sym" in text, "@eq" in text
    frames = tuple(frame.strip() for frame in re.sub("@(?:sym|eq)", "", text).split(" / "))
    slots = tuple(sorted(set(re.findall(r"\{([a-z])\}", text))))
    return Intent(kind, frames, slots, symmetric, equal, _slots(extra, vocabularies))


def _modified(base: Intent, phrase: str) -> Intent:
    frames = tuple(
        frame.rstrip("?.") + f" {phrase}" + ("?" if frame.endswith("?") else "") for frame in base.frames
    )
    return Intent("modifier", frames, base.slots, base.symmetric, base.equal, base.extra)


class Maker:
    """Draws concepts and words them. One random generator, so the order of calls matters."""

    def __init__(self, families: Mapping[str, Family], seed: int) -> None:
        self.families = families
        self.rng = random.Random(seed)
        self._names = sorted(families)

    def concept(self, family: str, intent: int | None = None) -> Concept:
        """A random concept of a family; the first intent four times in ten."""
        made = self.families[family]
        if intent is None:
            first = self.rng.random() < 0.4
            intent = 0 if first else self.rng.randrange(len(made.intents))
        values: dict[str, str] = {}
        for name in made.intents[intent].slots:
            values[name] = self._value(made.slot(intent, name), values.values())
        return self._concept(family, intent, values)

    def _concept(self, family: str, intent: int, values: Mapping[str, str]) -> Concept:
        one = self.families[family].intents[intent]
        return Concept(
            family, intent, tuple((name, values[name]) for name in one.slots), one.symmetric or one.equal
        )

    def _value(self, slot: Slot, taken: Iterable[str]) -> str:
        if slot.maker == "int":
            return str(self.rng.randrange(slot.low, slot.high + 1, slot.step))
        if slot.maker == "date":
            day, month = self.rng.randint(1, _DAYS_MAX), self.rng.randint(1, 12)
            return f"{self.rng.randint(1860, 2024)}-{month:02}-{day:02}"
        free = [value[0] for value in slot.values if value[0] not in taken or not value[0]]
        return self.rng.choice(free)

    def near(self, concept: Concept) -> Concept:
        """A concept that differs in one thing: a value, the order of two values, or the intent."""
        family = self.families[concept.family]
        values = dict(concept.values)
        swaps = self._swaps(concept)
        choice = self.rng.random()
        if choice > 0.85 and family.twists:
            return replace(concept, twist=self.rng.choice(family.twists))
        if swaps and choice < 0.3:
            one, other = self.rng.choice(swaps)
            values[one], values[other] = values[other], values[one]
            return self._concept(concept.family, concept.intent, values)
        if values and choice < 0.6:
            name = self.rng.choice(sorted(values))
            slot = family.slot(concept.intent, name)
            values[name] = self._near_value(slot, values[name], set(values.values()))
            return self._concept(concept.family, concept.intent, values)
        intent = self.rng.randrange(len(family.intents))
        for name in family.intents[intent].slots:
            if name not in values or name in family.intents[intent].extra:
                values[name] = self._value(family.slot(intent, name), values.values())
        return self._concept(concept.family, intent, values)

    def _swaps(self, concept: Concept) -> list[tuple[str, str]]:
        family = self.families[concept.family]
        if family.intents[concept.intent].symmetric:
            return []
        names = [name for name, value in concept.values if value]
        slots = {name: family.slot(concept.intent, name) for name in names}
        return [
            (one, other)
            for index, one in enumerate(names)
            for other in names[index + 1 :]
            if slots[one] == slots[other]
        ]

    def _near_value(self, slot: Slot, value: str, taken: set[str]) -> str:
        if slot.maker == "int":
            number = int(value)
            turned = int(value[::-1]) if len(value) == 2 else number
            steps = [number + slot.step, number - slot.step, number * 10, number + 10, number * 2, turned]
            steps = [step for step in steps if step != number and step > 0]
            inside = [step for step in steps if slot.low <= step <= slot.high]
            return str(self.rng.choice(inside or steps))
        if slot.maker == "date":
            year, month, day = value.split("-")
            part = self.rng.randrange(3)
            if part == 0:
                return f"{int(year) + self.rng.choice((-10, -1, 1, 10))}-{month}-{day}"
            if part == 1:
                return f"{year}-{int(month) % 12 + 1:02}-{day}"
            return f"{year}-{month}-{int(day) % _DAYS_MAX + 1:02}"
        others = [other[0] for other in slot.values if other[0] not in taken or not other[0]]
        others = [other for other in others if other != value] or [value]
        alike = [other for other in others if is_near_name(value, other)]
        return self.rng.choice(alike if alike and self.rng.random() < 0.5 else others)

    def word(self, concept: Concept, rough: bool = True) -> str:
        """The concept in one of its frames and spellings."""
        family = self.families[concept.family]
        frame = self.rng.choice(family.intents[concept.intent].frames)
        values = dict(concept.values)
        if family.intents[concept.intent].symmetric and self.rng.random() < 0.5 and len(values) >= 2:
            values = self._turned(family, concept, values)
        text = frame
        for name, value in values.items():
            text = self._put(text, name, value, family.slot(concept.intent, name))
        if concept.twist[1]:
            end = "?" if text.endswith("?") else ""
            text = f"{text.rstrip('?.')} {concept.twist[1]}{end}"
        text = re.sub(r"\b([Aa]) (?=[aeioAEIO](?!u\b|ne\b|uro)|u(?!ni|se))", r"\1n ", " ".join(text.split()))
        text = text.replace(" ?", "?").replace(" .", ".").replace(" ,", ",")
        return self._rough(text) if rough else text

    def _turned(self, family: Family, concept: Concept, values: dict[str, str]) -> dict[str, str]:
        names = [
            name
            for name in values
            if family.slot(concept.intent, name) == family.slot(concept.intent, min(values))
        ]
        if len(names) < 2:
            return values
        one, other = names[:2]
        return {**values, one: values[other], other: values[one]}

    def _put(self, text: str, name: str, value: str, slot: Slot) -> str:
        hole = "{" + name + "}"
        if slot.maker == "int":
            spoken = (
                slot.kind == "number"
                and int(value) < len(_WORDS)
                and self.rng.random() < 0.2
                and re.search(rf"(?:^|[\w)] )\{hole}(?: [a-z]|[?.]?$)", text) is not None
            )
            shown = _WORDS[int(value)] if spoken else value
        elif slot.maker == "date":
            year, month, day = value.split("-")
            named = _MONTHS[int(month) - 1]
            shown = self.rng.choice(
                (f"{named} {int(day)}, {year}", f"{int(day)} {named} {year}", f"{named} {int(day)} {year}")
            )
        else:
            spellings = next((one for one in slot.values if one[0] == value), (value,))
            shown = spellings[0] if self.rng.random() < 0.7 else self.rng.choice(spellings)
        return text.replace(hole, shown)

    def _rough(self, text: str) -> str:
        """As people type: politeness, case, question marks."""
        if self.rng.random() < 0.06:
            text = self.rng.choice(_LEADS).format(text[0].lower() + text[1:] if text[1:2].islower() else text)
        if self.rng.random() < 0.04:
            text = f"{text.rstrip('?.')} {self.rng.choice(_TAILS)}"
        if self.rng.random() < 0.3:
            text = text.rstrip("?.")
        chance = self.rng.random()
        if chance < 0.18:
            return text.lower()
        return text[0].upper() + text[1:] if chance < 0.5 else text

    def question(self, concept: Concept) -> Question:
        return Question(self.word(concept), concept.cls, concept.family, concept)

    def stream(self, size: int, *, dense: bool) -> list[Question]:
        """Questions in order of arrival. ``dense``: clusters of near-misses around a few concepts of each
        family; otherwise many concepts, of which some come back often."""
        pool: list[Concept] = []
        while len(pool) < (size if not dense else size // 2):
            family = self.rng.choice(self._names)
            seed = self.concept(family)
            pool.append(seed)
            if dense:
                around = [self.near(seed) for _ in range(6)]
                pool.extend(around)
                pool.append(self.near(self.rng.choice(around)))
        weights = [1 / (1 + index % 50) ** 0.5 for index in range(len(pool))]
        chosen = self.rng.choices(pool, weights, k=size) if not dense else pool * 2
        self.rng.shuffle(chosen)
        return self._clean(self.question(concept) for concept in chosen[:size])

    @staticmethod
    def _clean(questions: Iterator[Question]) -> list[Question]:
        """Without texts that stand for two classes ("{x} minus {y}" of equal values)."""
        first: dict[str, str] = {}
        return [
            question
            for question in questions
            if first.setdefault(question.text.casefold().rstrip("?. "), question.cls) == question.cls
        ]


def is_near_name(one: str, other: str) -> bool:
    """Whether two names are alike in letters or share a word of some length."""
    shared = {word for word in one.casefold().split() if len(word) > 3} & set(other.casefold().split())
    return bool(shared) or SequenceMatcher(None, one.casefold(), other.casefold()).ratio() >= _NEAR


def difference(one: Concept, other: Concept, families: Mapping[str, Family]) -> str:
    """The kind of difference between two concepts; ``same`` where there is none."""
    if one.cls == other.cls:
        return "same"
    if one.family != other.family:
        return "other"
    family = families[one.family]
    values, values2 = dict(one.values), dict(other.values)
    if one.twist != other.twist:
        plain = replace(one, twist=("", "")).cls == replace(other, twist=("", "")).cls
        return (one.twist[0] or other.twist[0]) if plain else "several"
    shared = [name for name in values if name in values2]
    changed = [name for name in shared if values[name] != values2[name]]
    if one.intent != other.intent:
        if changed:
            return "several"
        kinds = {family.intents[one.intent].kind, family.intents[other.intent].kind} - {"intent"}
        first = 0 in (one.intent, other.intent)
        return kinds.pop() if first and len(kinds) == 1 else "intent"
    if len(changed) == 2 and sorted(values[name] for name in changed) == sorted(
        values2[name] for name in changed
    ):
        return "role"
    if len(changed) > 1:
        return "several"
    name = changed[0]
    slot = family.slot(one.intent, name)
    if not values[name] or not values2[name]:
        return "modifier"
    if slot.kind == "name" and is_near_name(values[name], values2[name]):
        return "near-name"
    return slot.kind


def names(families: Iterable[Family]) -> set[str]:
    """All names and other values that stand in slots, in small letters."""
    return {
        spelling.casefold()
        for family in families
        for slot in (*family.slots.values(), *(s for i in family.intents for s in i.extra.values()))
        if slot.kind in ("name", "near-name")
        for value in slot.values
        for spelling in value
        if spelling
    }


def frames(families: Iterable[Family]) -> set[str]:
    """All frames, holes made equal, in small letters, without end marks."""
    return {
        re.sub(r"\{[a-z]\}", "{}", frame).casefold().rstrip("?. ")
        for family in families
        for intent in family.intents
        for frame in intent.frames
    }


def sample(families: Mapping[str, Family], seed: int, per_family: int) -> Sequence[Question]:
    """Some questions of each family, to be read by people."""
    maker = Maker(families, seed)
    return [maker.question(maker.concept(name)) for name in sorted(families) for _ in range(per_family)]
