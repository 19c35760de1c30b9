"""What this node has, as tools: passages of documents, and stored answers of people and exact sources.

Both see what the turn's caller may see and nothing else. What is long is narrowed to the sentences that speak
to the search."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from node.agent.tools import Ran, Tool, text_parameters
from node.answer import extractive
from node.answer.evidence.entries import StoredEvidence
from node.core.caller import Caller
from node.core.errors import Unavailable
from node.core.model import Citation, Evidence, Freshness, Query, SourceRef
from node.core.ports import Semantics
from node.core.tools import Offered
from node.pipeline import replies

PASSAGES = 4
NEAREST = 3
KEEP_WHOLE_CHARS = 500
SENTENCES_MAX = 6
_CONFIDENCE = 0.9

Find = Callable[[str, int, str | None, Caller], Awaitable[Mapping[str, Any]]]
"""``POST /v1/passages``: the query, how many, by which profile, and who asks."""
_QUERY = "a question or words to look for"


@dataclass(frozen=True, slots=True)
class Passages:
    """The port of ``POST /v1/passages``."""

    find: Find

    async def run(self, given: Mapping[str, Any], query: Query) -> Ran:
        wanted = given["query"]
        found = await self.find(wanted, PASSAGES, None, query.caller)
        evidence = [self._evidence(wanted, one, place) for place, one in enumerate(found["passages"])]
        evidence = [one for one in evidence if one.text]
        against = "; ".join(" and ".join(one["between"]) for one in found["contradictions"])
        if against and evidence:
            evidence[0] = replace(evidence[0], note=f"known to disagree: {against}")
        if not evidence:
            return Ran("missed", said="no document here speaks to this")
        return Ran("found", tuple(evidence))

    @staticmethod
    def _evidence(wanted: str, passage: Mapping[str, Any], place: int) -> Evidence:
        text, _, _ = extractive.narrow(
            wanted, passage["text"], keep_whole_chars=KEEP_WHOLE_CHARS, top=SENTENCES_MAX
        )
        text = text or passage["text"][:KEEP_WHOLE_CHARS]
        modified = datetime.fromisoformat(passage["last_modified"])
        where = [*passage["heading"]] if passage["page"] is None else [f"page {passage['page']}"]
        citation = Citation(
            passage["source"],
            " > ".join(where),
            text[:240],
            None,
            modified,
            passage["cid"],
            passage["status"],
        )
        return Evidence(
            text=text,
            source=SourceRef("documents", passage["source"], time=modified),
            confidence=_CONFIDENCE - place / 1_000,  # the best first, whatever is packed later
            freshness=Freshness.GENERAL,
            partial=True,
            citations=(citation,),
        )


@dataclass(frozen=True, slots=True)
class StoredAnswers:
    """Stored entries that are about a question, with how their own questions differ from it."""

    retriever: StoredEvidence
    semantics: Semantics

    async def run(self, given: Mapping[str, Any], query: Query) -> Ran:
        wanted = given["query"]
        try:
            [vector] = await self.semantics.embed([wanted])
        except Unavailable:
            vector = None
        found = await self.retriever.retrieve(
            wanted, vector, scopes=query.caller.visible_scopes, context=None, k=NEAREST
        )
        evidence = [replies.as_evidence(one, wanted) for one in replies.few_of_each_peer(found)]
        if not evidence:
            return Ran("missed", said="nothing that is stored here is about this")
        return Ran("found", tuple(evidence))


def search_tools(find: Find, retriever: StoredEvidence, semantics: Semantics) -> list[Tool]:
    """``search_documents`` and ``search_cache``."""
    documents = Offered(
        "search_documents",
        "passages of the documents that were given to this node: handbooks, minutes, lists, rules",
        text_parameters(query=_QUERY),
    )
    stored = Offered(
        "search_cache",
        "answers and notes that are stored in this node",
        text_parameters(query=_QUERY),
    )
    return [
        Tool(documents, Passages(find).run, "documents"),
        Tool(stored, StoredAnswers(retriever, semantics).run, "cache"),
    ]
