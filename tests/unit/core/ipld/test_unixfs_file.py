"""Files as UnixFS: the CIDs that ipfs-unixfs-importer 15 (Helia) gives for the same bytes."""

from __future__ import annotations

import pytest

from node.core.ipld import dagpb, unixfs
from node.core.ipld.cid import DAG_PB, Cid
from node.core.ipld.unixfs_file import blocks

KNOWN = {
    0: "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku",
    5: "bafkreibgvdglonyr2jmmemhmimq5r5usftifdmvyapadbngpatpaimezwy",
    262_144: "bafkreibdffnmnzlbq264m4kqmxcslchnncczdb567t7xahpgbhdyigvtr4",
    262_145: "bafybeielov4zxeb3kwwrtgpluv2mh72hsf7vjypbok654v7i2ox5ylnlje",
    1_000_000: "bafybeibuixlb7tz4oxx3iimql5l5erxezzx7d6u4m6dsj5thakltodmici",
    262_144 * 174 + 1: "bafybeigyxjz3g6zjgfexlgl6wnuvknwi57az7lafdcrm5vn6hksyzackyi",
}


def made(size: int) -> bytes:
    row = bytes(i * 7 & 255 for i in range(256))
    return b"".join(bytes((one + high) & 255 for one in row) for high in range(256)) * (size // 65_536 + 1)


@pytest.mark.parametrize("size", KNOWN)
def test_cids_are_those_of_others(size: int) -> None:
    data = made(size)[:size]
    found = list(blocks(data))
    assert str(found[-1][0]) == KNOWN[size]
    assert all(cid.matches(block) for cid, block in found)
    by_cid = dict(found)

    def read(cid: Cid) -> bytes:
        if cid.codec != DAG_PB:
            return by_cid[cid]
        node = dagpb.decode(by_cid[cid])
        said = unixfs.of(node)
        below = b"".join(read(link.cid) for link in node.links)
        assert (said.kind, said.filesize) == (unixfs.FILE, len(below))
        return below

    assert read(found[-1][0]) == data
