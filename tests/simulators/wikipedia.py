"""A stand-in for Wikipedia's action API: pages, redirects, disambiguation and search on loopback.

The wire format follows the site's documentation (``format=json&formatversion=2``); the articles are the
tests' own words. Titles are case-sensitive after the first letter, as on the site.

By hand: ``python -m tests.simulators.wikipedia --port 0``.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.vendor import Answered, Seen, VendorStandIn, by_hand


@dataclass(slots=True)
class StandInPage:
    """An article; ``links`` are what a disambiguation page lists."""

    title: str
    extract: str
    links: list[str] = field(default_factory=list)
    disambiguation: bool = False
    namespace: int = 0
    revised: str = "2026-05-01T12:30:00Z"


ADA = (
    "Augusta Ada King, Countess of Lovelace (née Byron; 10 December 1815 – 27 November 1852), was a made-up"
    " entry about an English mathematician. She wrote notes on the Analytical Engine. "
)
TURING = "Alan Mathison Turing () was an English mathematician. He lived in the U.K. for long."
MERCURIES = [
    *("Freddie Mercury", "Hermes", "Mercury (disambiguation)", "Mercury (element)", "Mercury (mythology)"),
    *("Mercury (planet)", "Project Mercury"),
]


def _pages() -> list[StandInPage]:
    one = StandInPage
    return [
        one("Ada Lovelace", ADA + "More is known. " * 60),
        one("Alan Turing", TURING),
        one("Photosynthesis", "The process called photosynthesis turns light into sugar. Plants do it."),
        one("Eiffel Tower", "The Eiffel Tower is a tower in Paris.\nIt is made of iron."),
        one("InterPlanetary File System", "The InterPlanetary File System (IPFS) is a protocol."),
        one("Ethernet", "Ethernet is a family of networks."),
        one("Beyoncé", "Beyoncé is a singer."),
        one("IPhone 4S", "The iPhone 4S is a telephone."),
        one("Empty", ""),
        one("Help:Contents", "This page helps.", namespace=12),
        one("Mercury", "Mercury most commonly refers to:", MERCURIES, disambiguation=True),
    ]


class WikipediaStandIn(VendorStandIn):
    """The site. ``pages`` and ``redirects`` (from title to title, "#" before a section) may be changed."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.pages = {page.title: page for page in _pages()}
        self.redirects = {
            "Ada lovelace": "Ada Lovelace",
            "IPFS": "InterPlanetary File System",
            "Ethernet cable": "Ethernet#Cables",
            "Ring one": "Ring two",
            "Ring two": "Ring one",
        }

    def answer(self, asked: Seen) -> Answered:
        if asked.path != "/w/api.php" or asked.query.get("formatversion") != "2":
            return Answered({"error": {"code": "badformat", "info": "not this stand-in's"}})
        if asked.query.get("list") == "search":
            return Answered({"batchcomplete": True, "query": {"search": self._hits(asked.query["srsearch"])}})
        titles = asked.query["titles"].split("|")
        query: dict[str, Any] = {}
        normalized: list[dict[str, Any]] = []
        redirects: list[dict[str, Any]] = []
        found: dict[str, dict[str, Any]] = {}
        for title in titles:
            at = title
            plain = title.replace("_", " ").strip()
            plain = plain[:1].upper() + plain[1:]
            if plain != title:
                normalized.append({"fromencoded": False, "from": title, "to": plain})
                at = plain
            if "redirects" in asked.query:
                for _ in range(2):
                    if at not in self.redirects:
                        break
                    target, _, section = self.redirects[at].partition("#")
                    row = {"from": at, "to": target}
                    redirects.append({**row, "tofragment": section} if section else row)
                    at = target
            found[at] = self._page(at, asked.query["prop"])
        if normalized:
            query["normalized"] = normalized
        if redirects:
            query["redirects"] = redirects
        query["pages"] = list(found.values())
        return Answered({"batchcomplete": True, "query": query})

    def _page(self, title: str, prop: str) -> dict[str, Any]:
        page = self.pages.get(title)
        if page is None:
            return {"ns": 0, "title": title, "missing": True}
        number = 1_000 + list(self.pages).index(title)
        row: dict[str, Any] = {"pageid": number, "ns": page.namespace, "title": title}
        if "links" in prop:
            row["links"] = [{"ns": 0, "title": link} for link in page.links]
            return row
        row["extract"] = page.extract
        row["revisions"] = [{"revid": number * 7, "parentid": number, "timestamp": page.revised}]
        if page.disambiguation:
            row["pageprops"] = {"disambiguation": ""}
        return row

    def _hits(self, words: str) -> list[dict[str, Any]]:
        wanted = _plain(words).split()
        hits = [
            {"ns": 0, "title": title, "pageid": at}
            for at, title in enumerate(self.pages, start=1_000)
            if any(word in _plain(title) for word in wanted)
        ]
        hits += [
            {"ns": 0, "title": to.partition("#")[0], "redirecttitle": source, "pageid": 1}
            for source, to in self.redirects.items()
            if all(word in _plain(source) for word in wanted)
        ]
        return hits[:5]


def _plain(title: str) -> str:
    """As the site's search compares: without case and accents."""
    return "".join(char for char in unicodedata.normalize("NFD", title.lower()) if char.isascii())


if __name__ == "__main__":
    by_hand(WikipediaStandIn)
