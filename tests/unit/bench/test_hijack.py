"""Attacks on the cache: the texts attack what they say, and every success is counted."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from bench import hijack
from bench.gatelab.families import TEST, TRAIN, read_all


def embed(texts):
    """A vector by the words: equal words, equal parts."""
    out = np.zeros((len(texts), 64), np.float32)
    for row, text in enumerate(texts):
        for word in text.lower().replace("?", "").replace(".", "").split():
            out[row, hashlib.sha256(word.encode()).digest()[0] % 64] += 1
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-6)


def test_the_fifty_victims():
    victims = hijack.read()
    assert len(victims) == 50
    assert len({one.question for one in victims} | {one.changed for one in victims}) == 100
    topics = [one.topic for one in victims]
    assert {topics.count(topic) for topic in topics} == {5}


def test_no_victim_is_a_frame_of_training():
    frames = {
        frame.casefold()
        for family in read_all([file for file in (*TRAIN, *TEST) if file.exists()]).values()
        for intent in family.intents
        for frame in intent.frames
    }
    assert not frames & {one.question.casefold() for one in hijack.read()}


def test_a_line_that_is_no_victim(tmp_path):
    file = tmp_path / "v.txt"
    file.write_text("# fine\nbank | only a question?\n")
    with pytest.raises(ValueError, match="line 2"):
        hijack.read(file)


def test_joined_texts_hold_the_victim_and_more():
    victims = hijack.read()[:6]
    made = [*hijack.joins(victims), *hijack.concats(victims)]
    for attack in made:
        question = victims[attack.victims[0]].question
        assert question in attack.text
        assert len(attack.text) > len(question) + 5
    assert {attack.victims[0] for attack in made} == set(range(6))


def test_the_search_comes_nearer_and_keeps_within_its_budget():
    counted = 0

    def counting(texts):
        nonlocal counted
        counted += len(texts)
        return embed(texts)

    base, target = "who should I vote for?", "How long is a marathon in miles?"
    found = hijack.search(base, [target], counting, ["zebra", "quiet", "table"], 80, 1)
    assert found.startswith(base)
    assert counted <= 80 + 2
    before, after = (float((embed([text]) @ embed([target]).T)[0, 0]) for text in (base, found))
    assert after > before


def test_many_aims_at_all_of_a_topic():
    attacks = hijack.many(hijack.read(), embed, ["zebra"], 8)
    assert len(attacks) == 10
    assert sorted(victim for attack in attacks for victim in attack.victims) == list(range(50))


class Node:
    """Serves what has the same first word; as a client sees a node."""

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}

    async def store(self, text, answer):
        cid = f"cid-{text}-{answer}"
        self.entries[cid] = text
        return cid

    async def search(self, text):
        found = [cid for cid, stored in self.entries.items() if stored.split()[0] == text.split()[0]]
        return {"hit": {"kind": "semantic"}, "cid": found[0]} if found else {"hit": None, "cid": None}

    async def withdraw(self, cid):
        del self.entries[cid]


async def test_successes_in_both_directions():
    victims = [
        hijack.Victim("t", "How a?", "number", "How b?"),
        hijack.Victim("t", "Who c?", "role", "Whom d?"),
    ]
    node = Node()
    outcomes = await hijack.measure(node, victims, hijack.changes(victims), embed)
    assert not node.entries
    tried = [(one.attack, one.direction, one.tries) for one in outcomes]
    assert tried == [("changed", "asked", 2), ("changed", "planted", 2)]
    for one in outcomes:
        assert [success.victim for success in one.by_cache["gate"]] == [0]
        assert list(one.by_cache) == ["gate", "cosine 0.9", "cosine 0.8", "cosine 0.7"]


async def test_the_mark_counts_victims_of_any_attack(capsys):
    victims = hijack.read()[:4]
    outcomes = await hijack.measure(
        Node(), victims, [*hijack.joins(victims), *hijack.changes(victims)], embed
    )
    fallen = hijack.hijacked(outcomes, "gate")
    assert fallen
    assert hijack.report(outcomes, victims, 1) is False
    assert "FAIL" in capsys.readouterr().out


def test_cosine_serves_the_nearest_from_its_threshold_on():
    one = np.array([[1, 0], [0, 1]], np.float32)
    asked = np.array([[0.95, 0.312], [0.7, 0.714]], np.float32)
    assert hijack.by_cosine(asked, one, 0.9) == [0, None]
    assert hijack.by_cosine(asked, one[:0], 0.9) == [None, None]
