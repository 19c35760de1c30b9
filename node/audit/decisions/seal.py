"""Seals an entry: its texts leave it, and keyed commitments to them take their place.

Promises: what comes out holds no text that was given as private; each entry has a fresh random key of
its own, so that destroying it leaves commitments that say nothing. Must not know where either is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from node.audit.decisions.entry import records_of
from node.audit.tlog import leaf
from node.core.clock import random_bytes
from node.core.errors import Rejected
from node.core.model import Json


@dataclass(frozen=True, slots=True)
class Sealed:
    """An entry's canonical bytes with its commitments in it, the fresh key they were made with (None: there
    are none), and the CIDs of the records that it is about."""

    entry: bytes
    key: bytes | None
    about: tuple[str, ...]


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
