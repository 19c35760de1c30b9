"""Places named in Japanese, Chinese, Korean or Cyrillic letters. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from adapters.grammar.gazetteer import SIMPLIFIED_CHARS, Gazetteer, gazetteer
from adapters.grammar.places import Said, said_town
from node.language.reading import word_list

SCRIPT_CHARS_MAX = 1_000
SCRIPT_NAME_MAX = 14
_CYRILLIC = re.compile(r"[а-яіїєґ]+(?:-[а-яіїєґ]+)*")
_CYRILLIC_ENDINGS = tuple(word_list("ого ему ими ом ем ой ей ою ью ах ях их ым им е и у ы а ю я"))
_CYRILLIC_STEMS = ("", "а", "я", "ь", "й", "о", "е", "ия", "ий", "ый", "ая", "ы", "и")
_CYRILLIC_LED = frozenset(word_list("в во на из для по около между и от до с со под к над или"))
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]")


@dataclass(frozen=True, slots=True)
class ScriptMention:
    """A place at ``plain[start:end]``."""

    start: int
    end: int
    said: Said


def script_mentions(plain: str) -> tuple[ScriptMention, ...]:
    """All places named in Japanese, Chinese, Korean or Cyrillic letters, in order."""
    text = plain[:SCRIPT_CHARS_MAX].translate(SIMPLIFIED_CHARS)
    found = [*_ideographic(text), *_cyrillic(text)]
    found.sort(key=lambda mention: mention.start)
    return tuple(found)


def find_script(plain: str) -> tuple[Said | None, str]:
    """The one place in ``plain`` (as of ``Reading.plain``), longest name first, and the text without it."""
    found = script_mentions(plain)
    if not found:
        return None, plain
    best = max(found, key=lambda mention: (mention.end - mention.start, -mention.start))
    return best.said, plain[: best.start] + plain[best.end :]


def _script_said(data: Gazetteer, key: str) -> Said | None:
    code = data.country_names.get(key)
    if code is not None:
        place = data.of_country(code)
        return Said(place.name, place=place)
    regions = data.region_names.get(key)
    if regions:
        place = data.of_region(regions[0])
        return Said(place.name, place=place)
    rows = data.in_script(key)
    return said_town(data, rows, None, None) if rows else None


def _ideographic(text: str) -> Iterator[ScriptMention]:
    data = gazetteer()
    at = 0
    while at < len(text):
        if not _IDEOGRAPH.match(text, at):
            at += 1
            continue
        for length in range(min(SCRIPT_NAME_MAX, len(text) - at), 1, -1):
            piece = text[at : at + length]
            if _cuts_katakana(text, at, at + length):
                continue
            said = _script_said(data, piece)
            if said is not None:
                yield ScriptMention(at, at + length, said)
                at += length
                break
        else:
            at += 1


def _cuts_katakana(text: str, start: int, end: int) -> bool:
    """A name in katakana is a whole run of it: パリ is not in パリーグ."""
    if end < len(text) and _KATAKANA.match(text, end - 1) and _KATAKANA.match(text, end):
        return True
    return start > 0 and bool(_KATAKANA.match(text, start - 1)) and bool(_KATAKANA.match(text, start))


def _cyrillic(text: str) -> Iterator[ScriptMention]:
    data = gazetteer()
    words = list(_CYRILLIC.finditer(text))
    at = 0
    while at < len(words):
        for length in range(min(3, len(words) - at), 0, -1):
            run = words[at : at + length]
            if any(text[a.end() : b.start()] != " " for a, b in pairwise(run)):
                continue
            led = at > 0 and words[at - 1].group() in _CYRILLIC_LED
            said = _cyrillic_said(data, [match.group() for match in run], led or len(words) == length)
            if said is not None:
                yield ScriptMention(run[0].start(), run[-1].end(), said)
                at += length
                break
        else:
            at += 1


def _cyrillic_said(data: Gazetteer, words: list[str], led: bool) -> Said | None:
    if len(words) == 1 and (len(words[0]) < 3 or words[0] in _CYRILLIC_LED):
        return None
    exact = _script_said(data, " ".join(words))
    if exact is not None and (led or _well_known(exact)):
        return exact
    if not led:
        return None
    forms: list[str] = [""]
    for word in words:
        forms = [f"{head} {form}".strip() for head in forms for form in _stems(word)][:400]
    known = [
        said for form in forms if (said := _script_said(data, form)) is not None and said.place is not None
    ]
    return max(known, key=lambda said: said.place.population if said.place else 0, default=None)


def _stems(word: str) -> list[str]:
    """Nominatives that ``word`` may be a case form of, itself first; hyphenated names bend at the end."""
    found = [word]
    for ending in _CYRILLIC_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            stem = word[: -len(ending)]
            found += [stem + nominative for nominative in _CYRILLIC_STEMS]
    return found


def _well_known(said: Said) -> bool:
    return said.place is not None and len(said.name) > 3 and said.place.population >= 300_000
