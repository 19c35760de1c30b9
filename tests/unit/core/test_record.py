"""Records field by field: what is stored is canonical, signed and checkable by strangers' tools."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import cbrrr
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.record import (
    LIST_ITEMS_MAX,
    SIGNING_PREFIX,
    AnswerRecord,
    Embedding,
    ModelRef,
    Record,
    RecordCitation,
    RecordSource,
    block_of,
    decode,
    did_key,
    format_time,
    public_key_of,
    sign,
    verify_signature,
)
from tests.each import each
from tests.record_builders import START, Author

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the oracles' own imports warn
    import dag_cbor
    from multiformats import multibase

US = Author(1)
TARGET = Cid.of(b"target")

FULL = US.answer(
    "What is IPFS?",
    context="a" * 64,
    tags=("ipfs", "basics"),
    slots={"topic": "ipfs", "n": 3, "yes": True, "none": None, "ids": ("a", "b")},
    slot_key="definition:ipfs",
    citations=(RecordCitation("doc", "p. 3", "snippet", "https://example.org"), RecordCitation("other")),
    embedding=Embedding("model", "b" * 64, 4, bytes(16)),
    llm=ModelRef("llama3.2", None),
    expires=START + timedelta(days=7),
    source=RecordSource("adapter", "coingecko", "https://example.org", START, "c" * 64),
    supersedes=str(TARGET),
)
ALL: dict[str, Record] = {
    "plain answer": US.answer(),
    "full answer": FULL,
    "validation": US.validation(TARGET, "valid", note="looks right"),
    "tombstone": US.tombstone(TARGET),
    "key": US.key_record(Author(2).did),
}


@pytest.mark.parametrize("name", sorted(ALL))
def test_strangers_tools_read_the_block(name: str) -> None:
    """dag-cbor and multibase, and the signature by ``cryptography`` alone."""
    fields = dag_cbor.decode(block_of(ALL[name])[1])
    assert isinstance(fields, dict)
    sig = fields.pop("sig")
    key = fields["key"]
    assert isinstance(sig, bytes)
    assert isinstance(key, str)
    did = multibase.decode(key.removeprefix("did:key:"))
    assert did[:2] == b"\xed\x01"
    public = Ed25519PublicKey.from_public_bytes(did[2:])
    public.verify(sig, b"neuroswarm/record/v1\n" + dag_cbor.encode(fields))


def test_an_answers_fields_are_those_of_the_format() -> None:
    fields = dag_cbor.decode(block_of(FULL)[1])
    assert isinstance(fields, dict)
    assert set(fields) == {
        *("v", "kind", "issuer", "key", "scope", "timestamp", "expires", "sig", "context", "tags"),
        *("normaliser", "query", "query_hash", "slots", "slot_key", "route", "answer", "source", "citations"),
        *("embedding", "llm", "confidence", "confidence_parts", "supersedes", "validations"),
    }
    assert fields["timestamp"] == "2026-01-01T12:00:00Z"
    assert fields["expires"] == "2026-01-08T12:00:00Z"
    assert fields["query"] == "What is IPFS"
    assert fields["query_hash"] == hashlib.sha256(b"What is IPFS").hexdigest()
    assert fields["validations"] == 0
    assert fields["slots"] == {"topic": "ipfs", "n": 3, "yes": True, "none": None, "ids": ["a", "b"]}
    assert not any(isinstance(value, float) for value in fields.values())


def test_a_did_of_a_known_key() -> None:
    """From the did:key method's Ed25519 example."""
    did = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
    assert did_key(public_key_of(did)) == did
    assert len(public_key_of(did)) == 32


@pytest.mark.parametrize(
    "did",
    [
        *("", "did:key:z", "did:key:z6Mk", "did:web:example.org", "did:key:z" + "1" * 1_000_000),
        "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme",
        *(US.did + "1", US.did.replace("z6", "z16", 1), US.did[:-1] + "0"),
    ],
)
def test_other_identifiers_are_rejected(did: str) -> None:
    with pytest.raises(Rejected):
        public_key_of(did)


