"""Places that are no names: coordinates, and states as people mark them off from countries and towns. Pure.

Rules of this file:
- Coordinates are two numbers with marks (°, N, lat), or two with decimals; anything else may be a date.
- What stands for them in the reading is a name, so that the grammar of the rest stays one.
"""

from __future__ import annotations

import itertools
import re

from adapters.grammar import place_facts

STAND_IN = "Lisbon"
"""Read in the place of coordinates, so that one grammar reads both: a name that is nothing else."""
_PART = (
    r"[-+−]?\d{1,3}(?:[.,]\d{1,8})?\s?°?(?:\s?\d{1,2}\s?['′’](?:\s?\d{1,2}(?:\.\d+)?\s?(?:[\"″”]|''))?)?\s?"
)
_COORDINATES = re.compile(
    r"(?:\b(?:at|in|near|for|bei|in|en|a|à|um)\s)?(?:the\s)?(?:coordinates?:?\s)?\(?\s?(?:lat(?:itude)?[\s:=]*)?(?<![\w.])"
    rf"(?P<lat>{_PART})(?P<ns>[NS]\b)?(?:\s?[,;/]\s?|\s(?:and\s)?|(?<=[NnSs])\s?)(?:lon(?:g|gitude)?[\s:=]*)?"
    rf"(?P<lon>{_PART})(?P<ew>[EWO]\b)?(?![\w.%])\s?\)?",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d")
_NUMBERS_OF = re.compile(r"\d+(?:[.,]\d+)?")
_PLAINER = (
    (re.compile(r"\bhow fast (?=(?:is|was|are|were|will|does) the (?:wind|gust))"), "how strong "),
    (
        re.compile(
            r"\b(?:the )?state of (?=\w)(\w+(?: (?:carolina|dakota|york|mexico|virginia|hampshire))?)"
        ),
        r"\1 state",
    ),
    (re.compile(r"\b(georgia|washington|new york)\W{1,2}(?:the )?(?:us |u\.s\. )?state\b\)?"), r"\1 state"),
    (re.compile(r"\b(georgia)\W{1,2}(?:the )?country\b\)?"), r"\1"),
)
_POSTAL = re.compile(
    r"\b(?:in|(?i:weather|forecast)(?! (?:OK|IN|ME|HI|OR)\b)) (?!LA\b)([A-Z]{2})"
    r"(?=\s*(?:[?.!]|$|today|tomorrow|now|right|this|on))"
)


def spot_of(place: str | None) -> tuple[float, float] | None:
    """The coordinates that a slot ``place`` holds, None for a name."""
    if place is None or re.fullmatch(r"-?\d{1,3}\.\d{1,6}, -?\d{1,3}\.\d{1,6}", place) is None:
        return None
    latitude, _, longitude = place.partition(", ")
    return float(latitude), float(longitude)


def with_place(text: str) -> tuple[str, str | None]:
    """``text`` with a name in the place of coordinates, and those in canonical form; None without any."""
    if _FIGURE.search(text) is None:
        return text, None
    for match in itertools.islice(_COORDINATES.finditer(text), 4):
        marks = match["lat"] + match["lon"]
        is_marked = "°" in marks or (match["ns"] and match["ew"]) or "lat" in match[0].lower()
        if not is_marked and not all(re.search(r"\d[.,]\d", match[part]) for part in ("lat", "lon")):
            continue
        lat, lon = (_in_degrees(match[part], match[side]) for part, side in (("lat", "ns"), ("lon", "ew")))
        return f"{text[: match.start()]} in {STAND_IN} {text[match.end() :]}", f"{lat:.4f}, {lon:.4f}"
    return text, None


def _in_degrees(said: str, side: str | None) -> float:
    numbers = [float(one.replace(",", ".")) for one in _NUMBERS_OF.findall(said)]
    value = sum((number / 60.0**power for power, number in enumerate(numbers[:3])), 0.0)
    return -value if said[:1] in "-−" or (side or "").lower() in ("s", "w") else value


def _with_state(match: re.Match[str]) -> str:
    state = place_facts.state_of(match[1])
    return match[0] if state is None else f"{match[0][:-2].removesuffix('in ')}in {state}"


def plainer(text: str) -> str:
    """ "georgia (the state)", "the state of georgia" and "in CA" as the grammar of places reads them."""
    text = _POSTAL.sub(_with_state, text)
    low = text.lower()
    for pattern, order in _PLAINER:
        if pattern.search(low):
            return pattern.sub(order, low)
    return text
