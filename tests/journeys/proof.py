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
    decoded: Any = dag_cbor.decode(block)
    record: dict[str, Any] = decoded
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


async def leaves(node: Client, log: str, size: int) -> list[bytes]:
    """All entries of a log of this size, from its bundles alone."""
    found: list[bytes] = []
    for bundle in range(-(-size // BUNDLE)):
        width = min(BUNDLE, size - bundle * BUNDLE)
        name = f"{bundle:03d}" + ("" if width == BUNDLE else f".p/{width}")
        status, data, _ = await node.raw(f"/logs/{log}/tile/entries/{name}")
        assert status == 200
        while data:
            length = int.from_bytes(data[:2], "big")
            found.append(data[2 : 2 + length])
            data = data[2 + length :]
    assert len(found) == size
    return found


def read_receipt(data: bytes) -> tuple[int, bytes, bytes, list[bytes]]:
    """Which entry, the entry where it comes with it, the checkpoint, and the hashes between them."""
    head, _, note = data.partition(b"\n\n")
    header, *lines = head.decode().split("\n")
    assert header == RECEIPT
    extra = lines.pop(0).removeprefix("extra ") if lines[0].startswith("extra ") else ""
    which, *hashes = lines
    index = int(which.removeprefix("index "))
    return index, base64.b64decode(extra), note, [base64.b64decode(line) for line in hashes]


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
    everything = await leaves(origin, "publications", rfc6962.read_note(note)[1])
    entries = [json.loads(leaf)["entry"] for leaf in everything]
    [index] = [at for at, one in enumerate(entries) if (one["kind"], one.get("cid")) == ("publish", cid)]
    entry, leaf = entries[index], everything[index]
    status, receipt, _ = await origin.raw(f"/logs/publications/proof/{index}")
    assert status == 200
    of, _, note, hashes = read_receipt(receipt)
    log, size, tree, _, _ = rfc6962.read_note(note)
    assert (of, log) == (index, name)
    assert rfc6962.verify(who["publications_vkey"], note) == 0
    leaf_hash = rfc6962.sha256(b"\x00" + leaf)
    assert rfc6962.is_included(leaf_hash, index, size, tree, hashes)
    assert not rfc6962.is_included(rfc6962.sha256(b"\x00" + leaf + b" "), index, size, tree, hashes)
    assert re.fullmatch("[0-9a-f]{64}", entry["query_hash"])
    assert entry["query_hash"] == record["query_hash"]
    return record
