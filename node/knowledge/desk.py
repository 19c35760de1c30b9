"""What is asked of the store of documents: by the operator's commands, and by callers of the door.

A caller sees, and may change, what its scopes allow; what lies in folders is the operator's to change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from node.core.caller import SCOPE_PUBLIC, SCOPE_SHARED, Caller, private_scope
from node.core.clock import Clock
from node.core.errors import BadInput, Forbidden, NotFound
from node.core.settings import Documents
from node.knowledge import ranking
from node.knowledge.conflicts import Contradiction, contradictions
from node.knowledge.corpus import StoredCorpus
from node.knowledge.ingest import UPLOADED, Ingestor, Run, Runs
from node.knowledge.model import Document, Passage
from node.knowledge.profiles import names
from node.knowledge.profiles import profile as named
from node.knowledge.retrieve import Search, retrieve
from node.knowledge.rows import Row
from node.knowledge.store import DocumentStore

LISTED_MAX = 500
SCOPES = (SCOPE_SHARED, "private", SCOPE_PUBLIC)
_WAIT_S_MAX = 10.0


def shown(one: Document) -> dict[str, Any]:
    """A document as JSON."""
    return {
        "id": one.id,
        "path": one.path,
        "title": one.title,
        "cid": None if one.cid is None else str(one.cid),
        "sha256": one.sha256,
        "media_type": one.media_type,
        "size": one.size,
        "scope": one.scope,
        "status": one.status,
        "last_modified": one.last_modified.isoformat(),
        "effective": None if one.effective is None else one.effective.isoformat(),
        "supersedes": list(one.supersedes),
        "conflict_with": list(one.conflict_with),
        "in_manifest": one.in_manifest,
        "tags": list(one.tags),
        "description": one.description,
        "language": one.language,
    }


def passage(one: Passage) -> dict[str, Any]:
    """A passage as JSON; ``start`` and ``end`` are code points in the document's text."""
    first, last, parts = one.chunks[0], one.chunks[-1], dict(one.parts)
    return {
        "source": one.document.path,
        "cid": None if one.document.cid is None else str(one.document.cid),
        "title": one.document.title,
        "status": one.document.status,
        "last_modified": one.document.last_modified.isoformat(),
        "page": first.page,
        "heading": list(first.heading),
        "start": first.start,
        "end": last.end,
        "text": one.text,
        "score": round(one.score, 4),
        "parts": {name: round(value, 4) for name, value in parts.items()},
        **({"band": ranking.band(parts["maxsim"])} if "maxsim" in parts else {}),
    }


def contradiction(one: Contradiction) -> dict[str, Any]:
    """Two documents that do not say the same, as JSON; ``holds``: the one that does, null where nothing says
    which."""
    return {
        "kind": one.kind,
        "between": [one.one.path, one.other.path],
        "holds": None if one.holds is None else one.holds.path,
        "since": None if one.since is None else one.since.isoformat(),
        "sentences": list(one.sentences or ()),
        "is_suggestion": one.is_suggestion,
    }


