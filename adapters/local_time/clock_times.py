"""Clock times in a text: "3pm", "15 Uhr", "half past two in the afternoon", "午後3時". Pure."""

from __future__ import annotations

import re

from adapters.local_time.words import ALL
from adapters.local_time.zones import ABBREVIATIONS
from node.language import numbers, tables

MARK = "zqclock"
_LATE = tables.every(ALL, "late")
_EARLY = tables.every(ALL, "early")
_DAYTIME = rf"(?: ({'|'.join(sorted(_EARLY | _LATE, key=len, reverse=True))}))?"
_FIGURE = re.compile(r"\d")
_ZULU = "|".join(sorted(name.lower() for name in ABBREVIATIONS))
_CLOCKS: tuple[re.Pattern[str], ...] = tuple(
    tables.later(pattern)
    for pattern in (
        r"(?<![\w:.+−-])(\d{1,2})(?:[:.](\d{2}))?(?::\d{2})? ?(a\.?m\.?|p\.?m\.?)(?![\w])",
        rf"(?<![\w:.+−-])(\d{{1,2}})(?::(\d{{2}}))(?::\d{{2}})?(?: ?(?:uhr|h|hs|hrs|hours"
        rf"|horas))?(?!\w){_DAYTIME}",
        rf"(?<![\w:.+−-])(\d{{1,2}})(?:[.:](\d{{2}}))? ?uhr(?!\w){_DAYTIME}",
        rf"(?<![\w:.+−-])(\d{{1,2}}) ?(?:h|heures?|hs|hrs)(?:(\d{{2}}))?(?!\w){_DAYTIME}",
        rf"(?<![\w:.+−-])(\d{{1,2}})() ?o ?'? ?clock(?!\w){_DAYTIME}",
        rf"(?<!\w)(?:las|le|ore|alle) (\d{{1,2}})(?:[:.](\d{{2}}))?(?![\w:.]){_DAYTIME}",
        rf"(?<![\w:.+−-])(\d{{1,2}})(?::(\d{{2}}))? ?(?:час(?:а|ов)?|ч)(?!\w){_DAYTIME}",
        rf"(?<![\w:.+−-])(?:(?:las|le|ore|alle|um) )?(\d{{1,2}})(?::(\d{{2}}))?(?={_DAYTIME[:-1]}(?!\w))"
        rf"{_DAYTIME}",
        r"(?<![\w:.+−-])([01]\d|2[0-3])([0-5]\d)(?= (?:" + _ZULU + r")(?!\w)| ?(?:hours|hrs|h)(?!\w))"
        r"(?: ?(?:hours|hrs|h)(?!\w))?",
        r"(?<=it is )(\d{1,2})()(?= (?:in|here|there) )",
        r"(?<=it's )(\d{1,2})()(?= (?:in|here|there) )",
    )
)
_NAMED_CLOCKS = {
    word: clock
    for name, clock in (("noon", "12:00"), ("midnight", "00:00"))
    for word in tables.every(ALL, name)
}
_NAMED = tables.later(rf"(?<!\w)(?:12 )?({'|'.join(_NAMED_CLOCKS)})(?!\w)")
_IDEOGRAPHIC_CLOCK = tables.later(
    r"(午前|午後|上午|下午|晚上|早上|凌晨|中午|夜|朝)? ?(?<![\d:+−-])"
    r"(\d{1,2}|[一二两三四五六七八九十]{1,3}) ?"
    r"(?:(?:時|点|點)(?:(\d{1,2})分?|(半))?|:(\d{2}))"
)
_IDEOGRAPHS = {sign: value for value, sign in enumerate("一二三四五六七八九十", 1)} | {
    "两": 2, "十一": 11, "十二": 12,
}  # fmt: skip
_LATER_SIGNS = frozenset(("午後", "下午", "晚上", "夜"))


_HOURS_SPOKEN = numbers.below(13, "en", start=1)
_HALF = {"half past": 30, "half": 30, "quarter past": 15, "quarter after": 15, "quarter to": -15}
_SPOKEN = tables.later(
    rf"(?<![\w:.])(?:(?:a )?({'|'.join(_HALF)}) )?({'|'.join(_HOURS_SPOKEN)}|\d{{1,2}})"
    r"(?= ?(?:a\.?m|p\.?m|o ?'? ?clock|in the (?:morning|afternoon|evening)|at night)(?!\w))"
)


def _in_figures(match: re.Match[str]) -> str:
    """ "three" of "three pm" as 3, "quarter to five" of "quarter to five in the evening" as 4:45."""
    hour = int(match[2]) if match[2].isdigit() else _HOURS_SPOKEN[match[2]]
    minutes = _HALF[match[1]] if match[1] else 0
    if not minutes:
        return str(hour)
    return f"{hour}:{minutes}" if minutes > 0 else f"{(hour - 2) % 12 + 1}:{60 + minutes}"


def _clock(hour: int, minute: int, half: str) -> str | None:
    """24-hour text. ``half``: am, pm, a time of the day, or empty."""
    if half[:1] in ("a", "p") and half.replace(".", "") in ("am", "pm"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    elif half and hour <= 11 and half in _LATE | _LATER_SIGNS and hour:
        hour += 0 if "night" in half and hour < 5 else 12
    if hour == 24 and minute == 0:
        hour = 0
    return f"{hour:02d}:{minute:02d}" if hour < 24 and minute < 60 else None


def take_clocks(plain: str) -> tuple[str, list[str]]:
    """``plain`` with its clock times replaced by a mark, and the times."""
    found: list[str] = []
    plain = _SPOKEN.sub(_in_figures, plain)

    def mark(clock: str | None, whole: str) -> str:
        if clock is None:
            return whole
        found.append(clock)
        return f" {MARK} "

    figures = _FIGURE.search(plain) is not None
    for pattern in _CLOCKS if figures else ():
        plain = pattern.sub(
            lambda match: mark(
                _clock(
                    int(match[1]),
                    int(match[2] or 0),
                    (match[match.re.groups] or "") if match.re.groups > 2 else "",
                ),
                match.group(),
            ),
            plain,
        )
    plain = _NAMED.sub(lambda match: mark(_NAMED_CLOCKS[match[1]], match.group()), plain)
    if plain.isascii() and not figures:
        return plain, found
    plain = _IDEOGRAPHIC_CLOCK.sub(
        lambda match: mark(
            _clock(
                int(match[2]) if match[2].isdigit() else _IDEOGRAPHS.get(match[2], 99),
                30 if match[4] else int(match[3] or match[5] or 0),
                match[1] or "",
            ),
            match.group(),
        ),
        plain,
    )
    return plain, found
