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
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from node.cache.matching import phrases, words
from node.cache.matching.features import ASK, COMPARISON, NAME, SCOPE, TIME, UNIT, Features, Item
from node.cache.matching.sentences import LEAD_WORDS_MAX, PAUSES, rewritten, sentences, without_openings
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
from node.cache.matching.token import CODE, END, NUMBER, SYMBOL, WORD, Token, token_at
from node.cache.matching.tokens import tokenise

CHARS_MAX = 1_500
"""Above the embedders' windows of some 256 word pieces."""
TOKENS_MAX = 320
_DEFINED_MAX = 2
"""A question for what something is has at most so many content words."""
_ROLE_WORDS = 3
"""So many content words behind a preposition have its role."""
_DEFINING = words.table("defining")
_PARTICIPLES = words.table("participles")
_LIKING = words.table("liking")
_ASKED_BEFORE = words.table("asked_before")
_INFINITIVE_BEFORE = words.table("infinitive_before")
_DATED_BEFORE = words.table("dated_before")
_SETS = ("details", "person", "links", "joiners", "deeds", "leanings", "marks", "forms")
"""The features that are sets."""


@lru_cache(maxsize=4_096)
def extract(text: str) -> Features:
    """The features of ``text``; remembered for the stored questions that come up again and again."""
    if len(text) > CHARS_MAX:
        return Features(too_long=True)
    tokens = tokenise(text)
    if len(tokens) > TOKENS_MAX:
        return Features(too_long=True)
    whole = tuple(token.text for token in tokens if token.kind != END and token.text not in PAUSES)
    reader = _Reader(has_capitals=any(map(str.islower, text)))
    said = sentences(tokens)
    for sentence in said:
        reader.read(sentence)
    flat = tuple(token.text for sentence in said for token in sentence if token.text not in PAUSES)
    return reader.features(flat, _language(text, whole))


def _language(text: str, flat: Sequence[str]) -> str:
    letters = [char for char in text if char.isalpha()]
    foreign = [char for char in letters if ord(char) > 0x24F]
    if len(foreign) * 3 > len(letters):
        return "script " + unicodedata.name(foreign[0], "?").split()[0].lower()
    english = sum(1 for word in flat if word in phrases.ENGLISH)
    best, name = max(
        (sum(1 for word in flat if word in table), name) for name, table in phrases.LANGUAGES.items()
    )
    return name if best >= 2 and best > english else "english"


