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

from node.cache import phrases, words
from node.cache.stem import canonical
from node.cache.syntax import DOER, WHAT, WHO_WHEN, asked_for, is_fronted, turned_round
from node.cache.tokens import CODE, END, NUMBER, SYMBOL, WORD, Token, tokenise

CHARS_MAX = 1_500
"""Above the embedders' windows of some 256 word pieces."""
TOKENS_MAX = 320
_LEADS_MAX = 6
_LEAD_WORDS_MAX = 10

UNIT, NAME, TIME, COMPARISON, SCOPE, ASK = "unit", "name", "time", "comparison", "scope", "ask"
_UNIT_WORDS = words.UNIT_WORDS
_INFINITIVE_BEFORE = frozenset(
    words.listed("way want need like try have use able start begin how best easy hard")
)


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


@lru_cache(maxsize=256)
def extract(text: str) -> Features:
    """The features of ``text``; remembered for the few texts that one look-up compares."""
    if len(text) > CHARS_MAX:
        return Features(too_long=True)
    tokens = tokenise(text)
    if len(tokens) > TOKENS_MAX:
        return Features(too_long=True)
    flat = tuple(token.text for token in tokens if token.kind != END and token.text not in (",", "/"))
    language = _language(text, flat)
    reader = _Reader()
    for sentence in _sentences(tokens):
        reader.read(sentence)
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


def _strip_leads(tokens: list[Token]) -> tuple[list[Token], bool]:
    """Without polite openings; whether one of them was there."""
    dropped = False
    for _ in range(_LEADS_MAX):
        while tokens and tokens[0].text in (",", "/"):
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
    """Collects the features of one text, sentence by sentence."""

    def __init__(self) -> None:
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
        )

    def read(self, sentence: list[Token]) -> None:
        tokens, ordered = _strip_leads(sentence)
        tokens = _rewrite(tokens)
        ask, at = asked_for(tokens, ordered)
        before = len(self.items)
        self._verbs(tokens, ask)
        self.fronted = self.fronted or is_fronted(tokens, at)
        if at is not None and (tokens[at].text in WHO_WHEN or tokens[at].text in WHAT):
            main = tokens[at]
            tokens[at] = replace(main, text=DOER if WHO_WHEN.get(main.text) == "who" else "@" + main.text)
        self._content(turned_round(tokens, at))
        if ask == "howmuch":
            ask = self._how_much(tokens, before)
        if all(item.kind == ASK for item in self.items[before:]) and ask in ("", "what", "yesno"):
            return
        self.sentence += 1
        self.asks.append(ask)

    def _how_much(self, tokens: Sequence[Token], before: int) -> str:
        """ "How much is bitcoin" asks its price; "how much is 5 kg in pounds" is a plain what."""
        mine = self.items[before:]
        if any(item.key == "price" or item.kind == NUMBER for item in mine):
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
            if token.kind == WORD and word in words.NEGATIONS:
                negated = words.NEGATION_CLASS.get(word, "not")
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
        soft = token.text in words.SOFT or key in words.SOFT
        return Item(key, _kind(key, token, tokens, index), token.raw, role, place, soft, self.sentence)


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
