"""What somebody can check who trusts one root and no program of ours: that an answer is that root's, and
stands in the log that it has signed.

Nothing here comes from ``node``: blocks are read by ``dag_cbor`` and ``multiformats``, the log's formats by
``tests.simulators.rfc6962``.
"""

from __future__ import annotations

import base64
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.faults.node_kit import Client
from tests.simulators import rfc6962

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dag_cbor
    from multiformats import CID, multibase, multihash

ED25519 = b"\xed\x01"
RECEIPT = "c2sp.org/tlog-proof@v1"
SIGNED = b"neuroswarm/record/v1\n"
BUNDLE = 256


def raw_key(did: str) -> bytes:
    """The 32 bytes of a did:key of Ed25519."""
    key = multibase.decode(did.removeprefix("did:key:"))
    assert key[:2] == ED25519
    return bytes(key[2:])


def read_block(cid: str, block: bytes) -> dict[str, Any]:
    """The record in a block: its CID is that of the bytes, its signature that of the key it names."""
    parsed = CID.decode(cid)
    assert parsed.codec.name == "dag-cbor"
    assert bytes(parsed.digest) == multihash.digest(block, "sha2-256")
    record = dag_cbor.decode(block)
    assert isinstance(record, dict)
    signature = record.pop("sig")
    Ed25519PublicKey.from_public_bytes(raw_key(record["key"])).verify(
        signature, SIGNED + dag_cbor.encode(record)
    )
    return record


def certified(root: str, certificates: Sequence[bytes], subject: str, use: str, at: str) -> None:
    """The root itself has said that the key is its own for that, at that time (RFC 3339)."""
    for block in certificates:
        said = read_block(str(CID("base32", 1, "dag-cbor", multihash.digest(block, "sha2-256"))), block)
        if (said["kind"], said["subject"], said["use"]) == ("key", subject, use):
            assert (said["issuer"], said["key"]) == (root, root)
            begins, ends = said["not_before"], said["not_after"]
            assert _time(begins) <= _time(at) < _time(ends)
            return
    raise AssertionError(f"{root} has certified no key {subject} for {use}")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def leaf_of(log: Client, size: int, cid: str) -> tuple[int, bytes]:
    """Where a log of ``size`` entries publishes ``cid``, and that entry, from its bundles alone."""
    for bundle in range(-(-size // BUNDLE)):
        width = min(BUNDLE, size - bundle * BUNDLE)
        name = f"{bundle:03d}" + ("" if width == BUNDLE else f".p/{width}")
        status, data, _ = await log.send("GET", f"/logs/publications/tile/entries/{name}")
        assert status == 200
        for index in range(width):
            length = int.from_bytes(data[:2], "big")
            leaf, data = data[2 : 2 + length], data[2 + length :]
            entry = json.loads(leaf)["entry"]
            if (entry["kind"], entry["cid"]) == ("publish", cid):
                return bundle * BUNDLE + index, leaf
        assert not data
    raise AssertionError(f"the log does not publish {cid}")


async def prove(said: Mapping[str, Any], server: Client, origin: Client, root: str) -> dict[str, Any]:
    """That the answer ``said`` is a record of ``root``: its block is from ``server``, who gave the answer;
    the certificates and the log are ``origin``'s. Returns the record."""
    cid = str(said["cid"])
    assert said["hit"]["origin"] == root
    status, block, _ = await server.send("GET", f"/ipfs/{cid}?format=raw")
    assert status == 200
    record = read_block(cid, block)
    assert (record["kind"], record["issuer"], record["answer"]) == ("answer", root, said["answer"])
    # who may sign in the root's name, by the root's own word
    status, who, _ = await origin.send("GET", "/peers/identity")
    assert (status, who["root"]) == (200, root)
    certificates = [base64.b64decode(text) for text in who["certificates"]]
    certified(root, certificates, record["key"], "node", record["timestamp"])
    name, _, _, key = rfc6962.read_vkey(who["publications_vkey"])
    assert name.startswith(root.removeprefix("did:key:"))
    subject = "did:key:" + multibase.encode(ED25519 + key.public_bytes_raw(), "base58btc")
    certified(root, certificates, subject, "publications", record["timestamp"])
    # the entry, under the log's signed root
    status, note, _ = await origin.send("GET", "/logs/publications/checkpoint")
    assert status == 200
    index, leaf = await leaf_of(origin, rfc6962.read_note(note)[1], cid)
    status, receipt, _ = await origin.send("GET", f"/logs/publications/proof/{index}")
    assert status == 200
    head, _, note = receipt.partition(b"\n\n")
    header, *lines = head.decode().split("\n")
    lines = [line for line in lines if not line.startswith("extra ")]
    assert (header, lines[0]) == (RECEIPT, f"index {index}")
    log, size, tree, _, _ = rfc6962.read_note(note)
    assert log == name
    assert rfc6962.verify(who["publications_vkey"], note) == 0
    hashes = [base64.b64decode(line) for line in lines[1:]]
    leaf_hash = rfc6962.sha256(b"\x00" + leaf)
    assert rfc6962.is_included(leaf_hash, index, size, tree, hashes)
    assert not rfc6962.is_included(rfc6962.sha256(b"\x00" + leaf + b" "), index, size, tree, hashes)
    entry = json.loads(leaf)["entry"]
    assert re.fullmatch("[0-9a-f]{64}", entry["query_hash"])
    assert entry["query_hash"] == record["query_hash"]
    return record
