"""The values of the room: a document, its chunks, and a passage that was found.

Pure: no clock, no files, no network."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal, Protocol

from node.core.ipld.cid import Cid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray  # numpy may be missing

Status = Literal["current", "draft", "legacy", "superseded", "missing"]
"""``superseded``: another document names this one in ``supersedes``. ``missing``: a manifest lists it, or it
was ingested, and the file is not there."""


UNKNOWN = 1.2
"""The rarity of a word that stands in no document."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file. ``path``: POSIX, below the folder that was ingested. ``cid``: the UnixFS root of its bytes,
    None where the file is missing. ``sha256``: hex of its bytes. ``supersedes``, ``conflict_with``: paths of
    other documents, as a manifest or the front matter says. ``description``: by a model, apart from the
    text. ``known_as``: the CID where anybody may read it, else what stands for it."""

    id: int
    scope: str
    path: str
    cid: Cid | None
    sha256: str
    media_type: str
    size: int
    title: str
    status: Status
    last_modified: datetime
    effective: date | None = None
    supersedes: tuple[str, ...] = ()
    conflict_with: tuple[str, ...] = ()
    in_manifest: bool = False
    tags: tuple[str, ...] = ()
    description: str = ""
    language: str = ""
    known_as: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document's text. ``heading``: the path of headings above it, outermost first. ``start``,
    ``end``: code points in the extracted text. ``page``: from 1, None where the format has none."""

    id: int
    document: int
    ordinal: int
    text: str
    heading: tuple[str, ...]
    start: int
    end: int
    page: int | None = None

    @property
    def searched(self) -> str:
        """What is embedded and what keywords are looked for in: the headings stand in front."""
        return "\n".join((" > ".join(self.heading), self.text)) if self.heading else self.text


@dataclass(frozen=True, slots=True)
class Passage:
    """What was found, best first: neighbouring chunks of one document joined, and why they stand here.
    ``score``: of the profile, comparable within one answer only. ``parts``: its summands by name."""

    document: Document
    chunks: tuple[Chunk, ...]
    score: float
    parts: tuple[tuple[str, float], ...]

    @property
    def text(self) -> str:
        """The chunks' words, in the document's order; what two of them share stands once."""
        said: list[str] = []
        end = 0
        for chunk in self.chunks:
            is_exact = chunk.end - chunk.start == len(chunk.text)
            said.append(chunk.text[max(0, end - chunk.start) :] if is_exact and said else chunk.text)
            end = chunk.end
        return "\n".join(one for one in said if one)


class Corpus(Protocol):
    """The stored documents as the search sees them. Whatever it gives lies in ``scopes``."""

    def keyword(self, query: str, scopes: Sequence[str], limit: int) -> Sequence[tuple[int, float]]:
        """Chunk ids with their BM25, higher is better, best first."""
        ...

    def dense(
        self, vector: NDArray[np.float32], scopes: Sequence[str], limit: int
    ) -> Sequence[tuple[int, float]]:
        """Chunk ids with their cosine to the unit ``vector`` of shape (d,), best first."""
        ...

    def chunks(self, ids: Sequence[int]) -> dict[int, Chunk]:
        """Those that are still there."""
        ...

    def neighbours(self, document: int, first: int, last: int) -> Sequence[Chunk]:
        """The chunks of one document by ordinal, both ends included."""
        ...

    def documents(self, scopes: Sequence[str]) -> Sequence[Document]:
        """All of them, those that are missing included; the same object while nothing changes, for what is
        sorted out of it is kept as long."""
        ...

    def rarity(self, roots: Collection[str], scopes: Sequence[str]) -> dict[str, float]:
        """Of each beginning of words: 1 where one chunk has it, towards 0 where most have, ``UNKNOWN`` where
        none has."""
        ...
