"""What holds of each document: what it says of itself, what manifests say of it, and what others do.

Pure. The files are the truth: a manifest adds to what a file says, never takes away, and what it lists that
is not there is known as missing. Names lead to documents beside the one that names them, in the whole folder,
or by a file name that only one has.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from node.knowledge.formats.extracted import table
from node.knowledge.model import Status

Fields = Mapping[str, Sequence[str]]
EFFECTIVE_IN_TEXT = "effective in text"
"""The field with what was read out of the text: neither the head nor a manifest has to say it."""
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%B %d, %Y", "%d %B %Y", "%Y/%m/%d")


@dataclass(frozen=True, slots=True)
class Known:
    """One document as it is stored: ``fields`` of its head, ``rows`` where it is a manifest, ``title`` as its
    text has it, ``modified`` of the file. ``is_there``: the file is."""

    path: str
    fields: Fields
    rows: Sequence[Fields]
    title: str
    modified: datetime
    is_there: bool


@dataclass(frozen=True, slots=True)
class Holds:
    """What holds of one document; as in ``Document``."""

    title: str
    status: Status
    last_modified: datetime
    effective: date | None = None
    supersedes: tuple[str, ...] = ()
    conflict_with: tuple[str, ...] = ()
    in_manifest: bool = False
    tags: tuple[str, ...] = ()
    language: str = ""


def settled(known: Sequence[Known]) -> dict[str, Holds]:
    """What holds of each path, those included that only a manifest names."""
    by_path = {one.path: one for one in known}
    names: dict[str, list[str]] = {}
    for path in by_path:
        names.setdefault(posixpath.basename(path), []).append(path)
    listed: dict[str, Fields] = {}
    for manifest in known:
        for row in manifest.rows:
            listed.setdefault(_led(row["path"][0], manifest.path, by_path, names), row)
    found: dict[str, Holds] = {}
    for path in [*by_path, *(path for path in listed if path not in by_path)]:
        found[path] = _holds(path, by_path.get(path), listed.get(path), by_path, names)
    replaced = {
        older
        for path, one in found.items()
        if path in by_path and one.status != "draft"  # which only wishes to
        for older in one.supersedes
        if older != path
    }
    return {
        path: replace(one, status="superseded") if path in replaced and one.status != "missing" else one
        for path, one in found.items()
    }


def _holds(
    path: str,
    known: Known | None,
    row: Fields | None,
    by_path: Mapping[str, Known],
    names: Mapping[str, Sequence[str]],
) -> Holds:
    own: Fields = {} if known is None else known.fields
    listed: Fields = row or {}

    def said(name: str) -> Sequence[str]:
        return own.get(name) or listed.get(name) or ()

    def led(name: str) -> tuple[str, ...]:
        both = (*own.get(name, ()), *listed.get(name, ()))
        return tuple(dict.fromkeys(_led(one, path, by_path, names) for one in both))

    title = next(iter(own.get("title", ())), "") or (known.title if known else "")
    is_there = known is not None and known.is_there
    modified = _moment(said("last_modified")) or (known.modified if known else datetime.fromtimestamp(0, UTC))
    effective = _moment(said("effective") or own.get(EFFECTIVE_IN_TEXT, ()))
    return Holds(
        title=title or next(iter(listed.get("title", ())), "") or _named(path),
        status=_status(said("status")) if is_there else "missing",
        last_modified=modified,
        effective=None if effective is None else effective.date(),
        supersedes=led("supersedes"),
        conflict_with=led("conflict_with"),
        in_manifest=row is not None,
        tags=tuple(dict.fromkeys(tag.lower() for tag in said("tags"))),
        language=next(iter(said("language")), "")[:16],
    )


def _led(name: str, beside: str, paths: Mapping[str, Known], names: Mapping[str, Sequence[str]]) -> str:
    """The path that a name leads to; one inside the folder where nothing is there."""
    name = name.replace("\\", "/").strip()
    near = posixpath.normpath(posixpath.join(posixpath.dirname(beside), name)).lstrip("./")
    for path in (near, posixpath.normpath(name).lstrip("./")):
        if path in paths:
            return path
    alike = names.get(posixpath.basename(name), ())
    return alike[0] if len(alike) == 1 else near


def _named(path: str) -> str:
    """A title from a file's name."""
    return posixpath.basename(path).rpartition(".")[0].replace("_", " ").replace("-", " ").strip() or path


def _status(said: Sequence[str]) -> Status:
    """What nobody knows is taken as current."""
    word = said[0].strip().lower() if said else ""
    words: Mapping[str, Sequence[str]] = table()["status"]
    for status in ("draft", "legacy", "superseded"):
        if word in words[status]:
            return status
    return "current"


def _moment(said: Sequence[str]) -> datetime | None:
    text = said[0].strip() if said else ""
    found: datetime | None = None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        for form in _DAYS:
            try:
                found = datetime.strptime(text, form)  # noqa: DTZ007 - a day, in UTC as below
                break
            except ValueError:
                continue
    if found is None:
        return None
    try:
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except OverflowError:
        return None
