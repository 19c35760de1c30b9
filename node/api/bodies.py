"""The bodies that clients send: each a structure with its limits, which are checked here and stand in
``/openapi.json``. A null is a field that is not given. Errors name the field and the limit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import tzinfo
from functools import cache
from typing import Annotated, Any, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import Meta
from msgspec.structs import asdict

from node.api.received import parse_json, taken_as
from node.core.errors import BadInput
from node.core.ipld.cid import Cid
from node.core.peer_address import ADDRESS_CHARS_MAX
from node.knowledge.profiles import names

TAGS_MAX = 16
TAG_CHARS_MAX = 64
TTL_S_MAX = 10 * 365 * 86_400
CIDS_MAX = 1_000
CID_CHARS_MAX = 128
_CONTROLS = re.compile(r"[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]")
"""Control characters and lone surrogates (Unicode's Cc and Cs) but for tab and line breaks."""

Text = Annotated[str, Meta(min_length=1)]
"""As long as the body may be."""
Session = Annotated[
    str,
    Meta(
        max_length=128,
        description="letters, digits and _ . : - only",
        extra_json_schema={
            "pattern": "^[A-Za-z0-9_.:-]{1,128}$"
        },  # as a limit it would let a line end through
    ),
]
Seconds = Annotated[int, Meta(ge=0, le=TTL_S_MAX)]
Lifetime = Annotated[int, Meta(ge=1, le=TTL_S_MAX)]
PASSAGES_MAX = 20
Profile = Annotated[str, Meta(min_length=1, max_length=64, extra_json_schema={"enum": list(names())})]
Zone = Annotated[str, Meta(min_length=1, max_length=64)]
Tag = Annotated[str, Meta(min_length=1, max_length=TAG_CHARS_MAX)]
Tags = Annotated[tuple[Tag, ...], Meta(max_length=TAGS_MAX)]
CidText = Annotated[str, Meta(min_length=1, max_length=256)]
Source = Annotated[str, Meta(min_length=1, max_length=256)]
Scope = Literal["shared", "private", "public"]
Context = Annotated[
    str,
    Meta(
        max_length=64,
        description="64 lower-case hexadecimal digits, a SHA-256, only",
        extra_json_schema={"pattern": "^[0-9a-f]{64}$"},
    ),
]
"""What a question came with, hashed: entries of one context are found in it alone."""


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """What every body is: an object without fields that nobody knows."""


class Chat(Body):
    query: Text
    session_id: Session | None = None
    verbose: bool = False
    stream: bool = False
    max_age_s: Seconds | None = None
    no_cache: bool = False
    no_store: bool = False
    ttl_s: Lifetime | None = None
    tags: Tags = ()
    time_zone: Zone | None = None
    mode: Literal["plain", "agent"] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the reply depends on nothing but the words, the caller, the place and the moment."""
        is_bound = self.session_id or self.tags or self.no_cache or self.no_store
        is_plain = self.max_age_s is None and self.ttl_s is None
        return is_plain and self.mode != "agent" and not (is_bound or self.verbose or self.stream)


class Form(Body):
    """Of the page for people."""

    q: Text
    text: Text | None = None
    session: Session | None = None


class Route(Body):
    query: Text
    session_id: Session | None = None
    time_zone: Zone | None = None


class Search(Body):
    query: Text
    floor: Annotated[float, Meta(ge=0, le=1)] | None = None
    context: Context | None = None


class DocumentSearch(Body):
    query: Text
    limit: Annotated[int, Meta(ge=1, le=PASSAGES_MAX)] = 5
    profile: Profile | None = None


class NewEntry(Body):
    query: Text
    answer: Text
    confidence: Annotated[float, Meta(ge=0, le=0.95)] = 0.85
    ttl_s: Lifetime | None = None
    source: Source | None = None
    tags: Tags = ()
    scope: Scope | None = None
    replace: bool = False
    context: Context | None = None


class Invalidate(Body):
    cid: CidText | None = None
    query: Text | None = None
    like: bool = False
    source: Source | None = None
    older_than_s: Seconds | None = None
    tag: Tag | None = None
    scope: Scope | None = None
    dry_run: bool = False


class Verdict(Body):
    verdict: Literal["valid", "invalid"]
    cid: CidText | None = None
    request_id: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    note: Annotated[str, Meta(min_length=1, max_length=1_000)] | None = None
    correction: Text | None = None


class Sync(Body):
    address: Annotated[str, Meta(min_length=1, max_length=ADDRESS_CHARS_MAX)] | None = None


class Blocks(Body):
    cids: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=CID_CHARS_MAX)], ...], Meta(max_length=CIDS_MAX)
    ]


# --- the description ------------------------------------------------------------------------------


def schemas(text_chars_max: int) -> dict[str, dict[str, Any]]:
    """The JSON Schema of each body by its name. A text is as long as the body at most, ``text_chars_max``."""
    found = {kind.__name__: _schema(kind) for kind in Body.__subclasses__()}
    for schema in found.values():
        for shape in schema["properties"].values():
            if "minLength" in shape:
                shape.setdefault("maxLength", text_chars_max)
    with_query = {"required": ["query"], "properties": {"query": {"type": "string"}}}
    found["Invalidate"]["dependentSchemas"] = {"like": with_query}
    del found["Form"]["properties"]["text"]["minLength"]  # a form sends its empty fields too
    for kind in Body.__subclasses__():
        for name in optional(kind) if kind is not Form else ():  # a form has no null
            found[kind.__name__]["properties"][name] = _or_null(found[kind.__name__]["properties"][name])
    return found


def optional(kind: type[Body]) -> list[str]:
    """The fields that need not be given, each of which may be null as well."""
    return [field.name for field in msgspec.structs.fields(kind) if not field.required]


def _or_null(shape: dict[str, Any]) -> dict[str, Any]:
    more = {"enum": [*shape["enum"], None]} if "enum" in shape else {}
    return shape | more | {"type": [shape["type"], "null"]}


def _schema(kind: type[Body]) -> dict[str, Any]:
    (_,), found = msgspec.json.schema_components([kind])
    schema: dict[str, Any] = found[kind.__name__]
    for name, shape in schema["properties"].items():
        given = shape.get("anyOf", [shape])[0]  # else it is null, which says only that it is not given
        given.pop("default", None)
        schema["properties"][name] = {"type": "string"} | given
    return schema


# --- reading --------------------------------------------------------------------------------------

_Body = TypeVar("_Body", bound=Body)

_shape_of = cache(lambda kind: _schema(kind)["properties"])
_TEXTS = ("string", "array")
_texts_of = cache(lambda kind: [name for name, one in _shape_of(kind).items() if one.get("type") in _TEXTS])
_decoder_of = cache(msgspec.json.Decoder)


def parse(body: bytes, kind: type[_Body]) -> _Body:
    """A body as it was sent. Raises ``BadInput``."""
    try:
        sent: _Body = _decoder_of(kind).decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):  # also a null where none may stand
        return read(parse_json(body), kind)
    _check_texts(sent, kind)
    return sent


def read(value: Mapping[str, Any], kind: type[_Body]) -> _Body:
    """A body by its fields. Raises ``BadInput``."""
    shapes: Mapping[str, dict[str, Any]] = _shape_of(kind)
    given = {name: one for name, one in value.items() if one is not None or name not in shapes}
    if unknown := given.keys() - shapes.keys():
        name = min(unknown)[:64]
        raise BadInput(f"unknown field {name!r}; known are {', '.join(shapes)}", field=name)
    try:
        body = msgspec.convert(given, kind)
    except msgspec.ValidationError as exc:
        at = re.search(r"`(?:\$\.)?(\w+)", str(exc)[str(exc).rfind(" ") :])
        assert at is not None
        raise _refusal(at[1], given.get(at[1]), shapes[at[1]]) from exc
    _check_texts(body, kind)
    return body


def _check_texts(body: Body, kind: type[Body]) -> None:
    shapes: Mapping[str, dict[str, Any]] = _shape_of(kind)
    for name in _texts_of(kind):
        one = getattr(body, name)
        if isinstance(one, str):
            _check_text(name, one, shapes[name])
        elif name == "tags" and one and not all(map(str.isprintable, one)):
            raise _refusal(name, one, shapes[name])


def _refusal(name: str, value: object, shape: Mapping[str, Any]) -> BadInput:
    """What must stand there instead."""
    wanted, limit = _wanted(shape)
    if value is None:
        said = f"{name} is required"
    elif isinstance(value, str) and not value.strip() and wanted == "text":
        said = f"{name} is empty"
    elif isinstance(value, str) and wanted == "text":
        said = f"{name} has {len(value)} characters, the limit is {shape['maxLength']}"
    else:
        said = f"{name} must be {wanted}"
    return BadInput(said, field=name, limit=limit)


def _wanted(shape: Mapping[str, Any]) -> tuple[str, str | None]:
    """What a field must be, and its limit."""
    if "enum" in shape:
        listed = ", ".join(shape["enum"])
        return f"one of {listed}", listed
    if shape["type"] == "boolean":
        return "true or false", None
    if shape["type"] == "array":
        texts, chars = shape["maxItems"], shape["items"]["maxLength"]
        return (
            f"a list of at most {texts} texts of at most {chars} characters",
            f"{texts} x {chars} characters",
        )
    if shape["type"] == "string":
        least = shape.get("minLength", 1)
        most = (
            f"{shape['maxLength']} characters"
            if "maxLength" in shape
            else "as many characters as the body holds"
        )
        return "text", f"{least} to {most}"
    limit = f"{shape['minimum']} to {shape['maximum']}"
    return f"a {'whole ' if shape['type'] == 'integer' else ''}number from {limit}", limit


def _check_text(name: str, value: str, shape: Mapping[str, Any]) -> None:
    """No control characters (tab and line breaks may stand in it), not blank. Raises ``BadInput``."""
    if not value.strip():
        raise _refusal(name, value, shape)
    refuse_controls(name, value)
    if "pattern" in shape and not re.fullmatch(shape["pattern"], value):
        raise BadInput(f"{name} may hold {shape['description']}", field=name)


def refuse_controls(name: str, value: str) -> None:
    """Raises ``BadInput`` for a text with a control character that is no tab and no line break."""
    if (found := _CONTROLS.search(value)) is not None:
        raise BadInput(
            f"{name} holds the control character U+{ord(found[0]):04X} at position {found.start()}",
            field=name,
            limit="no control characters",
        )


def said(verdict: Verdict) -> dict[str, Any]:
    """What a verdict says, by the names of ``requests.Said``. Raises ``BadInput``."""
    if verdict.correction is not None and verdict.verdict != "invalid":
        raise BadInput("a correction goes with the verdict invalid", field="correction")
    if (verdict.cid is None) == (verdict.request_id is None):
        raise BadInput("give either cid or request_id", field="cid")
    return asdict(verdict) | {"cid": None if verdict.cid is None else cid(verdict.cid)}


def zone(name: str | None) -> tzinfo | None:
    """An IANA time zone. Raises ``BadInput``."""
    try:
        return None if name is None else ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError) as exc:
        raise BadInput(
            f"time_zone must be an IANA time zone such as Europe/Paris, not {name!r}", field="time_zone"
        ) from exc


def cid(text: str) -> str:
    """A CID as this node writes it. Raises ``BadInput``."""
    with taken_as("cid"):
        return str(Cid.parse(text))
