"""The command ``neuroswarm explain``: why the node answered what it did, in plain words, with the proof.

Finds the entry by its number, the request's id or a record's CID, going backwards through the entry bundles.
A CID that the log names only as a commitment is found where this data directory still has the commitment's
key. What is shown of an entry has been held to the signed checkpoint first. Reads only; works beside a
running node.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import orjson

from node.audit.decisions.commitments import KeyTable
from node.audit.decisions.epoch_check import FOLDER as EPOCHS
from node.audit.decisions.explain import explain_leaf
from node.audit.decisions.origin import epoch_of
from node.audit.log.reader import LogReader, width_at
from node.audit.log.verify import Progress as Hear
from node.audit.log.verify import check_leaf
from node.audit.tlog.leaf import COMMITMENTS, commitment
from node.audit.tlog.tiles import WIDTH
from node.cli.log import (
    Proven,
    proven,
    show_remark,
    standing_of,
    told,
)
from node.cli.log_location import Place, names_of, newest, place_of, policy_of
from node.cli.terminal import Progress
from node.core.errors import BadInput, CorruptState, NotFound, Rejected
from node.core.ipld.cid import Cid
from node.core.settings import Settings
from node.core.signed_note import Checkpoint

KeyOf: TypeAlias = Callable[[int], bytes | None]
"""(index) -> the key of that entry's commitments, where it is still there."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_DIGITS_MAX = 18
_ABOUT = re.compile(r"(?:cid|target|source)(?:_[0-9]{1,2})?")
"""Members of ``commitments`` that may be a record's CID."""
_REQUEST = re.compile(r"request")
_AFTER_MAX = 4 * WIDTH
"""How far behind a decision the entry about its write-back is looked for."""
_FOUND_MAX = 20


class _NoSuchEntry(Rejected):
    """The log holds no entry about what was asked for."""


@dataclass(frozen=True, slots=True)
class _Found:
    """``shown`` are explained, the first of them is proved; ``also`` are other entries about the same."""

    shown: list[int]
    also: list[int]


def explain(args: argparse.Namespace, settings: Settings) -> int:
    """Find the entry, hold it to the checkpoint, tell it."""
    policy = policy_of(args, settings)
    line = Progress("looking through")

    async def look_in(place: Place) -> tuple[list[Proven], list[int]]:
        checkpoint = Checkpoint.of_note(await newest(place))
        with _keys(settings, checkpoint.origin) as key_of:
            search = _Search(LogReader(place.source), checkpoint.size, key_of, line.entries)
            try:
                found = await search.find(args.what)
            finally:
                line.end()
        return [await proven(args, settings, place, one, policy) for one in found.shown], found.also

    async def look(place: Place) -> tuple[list[Proven], list[int], str]:
        """In the current log, then in the closed ones that are there, newest first; the origin of a closed
        one where it was found there."""
        try:
            return *await look_in(place), ""
        except _NoSuchEntry as exc:
            nowhere = exc
        _, number = epoch_of(Checkpoint.of_note(await newest(place)).origin)
        for path in (f"{EPOCHS}/{closed}" for closed in range(number - 1, 0, -1)):
            with contextlib.suppress(_NoSuchEntry, NotFound):
                found, also = await look_in(Place(f"{place.name}/{path}", place.below(path), place.below))
                return found, also, found[0].checkpoint.origin
        raise nowhere

    with place_of(args, settings) as place:
        all_proven, also, closed = asyncio.run(look(place))
    first = all_proven[0]
    show_remark(first.trust)
    leaves = []
    for one in all_proven:
        check_leaf(one.receipt.index, one.entry)
        leaves.append(json.loads(one.entry))
    standing = standing_of(first.receipt.checkpoint, policy)
    root = base64.b64encode(first.checkpoint.root).decode()
    explained = [explain_leaf(leaf, closed=closed) for leaf in leaves]
    shown = {
        "index": first.receipt.index,
        "lines": [line for lines in explained for line in lines],
        "leaves": leaves,
        "also": also,
        "origin": first.checkpoint.origin,
        "size": first.checkpoint.size,
        "root": root,
        "signed_by": names_of(first.signed_by),
        "trust": first.trust.whose,
        "quorum": standing.is_enough,
        "receipt": first.receipt.encode().decode("utf-8"),
    }
    said = [line for lines in explained for line in (*lines, "")]
    if also:
        said.append(f"Also about it: entries {', '.join(map(str, also))}.")
    said += [
        f"Proof: entry {first.receipt.index} is in the log {first.checkpoint.origin},",
        f"  checkpoint of {first.checkpoint.size} entries, root {root},",
        f"  signed by {', '.join(names_of(first.signed_by))};",
        f"  {len(first.receipt.proof)} hashes lead from the entry to the root.",
        f"  Witnesses: {standing.line()}.",
    ]
    return told(args, shown, said)


