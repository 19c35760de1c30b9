"""A stand-in for the search API of Hacker News: Algolia's wire format on loopback, bent at will.

By hand: ``python -m tests.simulators.hacker_news --port 0``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.simulators.feeds import NOW
from tests.simulators.vendor import Answered, Seen, VendorStandIn, by_hand


@dataclass(slots=True)
class HackerStory:
    """One story; ``url`` None as for "Ask HN"."""

    number: int
    title: str
    url: str | None
    minutes_ago: int = 60
    front: bool = True

    @property
    def seconds(self) -> int:
        return int(NOW.timestamp()) - 60 * self.minutes_ago

    def hit(self) -> dict[str, Any]:
        return {
            "objectID": str(self.number),
            "created_at": datetime.fromtimestamp(self.seconds, UTC).isoformat().replace("+00:00", "Z"),
            "created_at_i": self.seconds, "title": self.title, "url": self.url, "author": "somebody",
            "points": 100, "num_comments": 10, "story_text": None,
            "_tags": ["story", "author_somebody", f"story_{self.number}"],
        }  # fmt: skip


class HackerNewsStandIn(VendorStandIn):
    """The server. ``stories`` may be changed by tests."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.stories = [
            HackerStory(101, "A new kernel scheduler", "https://kernel.example/scheduler?utm_source=hn", 30),
            HackerStory(102, "Ask HN: How do you read the news?", None, 45),
            HackerStory(103, "OpenAI and Tesla publish a model", "https://model.example/", 120),
            HackerStory(104, "Bitcoin nodes in Rust", "https://nodes.example/", 60 * 24 * 3, front=False),
        ]

    def answer(self, asked: Seen) -> Answered:
        if asked.path not in ("/api/v1/search", "/api/v1/search_by_date"):
            return Answered({"message": "Not found", "status": 404}, 404)
        query = asked.query.get("query", "").lower()
        found = [
            story
            for story in self.stories
            if all(word in story.title.lower() for word in query.split())
            and (asked.query.get("tags") != "front_page" or story.front)
            and all(
                self._passes(story, one) for one in asked.query.get("numericFilters", "").split(",") if one
            )
        ]
        most = int(asked.query.get("hitsPerPage", "20"))
        return Answered(
            {
                "hits": [story.hit() for story in found[:most]], "nbHits": len(found), "page": 0,
                "nbPages": 1, "hitsPerPage": most, "processingTimeMS": 3, "query": query,
            }
        )  # fmt: skip

    @staticmethod
    def _passes(story: HackerStory, one: str) -> bool:
        match = re.fullmatch(r"created_at_i([<>])(\d+)", one)
        assert match is not None, one
        limit = int(match[2])
        return story.seconds < limit if match[1] == "<" else story.seconds > limit


if __name__ == "__main__":
    by_hand(HackerNewsStandIn)