class _Reader:
    """Collects the features of one text, sentence by sentence. ``has_capitals``: they mark names in it, which
    they do not where everything is written in them."""

    def __init__(self, *, has_capitals: bool) -> None:
        self.has_capitals = has_capitals
        self.items: list[Item] = []
        self.asks: list[str] = []
        self.negations: list[tuple[str, str]] = []
        self.sets: defaultdict[str, set[Any]] = defaultdict(set)
        self.fronted = False
        self.chunk = 0
        self.tense = ""
        self.modality = ""
        self.subject: str | None = None
        self.who = False

    def features(self, flat: tuple[str, ...], language: str) -> Features:
        sets: dict[str, Any] = {name: frozenset(self.sets[name]) for name in _SETS}
        return Features(
            flat=flat,
            items=tuple(self.items),
            asks=tuple(self.asks),
            negations=tuple(sorted(self.negations)),
            tense=self.tense,
            modality=self.modality,
            fronted=self.fronted,
            language=language,
            sentences=len(self.asks),
            subject=self.subject,
            **sets,
        )

    def read(self, sentence: list[Token]) -> None:
        tokens, ordered = without_openings(sentence, phrases.LEADS, wholly=False)
        actor = subject(tokens)
        self.sets["deeds"].add(canonical(deed(tokens)))
        defined = bool(_DEFINING & {token.text for token in sentence[:LEAD_WORDS_MAX]})
        tokens = rewritten(tokens)
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
        compares = any(item.kind == COMPARISON for item in mine)
        if not compares and not any(item.role or item.asked or item.key == "difference" for item in mine):
            is_next = at is not None and token_at(tokens, at + 1).text in words.BE
            if ask == "what" and (is_next or (at is None and defined)):
                self.sets["leanings"].add("define")
            elif ask == "exists":
                self.sets["leanings"].add("exists")
        if mine and mine[-1].key == "world" and mine[-1].role in ("in", "of"):
            self.items[-1] = replace(mine[-1], soft=True)
        if compares and any(item.key in words.CURRENCIES for item in mine):
            self.items[before:] = [replace(item, soft=item.soft or item.key == "price") for item in mine]
        if ask in ("what", "") and len(mine) <= _DEFINED_MAX:
            self._forms(tokens)
        if any(item.kind != ASK for item in self.items[before:]) or ask not in ("", "what", "yesno"):
            self.asks.append(ask)

    def _forms(self, tokens: Sequence[Token]) -> None:
        """What is done and the one thing or person of the same stem ("banking", "a bank")."""
        for before, token in pairwise(tokens):
            key = canonical(token.text)
            if token.text.endswith("ing") and key != token.text:
                self.sets["forms"].add(f"ing.{key}")
            elif before.text in ("a", "an"):
                self.sets["forms"].add(f"a.{key}")

    def _compared(self, tokens: Sequence[Token], ask: str, before: int) -> str:
        """ "A vs B", "compare A and B", "how do A and B differ" ask what the difference is."""
        mine = self.items[before:]
        if any(item.key == "difference" for item in mine):
            return "what" if ask in ("", "how", "who") else ask
        versus = any(token.text in ("vs", "versus") for token in tokens)
        if ask == "" and versus and len(mine) > 1 and not any(item.kind == COMPARISON for item in mine):
            return self._understood("difference", "vs")
        return ask

    def _how_much(self, tokens: Sequence[Token], before: int) -> str:
        """ "How much is bitcoin" asks its price; "how much is 5 kg in pounds" is a plain what."""
        if any(item.key in ("price", "earn") or item.kind == NUMBER for item in self.items[before:]):
            return "what"
        for token, after in pairwise(tokens):
            if token.text == "@howmuch":
                is_price = after.text in ("is", "are", "'s", "was", "were")
                return self._understood("price", "how much") if is_price else "howmuch"
        return "howmuch"

    def _understood(self, key: str, raw: str) -> str:
        """Enter what is asked for without being named."""
        self.items.append(Item(key, WORD, raw, "", len(self.items), False, len(self.asks)))
        return "what"

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
        marks, leanings = self.sets["marks"], self.sets["leanings"]
        helped = ""
        for index, token in enumerate(tokens):
            word, after = token.text, token_at(tokens, index + 1).text
            done = is_participle(after) or after in _PARTICIPLES
            acts = word in ("do", "doing", "done") and helped not in ("", "to") and after != "not"
            if word == "@m.act" or (acts and ask in ("what", "")):
                marks.add("act")
            if ask not in ("how", "yesno") and words.MODALS.get(word) in ("should", "can"):
                leanings.add(words.MODALS[word])
            if word == "have" and helped and done:
                marks.add("perfect")
            if word in words.DEMONSTRATIVES and (after == "" or token.kind != WORD):
                marks.add("this")
            if words.PRONOUNS.get(word) in ("he", "she") and token.kind == WORD:
                marks.add(words.PRONOUNS[word])
            if word in ("be", "have") and helped and not done:
                leanings.add(word)
            if word in words.SUBJECT_AUXILIARIES or word in ("to", "may", "might", "must"):
                helped = word
        marks |= _speaking([token.text for token in tokens], ask)

    def _verbs(self, tokens: Sequence[Token], ask: str) -> None:
        for index, token in enumerate(tokens):
            word = token.text
            if word in words.PRONOUNS:
                self.sets["person"].add(words.PRONOUNS[word])
            if token.kind != WORD:
                continue
            if word in ("will", "shall") or (word == "going" and token_at(tokens, index + 1).text == "to"):
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
        is_first = True
        for index, token in enumerate(tokens):
            word, is_word = token.text, token.kind == WORD
            if word.startswith("@in."):
                self.sets["details"].add(word[4:])
                continue
            if word == DOER:
                self.items.append(Item("who", ASK, token.raw, "", len(self.items), True, len(self.asks)))
            if is_word and word.startswith("@"):
                role = ""
            elif is_word and word in words.NEGATIONS and not _merely_fails(tokens, index):
                negated = words.NEGATION_CLASS.get(word, "not")
                if _is_sentential(tokens, index):
                    self.negations.append((negated, "*"))
                    negated = ""
            elif is_word and word in words.PREPOSITIONS:
                before = canonical(token_at(tokens, index - 1).text)
                infinitive = word == "to" and before in _INFINITIVE_BEFORE
                role, room = ("", 0) if infinitive else (words.ROLES.get(word, word), _ROLE_WORDS)
                connectors.append(word)
            elif is_word and _is_filler(tokens, index):
                connectors.append(word)
                if word in words.AUXILIARIES or word in WHO_WHEN or word in WHAT:
                    role = ""
            else:
                item = self._item(tokens, index, role if room > 0 else "")
                room -= 1
                if negated:
                    self.negations.append((negated, item.key))
                    negated = ""
                if connectors or is_first:
                    joins = set(connectors) - words.ARTICLES
                    if not is_first and joins and joins <= words.JOINERS:
                        self.sets["links"].add(self.chunk)
                        self.sets["joiners"] |= joins & {"and", "or"}
                    self.chunk += 1
                    connectors.clear()
                self.items.append(replace(item, chunk=self.chunk))
                is_first = False
        if negated:
            self.negations.append((negated, ""))

    def _item(self, tokens: Sequence[Token], index: int, role: str) -> Item:
        token, before, after = tokens[index], token_at(tokens, index - 1), token_at(tokens, index + 1).text
        if after == "'s":
            role = "of"
        place, sentence = len(self.items), len(self.asks)
        if token.kind in (NUMBER, SYMBOL, CODE):
            kind = token.kind
            if kind == CODE:
                kind = UNIT if before.kind == NUMBER else NAME
            return Item(token.text, kind, token.raw, role, place, False, sentence)
        key = canonical(token.text)
        if self.who and token.text in words.AGENTS and (after == "of" or before.text == "'s"):
            key = canonical(words.AGENTS[token.text])
        liked = token.text == "like" and before.text in _LIKING
        soft = (token.text in words.SOFT or key in words.SOFT) and not liked
        kind = _kind(key, tokens, index)
        if kind == NAME and not self.has_capitals:
            kind = WORD
        asked = key in words.CLASSES and before.text in ("@what", "@which") and after in _ASKED_BEFORE
        return Item(key, kind, token.raw, role, place, soft, sentence, asked=asked)


