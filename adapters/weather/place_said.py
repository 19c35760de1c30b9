"""The place in a question about the weather, known or not. Pure.

The gazetteer decides; what it lacks is a place only by a preposition, capitals, or because every other word
is accounted for.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from adapters.grammar import places
from adapters.grammar.place_names import GUARDED
from adapters.grammar.places import Said
from adapters.weather import words as say
from node.language.reading import read
from node.language.tables import later

NAME_WORDS_MAX = 3
_CHARS_MAX = 600
_FRENCH_INVERTED = re.compile(r"\w+-(?:t-)?(?:il|elle|on|ce)$")
_CUES = later(
    lambda: "|".join(
        pattern.pattern
        for pattern in (
            *say.FIGURES.values(),
            *(pattern for _, pattern in say.STATISTICS[:-2]),
            say.CLEAR,
            say.HIGHS,
            say.LOWS,
        )
    )
)
_UNIT_NOUNS = re.compile(r"\| (?:index|speed|cover|count|levels?|quality)\b")


def without_cues(flat: str) -> str:
    """The words less those of figures and statistics, a bar in the place of each."""
    return _UNIT_NOUNS.sub("|", _CUES.sub("|", flat))


def masked(words: tuple[str, ...]) -> tuple[str, ...]:
    """Figures' words as bars, so that "sunrise" is no town in Florida; after "in" they stay."""
    out: list[str] = []
    for at, word in enumerate(words):
        led = at > 0 and words[at - 1] in ("in", "en", "a", "near")
        out.append("|" if not led and _CUES.fullmatch(word) else word)
    return tuple(out)


def place_in(words: tuple[str, ...], text: str) -> tuple[Said | None, tuple[str, ...]]:
    bare = _led_by_in(masked(words), words, text)
    said, rest = places.find(bare)
    if said is not None:
        return said, rest
    guess, _ = places.find(bare, unknown=True)
    named = None if guess is None else _named(guess.name, bare, text)
    return _left_over(bare, text) if named is None else named


def _led_by_in(masked: tuple[str, ...], words: Sequence[str], text: str) -> tuple[str, ...]:
    """ "a" as "in" where it is a preposition: after it even an everyday word is a place."""
    if "a" in words and ("à" in text.casefold() or any(word in say.A_IS_IN for word in words)):
        return tuple("in" if word == "a" else word for word in masked)
    return masked


def _named(name: str, words: tuple[str, ...], text: str) -> tuple[Said, tuple[str, ...]] | None:
    """An unknown name after a preposition, as far as it may be a place: no common word, and after "in" or
    the like, or written with capitals; and the words without both."""
    all_parts = tuple(name.casefold().split())
    parts = tuple(itertools.takewhile(_of_name, all_parts))
    while parts and parts[-1].endswith("'"):
        parts = parts[:-1]
    at = next((i for i in range(len(words)) if words[i : i + len(all_parts)] == all_parts), 0)
    if not parts or not at or len(parts) > NAME_WORDS_MAX:
        return None
    led = words[at - 1] in ("in", "near", "en", "em", "nach", "bei")
    if not led and not all(has_capital(part, text) for part in parts):
        return None
    rest = (*words[: at - 1], *words[at + len(parts) :])
    return Said(titled(parts)), rest


def _of_name(part: str) -> bool:
    return part.endswith("'") or (part not in say.NOT_A_NAME and part not in say.FILL)


def has_capital(word: str, text: str) -> bool:
    """Whether ``text`` writes the word with a capital, and not the whole text so; three capitals are a
    code."""
    if text.isupper() or (len(word) <= 3 and word.upper() in text):
        return False
    return any(
        piece[:1].isupper() and read(piece).words[:1] == (word,)
        for piece in re.findall(r"[^\W\d_]{2,40}", text[:_CHARS_MAX])
        if len(piece) >= len(word)
    )


def _left_over(words: tuple[str, ...], text: str) -> tuple[Said | None, tuple[str, ...]]:
    """A name that only the other words' being accounted for shows to be one ("weather Hallstatt", "clima
    Venecia"): all that is left over, side by side. The gazetteer may know it once it is asked; an unknown
    name needs capitals."""
    left = [at for at, word in enumerate(words) if word not in ("|", ",") and not is_filler(word)]
    if not left or len(left) > NAME_WORDS_MAX or left[-1] - left[0] >= len(left) + 1:
        return None, words
    first, last = left[0], left[-1] + 1
    if any(words[at] in say.NOT_A_NAME or words[at] in say.NO_PLACE_BESIDE for at in left):
        return None, words
    run = words[first:last]
    said, rest = places.find(("in", *run))
    if said is not None and not rest and said.place is not None and _stands_alone(run, said.place.population):
        return said, (*words[:first], *words[last:])
    names = list(run)
    if not all(word.replace("-", "").replace("'", "").replace(".", "").isalpha() for word in names):
        return None, words
    if not all(has_capital(word, text) for word in names if len(word) > 2):
        return None, words
    if first and words[first - 1] in say.BEFORE_UNKNOWN:
        return Said(titled(names)), (*words[: first - 1], *words[last:])
    if not any(word in say.ASKS_OF_PLACE for word in read(text).words[:60]):
        return None, words
    if first == 0 and len(run) < 2:  # the first word has a capital anyway
        return None, words
    return Said(titled(names)), (*words[:first], *words[last:])


_LETTERS_MIN = 4
_ALONE_POPULATION_MIN = 50_000


def _stands_alone(run: Sequence[str], population: int) -> bool:
    """Whether a known name is one without a preposition too: "nice weather" is not of Nice."""
    if len(run) > 1:
        return True
    return len(run[0]) >= _LETTERS_MIN and run[0] not in GUARDED and population >= _ALONE_POPULATION_MIN


def titled(names: Sequence[str]) -> str:
    said = " ".join("St." if name == "st" else name if "'" in name else name.capitalize() for name in names)
    return said.replace("' ", "'")


def is_filler(word: str) -> bool:
    return word in say.FILL or _FRENCH_INVERTED.fullmatch(word) is not None


def may_be_of_a_name(word: str) -> bool:
    return word == "bad" or not (  # "Bad Gastein"
        word in say.NOT_A_NAME
        or word in say.FILL
        or word in say.OPENERS
        or word in say.ASKS_FIRST
        or word in say.UNREAD_TIME
        or _CUES.fullmatch(word) is not None
    )
