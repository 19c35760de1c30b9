"""Words to entries: the rare ones weigh, partitions are apart, what is removed is gone."""

from __future__ import annotations

from node.answer.evidence.keywords import COMMON_ROWS, Keywords
from node.core.ipld.cid import Cid
from node.core.record import block_of
from tests.record_builders import Author

US = Author(1)
PUBLIC = ("public", None)


def cid(number: int) -> Cid:
    return block_of(US.answer(f"question {number}"))[0]


def kept(*texts: str) -> tuple[Keywords, list[Cid]]:
    keywords, cids = Keywords(), [cid(number) for number in range(len(texts))]
    for one, text in zip(cids, texts, strict=True):
        keywords.add(one, text, scope="public", context=None)
    return keywords, cids


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    keywords, _ = kept("boat paint", "boat motor", "boat harbour")
    weights = keywords.weights("paint for the boat", [PUBLIC])
    assert weights["paint"] > weights["boat"] > 0


def test_the_entry_with_the_rare_word_comes_first_and_covers_more() -> None:
    keywords, cids = kept("boat motor", "boat paint", "tide tables")
    weights = keywords.weights("boat paint", [PUBLIC])
    assert keywords.nearest(weights, [PUBLIC], 5) == [cids[1], cids[0]]
    assert keywords.nearest(weights, [PUBLIC], 1) == [cids[1]]
    covered = keywords.coverage(weights, cids)
    assert covered[cids[1]] == 1.0
    assert 0 < covered[cids[0]] < 0.5
    assert covered[cids[2]] == 0.0


def test_entries_that_are_to_be_left_out_are_not_among_the_nearest() -> None:
    keywords, cids = kept("boat paint", "boat paint and brushes")
    weights = keywords.weights("boat paint", [PUBLIC])
    assert keywords.nearest(weights, [PUBLIC], 1, without={cids[0]}) == [cids[1]]


def test_other_partitions_are_neither_found_nor_counted() -> None:
    keywords, _ = kept("boat paint")
    before = keywords.weights("boat", [PUBLIC])
    keywords.add(cid(9), "boat boat", scope="private:somebody", context=None)
    assert keywords.weights("boat", [PUBLIC]) == before
    assert cid(9) not in keywords.nearest(before, [PUBLIC], 5)


def test_a_word_that_very_many_entries_have_finds_nothing_by_itself() -> None:
    # The same word in one more entry than may be looked through.
    keywords = Keywords()
    some = [Cid.of(str(number).encode()) for number in range(COMMON_ROWS + 1)]
    for one in some:
        keywords.add(one, "boat", scope="public", context=None)
    weights = keywords.weights("boat", [PUBLIC])
    assert keywords.nearest(weights, [PUBLIC], 5) == []
    keywords.remove(some[0])
    assert len(keywords.nearest(weights, [PUBLIC], 5)) == 5


def test_what_is_removed_is_gone_and_adding_twice_is_adding_once() -> None:
    keywords, [one] = kept("boat paint")
    keywords.add(one, "other words", scope="public", context=None)
    assert len(keywords) == 1
    assert keywords.remove(one)
    assert not keywords.remove(one)
    assert one not in keywords
    weights = keywords.weights("boat paint", [PUBLIC])
    assert keywords.nearest(weights, [PUBLIC], 5) == []


def test_a_question_without_content_words_covers_nothing() -> None:
    keywords, cids = kept("boat paint")
    assert keywords.coverage({}, cids) == {cids[0]: 0.0}


def test_small_words_of_the_question_s_language_cover_nothing() -> None:
    keywords, cids = kept(
        "Qui s'occupe du jardin ? Son numéro est le 04 78 11 22.", "Le parking est derrière."
    )
    weights = keywords.weights("où est le parking", [PUBLIC])
    assert keywords.coverage(weights, cids) == {cids[0]: 0.0, cids[1]: 1.0}
    assert keywords.weights("ist das so", [PUBLIC])  # a question of nothing else keeps them