def _speaking(texts: Sequence[str], ask: str) -> set[str]:
    """The marks that tell who asks whom, see ``_Reader._mark``."""
    marks = set()
    speaker = next((words.PRONOUNS[word] for word in texts if word in ("i", "you", "we")), "")
    if (speaker == "i" and "your" in texts) or (speaker == "you" and "my" in texts):
        marks.add("cross")
    *_, before, last = ("", "", *texts)
    done_to = last in ("me", "us") or (last == "you" and speaker == "you")
    if done_to and before and before not in words.PREPOSITIONS | words.ARTICLES:
        marks.add("object")
    if ask in ("what", "") and "your" in texts and not speaker:
        marks.add("your")
    if ask == "what" and last == "you" and before in ("for", "to"):
        marks.add("opinion")
    return marks


def _is_filler(tokens: Sequence[Token], index: int) -> bool:
    word = tokens[index].text
    before, after = token_at(tokens, index - 1).text, token_at(tokens, index + 1).text
    if word in (",", "/", "s"):
        return True
    if word == "may":
        return not (before in _DATED_BEFORE or before[:1].isdigit() or after[:1].isdigit())
    if word == "mean":
        return after in ("", "by")
    return word in words.FILLER


def _merely_fails(tokens: Sequence[Token], index: int) -> bool:
    """Whether "fail" is what happens ("why did it fail"), not a denial ("fail to pay")."""
    return tokens[index].text == "fail" and token_at(tokens, index + 1).text != "to"


def _is_sentential(tokens: Sequence[Token], index: int) -> bool:
    """Whether a "not" at ``index`` is an auxiliary's ending before the subject ("why isn't my node up"): it
    denies the sentence and no certain word of it."""
    first = tokens[0].text
    if tokens[index].text != "not" or "'" not in tokens[index].raw.replace("\u2019", "'"):
        return False
    if index == 1:
        return first in words.AUXILIARIES
    return index == 2 and first in ("@why", "@how", "@when", "@where")


def _kind(key: str, tokens: Sequence[Token], index: int) -> str:
    token = tokens[index]
    both = {token.text, key}
    if both & words.UNIT_WORDS:
        return UNIT
    if both & words.TIME:
        return TIME
    if both & words.COMPARISON or is_degree(token.text):
        return COMPARISON
    if both & words.SCOPE:
        return SCOPE
    if token.text in WHO_WHEN:
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
