"""Reconciliation finds exactly the difference, in few messages, and no message does harm."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.core.errors import Rejected
from node.core.ipld.cid import encode_varint
from node.peers.rules import reconcile
from node.peers.rules.reconcile import (
    IDS_MAX,
    MESSAGE_BYTES_MAX,
    RANGES_MAX,
    ROUNDS_MAX,
    Client,
    Item,
    SortedSet,
    answer,
)
from node.peers.rules.sorted_set import Positions
from tests.each import each

QUESTION, ANSWER, END = b"\x71\x01", b"\x61\x01", b"\xff"
SKIP, PRINT, LIST = b"\x00", b"\x01", b"\x02"


def numbered(numbers: Iterable[int]) -> list[Item]:
    return [Item(1_700_000_000 + n // 5, hashlib.sha256(b"%d" % n).digest()) for n in numbers]


def ids(items: Iterable[Item]) -> set[bytes]:
    return {item.id for item in items}


@dataclass
class Talk:
    client: Client
    answers: int = 0
    bytes: int = 0


def talk(ours: SortedSet, theirs: SortedSet) -> Talk:
    """One whole reconciliation."""
    found = Talk(Client(ours))
    message: bytes | None = found.client.first()
    while message is not None:
        reply = answer(theirs, message)
        assert max(len(message), len(reply)) <= MESSAGE_BYTES_MAX
        found.answers += 1
        found.bytes += len(message) + len(reply)
        message = found.client.take(reply)
    return found


def _near(number: int) -> Item:
    """Items that lie close: few times, and ids that begin alike or end in zeros."""
    times = (0, 3, 4, 1_700_000_000, 2**63 - 1)
    name = bytes([number % 4, number // 4 % 4, number // 16 % 256])
    return Item(times[number % 5], name.rjust(32, b"\0") if number % 3 else name.ljust(32, b"\0"))


POOL = list({*map(_near, range(500)), *numbered(range(300))})
NUMBERS = st.integers(0, 2**32)


@given(st.sets(st.sampled_from(POOL), max_size=30), st.sets(st.sampled_from(POOL), max_size=30), NUMBERS)
def test_the_differences_are_those_of_the_sets(ours: set[Item], theirs: set[Item], seed: int) -> None:
    chance = random.Random(seed)
    both = chance.sample(POOL, chance.choice((0, 10, len(POOL) // 2, len(POOL))))
    here, there = {*both, *ours} - theirs, {*both, *theirs} - ours
    found = talk(SortedSet(here), SortedSet(there)).client
    assert found.missing == ids(there) - ids(here)
    assert found.extra == ids(here) - ids(there)


def test_equal_sets_cost_one_fingerprint() -> None:
    items = numbered(range(10_000))
    found = talk(SortedSet(items), SortedSet(items))
    assert found.answers == 1
    assert not found.client.missing | found.client.extra
    assert found.bytes <= 24


@pytest.mark.parametrize(
    ("ours", "theirs", "answers_max"),
    [
        (range(0), range(0), 7),
        (range(0), range(1), 7),
        (range(1), range(0), 7),
        (range(0), range(20_000), 7),
        (range(20_000), range(0), 7),
        (range(0, 20_000, 2), range(0, 20_000, 3), 19),
    ],
    ids=["nothing", "one", "one too many", "all", "all too many", "many scattered ones"],
)
def test_what_differs_is_found_in_few_messages(ours: range, theirs: range, answers_max: int) -> None:
    here, there = ids(numbered(ours)), ids(numbered(theirs))
    found = talk(SortedSet(numbered(ours)), SortedSet(numbered(theirs)))
    assert found.client.missing == there - here
    assert found.client.extra == here - there
    assert found.answers <= answers_max


def test_what_has_no_room_in_one_answer_comes_in_the_next_ones() -> None:
    there = numbered(range(100_000))
    found = talk(SortedSet(), SortedSet(there))
    assert found.client.missing == ids(there)
    assert 4 <= found.answers <= 5 + 32 * len(there) // MESSAGE_BYTES_MAX
    assert found.bytes < 1.02 * 32 * len(there)


def test_few_differences_cost_little_however_large_the_sets() -> None:
    items = numbered(range(50_000))
    newest = talk(SortedSet(items[:-10]), SortedSet(items))
    random_ones = random.Random(7).sample(items, 10)
    scattered = talk(SortedSet(set(items) - set(random_ones)), SortedSet(items))
    assert newest.client.missing == ids(items[-10:])
    assert scattered.client.missing == ids(random_ones)
    assert (newest.answers, scattered.answers) == (3, 3)
    assert newest.bytes < 3_000
    assert scattered.bytes < 12_000


def test_one_id_under_two_times_is_no_difference() -> None:
    ours = [*numbered(range(40)), Item(3, b"i" * 32)]
    theirs = [*numbered(range(1, 41)), Item(9, b"i" * 32)]
    found = talk(SortedSet(ours), SortedSet(theirs)).client
    assert found.missing == ids(numbered([40]))
    assert found.extra == ids(numbered([0]))


# --- hostile messages ---------------------------------------------------------------------------------------

SOME = SortedSet(numbered(range(300)))
BYTES = [bytes([one]) for one in b"\x00\x01\x02\x03\xff\x20\x21\x80"]
BITS = st.sampled_from([*BYTES, b"\x00\x01", b"p" * 16, b"i" * 32])


@given(st.binary(max_size=300) | st.lists(BITS, max_size=60).map(b"".join))
def test_no_bytes_do_more_than_be_refused(noise: bytes) -> None:
    for head in (QUESTION, ANSWER, b""):
        try:
            reply = answer(SOME, head + noise)
        except Rejected:
            continue
        assert reply.startswith(ANSWER)
        assert len(reply) <= MESSAGE_BYTES_MAX


@given(st.lists(BITS, max_size=60).map(b"".join))
def test_no_answer_does_more_than_be_refused(noise: bytes) -> None:
    client = Client(SOME)
    client.first()
    try:
        following = client.take(ANSWER + noise)
    except Rejected:
        return
    assert following is None or len(following) <= MESSAGE_BYTES_MAX


@given(st.integers(0, 2**32))
@settings(max_examples=60)
def test_a_changed_byte_in_an_honest_talk_is_refused_or_ends_too(seed: int) -> None:
    chance = random.Random(seed)
    client = Client(SortedSet(numbered(range(0, 400, 3))))
    message: bytes | None = client.first()
    for _ in range(50):
        if message is None:
            return
        reply = bytearray(answer(SOME, message))
        if chance.random() < 0.5:
            reply[chance.randrange(len(reply))] = chance.randrange(256)
        try:
            message = client.take(bytes(reply))
        except Rejected:
            return
    pytest.fail("the talk did not end")


MALFORMED = {
    "no head": b"",
    "an answer": ANSWER,
    "another version": b"\x71\x02",
    "a bound without a mode": QUESTION + END,
    "an unknown mode": QUESTION + END + b"\x03",
    "a cut fingerprint": QUESTION + END + PRINT + b"p" * 15,
    "a list in a question": QUESTION + END + LIST + b"\x01" + b"i" * 32,
    "a bound after the end": QUESTION + END + SKIP + END + SKIP,
    "a bound before the one before": QUESTION + b"\x01\x05\x09" + SKIP + b"\x01\x00\x08" + SKIP,
    "a bound twice": QUESTION + b"\x01\x05\x09" + SKIP + b"\x01\x00\x09" + SKIP,
    "a bound at the start": QUESTION + b"\x00\x00" + SKIP,
    "a prefix that is too long": QUESTION + b"\x21\x01" + b"i" * 33 + SKIP,
    "a prefix that is cut off": QUESTION + b"\x05\x01" + b"i",
    "a prefix that ends in zero": QUESTION + b"\x02\x01i\x00" + SKIP,
    "a varint that is not minimal": QUESTION + b"\x00\x81\x00" + SKIP,
    "a varint that is too long": QUESTION + b"\x00" + b"\xff" * 10 + SKIP,
    "a time past the last one": QUESTION + b"\x00" + encode_varint(2**63 - 1) + SKIP + b"\x00\x01" + SKIP,
    "too many bytes": QUESTION + bytes(MESSAGE_BYTES_MAX - 1),
    "too many ranges": QUESTION + (b"\x00\x01" + SKIP) * (RANGES_MAX + 1),
}


@each("message", MALFORMED.values())
def test_a_malformed_question_is_refused(message: bytes) -> None:
    with pytest.raises(Rejected):
        answer(SOME, message)


class Counting(SortedSet):
    """Counts what is asked of it."""

    sums = listed = 0

    def fingerprints(self, starts: Positions, ends: Positions) -> list[bytes]:
        self.sums += len(starts)
        return super().fingerprints(starts, ends)

    def ids(self, start: int, end: int) -> list[bytes]:
        self.listed += end - start
        return super().ids(start, end)


@pytest.mark.parametrize("mode", [PRINT + b"p" * 16, LIST], ids=["fingerprints", "lists"])
def test_the_longest_question_makes_the_server_do_bounded_work(mode: bytes) -> None:
    theirs = Counting(numbered(range(30_000)))
    hostile = (
        QUESTION + (b"\x00" + encode_varint(1_700_000_000) + SKIP) + (b"\x00\x01" + mode) * (RANGES_MAX - 1)
    )
    reply = answer(theirs, hostile)
    assert len(reply) <= MESSAGE_BYTES_MAX
    assert theirs.sums <= 2 * RANGES_MAX
    assert theirs.listed <= MESSAGE_BYTES_MAX // 32


def one_list_at_a_time(number: int) -> bytes:
    """Lists ever new ids, in a part of the order that is ever so small."""
    new = hashlib.sha256(b"lie %d" % number).digest()
    before = b"\x00" + encode_varint(number) + SKIP if number else b""
    return ANSWER + before + b"\x00\x01" + LIST + b"\x01" + new


def test_an_endless_answerer_is_left_after_a_bounded_number_of_answers() -> None:
    client = Client(SOME)
    assert client.first()
    for number in range(ROUNDS_MAX):
        assert client.take(one_list_at_a_time(number)) is not None
    with pytest.raises(Rejected, match=f"within {ROUNDS_MAX} answers"):
        client.take(one_list_at_a_time(ROUNDS_MAX))
    assert len(client.missing) == ROUNDS_MAX


def test_who_lists_too_many_ids_is_left() -> None:
    client = Client(SOME, ids_max=5)
    client.first()
    with pytest.raises(Rejected, match="more than 5 ids"):
        client.take(ANSWER + END + LIST + b"\x06" + b"".join(bytes([n]) * 32 for n in range(6)))
    assert IDS_MAX == 1_000_000


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (ANSWER, "answers nothing"),
        (ANSWER + END + LIST + b"\x02" + b"i" * 64, "malformed"),
        (ANSWER + END + LIST + encode_varint(2**62), "malformed"),
        (QUESTION + END + SKIP, "no message of reconciliation"),
    ],
    ids=["nothing", "an id twice", "a huge count", "a question"],
)
def test_an_answer_that_is_none_is_refused(reply: bytes, sentence: str) -> None:
    client = Client(SOME)
    client.first()
    with pytest.raises(Rejected, match=sentence):
        client.take(reply)


def test_where_a_list_was_asked_for_nothing_else_is_taken() -> None:
    def asking() -> Client:
        """Has been told that one range differs in which it has nothing."""
        client = Client(SortedSet())
        client.first()
        assert client.take(ANSWER + END + PRINT + b"p" * 16) == QUESTION + END + LIST
        return client

    for reply in (ANSWER + END + SKIP, ANSWER + END + PRINT + b"p" * 16):
        with pytest.raises(Rejected, match="no list where one was asked for"):
            asking().take(reply)
    assert asking().take(ANSWER + END + LIST + b"\x00") is None


def test_what_was_not_asked_is_not_answered() -> None:
    client = Client(SOME)
    client.first()
    whole = SOME.fingerprints(np.array([0]), np.array([300]))[0]
    middle = b"\x00" + encode_varint(1_700_000_030)
    following = client.take(ANSWER + middle + PRINT + b"p" * 16 + END + SKIP)
    assert following is not None
    assert END not in following[-1:]
    with pytest.raises(Rejected, match="not asked"):
        client.take(ANSWER + END + PRINT + whole)


def test_a_settled_client_takes_no_more() -> None:
    client = Client(SOME)
    assert client.take(answer(SOME, client.first())) is None
    with pytest.raises(Rejected, match="answers nothing"):
        client.take(ANSWER + END + SKIP)


def test_the_message_of_the_documentation() -> None:
    """The wire form, byte by byte: what another program has to write."""
    items = [Item(1, b"a" * 32), Item(300, b"b" * 32)]
    total = (int.from_bytes(b"a" * 32, "big") + int.from_bytes(b"b" * 32, "big")) % 2**256
    whole = hashlib.sha256(total.to_bytes(32, "big") + (2).to_bytes(8, "big")).digest()[:16]
    assert Client(SortedSet(items)).first() == QUESTION + END + PRINT + whole
    assert answer(SortedSet(items), QUESTION + END + PRINT + whole) == ANSWER + END + SKIP
    listed = LIST + b"\x02" + b"a" * 32 + b"b" * 32
    assert answer(SortedSet(items), QUESTION + END + LIST) == ANSWER + END + listed
    part = QUESTION + b"\x01\xac\x02b" + LIST + b"\x00\x01" + LIST
    assert answer(SortedSet(items), part) == (
        ANSWER + b"\x01\xac\x02b" + LIST + b"\x01" + b"a" * 32 + b"\x00\x01" + LIST + b"\x01" + b"b" * 32
    )
    assert reconcile.answer(SortedSet(items), QUESTION) == ANSWER
