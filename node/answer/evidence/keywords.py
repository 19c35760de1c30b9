"""Words to entries: which stored entries share a question's words, the rare ones first.

Rules: words are stems of content words (``language.sentences``); a word weighs ln(1 + (N - n + .5) / (n +
.5)) as in BM25, with n of the N entries that the asker may see; partitions (scope, context) that were not
asked for are never looked at, not even to count. Pure; bounded by ``WORDS_MAX`` words an entry and a
question.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from node.core.ipld.cid import Cid
from node.language.sentences import content_words
from node.language.tongue import naming

WORDS_MAX = 512
COMMON_ROWS = 2_000
"""A word that so many entries have finds nothing by itself; beside other words it counts."""

Partition = tuple[str, str | None]


class Keywords:
    """An inverted index in memory. One thread at a time."""

    def __init__(self) -> None:
        self._words: dict[Cid, frozenset[str]] = {}
        self._where: dict[Cid, Partition] = {}
        self._rows: dict[Partition, dict[str, set[Cid]]] = {}
        self._sizes: dict[Partition, int] = defaultdict(int)

    def __len__(self) -> int:
        return len(self._words)

    def __contains__(self, cid: Cid) -> bool:
        return cid in self._words

    @property
    def oldest(self) -> Cid:
        """The entry that was added first of those that are there. Raises ``StopIteration`` where none is."""
        return next(iter(self._words))

    def add(self, cid: Cid, text: str, *, scope: str, context: str | None) -> None:
        """Idempotent by CID."""
        if cid in self._words:
            return
        words = frozenset(content_words(text)[:WORDS_MAX])
        place = (scope, context)
        self._words[cid], self._where[cid] = words, place
        self._sizes[place] += 1
        rows = self._rows.setdefault(place, {})
        for word in words:
            rows.setdefault(word, set()).add(cid)

    def remove(self, cid: Cid) -> bool:
        words = self._words.pop(cid, None)
        if words is None:
            return False
        place = self._where.pop(cid)
        self._sizes[place] -= 1
        rows = self._rows[place]
        for word in words:
            rows[word].discard(cid)
            if not rows[word]:
                del rows[word]
        return True

    def weights(self, question: str, places: Sequence[Partition]) -> dict[str, float]:
        """The question's words with what each weighs among the entries of ``places``. Small words of other
        languages than English, which entries share with any question, weigh nothing."""
        entries = sum(self._sizes.get(place, 0) for place in places)
        weights = {}
        for word in list(dict.fromkeys(content_words(naming(question))))[:WORDS_MAX]:
            having = sum(len(self._rows.get(place, {}).get(word, ())) for place in places)
            weights[word] = math.log(1 + (entries - having + 0.5) / (having + 0.5))
        return weights

    def nearest(
        self,
        weights: Mapping[str, float],
        places: Sequence[Partition],
        k: int,
        *,
        without: Collection[Cid] = frozenset(),
    ) -> list[Cid]:
        """The ``k`` entries that cover most of the question, none of ``without``."""
        sums: dict[Cid, float] = defaultdict(float)
        for place in places:
            rows = self._rows.get(place, {})
            for word, weight in weights.items():
                having = rows.get(word, ())
                if len(having) <= COMMON_ROWS:
                    for cid in having:
                        if cid not in without:
                            sums[cid] += weight
        return heapq.nlargest(k, sums, key=lambda cid: (sums[cid], str(cid)))

    def coverage(self, weights: Mapping[str, float], cids: Iterable[Cid]) -> dict[Cid, float]:
        """The share in [0, 1] of the question's weight that each entry covers."""
        whole = sum(weights.values())
        if not whole:
            return dict.fromkeys(cids, 0.0)
        return {
            cid: sum(weight for word, weight in weights.items() if word in self._words.get(cid, ())) / whole
            for cid in cids
        }
