"""Zones in a text, said as abbreviations, offsets, phrases or database names. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from adapters.local_time.clock_times import MARK
from adapters.local_time.zones import ABBREVIATIONS, PHRASES, WORDS_TOO, offset_name

SPOT_MARK = "zqspot"
"""Stands for a zone, with its number."""
_OFFSET = re.compile(r"(?<![\w+-])(?:utc|gmt) ?([+\-−]) ?(\d{1,2})(?::?(\d{2}))?(?![\w:])")
_OFFSET_OF = re.compile(r"(?<!\w)(?:utc|gmt)[ -]offset (?=of |for |in |at )")
_IANA = re.compile(
    r"(?<![\w/])(?:africa|america|antarctica|asia|atlantic|australia|europe|indian|pacific)/"
    r"(?:[a-z]+/)?([a-z_]+)"
)
_PHRASE = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(map(re.escape, PHRASES), key=len, reverse=True))})(?!\w)")
_SHORT = re.compile(rf"(?<![\w-])({'|'.join(name.lower() for name in ABBREVIATIONS)})(?![\w-])")
_CLOCK_OF = re.compile(rf"({MARK}\s+)(eastern|central|mountain|pacific)(?! time)(?!\w)")
"""Beside a clock time "Pacific" is a zone."""
_CAPITALS = re.compile(r"(?<![A-Za-z])[A-Z]{2,4}(?![A-Za-z])")
_BESIDE = re.compile(rf"{MARK}\s+$")


_FOREIGN: Mapping[str, re.Pattern[str]] = {
    "ist": re.compile(r"\b(?:uhr|wie|wenn|es|was|spat|wann|zeit)\b"),
    "est": re.compile(r"\b(?:il|quelle|heures?|que|quand|l'heure)\b"),
    "et": re.compile(r"\b(?:heures?|quelle|entre|il|horaire)\b"),
}
"""Words that say that an abbreviation is a word of their language."""


def take_zones(plain: str, text: str) -> tuple[str, list[str]]:
    """``plain`` with zones said as abbreviations replaced by numbered marks, and their names."""
    names: list[str] = []
    capitals = {match.group() for match in _CAPITALS.finditer(text[:600])}

    def mark(name: str | None, whole: str) -> str:
        if name is None:
            return whole
        names.append(name)
        return f" {SPOT_MARK}{len(names) - 1} "

    plain = _OFFSET_OF.sub("time zone ", plain)
    plain = _IANA.sub(lambda match: match[1].replace("_", " "), plain)
    plain = _OFFSET.sub(
        lambda match: mark(
            offset_name("+" if match[1] == "+" else "-", int(match[2]), int(match[3] or 0)), match.group()
        ),
        plain,
    )
    plain = _CLOCK_OF.sub(lambda match: f"{match[1]}{match[2]} time", plain)
    plain = _PHRASE.sub(lambda match: mark(PHRASES[match.group()], match.group()), plain)

    def believed(match: re.Match[str]) -> bool:
        foreign = _FOREIGN.get(match[1])
        if foreign is not None and foreign.search(plain):
            return False
        in_capitals = match[1].upper() in capitals
        return (
            match[1] not in WORDS_TOO or in_capitals or bool(_BESIDE.search(match.string, 0, match.start()))
        )

    # Beside a zone that is beyond doubt ("3pm est to ist") a word that may be one is taken for one too.
    another = bool(names) or any(believed(match) for match in _SHORT.finditer(plain))

    def short(match: re.Match[str]) -> str:
        joined = another and match.string[: match.start()].split()[-1:] in (
            ["to"],
            ["in"],
            ["vs"],
            ["and"],
            [],
        )
        joined = joined or (another and match.string[match.end() :].split()[:1] in (["to"], ["vs"], ["in"]))
        return mark(match[1].upper(), match.group()) if believed(match) or joined else match.group()

    return _SHORT.sub(short, plain), names
