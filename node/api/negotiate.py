"""What form of content a gateway's client asked for: raw or CAR, and which kind of CAR; or one to read, which
is DAG-JSON or a page.

Source: trustless gateway specification (request headers and query parameters) and what path gateways add to
it (IPIP-328), RFC 9110 section 12.5.1.

Promises: ``format`` wins over Accept, the query's CAR parameters over those in Accept. Weights count; of
equal weights the first named wins; wildcards name no form. An entry of Accept that cannot be met is passed
over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import web

from node.core.errors import BadInput

RAW = "application/vnd.ipld.raw"
CAR = "application/vnd.ipld.car"
IPNS_RECORD = "application/vnd.ipfs.ipns-record"
DAG_JSON = "application/vnd.ipld.dag-json"
HTML = "text/html"

READABLE: Mapping[str, str] = {"dag-json": DAG_JSON, "json": "application/json"}
"""Two names of one form."""
FORMATS: Mapping[str, str] = {"raw": RAW, "car": CAR, **READABLE}
"""What is served below ``/ipfs/``, by the value of ``format``."""
PAGE = "html"
"""No value of ``format``: a page is for those who say nothing but Accept."""

ENTRIES_MAX = 64
"""Entries of an Accept header that are read."""

_BY_TYPE: Mapping[str, str] = {kind: name for name, kind in FORMATS.items()} | {HTML: PAGE}
_WELL_KNOWN = frozenset({RAW, CAR, IPNS_RECORD})
_CAR_VALUES: Mapping[str, tuple[str, ...]] = {"version": ("1",), "order": ("dfs", "unk"), "dups": ("y", "n")}


@dataclass(frozen=True, slots=True)
class Entry:
    """One media type of an Accept header, in lower case; ``weight`` from 0 to 1."""

    media_type: str
    parameters: Mapping[str, str]
    weight: float


@dataclass(frozen=True, slots=True)
class Wanted:
    """``name``: of ``FORMATS``, or ``PAGE``. ``dups``: whether a CAR repeats blocks. ``query``: what an
    address needs to name this form without an Accept header; ``is_location_due``: the asked address does not.
    """

    name: str
    dups: bool
    query: Mapping[str, str]
    is_location_due: bool

    @property
    def content_type(self) -> str:
        if self.name == PAGE:
            return f"{HTML}; charset=utf-8"
        if self.name != "car":
            return FORMATS[self.name]
        return f"{CAR}; version=1; order=dfs; dups={'y' if self.dups else 'n'}"


def accepted(header: str) -> list[Entry]:
    """The entries of an Accept header, the most wanted first, without refused ones (weight 0). What cannot
    be read is passed over."""
    entries: list[Entry] = []
    for text in header.split(",", ENTRIES_MAX)[:ENTRIES_MAX]:
        media_type, *rest = (part.strip() for part in text.split(";"))
        parameters: dict[str, str] = {}
        for parameter in rest:
            key, _, value = parameter.partition("=")
            parameters[key.strip().lower()] = value.strip().strip('"').lower()
        entry = Entry(media_type.lower(), parameters, _weight(parameters.pop("q", "1")))
        if media_type and entry.weight > 0:
            entries.append(entry)
    return sorted(entries, key=lambda entry: -entry.weight)


def negotiate(query: Mapping[str, str], accept: str) -> Wanted:
    """Raises ``BadInput`` when nothing or something impossible is asked for, and HTTP 406 for what is not
    served here."""
    entries = accepted(accept)
    name = query.get("format", "")
    asked = _car_query(query)
    if name:
        if name == "ipns-record":
            raise _wrong_place()
        if name not in FORMATS:
            raise _not_acceptable(f"format={name!r} is not served")
        cars = [entry for entry in entries if entry.media_type == CAR]
        entries = [Entry(FORMATS[name], {}, 1)] if name != "car" or not cars else cars
    wildcards = [entry for entry in entries if entry.media_type.endswith("/*")]
    if len(wildcards) == len(entries):
        raise BadInput(
            "ask for ?format=raw, ?format=car or ?format=dag-json, or send "
            f"Accept: {RAW}, {CAR} or {DAG_JSON}",
            field="format",
            limit=" ".join(FORMATS),
        )
    for entry in entries:
        found = _BY_TYPE.get(entry.media_type)
        if found is None:
            continue
        parameters = {**entry.parameters, **asked} if found == "car" else {}
        if any(parameters.get(key, "") not in ("", *values) for key, values in _CAR_VALUES.items()):
            continue
        return _wanted(found, name, parameters, asked, accept)
    if any(entry.media_type == IPNS_RECORD for entry in entries):
        raise _wrong_place()
    raise _not_acceptable("none of the accepted types is served")


def _wanted(
    found: str, name: str, parameters: Mapping[str, str], asked: Mapping[str, str], accept: str
) -> Wanted:
    told = {
        f"car-{key}": parameters[key]
        for key in _CAR_VALUES
        if parameters.get(key) and key not in asked  # what only Accept says
    }
    others = {entry.media_type for entry in accepted(accept)} & _WELL_KNOWN - {FORMATS.get(found)}
    is_due = found != PAGE and (not name or bool(told) or bool(others))
    return Wanted(found, parameters.get("dups") == "y", {"format": found, **told}, is_due)


def readable(query: Mapping[str, str], accept: str) -> Wanted | None:
    """As ``negotiate``, where a form to read is asked for; None for any other request."""
    name = query.get("format", "")
    if name:
        return Wanted(name, False, {}, False) if name in READABLE else None
    kinds = [entry.media_type for entry in accepted(accept)]
    first = next((kind for kind in kinds if kind in _BY_TYPE or kind == IPNS_RECORD), "")
    found = _BY_TYPE.get(first, "")
    if found != PAGE and found not in READABLE:
        return None
    return Wanted(found, False, {"format": found}, found != PAGE)


def _car_query(query: Mapping[str, str]) -> dict[str, str]:
    asked: dict[str, str] = {}
    for key, values in _CAR_VALUES.items():
        value = query.get(f"car-{key}", "")
        if not value:
            continue
        if value not in values:
            raise BadInput(
                f"car-{key} is one of {', '.join(values)}", field=f"car-{key}", limit=" ".join(values)
            )
        asked[key] = value
    return asked


def _weight(text: str) -> float:
    """RFC 9110 section 12.4.2: up to three digits behind the point; anything else counts as refused."""
    whole, _, digits = text.partition(".")
    if whole not in ("0", "1") or len(digits) > 3 or not (digits or "0").isdecimal() or not text.isascii():
        return 0.0
    return min(1.0, float(text))


def _wrong_place() -> BadInput:
    return BadInput("an IPNS record is asked for under /ipns/", field="format", limit=" ".join(FORMATS))


def _not_acceptable(text: str) -> web.HTTPNotAcceptable:
    return web.HTTPNotAcceptable(reason=f"{text}; ask for {RAW}, {CAR} or {DAG_JSON}")
