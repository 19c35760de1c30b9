from __future__ import annotations

import orjson
import pytest

from node.audit.tlog.leaf import compose
from node.core.errors import Rejected
from node.core.ipld.cid import DAG_CBOR, RAW, Cid
from node.peers.rules.entry import Key, PublicationEntry, Publish, Retract, Validate, encode, read, word
from tests.each import each
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


@each(
    ("entry", "field", "value"),
    [
        *((ENTRIES[0], "kind", one) for one in ("answer", None)),
        *((ENTRIES[0], "cid", one) for one in (str(Cid.of(b"x", RAW)), str(CID).upper(), 7, "b" * 200)),
        *((ENTRIES[0], "class", one) for one in ("Not a word", "")),
        *((ENTRIES[0], "query_hash", one) for one in ("AB" * 32, "ab")),
        *((ENTRIES[0], "expires_s", one) for one in (True, -1, 2**60, "5")),
        (ENTRIES[0], "more", 1),
        (ENTRIES[2], "tombstone", "nonsense"),
        (ENTRIES[2], "reason", "x" * 65),
        (ENTRIES[4], "verdict", "maybe"),
        (ENTRIES[4], "target", None),
        (ENTRIES[5], "subject", "did:key:zNobody"),
        (ENTRIES[5], "use", "root"),
    ],
)
def test_anything_else_is_refused(entry: PublicationEntry, field: str, value: object) -> None:
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