@dataclass(frozen=True, slots=True)
class DocumentDesk:
    """Build one per store."""

    store: DocumentStore
    corpus: StoredCorpus
    ingestor: Ingestor
    runs: Runs
    settings: Documents
    clock: Clock
    search: Search

    # --- the operator -----------------------------------------------------------------------------

    async def do(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """``{"do": "ingest", "folder", "scope"?, "again"?}``, then ``{"do": "status", "folder", "wait_s"?}``
        until its run is over; ``{"do": "remove", "paths"}``. Raises ``BadInput``, ``NotFound``,
        ``Unavailable``."""
        match asked.get("do"):
            case "ingest":
                folder, again = asked.get("folder"), asked.get("again", False)
                if (
                    not isinstance(folder, str)
                    or not Path(folder).is_absolute()
                    or not isinstance(again, bool)
                ):
                    raise BadInput("folder must be an absolute path, again true or false", field="folder")
                scope = self._scope(asked.get("scope"), Caller())
                return {"folder": self.runs.begin(Path(folder), scope, again=again)}
            case "status":
                folder, wait_s = asked.get("folder"), asked.get("wait_s", 0)
                if not isinstance(wait_s, (int, float)):
                    raise BadInput("wait_s must be a number", field="wait_s")
                found = await self.runs.status(folder, wait_s=min(float(wait_s), _WAIT_S_MAX))
                return {"runs": [run.told() for run in found]}
            case "remove":
                paths = asked.get("paths")
                if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
                    raise BadInput("paths must be a list of texts", field="paths")
                return {"removed": await self._remove_paths(paths)}
            case _:
                raise BadInput("do must be ingest, status or remove", field="do")

    async def look(self) -> None:
        """A run over each folder of the settings, one after the other. Raises ``Unavailable``."""
        for folder in self.settings.folders:
            await self.runs.run(Path(folder), self._scope(None, Caller()))

    async def erase(self, scope: str, *, is_dry: bool) -> tuple[int, list[str]]:
        """Everything that a private scope has; how many documents, and in which folders their files lie
        still. Raises ``Unavailable``: the next start ends what was begun."""
        folders = sorted({row["folder"] for row in await self.store.of_scope(scope)} - {UPLOADED + scope})
        if is_dry:
            return len(await self.store.uids(scope)), folders
        await self.runs.stop(scope)
        return await self.ingestor.erase(scope), folders

    async def _remove_paths(self, paths: Sequence[str]) -> list[str]:
        """Documents by their path in the folder, or with the folder's in front."""
        rows = await self.store.all()
        found = [row for row in rows if {row["path"], f"{row['folder']}/{row['path']}"} & set(paths)]
        known = {name for row in found for name in (row["path"], f"{row['folder']}/{row['path']}")}
        if unknown := [path for path in paths if path not in known]:
            raise NotFound(f"no document is known as {unknown[0][:200]!r}")
        await self.ingestor.remove(found)
        return [row["path"] for row in found]

    # --- callers ----------------------------------------------------------------------------------

    async def upload(self, path: str, data: bytes, scope: str | None, caller: Caller) -> dict[str, Any]:
        """Take one file in. Raises ``BadInput``, ``Forbidden``, ``Rejected``, ``Unavailable``."""
        kept = SCOPE_SHARED if caller.sees_shared else private_scope(caller.tenant)
        row = await self.ingestor.upload(path, data, self._scope(scope, caller), self.clock.now(), kept)
        return {**shown(self._document(row["id"], caller)), "note": row["note"]}

    def listed(self, caller: Caller, after: int) -> list[dict[str, Any]]:
        """Those with higher ids than ``after``, by id. Blocking."""
        found = self.corpus.documents(caller.visible_scopes)
        return [shown(one) for one in sorted(found, key=lambda one: one.id) if one.id > after][:LISTED_MAX]

    async def find(self, query: str, limit: int, profile: str | None, caller: Caller) -> dict[str, Any]:
        """The passages that speak to a question, best first, and what their documents disagree about. Raises
        ``BadInput``."""
        if profile is not None and profile not in names():
            raise BadInput(f"profile must be one of {', '.join(names())}", field="profile")
        search = self.search if profile is None else replace(self.search, profile=named(profile))
        scopes = caller.visible_scopes
        found = await retrieve(query, scopes, search, limit=limit)
        against = await asyncio.to_thread(contradictions, found, search.shelf(scopes))
        return {"passages": list(map(passage, found)), "contradictions": list(map(contradiction, against))}

    async def begin(self, folder: str, caller: Caller) -> str:
        """Look at one folder of the settings now. Raises ``Forbidden``, ``BadInput``."""
        if not caller.is_operator:
            raise Forbidden("only the operator may have a folder looked at")
        if folder not in self.settings.folders:
            raise BadInput("folder must be one of the setting documents.folders", field="folder")
        return self.runs.begin(Path(folder), self._scope(None, Caller()))

    async def progress(self, caller: Caller) -> list[Run]:
        """Of folders: for the operator."""
        return await self.runs.status() if caller.is_operator else []

    async def remove(self, document: int, caller: Caller) -> None:
        """Raises ``NotFound``, ``Forbidden``, ``Unavailable``."""
        self._document(document, caller)
        row: Row = next((row for row in await self.store.all() if row["id"] == document), {})
        if not row:
            raise NotFound("no such document")
        if not row["folder"].startswith(UPLOADED) and not caller.is_operator:
            raise Forbidden("what lies in a folder of the node is the operator's to remove")
        self._scope(row["scope"], caller)
        await self.ingestor.remove([row])

    def _document(self, number: int, caller: Caller) -> Document:
        found = self.corpus.documents(caller.visible_scopes)
        one = next((one for one in found if one.id == number), None)
        if one is None:
            raise NotFound("no such document")
        return one

    def _scope(self, word: object, caller: Caller) -> str:
        """The scope that a word means for a caller who may write there. Raises ``BadInput``,
        ``Forbidden``."""
        own = private_scope(caller.tenant)
        if word is None:
            word = self.settings.scope if caller.is_operator else caller.default_scope
        scope = own if word == "private" else word
        if scope == own:
            return own
        if scope == SCOPE_SHARED and caller.sees_shared:
            return SCOPE_SHARED
        if scope == SCOPE_PUBLIC:
            if not caller.may_publish:
                raise Forbidden("this key may not publish")
            return SCOPE_PUBLIC
        if scope == SCOPE_SHARED:
            raise Forbidden("this key does not see what is shared here")
        raise BadInput(f"scope must be one of {', '.join(SCOPES)}", field="scope")
