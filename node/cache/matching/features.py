"""What a question says, taken apart for comparing: the pure extraction under the gate and the keyword key.

Rules:
1. Openings that only ask politely or order an answer are dropped; phrases that say one thing become one word.
2. Each sentence with content asks for something: who, when, where, why, how, how many, … or ``what``
   (which, define, explain, list), ``yesno`` by its auxiliary, or nothing said.
3. What is left without function words is *content*: canonical words with a kind, the role that a preposition
   gives them, and their order. A passive is turned round; an object question is turned round.
4. Negations, tense, modality, person and language are kept apart.

Promises: pure, total, linear, bounded by ``CHARS_MAX`` and ``TOKENS_MAX``; a text beyond them is marked
``too_long`` and nothing else of it is read. Must not know: similarities, thresholds, other texts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from node.cache.matching import phrases, words
from node.cache.matching.stem import canonical
from node.cache.matching.syntax import (
    DOER,
    WHAT,
    WHO_WHEN,
    asked_for,
    deed,
    is_fronted,
    is_participle,
    subject,
    turned_round,
)
from node.cache.matching.tokens import CODE, END, NUMBER, SYMBOL, WORD, Token, tokenise

CHARS_MAX = 1_500
"""Above the embedders' windows of some 256 word pieces."""
TOKENS_MAX = 320
_LEADS_MAX = 6
_LEAD_WORDS_MAX = 10
_DEFINED_MAX = 2
"""A question for what something is has at most so many content words."""
_DEFINING = words.table("defining")
_PARTICIPLES = words.table("participles")
_LIKING = words.table("liking")
_ASKED_BEFORE = words.table("asked_before")

UNIT, NAME, TIME, COMPARISON, SCOPE, ASK = "unit", "name", "time", "comparison", "scope", "ask"
_UNIT_WORDS = words.UNIT_WORDS
_INFINITIVE_BEFORE = words.table("infinitive_before")


@dataclass(frozen=True, slots=True)
class Item:
    """One content word. ``place`` orders it, ``role`` is the preposition over it, ``sentence`` where it
    stands."""

    key: str
    kind: str
    raw: str
    role: str
    place: int
    soft: bool
    sentence: int
    chunk: int = 0
    asked: bool = False
    """Names the class of what is asked for: "city" in "which city is …"."""


@dataclass(frozen=True, slots=True)
class Features:
    """A question taken apart; see the module's rules."""

    too_long: bool = False
    flat: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    asks: tuple[str, ...] = ()
    details: frozenset[str] = frozenset()
    negations: tuple[tuple[str, str], ...] = ()
    tense: str = ""
    modality: str = ""
    person: frozenset[str] = frozenset()
    links: frozenset[int] = frozenset()
    """Chunks (runs of content words with nothing between) that "and", "or", "vs" or a comma ties to the
    next chunk."""
    fronted: bool = False
    """A question for the object: "what do wolves eat", not "what eats wolves"."""
    language: str = "english"
    sentences: int = 0
    joiners: frozenset[str] = frozenset()
    """Which of "and" and "or" join content."""
    subject: str | None = None
    """Who acts, by ``syntax.subject``, as a canonical word."""
    deeds: frozenset[str] = frozenset()
    """What whoever asks would do: the words behind "do I", "can one" …"""
    leanings: frozenset[str] = frozenset()
    """Words of which a rival on the other side makes another question: "be" and "have" as the whole verb
    behind "to" or a modal, "should" and "can" where not a yes or no is asked for, "define" and "exists"
    ("what is X", "is there X")."""
    marks: frozenset[str] = frozenset()
    """Small things that both sides must have or neither: see ``_Reader._mark``."""
    forms: frozenset[str] = frozenset()
    """``ing.word`` and ``a.word`` in short questions for what something is."""


@lru_cache(maxsize=4_096)
def extract(text: str) -> Features:
    """The features of ``text``; remembered for the stored questions that come up again and again."""
    if len(text) > CHARS_MAX:
        return Features(too_long=True)
    tokens = tokenise(text)
    if len(tokens) > TOKENS_MAX:
        return Features(too_long=True)
    whole = tuple(token.text for token in tokens if token.kind != END and token.text not in _PAUSES)
    language = _language(text, whole)
    reader = _Reader(has_capitals=any(map(str.islower, text)))
    sentences = [
        bare for sentence in _sentences(tokens) if (bare := _strip_tails(_strip_polite(sentence)))
    ] or _sentences(tokens)
    for sentence in sentences:
        reader.read(sentence)
    flat = tuple(token.text for sentence in sentences for token in sentence if token.text not in _PAUSES)
    return reader.features(flat, language)


