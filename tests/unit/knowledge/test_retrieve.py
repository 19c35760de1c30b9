from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from node.core.errors import Unavailable
from node.knowledge.model import Chunk, Document, Passage
from node.knowledge.profiles import Floor, profile
from node.knowledge.retrieve import Found, Search, _is_near, retrieve
from node.models.embedders.none import NoEmbedder
from tests.corpus_memory import MemoryCorpus, document

SCOPES = ("shared",)
NONE = NoEmbedder("for the test")


class WordVectors:
    """Two texts are as near as the share of hashed words that they have in common."""

    info = replace(NONE.info, model="words", dim=512)
    sample = None

    async def embed(self, texts: Sequence[str]) -> list[np.ndarray | None]:
        return [_vector(text) for text in texts]


def _vector(text: str) -> np.ndarray:
    vector = np.full(512, 1e-3, np.float32)
    for word in text.lower().replace("?", "").replace(".", "").split():
        vector[sum(map(ord, word)) * 31 % 512] += 1
    return vector / np.linalg.norm(vector)


async def searched(texts: dict[Document, str], **fields: object) -> Search:
    corpus = MemoryCorpus.of(texts)
    embedder = WordVectors()
    await corpus.embed(embedder)
    return Search(**{"corpus": corpus, "embedder": embedder, **fields})


def paths(found: Sequence[Passage]) -> list[str]:
    return [one.document.path for one in found]


OLD = document(1, "guests_2021.md", status="superseded", effective=date(2021, 1, 1))
NEW = document(2, "guests.md", supersedes=("guests_2021.md",), effective=date(2024, 1, 1))
OTHER = document(3, "boats.md")
TEXTS = {
    OLD: "# Guests\nOvernight guests may stay three nights in a month.",
    NEW: "# Visitors\nWhoever comes from outside sleeps here for up to seven nights.",
    OTHER: "# Boats\nThe two boats lie at the jetty from April to October.",
}


async def test_what_was_superseded_stands_below_what_supersedes_it_even_where_that_was_not_found() -> None:
    question = "How long may overnight guests stay in a month?"
    narrow = replace(profile(), keyword=1, dense=1)
    found = await retrieve(question, SCOPES, await searched(TEXTS, profile=narrow), limit=2)
    assert paths(found) == ["guests.md", "guests_2021.md"]
    assert dict(found[0].parts)["supersedes"] == 1.0


async def test_one_limit_leaves_the_newest() -> None:
    found = await retrieve("May overnight guests stay?", SCOPES, await searched(TEXTS), limit=1)
    assert paths(found) == ["guests.md"]


async def test_a_rival_comes_beside() -> None:
    rival = replace(OTHER, conflict_with=("guests.md",))
    texts = {NEW: TEXTS[NEW], rival: TEXTS[OTHER], document(4, "fish.md"): "Fish is sold on Friday."}
    narrow = replace(profile(), keyword=1, dense=1)
    question = "for up to how many nights sleeps who comes from outside?"
    found = await retrieve(question, SCOPES, await searched(texts, profile=narrow))
    assert paths(found)[:2] == ["guests.md", "boats.md"]


async def test_a_later_date_comes_first_among_texts_of_one_thing_and_not_among_others() -> None:
    text = "The quiet hours of the house begin at {} in the evening on every day of the week."
    early = document(1, "a.md", effective=date(2020, 5, 1))
    late = document(2, "b.md", effective=date(2023, 5, 1))
    far = document(3, "c.md", effective=date(2025, 5, 1))
    texts = {early: text.format("ten"), late: text.format("eleven"), far: "The house is of 1912."}
    found = await retrieve("quiet hours begin at ten in the evening", SCOPES, await searched(texts))
    assert paths(found) == ["b.md", "a.md", "c.md"]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


async def test_a_draft_that_is_newer_and_a_rival_that_holds() -> None:
    text = "The quiet hours of the house begin at {} in the evening on every day of the week."
    draft = document(1, "draft.md", status="draft", effective=date(2026, 1, 1))
    current = document(2, "current.md", effective=date(2023, 1, 1))
    texts = {draft: text.format("ten"), current: text.format("eleven")}
    assert paths(await retrieve("begin at ten in the evening", SCOPES, await searched(texts))) == [
        "current.md",
        "draft.md",
    ]
    early = document(1, "a.md", effective=date(2020, 1, 1), conflict_with=("b.md",))
    late = document(2, "b.md", effective=date(2021, 1, 1))
    texts = {early: "Boats lie at the jetty in June.", late: "No ship moors here."}
    assert paths(await retrieve("where do boats lie in June", SCOPES, await searched(texts)))[0] == "b.md"


