"""Properties of records: round trip, canonical form, any change refused, agreement with the oracles."""

from __future__ import annotations

import hashlib
import warnings
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.model import PPM
from node.core.normalise import normalise
from node.core.record import Embedding, ModelRef, Record, RecordCitation, RecordSource, block_of, decode
from tests.record_builders import Author

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the oracles' own imports warn
    import dag_cbor
    from multiformats import CID

US = Author(1)

texts = st.text(max_size=60)
hex_digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
times = st.datetimes(
    min_value=datetime(1000, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC)
).map(lambda when: when.replace(microsecond=0))
cids = st.binary(max_size=8).map(Cid.of)
ppm = st.integers(0, PPM)
slot_values = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), texts, st.lists(texts, max_size=4).map(tuple)
)


sources = st.builds(RecordSource, texts, texts, st.none() | texts, st.none() | times, st.none() | hex_digests)
citations = st.builds(RecordCitation, texts, texts, texts, st.none() | texts)


@st.composite
def embeddings(draw: st.DrawFn) -> Embedding:
    dim = draw(st.integers(1, 12))
    return Embedding(draw(texts), draw(hex_digests), dim, draw(st.binary(min_size=dim * 4, max_size=dim * 4)))


@st.composite
def records(draw: st.DrawFn) -> Record:
    author = Author(draw(st.integers(1, 3)))
    common = {"scope": draw(texts), "timestamp": draw(times), "expires": draw(st.none() | times)}
    kind = draw(st.sampled_from(("answer", "answer", "answer", "validation", "tombstone", "key")))
    if kind == "validation":
        verdict = draw(st.sampled_from(("valid", "invalid")))
        return author.validation(draw(cids), verdict, note=draw(st.none() | texts), **common)
    if kind == "tombstone":
        return author.tombstone(draw(cids), reason=draw(texts), **common)
    if kind == "key":
        return author.key_record(
            Author(draw(st.integers(1, 255))).did,
            use=draw(st.sampled_from(("node", "decisions", "publications", "witness"))),
            not_before=draw(times),
            not_after=draw(times),
            **common,
        )
    return author.answer(
        normalise(draw(texts)),
        answer=draw(st.text(max_size=300)),
        route=draw(texts),
        context=draw(st.none() | hex_digests),
        tags=tuple(draw(st.lists(texts, max_size=3))),
        slots=draw(st.none() | st.dictionaries(texts, slot_values, max_size=4)),
        slot_key=draw(st.none() | texts),
        source=draw(sources),
        citations=tuple(draw(st.lists(citations, max_size=2))),
        embedding=draw(st.none() | embeddings()),
        llm=draw(st.none() | st.builds(ModelRef, texts, st.none() | hex_digests)),
        confidence=draw(ppm),
        confidence_parts=draw(st.dictionaries(texts, ppm, max_size=4)),
        supersedes=draw(st.none() | cids.map(str)),
        **common,
    )


@given(records())
def test_round_trip_and_oracles(record: Record) -> None:
    """decode(encode(r)) = r; the bytes are those of dag-cbor, the CID that of multiformats."""
    cid, data = block_of(record)
    back = decode(data)
    assert back == record
    assert type(back) is type(record)
    fields = dag_cbor.decode(data)
    assert dag_cbor.encode(fields) == data
    assert str(cid) == str(CID("base32", 1, "dag-cbor", ("sha2-256", hashlib.sha256(data).digest())))


@given(records(), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_any_change_of_the_bytes_is_refused(record: Record, random: Any) -> None:
    data = block_of(record)[1]
    at = random.randrange(len(data))
    changed = (
        data[:at] + bytes([data[at] ^ random.randrange(1, 256)]) + data[at + 1 :],
        data[:at],
        data[at + 1 :],
        data[:at] + data[at : at + 1] + data[at:],
        data + bytes([random.randrange(256)]),
    )
    for wrong in changed:
        if wrong != data:
            with pytest.raises(Rejected):
                decode(wrong)


def test_two_thousand_mutations_are_refused() -> None:
    """Every byte of one record changed at least once, each in a way of its own."""
    data = block_of(
        US.answer(
            slots={"topic": "ipfs", "ids": ("a", "b")},
            citations=(RecordCitation("doc", "p", "s", "https://example.org"),),
            embedding=Embedding("model", "b" * 64, 32, bytes(range(128))),
        )
    )[1]
    assert len(data) < 2_000
    accepted = []
    for number in range(2_000):
        at = number % len(data)
        flip = 1 + (number * 131 + number // len(data)) % 255
        wrong = data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]
        try:
            decode(wrong)
        except Rejected:
            continue
        accepted.append((at, flip))
    assert accepted == []


def test_every_truncation_is_refused() -> None:
    data = block_of(US.answer())[1]
    for length in range(len(data)):
        with pytest.raises(Rejected):
            decode(data[:length])


@given(st.binary(max_size=400))
def test_any_bytes_are_refused_and_nothing_else_is_raised(data: bytes) -> None:
    with pytest.raises(Rejected):
        decode(data)


@given(st.dictionaries(texts, st.none() | st.booleans() | st.integers(0, 9) | texts | st.binary(max_size=9)))
def test_any_map_that_is_no_record_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        decode(dag_cbor.encode({**fields, "v": 1, "kind": "answer", "sig": bytes(64)}))