def _language(text: str, flat: Sequence[str]) -> str:
    letters = [char for char in text if char.isalpha()]
    foreign = sum(1 for char in letters if ord(char) > 0x24F)
    if foreign * 3 > len(letters):
        return (
            "script "
            + unicodedata.name(next(char for char in letters if ord(char) > 0x24F), "?").split()[0].lower()
        )
    english = sum(1 for word in flat if word in phrases.ENGLISH)
    best, name = max(
        (sum(1 for word in flat if word in table), name) for name, table in phrases.LANGUAGES.items()
    )
    return name if best >= 2 and best > english else "english"


def _sentences(tokens: Sequence[Token]) -> list[list[Token]]:
    out: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == END:
            out.append([])
        else:
            out[-1].append(token)
    return [sentence for sentence in out if sentence]


_PAUSES = (",", "/")


def _strip_polite(tokens: list[Token]) -> list[Token]:
    """Without openings that say nothing of what is wanted; a sentence of nothing else is empty."""
    for _ in range(_LEADS_MAX):
        while tokens and tokens[0].text in _PAUSES:
            tokens = tokens[1:]
        texts = [token.text for token in tokens[:_LEAD_WORDS_MAX]]
        found = phrases.match(phrases.POLITE, texts, 0) if texts else None
        if found is None:
            break
        tokens = tokens[found[0] :]
    return tokens


def _strip_leads(tokens: list[Token]) -> tuple[list[Token], bool]:
    """Without polite openings; whether one of them was there."""
    dropped = False
    for _ in range(_LEADS_MAX):
        while tokens and tokens[0].text in _PAUSES:
            tokens = tokens[1:]
        found = (
            phrases.match(phrases.LEADS, [token.text for token in tokens[:_LEAD_WORDS_MAX]], 0)
            if tokens
            else None
        )
        if found is None or found[0] >= len(tokens):
            break
        tokens, dropped = tokens[found[0] :], True
    return tokens, dropped


_TAILS = (
    ("thank", "you", "very", "much"),
    ("thank", "you", "so", "much"),
    ("thanks", "in", "advance"),
    ("thanks", "a", "lot"),
    ("thank", "you"),
    ("if", "you", "please"),
    ("please",),
    ("thanks",),
    ("thx",),
    ("cheers",),
    ("pls",),
    ("plz",),
    ("explained", "simply"),
    ("simply", "explained"),
    ("explained",),
    ("please", "explain"),
    ("pls", "explain"),
)


def _strip_tails(tokens: list[Token]) -> list[Token]:
    """Without polite ends."""
    for _ in range(_LEADS_MAX):
        while tokens and tokens[-1].text in _PAUSES:
            tokens = tokens[:-1]
        texts = tuple(token.text for token in tokens[-5:])
        tail = next((tail for tail in _TAILS if texts[-len(tail) :] == tail), ())
        if not tail or tokens[-len(tail)].start == tokens[0].start:
            break
        tokens = tokens[: -len(tail)]
    return tokens


def _rewrite(tokens: Sequence[Token]) -> list[Token]:
    texts = [token.text for token in tokens]
    out: list[Token] = []
    index = 0
    while index < len(tokens):
        found = phrases.match(phrases.REWRITES, texts, index)
        if found is None:
            out.append(tokens[index])
            index += 1
            continue
        size, replacement = found
        start, end = tokens[index].start, tokens[index + size - 1].end
        raw = " ".join(texts[index : index + size])
        out.extend(Token(word, WORD, raw, start, end) for word in replacement)
        index += size
    return out