@pytest.mark.parametrize("circle", [("b.md",), ("a.md",)])
async def test_a_circle_of_successors_ends(circle: tuple[str, ...]) -> None:
    one, other = document(1, "a.md", supersedes=("b.md",)), document(2, "b.md", supersedes=circle)
    texts = {one: "Boats lie at the jetty.", other: "Boats lie in the shed."}
    assert len(await retrieve("where do boats lie", SCOPES, await searched(texts))) == 2


async def test_legacy_and_draft_stand_lower_and_stay_to_be_found() -> None:
    texts = {
        document(n, f"{status}.md", status=status): "Boats lie at the jetty."
        for n, status in enumerate(("legacy", "draft", "current"), 1)
    }
    found = await retrieve("where do boats lie", SCOPES, await searched(texts))
    assert paths(found) == ["current.md", "draft.md", "legacy.md"]


async def test_without_an_embedder_words_find() -> None:
    search = await searched(TEXTS, embedder=NONE)
    found = await retrieve("How long may overnight guests stay?", SCOPES, search)
    assert "guests_2021.md" in paths(found)
    assert "jaccard" not in dict(found[-1].parts)
    forced = replace(await searched(TEXTS), no_embedder=True)
    assert paths(await retrieve("How long may overnight guests stay?", SCOPES, forced)) == paths(found)
    named = replace(await searched(TEXTS, embedder=NONE), profile=profile("jaccard"))
    [*_, last] = await retrieve("How long may overnight guests stay?", SCOPES, named)
    assert "jaccard" in dict(last.parts)


async def test_below_the_floor_nothing_is_used() -> None:
    assert await retrieve("Who won the cup final?", SCOPES, await searched(TEXTS)) == []
    assert await retrieve("   ", SCOPES, await searched(TEXTS, embedder=NONE)) == []
    assert await retrieve("boats", SCOPES, await searched({OLD: ""})) == []


async def test_stretched_cosines_have_a_floor_of_their_own() -> None:
    """Texts in another language share no word and are near only a little."""
    found = [Found(Chunk(1, 1, 0, "x", (), 0, 1, None), 0.2, {"cosine": 0.2, "coverage": 0.0})]
    plain = await searched(TEXTS)
    assert not _is_near(found, profile("linear"), plain)
    assert _is_near(found, profile("linear"), replace(plain, cosines=(0.6, 0.9)))
    far = [replace(found[0], parts={"cosine": 0.0, "coverage": 0.0})]
    assert not _is_near(far, profile("linear"), replace(plain, cosines=(0.6, 0.9)))


async def test_the_linear_profile_adds_cosine_and_coverage() -> None:
    search = await searched(TEXTS, profile=profile("linear"))
    [first, *_] = await retrieve("where do the two boats lie", SCOPES, search)
    parts = dict(first.parts)
    assert parts["coverage"] == 1.0
    assert first.score == pytest.approx(0.9 * parts["cosine"] + 0.1)


async def test_other_scopes_are_not_seen() -> None:
    hidden = replace(OTHER, scope="private:ann")
    search = await searched({OLD: TEXTS[OLD], hidden: TEXTS[OTHER]})
    assert "boats.md" not in paths(await retrieve("where do the two boats lie?", SCOPES, search))
    both = await retrieve("where do the two boats lie?", (*SCOPES, "private:ann"), search)
    assert paths(both)[0] == "boats.md"


async def test_chunks_near_the_best_are_joined_with_their_neighbours() -> None:
    parts = [
        "Keys hang at the door.",
        "Boats lie at the jetty in June.",
        "Oars lie in the shed.",
        "Cats sleep.",
    ]
    texts = {OTHER: "\n".join(f"# Part {n}\n{text}\n" for n, text in enumerate(parts))}
    search = await searched(texts, profile=replace(profile(), keyword=1, dense=1))
    [found] = await retrieve("When do boats lie at the jetty in June?", SCOPES, search)
    assert [chunk.ordinal for chunk in found.chunks] == [0, 1, 2]


class BoatsFirst:
    async def score(self, question: str, notes: Sequence[str]) -> list[float]:
        return [float("boats" in note) for note in notes]

    async def close(self) -> None: ...


class Broken(BoatsFirst):
    async def score(self, question: str, notes: Sequence[str]) -> list[float]:
        raise Unavailable("for the test")


async def test_a_reranker_sorts_and_drops_nothing_and_is_off_by_default() -> None:
    question = "overnight guests boats jetty nights outside sleeps"
    plain = await searched(TEXTS)
    assert plain.reader is None
    before = paths(await retrieve(question, SCOPES, plain))
    after = paths(await retrieve(question, SCOPES, replace(plain, reader=BoatsFirst())))
    assert set(after) == set(before)
    assert before[0] != after[0] == "boats.md"
    assert after.index("guests.md") < after.index("guests_2021.md")
    assert paths(await retrieve(question, SCOPES, replace(plain, reader=Broken()))) == before


