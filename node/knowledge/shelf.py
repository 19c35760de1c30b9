"""What the documents' metadata says about one another: which stands for which, which two disagree, what is
listed and not there.

Pure. Paths name documents within one scope. Chains and circles of ``supersedes`` are followed to their end
once; a document never supersedes itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date

from node.knowledge.model import Document
from node.knowledge.standing import told
from node.language.sentences import content_words

_CHAIN_MAX = 32
_STANDING = {"current": 0, "draft": 1, "legacy": 2, "superseded": 3, "missing": 4}
NAMED_WORDS_MIN = 2
NAMED_SHARE = 0.75
"""A question names a document where it says so much of its title, and two words of it at least."""


class Shelf:
    """The documents that one asker may see."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.by_id = {one.id: one for one in documents}
        self._by_path = {(one.scope, one.path): one for one in documents}
        self._newer: dict[int, set[int]] = defaultdict(set)
        self._rivals: dict[int, set[int]] = defaultdict(set)
        for one in documents:
            for path in one.supersedes:
                if (older := self._at(one, path)) is not None:
                    self._newer[older.id].add(one.id)
            for path in one.conflict_with:
                if (rival := self._at(one, path)) is not None:
                    self._rivals[one.id].add(rival.id)
                    self._rivals[rival.id].add(one.id)
        self._missing = [one for one in documents if one.status == "missing"]

    def _at(self, beside: Document, path: str) -> Document | None:
        """The document at a path, or of a file name that only one document beside it has."""
        found = self._by_path.get((beside.scope, path))
        if found is None and "/" not in path:
            folder = beside.path.rpartition("/")[0]
            found = self._by_path.get((beside.scope, f"{folder}/{path}" if folder else path))
        return None if found is None or found.id == beside.id else found

    def successors(self, document: Document) -> list[Document]:
        """What supersedes it, over all steps, the newest first."""
        found: dict[int, int] = {}
        steps = [document.id]
        for depth in range(1, _CHAIN_MAX):
            steps = [new for one in steps for new in sorted(self._newer[one]) if new not in found]
            for one in steps:
                if one != document.id:
                    found[one] = depth
            if not steps:
                break
        order = sorted(found, key=lambda one: (-found[one], -since(self.by_id[one]).toordinal()))
        return [self.by_id[one] for one in order]

    def supersedes(self, newer: Document, older: Document) -> bool:
        """Whether the metadata says so, over any number of steps."""
        return any(one.id == newer.id for one in self.successors(older))

    def are_bound(self, one: Document, other: Document) -> bool:
        """Whether the metadata says that they speak of one thing: versions of it, or rivals about it."""
        return other.id in self._rivals[one.id] or self.supersedes(one, other) or self.supersedes(other, one)

    def rivals(self, document: Document) -> list[Document]:
        """What the metadata says is in conflict with it, whichever of the two says so."""
        return [self.by_id[one] for one in sorted(self._rivals[document.id])]

    def missing_named(self, question: str) -> list[Document]:
        """The documents that are listed, not there, and named by the question: by their title, or by the
        words of their file name."""
        asked = set(content_words(question))
        return [one for one in self._missing if any(_named(words, asked) for words in _names(one))]


def _names(document: Document) -> list[set[str]]:
    stem = document.path.rpartition("/")[2].rpartition(".")[0]
    return [set(content_words(text)) for text in (document.title, stem.replace("_", " ").replace("-", " "))]


def _named(words: set[str], asked: set[str]) -> bool:
    return len(words & asked) >= NAMED_WORDS_MIN and len(words & asked) >= NAMED_SHARE * len(words)


def since(document: Document) -> date:
    """From when it holds: its effective date, without one the day when it was last changed."""
    return document.effective or document.last_modified.date()


def holding(one: Document, other: Document, shelf: Shelf) -> Document | None:
    """The document of the two that holds: what supersedes the other, what is current beside what is not, of
    rivals what lays down beside what tells of it, what became effective later. None where none of it decides;
    when a file was changed does not."""
    for newer, older in ((one, other), (other, one)):
        if shelf.supersedes(newer, older) and not shelf.supersedes(older, newer):
            return newer
    if one.status != other.status:
        return min(one, other, key=lambda each: _STANDING[each.status])
    if told(one) != told(other) and one.id in {rival.id for rival in shelf.rivals(other)}:
        return min(one, other, key=told)
    if one.effective and other.effective and one.effective != other.effective:
        return max(one, other, key=since)
    return None


def is_newer(one: Document, other: Document, shelf: Shelf) -> bool:
    """Whether, on one topic, the first stands above the second: it holds, or where nothing says which does,
    it was changed later."""
    if one.id == other.id:
        return False
    holds = holding(one, other, shelf)
    if holds is not None:
        return holds.id == one.id
    both = shelf.supersedes(one, other) and shelf.supersedes(other, one)
    return not (both or one.effective or other.effective) and since(one) > since(other)
