"""What a daemon does with names: over the stand-in in both dialects, real js-ipfs, and a real Kubo where the
address of one is given."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from node.core.clock import SystemClock
from node.core.errors import Unavailable
from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.ipfs.kubo import KuboBlockStore, value_in
from tests.engines import JsIpfs, Kubo
from tests.name_owner import Owner
from tests.simulators.kubo import KuboStandIn

BLOCK = b"\xa1aa\x01"
CID = Cid.of(BLOCK)
OTHER = b"\xa1aa\x02"


def record(owner: Owner, cid: Cid, sequence: int) -> bytes:
    return owner.record(SystemClock().now(), sequence=sequence, value=f"/ipfs/{cid}")


@asynccontextmanager
async def daemon_at(url: str) -> AsyncIterator[KuboBlockStore]:
    async with aiohttp.ClientSession(auto_decompress=False, trust_env=False) as http:
        yield KuboBlockStore(url, http, SystemClock(), timeout_s=30)


async def publishes_as_its_own(daemon: KuboBlockStore) -> IpnsName:
    """The same name each time, whatever it points to."""
    cids = [CID, Cid.of(OTHER)]
    await daemon.keep(list(zip(cids, (BLOCK, OTHER), strict=True)))
    names = [
        await daemon.naming.publish_name(f"/ipfs/{cid}", key="neuroswarm-test", lifetime="48h", ttl="60s")
        for cid in cids
    ]
    assert names[0] == names[1]
    assert names[0].public_key() is not None
    return names[0]


async def keeps_records_of_others(daemon: KuboBlockStore) -> None:
    assert await daemon.takes_names()
    owner = Owner(int(SystemClock().now().timestamp()))  # new to a daemon that stays
    assert await daemon.get_name(owner.name) is None
    first, second = record(owner, CID, 1), record(owner, Cid.of(OTHER), 2)
    await daemon.put_name(owner.name, second)
    assert await daemon.get_name(owner.name) == second
    with pytest.raises(Unavailable):
        await daemon.put_name(owner.name, first)
    with pytest.raises(Unavailable):
        await daemon.put_name(owner.name, record(Owner(2), CID, 3))
    assert await daemon.get_name(owner.name) == second


@pytest.mark.parametrize("dialect", ["kubo", "js-ipfs"])
async def test_a_daemon_publishes_under_a_key_of_its_own(dialect: str) -> None:
    async with KuboStandIn(dialect) as stand_in, daemon_at(stand_in.url) as daemon:
        name = await publishes_as_its_own(daemon)
        assert ipns.decode(stand_in.names[name], name).value == f"/ipfs/{Cid.of(OTHER)}"
        assert list(stand_in.keys) == ["neuroswarm-test"]


async def test_kubo_keeps_records_that_others_signed() -> None:
    async with KuboStandIn() as stand_in, daemon_at(stand_in.url) as daemon:
        await keeps_records_of_others(daemon)
        stand_in.is_offline = True
        owner = Owner()
        await daemon.put_name(owner.name, record(owner, CID, 1))
        assert owner.name in stand_in.names
        assert await daemon.get_name(owner.name) is None, "an offline daemon does not tell"


@pytest.mark.parametrize(("dialect", "version"), [("js-ipfs", ""), ("kubo", "0.23.0")])
async def test_others_do_not_take_records(dialect: str, version: str) -> None:
    async with KuboStandIn(dialect, version) as stand_in, daemon_at(stand_in.url) as daemon:
        assert not await daemon.takes_names()


@pytest.mark.parametrize("fault", ["nonsense", "nested", "cut", 404, "[1]"])
async def test_what_a_broken_daemon_says_of_names_is_our_error(fault: str | int) -> None:
    faults = dict.fromkeys(("key/list", "name/publish", "routing/put"), fault)
    async with KuboStandIn(faults=faults) as stand_in, daemon_at(stand_in.url) as daemon:
        owner = Owner()
        with pytest.raises(Unavailable):
            await daemon.naming.publish_name(f"/ipfs/{CID}", key="k", lifetime="48h", ttl="60s")
        if fault not in ("nonsense", "nested"):  # what it says after storing a record is not looked at
            with pytest.raises(Unavailable):
                await daemon.put_name(owner.name, record(owner, CID, 1))


@pytest.mark.parametrize(
    "said",
    [b"", b"{}", b'{"Type":5,"Extra":""}', b'{"Type":0,"Extra":"eA=="}\n{"Type":1}'],
)
async def test_an_answer_without_a_record_is_none(said: bytes) -> None:
    assert value_in(said) is None


@pytest.mark.parametrize("said", [b"[", b'{"Type":5,"Extra":"?"}', b'{"Type":5,"Extra":7}'])
async def test_an_answer_that_cannot_be_read_is_our_error(said: bytes) -> None:
    with pytest.raises(Unavailable):
        value_in(said)


async def test_the_record_is_found_behind_the_events_of_a_search() -> None:
    assert value_in(b'{"Type":0,"Extra":"eA=="}\n{"Type":5,"Extra":"eHk="}\n') == b"xy"


@pytest.mark.engine("js_ipfs")
async def test_js_ipfs_publishes_under_a_key_of_its_own(js_ipfs: JsIpfs) -> None:
    async with daemon_at(js_ipfs.url) as daemon:
        assert not await daemon.takes_names()
        name = await publishes_as_its_own(daemon)
        assert await resolved(js_ipfs.url, name) == f"/ipfs/{Cid.of(OTHER)}"


@pytest.mark.engine("kubo")
async def test_a_real_kubo_keeps_records_that_others_signed(real_kubo: Kubo) -> None:
    async with daemon_at(real_kubo.url) as daemon:
        await publishes_as_its_own(daemon)
        await keeps_records_of_others(daemon)


async def resolved(url: str, name: IpnsName) -> str:
    """What the daemon itself says that a name points to."""
    async with (
        aiohttp.ClientSession(trust_env=False) as http,
        http.post(f"{url}/api/v0/name/resolve", params={"arg": f"/ipns/{name.peer_id}"}) as response,
    ):
        answer = await response.json(content_type=None)
        assert response.status == 200, answer
        return str(answer["Path"])
