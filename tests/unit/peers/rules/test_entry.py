from __future__ import annotations

import orjson
import pytest

from node.audit.tlog.leaf import compose
from node.core.errors import Rejected
from node.core.ipld.cid import DAG_CBOR, RAW, Cid
from node.peers.rules.entry import Key, PublicationEntry, Publish, Retract, Validate, encode, read, word
from tests.record_builders import START, Author

CID, OTHER = Cid.of(b"a record", DAG_CBOR), Cid.of(b"another", DAG_CBOR)
ENTRIES: list[PublicationEntry] = [
    Publish(CID, "past_price", "ab" * 32, START),
    Publish(CID, "general", "ab" * 32, None),
    Retract(CID, "client_delete", OTHER),
    Retract(CID, "withdrawn", None),
    Validate(CID, OTHER, "invalid"),
    Key(CID, Author().did, "publications"),
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_read_as_it_was_written(entry: PublicationEntry) -> None:
    leaf = compose(encode(entry), 7, 1_700_000_000_000_000)
    assert read(7, leaf) == entry
    with pytest.raises(Rejected, match="number 7"):
        read(8, leaf)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "answer"},
        {"kind": None},
        {"cid": str(Cid.of(b"x", RAW))},
        {"cid": str(CID).upper()},
        {"cid": 7},
        {"cid": "b" * 200},
        {"class": "Not a word"},
        {"class": ""},
        {"query_hash": "AB" * 32},
        {"query_hash": "ab"},
        {"expires_s": True},
        {"expires_s": -1},
        {"expires_s": 2**60},
        {"expires_s": "5"},
        {"more": 1},
    ],
)
def test_anything_else_is_refused(change: dict[str, object]) -> None:
    body = orjson.loads(encode(ENTRIES[0])) | change
    data = compose(orjson.dumps(body, option=orjson.OPT_SORT_KEYS), 0, 1)
    with pytest.raises(Rejected):
        read(0, data)


@pytest.mark.parametrize(
    ("entry", "field", "value"),
    [
        (ENTRIES[2], "tombstone", "nonsense"),
        (ENTRIES[2], "reason", "x" * 65),
        (ENTRIES[4], "verdict", "maybe"),
        (ENTRIES[4], "target", None),
        (ENTRIES[5], "subject", "did:key:zNobody"),
        (ENTRIES[5], "use", "root"),
    ],
)
def test_each_kind_has_its_own_fields(entry: PublicationEntry, field: str, value: object) -> None:
    body = orjson.loads(encode(entry)) | {field: value}
    with pytest.raises(Rejected):
        read(0, compose(orjson.dumps(body, option=orjson.OPT_SORT_KEYS), 0, 1))


@pytest.mark.parametrize(
    "entry",
    [
        Publish(Cid.of(b"no record", RAW), "general", "ab" * 32, None),
        Publish(CID, "Not a word", "ab" * 32, None),
        Publish(CID, "general", "ab", None),
        Publish(CID, "general", "ab" * 32, START.replace(year=1969)),
        Retract(CID, "They said so.", None),
        Retract(CID, "Z\u00fcrich", None),
        Validate(CID, Cid.of(b"no record", RAW), "valid"),
        Validate(CID, OTHER, "maybe"),
        Key(CID, "did:key:zNobody", "node"),
        Key(CID, Author().did, "root"),
    ],
)
def test_what_would_be_refused_is_not_written(entry: PublicationEntry) -> None:
    with pytest.raises(Rejected):
        encode(entry)


def test_a_text_that_is_no_word_is_replaced_by_one() -> None:
    assert word("client_delete", "withdrawn") == "client_delete"
    for text in ("", "Two words", "x" * 65, "9lives", "z\u00fcrich"):
        assert word(text, "withdrawn") == "withdrawn"
