"""Seals an entry: its texts leave it, and keyed commitments to them take their place.

Promises: what comes out holds no text that was given as private; each entry has a fresh random key of
its own, so that destroying it leaves commitments that say nothing. Must not know where either is kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from node.audit.decisions.entry import records_of
from node.audit.decisions.entry_fields import request_of
from node.audit.tlog import leaf
from node.core.clock import random_bytes
from node.core.errors import Rejected
from node.core.model import Json
from node.core.ports import Sealed


def sealed(entry: Mapping[str, Json], private_texts: Mapping[str, str]) -> Sealed:
    """Raises ``Rejected``."""
    body = dict(entry)
    if leaf.COMMITMENTS in body:
        raise Rejected(f"log: an entry may not bring its own {leaf.COMMITMENTS}")
    if not private_texts:
        return Sealed(leaf.canonical(body), None, ())
    key = random_bytes(leaf.KEY_BYTES)
    body[leaf.COMMITMENTS] = {name: leaf.commitment(key, text) for name, text in private_texts.items()}
    return Sealed(leaf.canonical(body), key, records_of(entry, private_texts))


class Form:
    """The entry of a hit, as bytes with places for what differs when it is entered for another request: the
    commitments, the record's age and the request's id, in the order in which they stand in it."""

    _HOLES = (b'"@commitments"', b'"@age_s"', b'"@request"')

    def __init__(self, entry: Mapping[str, Json], private_texts: Mapping[str, str]) -> None:
        """Raises ``Rejected``."""
        self._texts = {name: text for name, text in private_texts.items() if name != "request"}
        self._about = records_of(entry, private_texts)
        hit = entry["hit"]
        if not isinstance(hit, dict):
            raise Rejected("log: only the entry of a hit is entered again")
        held = {**entry, leaf.COMMITMENTS: "@commitments", "hit": {**hit, "age_s": "@age_s"}}
        data = leaf.canonical({**held, "request": "@request"})
        if any(data.count(hole) != 1 for hole in self._HOLES):
            raise Rejected("log: an entry has the name of a place in it")
        self._parts: list[bytes] = []
        for hole in self._HOLES:
            before, _, data = data.partition(hole)
            self._parts.append(before)
        self._parts.append(data)

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(map(len, self._parts))

    def sealed(self, request: str, age_s: int) -> Sealed:
        """The entry for this request, of a record that is ``age_s`` old now."""
        texts = dict(self._texts)
        named = request_of(request, texts)
        key = random_bytes(leaf.KEY_BYTES)
        commitments = ",".join(f'"{name}":"{leaf.commitment(key, texts[name])}"' for name in sorted(texts))
        values = (f"{{{commitments}}}", str(max(0, age_s)), "null" if named is None else f'"{named}"')
        first, *rest = self._parts
        data = first + b"".join(value.encode() + part for value, part in zip(values, rest, strict=True))
        return Sealed(data, key, self._about)