def test_an_unsigned_record_has_no_block() -> None:
    with pytest.raises(Rejected, match="not signed"):
        block_of(replace(FULL, sig=b""))


def test_a_signature_by_another_key_is_rejected() -> None:
    other = sign(replace(FULL, sig=b""), Author(2).private.sign)
    for check in (lambda: verify_signature(other), lambda: decode(block_of(other)[1])):
        with pytest.raises(Rejected, match="signature"):
            check()


def test_leaving_out_the_signature_check_leaves_out_nothing_else() -> None:
    data = block_of(replace(FULL, sig=bytes(64)))[1]
    assert decode(data, check_signature=False) == replace(FULL, sig=bytes(64))
    for name in ("key", "issuer"):
        with pytest.raises(Rejected):
            decode(block_of(replace(FULL, **{name: "nobody"}))[1], check_signature=False)


def test_the_signature_is_over_this_format_only() -> None:
    """A signature made for something else by the same key does not pass as a record's."""
    data = FULL.signing_bytes().removeprefix(SIGNING_PREFIX)
    for signed in (data, b"neuroswarm/record/v2\n" + data):
        with pytest.raises(Rejected):
            verify_signature(replace(FULL, sig=US.private.sign(signed)))


# --- times ----------------------------------------------------------------------------------------


def test_times_are_utc_in_whole_seconds() -> None:
    east = timezone(timedelta(hours=3))
    assert format_time(datetime(2026, 1, 1, 3, 0, 0, 999_999, tzinfo=east)) == "2026-01-01T00:00:00Z"


# --- a liar with a valid key ----------------------------------------------------------------------


def forge(record: Record, changes: dict[str, Any], *, drop: tuple[str, ...] = ()) -> bytes:
    """A block with fields of the liar's choice and a signature that verifies."""
    fields: dict[str, Any] = cbrrr.decode_dag_cbor(block_of(record)[1])
    del fields["sig"]
    fields.update(changes)
    for name in drop:
        del fields[name]
    sig = US.private.sign(SIGNING_PREFIX + cbrrr.encode_dag_cbor(fields))
    return bytes(cbrrr.encode_dag_cbor({**fields, "sig": sig}))


def test_the_forger_of_these_tests_can_make_a_good_block() -> None:
    assert decode(forge(FULL, {})) == FULL


@each(
    "text",
    [
        *(
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.5Z",
            "2026-01-01T00:00:00+00:00",
            "2026-01-01 00:00:00Z",
        ),
        *("2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z", "0000-01-01T00:00:00Z"),
        *("2026-01-01T00:00:00Z\n", "\N{ARABIC-INDIC DIGIT TWO}026-01-01T00:00:00Z", 20260101),
        *("0001-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"),
    ],
)
def test_other_times_are_rejected(text: object) -> None:
    for field in ("timestamp", "expires"):
        with pytest.raises(Rejected, match=f"{field} is not a"):
            decode(forge(FULL, {field: text}))
    with pytest.raises(Rejected, match=r"source\.time is not a"):
        decode(forge(FULL, {"source": {"kind": "adapter", "id": "x", "time": text}}))


@pytest.mark.parametrize("name", sorted(ALL))
def test_no_field_may_be_missing_or_added(name: str) -> None:
    record = ALL[name]
    fields: dict[str, Any] = cbrrr.decode_dag_cbor(block_of(record)[1])
    for field in sorted(set(fields) - {"sig"}):
        with pytest.raises(Rejected):
            decode(forge(record, {}, drop=(field,)))
    with pytest.raises(Rejected, match="unknown field"):
        decode(forge(record, {"extra": 1}))


