"""Seals an entry: its texts leave it, and keyed commitments to them take their place.

Promises: what comes out holds no text that was given as private; each entry has a fresh random key of
its own, so that destroying it leaves commitments that say nothing. Must not know where either is kept.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from datetime import datetime

from node.audit.decisions.entry import records_of, subject_of
from node.audit.decisions.entry_fields import request_of
from node.audit.tlog import leaf
from node.core.clock import fresh_bytes
from node.core.errors import Rejected
from node.core.model import Json
from node.core.ports import Sealed
from node.core.template import Template


def sealed(entry: Mapping[str, Json], private_texts: Mapping[str, str]) -> Sealed:
    """Raises ``Rejected``."""
    body = dict(entry)
    if leaf.COMMITMENTS in body:
        raise Rejected(f"log: an entry may not bring its own {leaf.COMMITMENTS}")
    if not private_texts:
        return Sealed(leaf.canonical(body), None, ())
    key = fresh_bytes()
    made = leaf.commitments(key, map(leaf.encoded, private_texts.values()))
    body[leaf.COMMITMENTS] = dict(zip(private_texts, made, strict=True))
    about, subject = records_of(entry, private_texts), private_texts.get(subject_of(entry), "")
    return Sealed(leaf.canonical(body), key, about, subject=subject)


class Form:
    """The entry of a hit, with places for what differs when it is entered for another request: the
    commitments, the record's age and the request's id, in the order in which they stand in it."""

    _PLACES = ('"@commitments"', '"@age_s"', '"@request"')

    def __init__(self, entry: Mapping[str, Json], private_texts: Mapping[str, str]) -> None:
        """Raises ``Rejected``."""
        texts = {name: text for name, text in sorted(private_texts.items()) if name != "request"}
        self._names = list(texts)
        self._texts = [leaf.encoded(text) for text in texts.values()]
        self._stated = _statement(self._names)
        self._about = records_of(entry, private_texts)
        hit = entry["hit"]
        if not isinstance(hit, dict):
            raise Rejected("log: only the entry of a hit is entered again")
        held = {**entry, leaf.COMMITMENTS: "@commitments", "hit": {**hit, "age_s": "@age_s"}}
        self._entry = Template(leaf.canonical({**held, "request": "@request"}).decode(), self._PLACES)

    @property
    def size(self) -> int:
        """Bytes."""
        return self._entry.size

    def sealed(self, request: str, age_s: int, at: datetime | None = None) -> Sealed:
        """The entry for this request, of a record that is ``age_s`` old now (``at``)."""
        key, texts, stated, named = fresh_bytes(), self._texts, self._stated, f'"{request}"'
        if request_of(request, {}) is None:
            named, place = "null", bisect(self._names, "request")
            texts = [*texts[:place], leaf.encoded(request), *texts[place:]]
            stated = _statement([*self._names[:place], "request", *self._names[place:]])
        made = stated % tuple(leaf.commitments(key, texts))
        return Sealed(self._entry.filled(made, max(0, age_s), named), key, self._about, at)


def _statement(names: Sequence[str]) -> str:
    """The commitments of these names, with a place for each."""
    return "{" + ",".join(f'"{name}":"%s"' for name in names) + "}"
