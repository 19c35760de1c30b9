"""Stand-ins for publishers of feeds: RSS 2.0, Atom and RDF on loopback with validators, bent at will.

Wire formats follow the recorded feeds; stories are the tests' own.

    async with FeedStandIn() as feeds:
        feeds.publish("/rss.xml", "Wire One", [Story("Rates held", minutes_ago=5)])
        ...  # read feeds.url + "/rss.xml"

By hand: ``python -m tests.simulators.feeds --port 0``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from xml.sax.saxutils import escape

from tests.simulators.vendor import Answered, Seen, VendorStandIn, by_hand

NOW = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Story:
    """One entry. ``time`` None for an entry without a date; ``link`` and ``id`` empty for none."""

    title: str
    minutes_ago: int | None = 60
    link: str = "auto"
    id: str = "auto"
    summary: str = ""

    @property
    def time(self) -> datetime | None:
        return None if self.minutes_ago is None else NOW - timedelta(minutes=self.minutes_ago)

    @property
    def address(self) -> str:
        if self.link != "auto":
            return self.link
        return f"https://wire.example/{hashlib.sha256(self.title.encode()).hexdigest()[:8]}"


def rss(title: str, stories: Sequence[Story]) -> bytes:
    """RSS 2.0."""
    items = []
    for story in stories:
        parts = [f"<title>{escape(story.title)}</title>"]
        if story.address:
            parts.append(f"<link>{escape(story.address)}</link>")
        if story.id:
            parts.append(f"<guid>{escape(story.address if story.id == 'auto' else story.id)}</guid>")
        if story.time is not None:
            parts.append(f"<pubDate>{format_datetime(story.time, usegmt=True)}</pubDate>")
        parts.append(f"<description>{escape(story.summary)}</description>")
        items.append(f"<item>{''.join(parts)}</item>")
    return (
        '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel>'
        f"<title>{escape(title)}</title><link>https://wire.example/</link>{''.join(items)}</channel></rss>"
    ).encode()


def atom(title: str, stories: Sequence[Story]) -> bytes:
    """Atom 1.0."""
    entries = "".join(
        f"<entry><id>tag:wire.example,2026:{escape(story.title)}</id><title>{escape(story.title)}</title>"
        f'<link href="{escape(story.address)}"/>'
        + (f"<updated>{story.time.isoformat()}</updated>" if story.time else "")
        + f'<summary type="html">{escape(story.summary)}</summary></entry>'
        for story in stories
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">'
        f"<title>{escape(title)}</title>{entries}</feed>"
    ).encode()


def rdf(title: str, stories: Sequence[Story]) -> bytes:
    """RSS 1.0; its entries stand beside the channel and have neither id nor date."""
    items = "".join(
        f"<item><title>{escape(story.title)}</title><link>{escape(story.address)}</link></item>"
        for story in stories
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
        f"<channel><title>{escape(title)}</title></channel>{items}</rdf:RDF>"
    ).encode()


class FeedStandIn(VendorStandIn):
    """Documents by path. A request with the document's ETag gets 304."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.documents: dict[str, tuple[bytes, str]] = {}

    def publish(self, path: str, title: str, stories: Sequence[Story]) -> None:
        """An RSS 2.0 feed at ``path``."""
        self.put(path, rss(title, stories))

    def put(self, path: str, document: bytes, content_type: str = "application/rss+xml") -> None:
        """Any document at ``path``."""
        self.documents[path] = (document, content_type)

    def answer(self, asked: Seen) -> Answered:
        found = self.documents.get(asked.path)
        if found is None:
            return Answered(b"", 404, content_type="text/plain")
        document, content_type = found
        etag = f'"{hashlib.sha256(document).hexdigest()[:16]}"'
        headers = {"ETag": etag, "Last-Modified": format_datetime(NOW, usegmt=True)}
        if asked.headers.get("If-None-Match") == etag:
            return Answered(b"", 304, headers, content_type)
        return Answered(document, 200, headers, content_type)


def _published(port: int) -> FeedStandIn:
    stand_in = FeedStandIn(port)
    stand_in.publish("/rss.xml", "Wire One", [Story("Rates held"), Story("Rivers rise", 90)])
    return stand_in


if __name__ == "__main__":
    by_hand(_published)