@contextlib.contextmanager
def _keys(settings: Settings, origin: str) -> Iterator[KeyOf]:
    """The keys of the log's commitments, where this data directory has them."""
    _, number = epoch_of(origin)
    path = Path(settings.data_dir) / "keys" / f"commitments-2-{number}"
    table = None
    if path.is_file():
        with contextlib.suppress(CorruptState, OSError):  # of another node's log
            table = KeyTable.open(path, origin)
    try:
        yield (lambda _: None) if table is None else table.get
    finally:
        if table is not None:
            table.close()


@dataclass(frozen=True, slots=True)
class _Search:
    """Looks for entries in one log, newest first. What it finds is not checked yet."""

    reader: LogReader
    size: int
    key_of: KeyOf
    progress: Hear

    async def find(self, what: str) -> _Found:
        """Raises ``Rejected`` where there is no such entry, ``BadInput``, ``NotFound``, ``Unavailable``."""
        if what.isascii() and what.isdigit() and len(what) <= _DIGITS_MAX and int(what) < self.size:
            return _Found([int(what), *await self._write_back(int(what))], [])
        if not _NAME.fullmatch(what):
            raise BadInput(f"{what!r} is no request's id, no CID and no number", field="what")
        is_cid = Cid.find(what) is not None
        members = _ABOUT if is_cid else _REQUEST
        needle = f'"{what}"' if is_cid else f'"request":"{what}"'
        found: list[int] = []
        decision: int | None = None
        async for index, entry in self._backwards():
            if needle.encode() in entry or self._commits_to(index, entry, what, members):
                found.append(index)
                if decision is None and _is_decision(entry):
                    decision = index
                if len(found) == _FOUND_MAX or (decision is not None and not is_cid):
                    break
        if not found:
            raise _NoSuchEntry(
                f"no entry about {what} is under the newest checkpoint ({self.size} entries); decisions are "
                "published within a second or so"
            )
        first = found[0] if decision is None else decision
        behind = await self._write_back(first)
        return _Found([first, *behind], sorted(set(found) - {first, *behind}))

    async def _backwards(self) -> AsyncIterator[tuple[int, bytes]]:
        for number in range((self.size - 1) // WIDTH, -1, -1):
            first, width = number * WIDTH, width_at(self.size, number)
            entries = await self.reader.entries(first, width, self.size)
            for index in range(first + width - 1, first - 1, -1):
                yield index, entries[index - first]
            self.progress(self.size - first, self.size)

    def _commits_to(self, index: int, entry: bytes, text: str, members: re.Pattern[str]) -> bool:
        """Whether one of the entry's commitments that may be meant is to this text, by the key that is still
        here."""
        named = _member(entry, COMMITMENTS) if b'"commitments"' in entry else None
        if not isinstance(named, dict):
            return False
        given = [value for name, value in named.items() if members.fullmatch(name) and isinstance(value, str)]
        key = self.key_of(index) if given else None
        return key is not None and commitment(key, text) in given

    async def _write_back(self, index: int) -> list[int]:
        """The entry about storing what the decision ``index`` came to: one of the next that name the same
        request."""
        [entry] = await self.reader.entries(index, 1, self.size)
        request = _member(entry, "request") if _is_decision(entry) else None
        if not isinstance(request, str):
            return []
        first = index + 1
        behind = await self.reader.entries(first, min(_AFTER_MAX, self.size - first), self.size)
        for other, data in enumerate(behind, first):
            if _member(data, "kind") == "store" and _member(data, "request") == request:
                return [other]
        return []


def _member(leaf: bytes, name: str) -> object:
    """A member of an untrusted leaf's entry; None where it has none."""
    try:
        entry = orjson.loads(leaf)["entry"]
        return entry.get(name)
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        return None


def _is_decision(leaf: bytes) -> bool:
    return _member(leaf, "kind") in ("answer", "refuse")