@each("wrong", [None, 0, -1, 2**63, True, 1.5, "", "x", "x" * 70_000, b"x", [], [1], {}, {"a": 1}])
@each("name", sorted(ALL))
def test_no_field_may_have_another_type(name: str, wrong: object) -> None:
    """Either the value is one that the field may have and the record comes back equal, or it is refused."""
    record = ALL[name]
    fields: dict[str, Any] = cbrrr.decode_dag_cbor(block_of(record)[1])
    accepted = []
    for field in sorted(set(fields) - {"sig"}):
        data = forge(record, {field: wrong})
        try:
            back = decode(data)
        except Rejected:
            continue
        assert block_of(back)[1] == data
        accepted.append(field)
    free_text = {"answer", "reason", "route", "scope", "slot_key", "note", "supersedes", "normaliser"}
    nullable = {"expires", "context", "slots", "slot_key", "embedding", "llm", "supersedes", "note"}
    lists_and_maps = {"tags", "citations", "slots", "confidence_parts"}
    zero = {"confidence", "validations"}
    assert set(accepted) <= free_text | nullable | lists_and_maps | zero
    if isinstance(wrong, bool | float | bytes):
        assert accepted == []


@each(
    "changes",
    [
        *({"v": 2}, {"kind": "question"}, {"query": "What is IPFS?"}, {"query": " What  is IPFS"}),
        *({"query_hash": "0" * 64}, {"query_hash": hashlib.sha256(b"What is IPFS").hexdigest().upper()}),
        *(
            {"confidence": 1_000_001},
            {"confidence_parts": {"a": -1}},
            {"validations": 1},
            {"context": "A" * 64},
        ),
        {"confidence_parts": {str(i): 1 for i in range(LIST_ITEMS_MAX + 1)}},
        {"embedding": {"model": "m", "digest": "b" * 64, "dim": 4, "vector": bytes(15)}},
        {"embedding": {"model": "m", "digest": "b" * 64, "dim": 0, "vector": b""}},
        {"embedding": {"model": "m", "digest": "b" * 64, "dim": 4, "vector": bytes(16), "x": 1}},
        {"embedding": {"model": "m", "digest": "nope", "dim": 4, "vector": bytes(16)}},
        *({"source": {"kind": "k"}}, {"source": {"kind": "k", "id": "i", "url": None}}),
        {"source": {"kind": "k", "id": "i", "digest": "nope"}},
        *({"citations": [{"source": "s"}]}, {"citations": [{}] * (LIST_ITEMS_MAX + 1)}, {"llm": {"id": "x"}}),
        *({"slots": {"a": [1]}}, {"slots": {"a": {}}}, {"slots": {"a": ["x"] * (LIST_ITEMS_MAX + 1)}}),
        *({"tags": ["x" * 2_000]}, {"timestamp": "2026-01-01"}, {"issuer": "did:key:zzz"}),
        {"supersedes": cbrrr.CID(b"\0\1")},
        {"slots": {"a": cbrrr.CID(bytes(TARGET))}},
    ],
)
def test_a_signature_does_not_excuse_a_bad_field(changes: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        decode(forge(FULL, changes))


@each(
    ("name", "changes"),
    [
        *(
            ("validation", {"verdict": "maybe"}),
            ("key", {"use": "everything"}),
            ("key", {"not_before": None}),
        ),
        ("key", {"subject": "did:key:z6Mk"}),
        *(
            (name, {"target": target})
            for name in ("validation", "tombstone")
            for target in ("", "x", str(TARGET).upper(), "z" + str(TARGET)[1:], str(TARGET) + "a")
        ),
    ],
)
def test_other_kinds_are_strict_too(name: str, changes: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        decode(forge(ALL[name], changes))


def test_a_record_has_the_size_of_one_block() -> None:
    with pytest.raises(Rejected, match="limit"):
        US.answer(answer="\N{GRINNING FACE}" * 65_536)
    large = US.answer(answer="\N{GRINNING FACE}" * 65_000)
    assert decode(block_of(large)[1]) == large


def test_an_answer_of_another_normaliser_is_kept_as_it_is() -> None:
    """A later rule never reinterprets an old key, nor this one a later key."""
    record = US.answer()
    later = sign(replace(record, normaliser="normalise/v2", query="what?", sig=b""), US.private.sign)
    back = decode(block_of(later)[1])
    assert isinstance(back, AnswerRecord)
    assert back.query == "what?"