class _Reader:
    """Collects the features of one text, sentence by sentence. ``has_capitals``: they mark names in it, which
    they do not where everything is written in them."""

    def __init__(self, *, has_capitals: bool) -> None:
        self.has_capitals = has_capitals
        self.items: list[Item] = []
        self.asks: list[str] = []
        self.details: set[str] = set()
        self.negations: list[tuple[str, str]] = []
        self.person: set[str] = set()
        self.links: set[int] = set()
        self.fronted = False
        self.chunk = 0
        self.tense = ""
        self.modality = ""
        self.sentence = 0
        self.joiners: set[str] = set()
        self.subject: str | None = None
        self.leanings: set[str] = set()
        self.marks: set[str] = set()
        self.forms: set[str] = set()
        self.deeds: set[str] = set()
        self.who = False

    def features(self, flat: tuple[str, ...], language: str) -> Features:
        return Features(
            flat=flat,
            items=tuple(self.items),
            asks=tuple(self.asks),
            details=frozenset(self.details),
            negations=tuple(sorted(self.negations)),
            tense=self.tense,
            modality=self.modality,
            person=frozenset(self.person),
            links=frozenset(self.links),
            fronted=self.fronted,
            language=language,
            sentences=self.sentence,
            joiners=frozenset(self.joiners),
            subject=self.subject,
            deeds=frozenset(self.deeds),
            leanings=frozenset(self.leanings),
            marks=frozenset(self.marks),
            forms=frozenset(self.forms),
        )

    def read(self, sentence: list[Token]) -> None:
        tokens, ordered = _strip_leads(sentence)
        actor = subject(tokens)
        self.deeds.add(canonical(deed(tokens)))
        defined = bool(_DEFINING & {token.text for token in sentence[:_LEAD_WORDS_MAX]})
        tokens = _rewrite(tokens)
        ask, at = asked_for(tokens, ordered)
        before = len(self.items)
        self.who = ask == "who" or any(WHO_WHEN.get(token.text) == "who" for token in tokens)
        if self.subject is None:
            self.subject = canonical(actor) if actor else actor
        self._mark(tokens, ask)
        self._verbs(tokens, ask)
        self.fronted = self.fronted or is_fronted(tokens, at)
        if at is not None and (tokens[at].text in WHO_WHEN or tokens[at].text in WHAT):
            main = tokens[at]
            tokens[at] = replace(main, text=DOER if WHO_WHEN.get(main.text) == "who" else "@" + main.text)
        self._content(turned_round(tokens, at))
        if ask == "howmuch":
            ask = self._how_much(tokens, before)
        ask = self._compared(tokens, ask, before)
        mine = self.items[before:]
        bare = not any(
            item.role or item.asked or item.kind == COMPARISON or item.key == "difference" for item in mine
        )
        is_next = at is not None and at + 1 < len(tokens) and tokens[at + 1].text in words.BE
        if bare and ask == "what" and (is_next or (at is None and defined)):
            self.leanings.add("define")
        elif bare and ask == "exists":
            self.leanings.add("exists")
        if mine and mine[-1].key == "world" and mine[-1].role in ("in", "of"):
            self.items[-1] = replace(mine[-1], soft=True)
        if any(item.key in words.CURRENCIES for item in mine) and any(
            item.kind == COMPARISON for item in mine
        ):
            self.items[before:] = [replace(item, soft=item.soft or item.key == "price") for item in mine]
        if ask in ("what", "") and len(mine) <= _DEFINED_MAX:
            self._forms(tokens)
        if all(item.kind == ASK for item in self.items[before:]) and ask in ("", "what", "yesno"):
            return
        self.sentence += 1
        self.asks.append(ask)

    def _forms(self, tokens: Sequence[Token]) -> None:
        """What is done and the one thing or person of the same stem ("banking", "a bank")."""
        for before, token in pairwise(tokens):
            key = canonical(token.text)
            if token.text.endswith("ing") and key != token.text:
                self.forms.add(f"ing.{key}")
            elif before.text in ("a", "an"):
                self.forms.add(f"a.{key}")

    def _compared(self, tokens: Sequence[Token], ask: str, before: int) -> str:
        """ "A vs B", "compare A and B", "how do A and B differ" ask what the difference is."""
        mine = self.items[before:]
        if any(item.key == "difference" for item in mine):
            return "what" if ask in ("", "how", "who") else ask
        versus = any(token.text in ("vs", "versus") for token in tokens)
        if ask == "" and versus and len(mine) > 1 and not any(item.kind == COMPARISON for item in mine):
            self.items.append(Item("difference", WORD, "vs", "", len(self.items), False, self.sentence))
            return "what"
        return ask

    def _mark(self, tokens: Sequence[Token], ask: str) -> None:
        """Marks of a sentence, which two questions must share:

        act      what something does, or is to be done, not what it is
        perfect  looking back: "should have done"
        opinion  "for you" at the end; ``your``: about the one who is asked
        cross    "how do I … your", "how do you … my"
        object   done to whoever asks: "… me" at the end
        this     something pointed at
        he, she  a person not named
        """
        texts = [token.text for token in tokens]
        if not texts:
            return
        helped = ""
        for index, word in enumerate(texts):
            after = texts[index + 1] if index + 1 < len(texts) else ""
            kept = ask not in ("how", "yesno")
            if word == "@m.act" or (
                word in ("do", "doing", "done")
                and helped not in ("", "to")
                and after != "not"
                and ask in ("what", "")
            ):
                self.marks.add("act")
            if kept and words.MODALS.get(word) in ("should", "can"):
                self.leanings.add(words.MODALS[word])
            if word == "have" and helped and (is_participle(after) or after in _PARTICIPLES):
                self.marks.add("perfect")
            if word in words.DEMONSTRATIVES and (after == "" or tokens[index].kind != WORD):
                self.marks.add("this")
            if words.PRONOUNS.get(word) in ("he", "she") and tokens[index].kind == WORD:
                self.marks.add(words.PRONOUNS[word])
            if word in ("be", "have") and helped and not is_participle(after) and after not in _PARTICIPLES:
                self.leanings.add(word)
            if word in words.SUBJECT_AUXILIARIES or word in ("to", "may", "might", "must"):
                helped = word
        speaker = next((words.PRONOUNS[word] for word in texts if word in ("i", "you", "we")), "")
        if (speaker == "i" and "your" in texts) or (speaker == "you" and "my" in texts):
            self.marks.add("cross")
        done_to = texts[-1] in ("me", "us") or (texts[-1] == "you" and speaker == "you")
        if done_to and texts[-2:-1] and texts[-2] not in words.PREPOSITIONS | words.ARTICLES:
            self.marks.add("object")
        if ask in ("what", "") and "your" in texts and not speaker:
            self.marks.add("your")
        if ask == "what" and texts[-2:] in (["for", "you"], ["to", "you"]):
            self.marks.add("opinion")

    def _how_much(self, tokens: Sequence[Token], before: int) -> str:
        """ "How much is bitcoin" asks its price; "how much is 5 kg in pounds" is a plain what."""
        mine = self.items[before:]
        if any(item.key in ("price", "earn") or item.kind == NUMBER for item in mine):
            return "what"
        at = next((index for index, token in enumerate(tokens) if token.text == "@howmuch"), len(tokens))
        if at + 1 < len(tokens) and tokens[at + 1].text in ("is", "are", "'s", "was", "were"):
            self.items.append(Item("price", WORD, "how much", "", len(self.items), False, self.sentence))
            return "what"
        return "howmuch"

    def _verbs(self, tokens: Sequence[Token], ask: str) -> None:
        for index, token in enumerate(tokens):
            word = token.text
            if word in words.PRONOUNS:
                self.person.add(words.PRONOUNS[word])
            if token.kind != WORD:
                continue
            following = tokens[index + 1].text if index + 1 < len(tokens) else ""
            if word in ("will", "shall") or (word == "going" and following == "to"):
                self.tense = "future"
            elif not self.tense and word in words.PAST:
                self.tense = "past"
            elif not self.tense and word in words.PRESENT:
                self.tense = "present"
            if ask == "yesno" and not self.modality:
                self.modality = words.MODALS.get(word, "")

    def _content(self, tokens: Sequence[Token]) -> None:
        role, room, negated = "", 0, ""
        connectors: list[str] = []
        before: Item | None = None
        for index, token in enumerate(tokens):
            word = token.text
            if word.startswith("@in."):
                self.details.add(word[4:])
                continue
            if word == DOER:
                self.items.append(Item("who", ASK, token.raw, "", len(self.items), True, self.sentence))
            if word.startswith("@") and token.kind == WORD:
                role = ""
                continue
            if token.kind == WORD and word in words.NEGATIONS and not _merely_fails(tokens, index):
                negated = words.NEGATION_CLASS.get(word, "not")
                if _is_sentential(tokens, index):
                    self.negations.append((negated, "*"))
                    negated = ""
                continue
            if token.kind == WORD and word in words.PREPOSITIONS:
                infinitive = (
                    word == "to" and index > 0 and canonical(tokens[index - 1].text) in _INFINITIVE_BEFORE
                )
                role, room = ("", 0) if infinitive else (words.ROLES.get(word, word), 3)
                connectors.append(word)
                continue
            if token.kind == WORD and self._is_filler(tokens, index):
                connectors.append(word)
                if word in words.AUXILIARIES or word in WHO_WHEN or word in WHAT:
                    role = ""
                continue
            item = self._item(tokens, index, role if room > 0 else "")
            room -= 1
            if negated:
                self.negations.append((negated, item.key))
                negated = ""
            if connectors or before is None:
                joins = {word for word in connectors if word not in words.ARTICLES}
                if before is not None and joins and joins <= words.JOINERS:
                    self.links.add(self.chunk)
                    self.joiners |= joins & {"and", "or"}
                self.chunk += 1
                connectors.clear()
            self.items.append(replace(item, chunk=self.chunk))
            before = item
        if negated:
            self.negations.append((negated, ""))

    @staticmethod
    def _is_filler(tokens: Sequence[Token], index: int) -> bool:
        word = tokens[index].text
        near = (
            tokens[max(0, index - 1)].text if index else "",
            tokens[index + 1].text if index + 1 < len(tokens) else "",
        )
        if word in (",", "/") or (len(word) == 1 and word == "s"):
            return True
        if word == "may":
            before, after = near
            dated = before in (
                "in",
                "of",
                "since",
                "until",
                "by",
                "last",
                "next",
                "this",
                "on",
                "before",
                "after",
            )
            return not (dated or any(text[:1].isdigit() for text in (before, after)))
        if word == "mean":
            return near[1] == "" or near[1] == "by"
        return word in words.FILLER

    def _item(self, tokens: Sequence[Token], index: int, role: str) -> Item:
        token = tokens[index]
        if tokens[index + 1 : index + 2] and tokens[index + 1].text == "'s":
            role = "of"
        place = len(self.items)
        if token.kind in (NUMBER, SYMBOL):
            return Item(token.text, token.kind, token.raw, role, place, False, self.sentence)
        if token.kind == CODE:
            kind = UNIT if index and tokens[index - 1].kind == NUMBER else NAME
            return Item(token.text, kind, token.raw, role, place, False, self.sentence)
        key = canonical(token.text)
        before = tokens[index - 1].text if index else ""
        after = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if self.who and token.text in words.AGENTS and (after == "of" or before == "'s"):
            key = canonical(words.AGENTS[token.text])
        soft = token.text in words.SOFT or key in words.SOFT
        if token.text == "like" and before in _LIKING:
            soft = False
        kind = _kind(key, token, tokens, index)
        if kind == NAME and not self.has_capitals:
            kind = WORD
        asked = key in words.CLASSES and before in ("@what", "@which") and after in _ASKED_BEFORE
        return Item(key, kind, token.raw, role, place, soft, self.sentence, asked=asked)