async def test_the_file_profile_weighs_tags_and_gives_each_file_once() -> None:
    freeze = document(4, "release.md", tags=("deploy-process",))
    texts = {**TEXTS, freeze: "# Calendar\nNothing goes out in the last week of a quarter."}
    search = await searched(texts, profile=replace(profile("file"), floor=Floor(0.0, 0.0)))
    found = await retrieve("code freeze in which week", SCOPES, search)
    assert paths(found)[0] == "release.md"
    assert dict(found[0].parts)["tags"] == 1.0
    assert len(set(paths(found))) == len(found)


async def test_token_vectors_score_anew_and_may_be_away() -> None:
    class Tokens:
        async def tokens(self, texts: Sequence[str]) -> list[np.ndarray]:
            return [np.array([_vector(word) for word in text.split()], np.float32) for text in texts]

    class Away(Tokens):
        async def tokens(self, texts: Sequence[str]) -> list[np.ndarray]:
            raise Unavailable("for the test")

    search = await searched(TEXTS, profile=profile("maxsim"), tokens=Tokens())
    [first, *_] = await retrieve("the two boats lie at the jetty", SCOPES, search)
    assert first.document.path == "boats.md"
    assert dict(first.parts)["maxsim"] > 25
    again = await retrieve("the two boats lie at the jetty", SCOPES, replace(search, tokens=Away()))
    assert again[0].document.path == "boats.md"


def test_a_listed_document_that_is_not_there_is_named_by_its_title_or_file() -> None:
    from node.knowledge.shelf import Shelf

    ghost = document(1, "guides/api_versioning_guide.md", title="", status="missing")
    shelf = Shelf([ghost, NEW])
    assert shelf.missing_named("What does the API versioning guide say?") == [ghost]
    assert shelf.missing_named("What does the API say about rate limits?") == []
    assert shelf.missing_named("How long do guests stay?") == []


def test_what_two_chunks_share_stands_once() -> None:
    text = "Boats lie at the jetty. Oars lie in the shed. Keys hang at the door."
    spans = ((0, 45), (24, len(text)))
    chunks = tuple(Chunk(n, 1, n, text[a:b], (), a, b) for n, (a, b) in enumerate(spans))
    assert Passage(OLD, chunks, 1.0, ()).text.replace("\n", "") == text
    cleaned = replace(chunks[1], text="Oars lie in the shed. Keys hang")
    assert Passage(OLD, (chunks[0], cleaned), 1.0, ()).text.endswith("Keys hang")


async def test_a_rival_stands_beside_each_document_that_was_found_however_far_down() -> None:
    texts = {document(number, f"{number}.md"): f"Boats lie at jetty {number}." for number in range(1, 8)}
    rival = document(99, "rival.md", conflict_with=("5.md",))
    narrow = replace(profile(), keyword=7, dense=7)
    search = await searched({**texts, rival: "Nothing of it is said here."}, profile=narrow)
    found = await retrieve("Where do the boats lie?", SCOPES, search, limit=9)
    order = paths(found)
    assert "5.md" in order
    assert order[order.index("5.md") + 1] == "rival.md"
    few = await retrieve("Where do the boats lie?", SCOPES, search, limit=5)
    assert ("5.md" in paths(few)) == ("rival.md" in paths(few)), "both, or neither"
    assert len(few) <= 5


async def test_behind_the_places_of_an_answer_each_document_stands_once() -> None:
    section = "\n\n".join(f"# Part {part}\nBoats lie at the jetty." for part in range(9))
    texts = {document(number, f"{number}.md"): section for number in range(1, 7)}
    rule = replace(profile(), joined_from=2.0)
    found = await retrieve("Where do the boats lie?", SCOPES, await searched(texts, profile=rule), limit=10)
    behind = paths(found)[rule.passages :]
    assert len(set(behind)) == len(behind)
    assert not set(behind) & set(paths(found)[: rule.passages])


async def test_an_embedder_whose_cosines_are_all_high_is_no_nearer() -> None:
    search = await searched(TEXTS)
    question = "where do the two boats lie"
    [plain, *_] = await retrieve(question, SCOPES, search)
    [scaled, *_] = await retrieve(question, SCOPES, replace(search, cosines=(0.5, 1.5)))
    assert dict(scaled.parts)["cosine"] == pytest.approx(dict(plain.parts)["cosine"] - 0.5)