def _merely_fails(tokens: Sequence[Token], index: int) -> bool:
    """Whether "fail" is what happens ("why did it fail"), not a denial ("fail to pay")."""
    return tokens[index].text == "fail" and not (index + 1 < len(tokens) and tokens[index + 1].text == "to")


def _is_sentential(tokens: Sequence[Token], index: int) -> bool:
    """Whether a "not" at ``index`` is an auxiliary's ending before the subject ("why isn't my node up"): it
    denies the sentence and no certain word of it."""
    first = tokens[0].text
    if tokens[index].text != "not" or "'" not in tokens[index].raw.replace("\u2019", "'"):
        return False
    if index == 1:
        return first in words.AUXILIARIES
    return index == 2 and first in ("@why", "@how", "@when", "@where")


def _kind(key: str, token: Token, tokens: Sequence[Token], index: int) -> str:
    word = token.text
    if key in _UNIT_WORDS or word in _UNIT_WORDS:
        return UNIT
    if word in words.TIME or key in words.TIME:
        return TIME
    if word in words.COMPARISON or key in words.COMPARISON or is_degree(word):
        return COMPARISON
    if word in words.SCOPE or key in words.SCOPE:
        return SCOPE
    if word in WHO_WHEN:
        return ASK
    if index and token.raw[:1].isupper() and not tokens[index - 1].text.startswith("@"):
        return NAME
    return WORD


def is_degree(word: str) -> bool:
    """Whether a word is a comparative or superlative by its form."""
    for ending in ("er", "est", "ier", "iest"):
        if word.endswith(ending):
            base = word[: -len(ending)]
            for form in (base, base + "e", base + "y", base[:-1] if base[-2:-1] == base[-1:] else base):
                if form in words.COMPARATIVE_BASES:
                    return True
    return False
